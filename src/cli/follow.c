#include "cli/follow.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/board.h"
#include "cli/document.h"
#include "cli/internal.h"
#include "cli/job.h"
#include "cli/lines.h"
#include "cli/pump.h"
#include "cli/text.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SOURCE_WATCH, SOURCE_LOGS };
enum { TICK_MS = 1000, LAST_LOGS_SECONDS = 10, GO_ON = -1 };

struct follow {
    struct cli *cli;
    const struct document *doc; // NULL: none
    struct board board;
    struct lines lines;
    struct ask ask;
    struct mailbox *mail;
    struct pump *watch, *logs;
    char *uid, *name;
    struct message *newest; // owns status
    const struct json *status;
    int64_t started, since; // mono: of all, of the current state
    int64_t ended;          // mono; 0: not terminal
    bool wants_logs, logs_over;
    int result; // GO_ON, or the exit status
};

// ---- Showing

static void show(struct follow *f) {
    if (!f->board.live || f->ask.open || f->status == NULL) {
        return;
    }
    CLEANUP(str_done) struct str line = STR_INIT;
    char passed[TEXT_DURATION_MAX];
    text_duration((clock_mono() - f->since) / CLOCK_SECOND * CLOCK_SECOND, passed);
    text_colour(&line, f->cli->err_colours, "1", f->name);
    str_printf(&line, "  %s  ", passed);
    job_add_line(&line, f->cli->err_colours, f->status);
    str_add_char(&line, '\n');
    board_show(&f->board, &line);
}

static void say_status(struct follow *f) {
    CLEANUP(str_done) struct str line = STR_INIT;
    char clock[16];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(clock, sizeof clock, "%H:%M:%S ", &local);
    str_add(&line, clock);
    job_add_line(&line, f->cli->err_colours, f->status);
    board_say(&f->board, str_text(&line));
}

static void say(struct follow *f, const char *text) {
    board_hide(&f->board);
    cli_note(f->cli, "%s", text);
}

static void say_end(struct follow *f) {
    CLEANUP(str_done) struct str line = STR_INIT;
    CLEANUP(str_done) struct str exit_text = STR_INIT;
    const struct json *exit = json_get(f->status, "exit");
    const char *state = job_state(f->status);
    const char *message = json_string(json_get(f->status, "message"), "");
    char took[TEXT_DURATION_MAX];
    text_duration(f->ended - f->started, took);
    text_colour(&line, f->cli->err_colours, text_state_colour(state), state);
    str_printf(&line, " %s after %s", f->name, took);
    if (job_exit_status(f->status) != CLI_OK) {
        if (exit != NULL && message[0] == '\0') {
            job_add_exit(&exit_text, exit);
        }
        const char *why = exit_text.len > 0 ? str_text(&exit_text) : message;
        str_printf(&line, ", %s%s", job_reason(f->status), why[0] != '\0' ? ": " : "");
        text_safe(&line, why);
    }
    board_say(&f->board, str_text(&line));
    bool wrote = !str_same(job_reason(f->status), "SPAWN_FAILED"); // otherwise there is nothing to look at
    if (exit != NULL && wrote && str_same(state, "FAILED")) {
        CLEANUP(str_done) struct str role = STR_INIT;
        text_safe(&role, json_string(json_get(exit, "role"), ""));
        cli_note(f->cli, "its log: trainctl logs %s --role %s --index %" PRId64, f->name, str_text(&role),
                 call_int(json_get(exit, "index")));
    }
}

static void print_logs(struct follow *f, const struct str *text) {
    if (text->len > 0) {
        board_hide(&f->board);
        fwrite(text->data, 1, text->len, stdout);
        fflush(stdout);
    }
}

// ---- What comes in

static void start_logs(struct follow *f) {
    if (!f->wants_logs || f->logs != NULL) {
        return;
    }
    CLEANUP(str_done) struct str request = STR_INIT;
    str_printf(&request, "{\"job\":{\"uid\":\"%s\"},\"follow\":true}", f->uid);
    f->logs = pump_start(f->mail, feed_new(f->cli, "Logs", &request), SOURCE_LOGS);
}

static void note_job(struct follow *f, const struct json *submitted) {
    CLEANUP(str_done) struct str safe = STR_INIT;
    const struct json *job = json_get(submitted, "job");
    const char *uid = json_string(json_get(job, "uid"), "");
    if (!call_is_uid(uid)) {
        return;
    }
    text_safe(&safe, json_string(json_get(job, "name"), ""));
    f->uid = mem_strdup(uid);
    f->name = str_take(&safe);
    JSON_EACH (warning, json_get(submitted, "warnings")) {
        CLEANUP(mem_free_ptr) char *text = mem_printf("warning: %s", json_string(warning, ""));
        say(f, text);
    }
    if (f->cli->output == OUTPUT_NAME) {
        printf("%s\n", f->name);
        fflush(stdout);
    } else {
        CLEANUP(mem_free_ptr) char *text = mem_printf("submitted %s", f->name);
        say(f, text);
    }
    start_logs(f);
}

