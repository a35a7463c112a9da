#include "base/clock.h"
#include "base/mem.h"
#include "cli/board.h"
#include "cli/commands.h"
#include "cli/feed.h"
#include "cli/internal.h"
#include "cli/job.h"
#include "cli/pages.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct cli_flag flags[] = {
    {"selector", "l", "SELECTOR", "jobs with these labels, instead of names", NULL, WORDS_NONE},
    {"group", NULL, "GROUP", "jobs of this group", NULL, WORDS_NONE},
    {"runtime", NULL, "RUNTIME", "jobs of this runtime", NULL, WORDS_RUNTIME},
    {"all-namespaces", "A", NULL, "jobs of all namespaces", NULL, WORDS_NONE},
    {"until-terminal", NULL, NULL, "end when all of them have ended; the exit status follows the jobs", NULL,
     WORDS_NONE},
    {"changes-only", NULL, NULL, "only what changes from now on", NULL, WORDS_NONE},
};

struct watched {
    char *uid, *name;
    struct message *newest; // owns status; NULL: deleted
    const struct json *status;
    int64_t since; // mono, of the state
};

struct watch {
    struct cli *cli;
    struct board board;
    struct watched *jobs; // in the order of their last change, the newest last
    size_t count, cap;
};

// ---- The request

static bool write_uids(struct cli *cli, struct json_writer *w, struct err *err) {
    json_begin_object(w);
    json_key(w, "uids");
    json_begin_array(w);
    for (size_t i = 0; i < cli->args.word_count; i++) {
        const char *uid;
        if (!call_find_uid(cli, cli->args.words[i], &cli->arena, &uid, err)) {
            return false;
        }
        json_add_string(w, uid);
    }
    json_end_array(w);
    json_end_object(w);
    return true;
}

static bool write_request(struct cli *cli, struct str *out, struct err *err) {
    static const char *const switches[][2] = {{"until-terminal", "until_terminal"}, {"changes-only", "skip_snapshot"}};
    CLEANUP(str_done) struct str selector = STR_INIT;
    struct json_writer w;
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, "selector");
    if (cli->args.word_count == 0) {
        pages_write_selector(cli, &selector);
        json_add_raw(&w, str_text(&selector));
    } else if (!write_uids(cli, &w, err)) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
        if (args_has(&cli->args, switches[i][0])) {
            json_key(&w, switches[i][1]);
            json_add_bool(&w, true);
        }
    }
    json_end_object(&w);
    return true;
}

// ---- The jobs

static void forget(struct watched *j) {
    mem_free(j->uid);
    mem_free(j->name);
    message_free(j->newest);
}

static size_t find(const struct watch *w, const char *uid) {
    size_t i = 0;
    while (i < w->count && !str_same(w->jobs[i].uid, uid)) {
        i++;
    }
    return i;
}

// Takes the message. The job moves to the end: what changed last is nearest to the eye.
static struct watched *note(struct watch *w, const struct json *about, const struct json *status, struct message **m) {
    const char *uid = json_string(json_get(about, "uid"), "");
    size_t i = find(w, uid);
    struct watched job = {.since = clock_mono()};
    if (i < w->count) {
        job = w->jobs[i];
        memmove(&w->jobs[i], &w->jobs[i + 1], (w->count - i - 1) * sizeof *w->jobs);
        w->count--;
        if (!str_same(job_state(job.status), job_state(status))) {
            job.since = clock_mono();
        }
        message_free(job.newest);
    } else {
        CLEANUP(str_done) struct str safe = STR_INIT;
        text_safe(&safe, json_string(json_get(about, "name"), ""));
        job.uid = mem_strdup(uid);
        job.name = mem_strdup(str_text(&safe));
    }
    if (w->count == w->cap) {
        w->cap = w->cap * 2 + 16;
        w->jobs = mem_realloc_array(w->jobs, w->cap, sizeof *w->jobs);
    }
    job.newest = TAKE(*m);
    job.status = status;
    w->jobs[w->count] = job;
    return &w->jobs[w->count++];
}

static void remove_job(struct watch *w, const char *uid) {
    size_t i = find(w, uid);
    if (i < w->count) {
        forget(&w->jobs[i]);
        memmove(&w->jobs[i], &w->jobs[i + 1], (w->count - i - 1) * sizeof *w->jobs);
        w->count--;
    }
}

// ---- Showing

static void show(struct watch *w) {
    static const char *const titles[] = {"NAME", "STATE", "FOR", "REASON", "ROLES", "MESSAGE"};
    if (!w->board.live || w->count == 0) {
        return;
    }
    CLEANUP(str_done) struct str text = STR_INIT;
    struct table table;
    size_t height = board_height();
    size_t fit = height > 4 ? height - 3 : 1;
    size_t first = w->count > fit ? w->count - fit : 0;
    table_init(&table, w->cli->err_colours, titles, ARRAY_LEN(titles));
    for (size_t i = first; i < w->count; i++) {
        const struct watched *j = &w->jobs[i];
        CLEANUP(str_done) struct str roles = STR_INIT;
        char passed[TEXT_DURATION_MAX];
        job_add_roles(&roles, j->status);
        text_duration((clock_mono() - j->since) / CLOCK_SECOND * CLOCK_SECOND, passed);
        table_add(&table, j->name);
        table_add_coloured(&table, text_state_colour(job_state(j->status)), job_state(j->status));
        table_add(&table, passed);
        table_add(&table, job_reason(j->status));
        table_add(&table, str_text(&roles));
        table_add(&table, json_string(json_get(j->status, "message"), ""));
    }
    table_write(&table, &text);
    table_done(&table);
    if (first > 0) {
        str_printf(&text, "and %zu more\n", first);
    }
    board_show(&w->board, &text);
}

