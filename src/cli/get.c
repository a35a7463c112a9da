#include "base/clock.h"
#include "cli/commands.h"
#include "cli/internal.h"
#include "cli/job.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

struct page {
    const struct cli *cli;
    struct str text;
};

static void row(struct page *p, const char *title, const char *value) {
    if (!str_is_empty(value)) {
        CLEANUP(str_done) struct str padded = STR_INIT;
        str_printf(&padded, "%-12s", title);
        text_colour(&p->text, p->cli->out_colours, "1", str_text(&padded));
        str_add_char(&p->text, ' ');
        text_safe(&p->text, value);
        str_add_char(&p->text, '\n');
    }
}

// "2026-01-02 15:04:05 (3m12s ago)", in the user's own time zone.
static void time_row(struct page *p, const char *title, const struct json *node) {
    int64_t wall;
    char clock[32];
    char ago[TEXT_DURATION_MAX];
    if (!call_time(node, &wall)) {
        return;
    }
    CLEANUP(str_done) struct str value = STR_INIT;
    time_t seconds = (time_t)(wall / CLOCK_SECOND);
    struct tm local;
    localtime_r(&seconds, &local);
    strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &local);
    job_age(node, ago);
    str_printf(&value, "%s (%s ago)", clock, ago);
    row(p, title, str_text(&value));
}

static void state_row(struct page *p, const struct json *status) {
    CLEANUP(str_done) struct str padded = STR_INIT;
    const char *state = job_state(status);
    str_printf(&padded, "%-13s", "State");
    text_colour(&p->text, p->cli->out_colours, "1", str_text(&padded));
    text_colour(&p->text, p->cli->out_colours, text_state_colour(state), state);
    str_add(&p->text, json_bool(json_get(status, "stale"), false) ? " (stale: the backend does not answer)\n" : "\n");
}

static void map_row(struct page *p, const char *title, const struct json *map) {
    CLEANUP(str_done) struct str value = STR_INIT;
    JSON_EACH (entry, map) {
        str_printf(&value, "%s%s=%s", value.len > 0 ? ", " : "", entry->key, json_string(entry, ""));
    }
    row(p, title, str_text(&value));
}

static void roles(struct page *p, const struct json *list) {
    static const char *const titles[] = {"ROLE", "WANTED", "PENDING", "RUNNING", "SUCCEEDED", "FAILED"};
    static const char *const keys[] = {"desired", "pending", "running", "succeeded", "failed"};
    struct table table;
    if (list == NULL || list->count == 0) {
        return;
    }
    table_init(&table, p->cli->out_colours, titles, ARRAY_LEN(titles));
    JSON_EACH (role, list) {
        table_add(&table, json_string(json_get(role, "name"), ""));
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
            char number[24];
            snprintf(number, sizeof number, "%" PRId64, call_int(json_get(role, keys[i])));
            table_add(&table, number);
        }
    }
    str_add_char(&p->text, '\n');
    table_write(&table, &p->text);
    table_done(&table);
}