// Takes the message when its status is news.
static void note_status(struct follow *f, struct message **m, const struct json *status) {
    if (status == NULL ||
        (f->status != NULL && call_int(json_get(status, "sequence")) <= call_int(json_get(f->status, "sequence")))) {
        return;
    }
    if (f->status == NULL || !str_same(job_state(status), job_state(f->status))) {
        f->since = clock_mono();
    }
    message_free(f->newest);
    f->newest = TAKE(*m);
    f->status = status;
    if (job_is_terminal(status)) {
        f->ended = clock_mono();
    } else if (!f->board.live || str_same(job_state(status), "RESTARTING")) {
        say_status(f);
    }
}

static void on_watch_message(struct follow *f, struct message **m) {
    const struct json *tree = (*m)->tree;
    if (f->cli->output == OUTPUT_JSON || f->cli->output == OUTPUT_YAML) {
        out_line(f->cli, tree);
    }
    if (json_get(tree, "submitted") != NULL) {
        note_job(f, json_get(tree, "submitted"));
        note_status(f, m, json_path(tree, "submitted.job.status"));
    } else if (json_get(tree, "snapshot") != NULL) {
        note_status(f, m, json_path(tree, "snapshot.status"));
    } else if (json_get(tree, "transition") != NULL) {
        note_status(f, m, json_path(tree, "transition.status"));
    } else if (json_get(tree, "deleted") != NULL) {
        say(f, "the job was deleted");
        f->result = CLI_FAILED;
    } else if (json_get(tree, "resync") != NULL) {
        say(f, "the server's journal is another one than before");
        message_free(f->newest); // its sequence means nothing any more
        f->newest = NULL;
        f->status = NULL;
    }
}

static void fail(struct follow *f, struct err *err) {
    board_hide(&f->board);
    if (f->doc != NULL) {
        document_locate(f->doc, err);
    }
    f->result = cli_fail(f->cli, err);
    if (f->name != NULL) {
        cli_note(f->cli, "the job itself goes on: trainctl watch %s", f->name);
    }
}

static void on_watch(struct follow *f, struct message **m) {
    switch ((*m)->kind) {
    case FEED_MESSAGE:
        on_watch_message(f, m);
        break;
    case FEED_AWAY:
        say(f, "the connection broke; trying again, the job goes on");
        break;
    case FEED_BACK:
        say(f, "connected again");
        break;
    case FEED_FAILED:
        fail(f, &(*m)->err);
        break;
    case FEED_END:
        if (f->ended == 0 && f->result == GO_ON) { // never taken for the end of the job
            CLEANUP(err_done) struct err err = ERR_INIT;
            err_fail(&err, ERR_INTERNAL, "STREAM_ENDED", "the server ended the watch before the job had ended");
            fail(f, &err);
        }
        break;
    }
}

static void on_log_message(struct follow *f, const struct json *tree) {
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *chunk = json_get(tree, "chunk");
    const struct json *attempt = json_get(tree, "attempt");
    const struct json *gap = json_get(tree, "gap");
    if (chunk != NULL) {
        lines_add_chunk(&f->lines, chunk, &text);
    } else if (attempt != NULL && call_int(json_get(attempt, "attempt")) > 1) {
        lines_flush(&f->lines, &text);
        str_printf(&text, "--- %s-%" PRId64 ": attempt %" PRId64 " ---\n", json_string(json_get(attempt, "role"), "?"),
                   call_int(json_get(attempt, "index")), call_int(json_get(attempt, "attempt")));
    } else if (gap != NULL) {
        str_printf(&text, "--- %s-%" PRId64 ": a part of the log is gone ---\n",
                   json_string(json_get(gap, "role"), "?"), call_int(json_get(gap, "index")));
    }
    print_logs(f, &text);
}

static void on_logs(struct follow *f, const struct message *m) {
    if (m->kind == FEED_MESSAGE) {
        on_log_message(f, m->tree);
    } else if (m->kind == FEED_END || m->kind == FEED_FAILED) {
        CLEANUP(str_done) struct str rest = STR_INIT;
        lines_flush(&f->lines, &rest);
        print_logs(f, &rest);
        f->logs_over = true;
        if (m->kind == FEED_FAILED) {
            CLEANUP(mem_free_ptr) char *text = mem_printf("no more logs: %s", m->err.message);
            say(f, text);
        }
    }
}