static void print_line(const struct watch *w, const struct watched *j) {
    CLEANUP(str_done) struct str line = STR_INIT;
    char clock[16];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(clock, sizeof clock, "%H:%M:%S", &local);
    str_printf(&line, "%s %s ", clock, j->name);
    job_add_line(&line, w->cli->out_colours, j->status);
    puts(str_text(&line));
    fflush(stdout);
}

static void on_status(struct watch *w, const struct json *about, struct message **m) {
    const struct watched *j = note(w, about, json_get(about, "status"), m);
    if (!w->board.live && w->cli->output != OUTPUT_JSON && w->cli->output != OUTPUT_YAML) {
        print_line(w, j);
    }
}

static void on_message(struct watch *w, struct message **m) {
    const struct json *tree = (*m)->tree;
    const struct json *deleted = json_get(tree, "deleted");
    const struct json *resync = json_get(tree, "resync");
    const struct json *about = json_get(tree, "snapshot");
    if (w->cli->output == OUTPUT_JSON || w->cli->output == OUTPUT_YAML) {
        out_line(w->cli, tree);
    }
    about = about != NULL ? about : json_get(tree, "transition");
    if (about != NULL) {
        on_status(w, about, m);
    } else if (deleted != NULL) {
        board_hide(&w->board);
        cli_note(w->cli, "%s was deleted", json_string(json_get(deleted, "name"), "a job"));
        remove_job(w, json_string(json_get(deleted, "uid"), ""));
    } else if (resync != NULL) {
        board_hide(&w->board);
        cli_note(w->cli, "starting over: %s", json_string(json_get(resync, "message"), "the server's journal changed"));
        while (w->count > 0) {
            forget(&w->jobs[--w->count]);
        }
    }
}

// ---- All of it

// The status of the first that failed; else that of one that was canceled; else 0.
static int status_of_jobs(const struct watch *w) {
    int status = CLI_OK;
    for (size_t i = 0; i < w->count; i++) {
        int one = job_exit_status(w->jobs[i].status);
        if (str_same(job_state(w->jobs[i].status), "FAILED")) {
            return one;
        }
        status = one != CLI_OK ? one : status;
    }
    return status;
}

static bool all_ended(const struct watch *w) {
    for (size_t i = 0; i < w->count; i++) {
        if (!job_is_terminal(w->jobs[i].status)) {
            return false;
        }
    }
    return true;
}

static int on_end(const struct watch *w) {
    if (args_has(&w->cli->args, "until-terminal") && all_ended(w)) {
        return status_of_jobs(w);
    }
    CLEANUP(err_done) struct err err = ERR_INIT;
    err_fail(&err, ERR_INTERNAL, "STREAM_ENDED", "the server ended the watch before what was asked for was complete");
    return cli_fail(w->cli, &err);
}

static int loop(struct watch *w, struct feed *feed) {
    int status = -1;
    while (status < 0) {
        show(w);
        struct message *m = feed_next(feed, 1000);
        if (m == NULL) {
            continue;
        }
        switch (m->kind) {
        case FEED_MESSAGE:
            on_message(w, &m);
            break;
        case FEED_AWAY:
        case FEED_BACK:
            board_hide(&w->board);
            cli_note(w->cli, m->kind == FEED_AWAY ? "the connection broke; trying again" : "connected again");
            break;
        case FEED_END:
            status = on_end(w);
            break;
        case FEED_FAILED:
            board_hide(&w->board);
            status = cli_fail(w->cli, &m->err);
            break;
        }
        message_free(m);
    }
    return status;
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str request = STR_INIT;
    struct watch w = {.cli = cli};
    if (cli->args.word_count > 0 && args_has(&cli->args, "selector")) {
        return cli_usage(cli, "name jobs or give -l SELECTOR, one of the two: trainctl help watch");
    }
    if (!server_find(cli, &err) || !server_check(cli, &err) || !write_request(cli, &request, &err)) {
        return cli_fail(cli, &err);
    }
    board_init(&w.board);
    w.board.live = w.board.live && (cli->output == OUTPUT_TABLE || cli->output == OUTPUT_WIDE);
    struct feed *feed = feed_new(cli, "Watch", &request);
    int status = loop(&w, feed);
    feed_free(feed);
    while (w.count > 0) {
        forget(&w.jobs[--w.count]);
    }
    mem_free(w.jobs);
    return status;
}

const struct cli_command command_watch = {
    .name = "watch",
    .args = "[JOB...]",
    .summary = "show every change of jobs as it happens",
    .help = "Without names and -l: all jobs of the namespace. A broken connection is taken up again where it broke.\n"
            "With --until-terminal the exit status is that of the first job that failed (its exit code, or 128 + "
            "signal),\n130 when one was canceled, otherwise 0.",
    .examples = "trainctl watch\n"
                "trainctl watch pytorch-4h7k2m9x --until-terminal\n"
                "trainctl watch -l study=lr-sweep -o json",
    .flags = flags,
    .flag_count = ARRAY_LEN(flags),
    .max_args = SIZE_MAX,
    .words = WORDS_JOB,
    .run = run,
};