// What a user most likely wants to do next with a job in this state.
static void hint(struct page *p, const char *state, const char *name) {
    static const struct {
        const char *state, *before, *after;
    } hints[] = {
        {"PENDING", "trainctl watch ", ""},    {"STARTING", "trainctl watch ", ""},
        {"RUNNING", "trainctl logs -f ", ""},  {"RESTARTING", "trainctl logs --previous ", ""},
        {"SUSPENDED", "trainctl resume ", ""}, {"CANCELING", "trainctl watch ", " --until-terminal"},
        {"SUCCEEDED", "trainctl logs ", ""},   {"FAILED", "trainctl logs --tail 50 ", ""},
        {"CANCELED", "trainctl delete ", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
        if (str_same(hints[i].state, state)) {
            str_printf(&p->text, "\nnext: %s", hints[i].before);
            text_safe(&p->text, name);
            str_printf(&p->text, "%s\n", hints[i].after);
        }
    }
}

static void numbers(struct page *p, const struct json *status) {
    CLEANUP(str_done) struct str value = STR_INIT;
    int64_t attempt = call_int(json_get(status, "attempt"));
    int64_t restarts = call_int(json_get(status, "restarts"));
    if (attempt > 1 || restarts > 0) {
        str_printf(&value, "%" PRId64 " (%" PRId64 " restarts)", attempt, restarts);
        row(p, "Attempt", str_text(&value));
    }
}

static void describe(const struct cli *cli, const struct json *job) {
    struct page p = {.cli = cli};
    CLEANUP(str_done) struct str exit = STR_INIT;
    const struct json *status = json_get(job, "status");
    const char *name = json_string(json_get(job, "name"), "");
    const char *message = json_string(json_get(status, "message"), "");
    const char *exit_message = json_string(json_path(status, "exit.message"), "");
    char duration[TEXT_DURATION_MAX];
    job_duration(status, duration);
    if (json_get(status, "exit") != NULL) {
        job_add_exit(&exit, json_get(status, "exit"));
    }
    row(&p, "Name", name);
    row(&p, "Namespace", json_string(json_get(job, "namespace"), ""));
    row(&p, "UID", json_string(json_get(job, "uid"), ""));
    row(&p, "Runtime", json_string(json_get(job, "runtime"), ""));
    row(&p, "Backend", json_string(json_get(job, "backend"), ""));
    row(&p, "Target", json_string(json_get(job, "target"), ""));
    row(&p, "Group", json_string(json_get(job, "group"), ""));
    map_row(&p, "Labels", json_get(job, "labels"));
    map_row(&p, "Annotations", json_get(job, "annotations"));
    row(&p, "Request ID", json_string(json_get(job, "request_id"), ""));
    state_row(&p, status);
    row(&p, "Reason", job_reason(status));
    row(&p, "Message", message);
    row(&p, "Exit", str_text(&exit));
    if (!str_same(exit_message, message)) {
        row(&p, "Exit message", exit_message);
    }
    numbers(&p, status);
    time_row(&p, "Created", json_get(job, "create_time"));
    time_row(&p, "Started", json_get(status, "start_time"));
    time_row(&p, "Ended", json_get(status, "end_time"));
    time_row(&p, "Last change", json_get(status, "observe_time"));
    row(&p, "Duration", duration);
    JSON_EACH (warning, json_get(job, "warnings")) {
        row(&p, "Warning", json_string(warning, ""));
    }
    roles(&p, json_get(status, "roles"));
    hint(&p, job_state(status), name);
    fputs(str_text(&p.text), stdout);
    str_done(&p.text);
}

static bool get_one(struct cli *cli, const char *name, bool first, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    struct json_writer w;
    struct arena a;
    const struct json *job;
    arena_init(&a, 0);
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "job");
    call_write_ref(cli, &w, name);
    json_key(&w, "full");
    json_add_bool(&w, true);
    json_end_object(&w);
    bool ok = call_unary(cli, "Get", &request, &a, &job, err);
    if (ok && !out_tree(cli, job)) {
        fputs(first ? "" : "\n", stdout);
        describe(cli, job);
    }
    arena_done(&a);
    return ok;
}

static int run(struct cli *cli) {
    int status = CLI_OK;
    for (size_t i = 0; i < cli->args.word_count; i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        if (!get_one(cli, cli->args.words[i], i == 0, &err)) {
            status = cli_fail(cli, &err);
        }
    }
    return status;
}

const struct cli_command command_get = {
    .name = "get",
    .args = "JOB...",
    .summary = "show everything about a job",
    .help = "JOB is a name or a uid.",
    .examples = "trainctl get pytorch-4h7k2m9x\n"
                "trainctl get pytorch-4h7k2m9x -o yaml",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .words = WORDS_JOB,
    .run = run,
};