static void read_mail(struct follow *f) {
    struct message *m;
    while (f->result == GO_ON && !f->ask.open && (m = mailbox_take(f->mail)) != NULL) {
        if (m->source == SOURCE_WATCH) {
            on_watch(f, &m);
        } else {
            on_logs(f, m);
        }
        message_free(m);
    }
}

// ---- Ctrl-C

static void detach(struct follow *f) {
    board_hide(&f->board);
    if (f->name == NULL) {
        cli_note(f->cli, "gave up before the server had answered: the job may have been submitted, see trainctl list");
        f->result = CLI_FAILED;
        return;
    }
    cli_note(f->cli, "detached; %s goes on: trainctl watch %s, trainctl logs -f %s, trainctl cancel %s", f->name,
             f->name, f->name, f->name);
    f->result = CLI_DETACHED;
}

static void cancel(struct follow *f) {
    CLEANUP(str_done) struct str request = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct arena a;
    const struct json *answer;
    arena_init(&a, 0);
    str_printf(&request, "{\"job\":{\"uid\":\"%s\"},\"reason\":\"Ctrl-C in trainctl\"}", f->uid);
    if (!call_unary(f->cli, "Cancel", &request, &a, &answer, &err)) {
        (void)cli_fail(f->cli, &err); // following goes on
    }
    arena_done(&a);
}

static void on_interrupt(struct follow *f) {
    if (f->ask.open || f->name == NULL || !f->board.live || !ask_open(&f->ask)) {
        detach(f);
        return;
    }
    board_hide(&f->board);
    fprintf(stderr, "%s: detach (d), cancel the job (c), go on (Enter)? ", f->name);
}

static void on_key(struct follow *f) {
    switch (ask_read(&f->ask)) {
    case ASK_DETACH:
        ask_close(&f->ask);
        detach(f);
        break;
    case ASK_CANCEL:
        ask_close(&f->ask);
        cancel(f);
        break;
    case ASK_GO_ON:
        ask_close(&f->ask);
        break;
    case ASK_NOTHING:
        break;
    }
}

// ---- All of it

static bool complete(struct follow *f) {
    if (f->ended == 0) {
        return false;
    }
    bool late = clock_mono() - f->ended > LAST_LOGS_SECONDS * CLOCK_SECOND;
    if (!f->logs_over && f->logs != NULL && late) {
        say(f, "the rest of the logs did not come in time");
    }
    return f->logs_over || f->logs == NULL || late;
}

static void loop(struct follow *f) {
    while (f->result == GO_ON) {
        struct pollfd fds[] = {{.fd = ask_signal_fd(&f->ask), .events = POLLIN},
                               {.fd = f->ask.open ? STDIN_FILENO : -1, .events = POLLIN},
                               {.fd = f->ask.open ? -1 : mailbox_fd(f->mail), .events = POLLIN}};
        show(f);
        int ready = poll(fds, ARRAY_LEN(fds), f->board.live || f->ended != 0 ? TICK_MS : -1);
        if (ready > 0 && fds[0].revents != 0) {
            ask_take_signal(&f->ask);
            on_interrupt(f);
        } else if (ready > 0 && fds[1].revents != 0) {
            on_key(f);
        }
        read_mail(f);
        if (f->result == GO_ON && !f->ask.open && complete(f)) {
            say_end(f);
            f->result = job_exit_status(f->status);
        }
    }
}

int follow_submit(struct cli *cli, const struct str *submit, const struct document *doc) {
    CLEANUP(str_done) struct str request = STR_INIT;
    struct follow f = {.cli = cli,
                       .doc = doc,
                       .result = GO_ON,
                       .mail = mailbox_new(),
                       .started = clock_mono(),
                       .wants_logs = cli->output == OUTPUT_TABLE || cli->output == OUTPUT_WIDE};
    str_printf(&request, "{\"submit\":%s,\"until_terminal\":true}", str_text(submit));
    board_init(&f.board);
    ask_init(&f.ask);
    lines_init(&f.lines, cli->out_colours, isatty(STDOUT_FILENO));
    f.watch = pump_start(f.mail, feed_new(cli, "SubmitAndWatch", &request), SOURCE_WATCH);
    loop(&f);
    board_hide(&f.board);
    pump_stop(f.watch);
    pump_stop(f.logs);
    mailbox_free(f.mail);
    message_free(f.newest);
    lines_done(&f.lines);
    ask_done(&f.ask);
    mem_free(f.uid);
    mem_free(f.name);
    return f.result;
}
