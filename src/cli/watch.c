#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
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
    struct list link;
    char *uid, *name;
    const struct json *status; // in newest; NULL when nothing is shown in place
    struct message *newest;
    int64_t since; // mono, of the state
    bool terminal, failed;
    int exit_status;
};

struct watch {
    struct cli *cli;
    struct board board;
    struct list jobs; // in the order of their last change, the newest last
    struct hash by_uid;
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

static void forget(struct watch *w, struct watched *j) {
    list_remove(&j->link);
    (void)hash_remove(&w->by_uid, j->uid);
    mem_free(j->uid);
    mem_free(j->name);
    message_free(j->newest);
    mem_free(j);
}

static void forget_all(struct watch *w) {
    LIST_EACH (node, &w->jobs) {
        forget(w, CONTAINER_OF(node, struct watched, link));
    }
}

static struct watched *get_or_add(struct watch *w, const struct json *about) {
    const char *uid = json_string(json_get(about, "uid"), "");
    struct watched *j = hash_get(&w->by_uid, uid);
    if (j == NULL) {
        CLEANUP(str_done) struct str safe = STR_INIT;
        text_safe(&safe, json_string(json_get(about, "name"), ""));
        j = NEW(struct watched);
        j->uid = mem_strdup(uid);
        j->name = mem_strdup(str_text(&safe));
        list_init(&j->link);
        (void)hash_put(&w->by_uid, j->uid, j);
    }
    return j;
}

// The job moves to the end: what changed last is nearest to the eye. The message is kept, so taken, only where the
// job is shown in place: a watch of very many jobs into a pipe stays small.
static struct watched *note(struct watch *w, const struct json *about, const struct json *status, struct message **m) {
    struct watched *j = get_or_add(w, about);
    if (j->status == NULL || !str_same(job_state(j->status), job_state(status))) {
        j->since = clock_mono();
    }
    j->terminal = job_is_terminal(status);
    j->failed = str_same(job_state(status), "FAILED");
    j->exit_status = j->terminal ? job_exit_status(status) : CLI_OK;
    list_remove(&j->link);
    list_push(&w->jobs, &j->link);
    if (w->board.live) {
        message_free(j->newest);
        j->newest = TAKE(*m);
        j->status = status;
    }
    return j;
}

// ---- Showing

static void add_row(struct table *table, const struct watched *j) {
    CLEANUP(str_done) struct str roles = STR_INIT;
    char passed[TEXT_DURATION_MAX];
    job_add_roles(&roles, j->status);
    text_duration((clock_mono() - j->since) / CLOCK_SECOND * CLOCK_SECOND, passed);
    table_add(table, j->name);
    table_add_coloured(table, text_state_colour(job_state(j->status)), job_state(j->status));
    table_add(table, passed);
    table_add(table, job_reason(j->status));
    table_add(table, str_text(&roles));
    table_add(table, json_string(json_get(j->status, "message"), ""));
}

// The jobs that changed last, as many as the screen has lines for.
static void show(struct watch *w) {
    static const char *const titles[] = {"NAME", "STATE", "FOR", "REASON", "ROLES", "MESSAGE"};
    if (!w->board.live || list_empty(&w->jobs)) {
        return;
    }
    CLEANUP(str_done) struct str text = STR_INIT;
    struct table table;
    size_t height = board_height();
    size_t fit = height > 4 ? height - 3 : 1;
    struct list *first = w->jobs.prev;
    while (--fit > 0 && first->prev != &w->jobs) {
        first = first->prev;
    }
    table_init(&table, w->cli->err_colours, titles, ARRAY_LEN(titles));
    for (struct list *node = first; node != &w->jobs; node = node->next) {
        add_row(&table, CONTAINER_OF(node, struct watched, link));
    }
    table_write(&table, &text);
    table_done(&table);
    if (first->prev != &w->jobs) {
        str_add(&text, "and others, which changed longer ago\n");
    }
    board_show(&w->board, &text);
}

static void print_line(const struct watch *w, const struct watched *j, const struct json *status) {
    CLEANUP(str_done) struct str line = STR_INIT;
    char clock[16];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(clock, sizeof clock, "%H:%M:%S", &local);
    str_printf(&line, "%s %s ", clock, j->name);
    job_add_line(&line, w->cli->out_colours, status);
    puts(str_text(&line));
    fflush(stdout);
}

static void on_status(struct watch *w, const struct json *about, struct message **m) {
    const struct json *status = json_get(about, "status");
    const struct watched *j = note(w, about, status, m);
    if (!w->board.live && w->cli->output != OUTPUT_JSON && w->cli->output != OUTPUT_YAML) {
        print_line(w, j, status);
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
        struct watched *j = hash_get(&w->by_uid, json_string(json_get(deleted, "uid"), ""));
        if (j != NULL) {
            forget(w, j);
        }
    } else if (resync != NULL) {
        board_hide(&w->board);
        cli_note(w->cli, "starting over: %s", json_string(json_get(resync, "message"), "the server's journal changed"));
        forget_all(w);
    }
}

// ---- All of it

// The status of the first that failed; else that of one that was canceled; else 0.
static int status_of_jobs(struct watch *w) {
    int status = CLI_OK;
    LIST_EACH (node, &w->jobs) {
        const struct watched *j = CONTAINER_OF(node, struct watched, link);
        if (j->failed) {
            return j->exit_status;
        }
        status = j->exit_status != CLI_OK ? j->exit_status : status;
    }
    return status;
}

static bool all_ended(struct watch *w) {
    LIST_EACH (node, &w->jobs) {
        if (!CONTAINER_OF(node, struct watched, link)->terminal) {
            return false;
        }
    }
    return true;
}

static int on_end(struct watch *w) {
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
    struct watch w = {.cli = cli, .jobs = LIST_INIT(w.jobs)};
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
    forget_all(&w);
    hash_done(&w.by_uid);
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
