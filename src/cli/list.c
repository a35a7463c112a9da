#include "cli/commands.h"
#include "cli/internal.h"
#include "cli/job.h"
#include "cli/pages.h"
#include "cli/table.h"

#include <stdio.h>

static const struct cli_flag flags[] = {
    {"selector", "l", "SELECTOR", "labels, as in study=a,arm in (x,y),!old", NULL, WORDS_NONE},
    {"state", NULL, "STATE", "only jobs in this state; may be given again",
     "PENDING|STARTING|RUNNING|RESTARTING|SUSPENDED|CANCELING|SUCCEEDED|FAILED|CANCELED", WORDS_NONE},
    {"group", NULL, "GROUP", "only jobs of this group", NULL, WORDS_NONE},
    {"runtime", NULL, "RUNTIME", "only jobs of this runtime", NULL, WORDS_RUNTIME},
    {"name", NULL, "TEXT", "only jobs with this text in their name", NULL, WORDS_NONE},
    {"all-namespaces", "A", NULL, "jobs of all namespaces", NULL, WORDS_NONE},
    {"limit", NULL, "N", "the newest N jobs; default all", NULL, WORDS_NONE},
};

struct listing {
    const struct cli *cli;
    struct table table;
    bool wide;
    size_t jobs;
};

static void add_row(struct listing *l, const struct json *job) {
    const struct json *status = json_get(job, "status");
    char age[TEXT_DURATION_MAX];
    char duration[TEXT_DURATION_MAX];
    CLEANUP(str_done) struct str roles = STR_INIT;
    job_age(json_get(job, "create_time"), age);
    job_duration(status, duration);
    if (l->wide || args_has(&l->cli->args, "all-namespaces")) {
        table_add(&l->table, json_string(json_get(job, "namespace"), ""));
    }
    table_add(&l->table, json_string(json_get(job, "name"), ""));
    table_add(&l->table, json_string(json_get(job, "runtime"), ""));
    table_add_coloured(&l->table, text_state_colour(job_state(status)), job_state(status));
    table_add(&l->table, job_reason(status));
    table_add(&l->table, age);
    table_add(&l->table, duration);
    if (l->wide) {
        job_add_roles(&roles, status);
        table_add(&l->table, str_text(&roles));
        table_add(&l->table, json_string(json_get(job, "backend"), ""));
        table_add(&l->table, json_string(json_get(job, "target"), ""));
        table_add(&l->table, json_string(json_get(job, "group"), ""));
        table_add(&l->table, json_string(json_get(job, "uid"), ""));
    }
}

static void print_rows(struct listing *l) {
    CLEANUP(str_done) struct str text = STR_INIT;
    table_write(&l->table, &text);
    fputs(str_text(&text), stdout);
    table_clear(&l->table);
}

static void print_item(struct listing *l, const struct json *job) {
    CLEANUP(str_done) struct str text = STR_INIT;
    bool first = l->jobs == 0;
    if (l->cli->output == OUTPUT_NAME) {
        printf("%s\n", json_string(json_get(job, "name"), ""));
    } else if (l->cli->output == OUTPUT_JSON) {
        str_add(&text, first ? "" : ",\n");
        json_write(&text, job);
        out_text(&text);
    } else {
        const struct json list = {.type = JSON_ARRAY, .count = 1, .first = job};
        str_add(&text, first ? "jobs:\n" : "");
        json_write_yaml(&text, &list);
        out_text(&text);
    }
}

static bool is_table(const struct cli *cli) {
    return cli->output == OUTPUT_TABLE || cli->output == OUTPUT_WIDE;
}

static void on_page(void *ctx, const struct json *response) {
    struct listing *l = ctx;
    JSON_EACH (job, json_get(response, "jobs")) {
        if (is_table(l->cli)) {
            add_row(l, job);
        } else {
            const struct json alone = {.type = job->type, .count = job->count, .first = job->first};
            print_item(l, &alone);
        }
        l->jobs++;
    }
    if (is_table(l->cli) && l->jobs > 0) {
        print_rows(l);
    }
    JSON_EACH (problem, json_get(response, "errors")) {
        cli_note(l->cli, "warning: %s", json_string(problem, ""));
    }
}

static void start(struct listing *l) {
    static const char *const titles[] = {"NAMESPACE", "NAME",    "RUNTIME", "STATE",  "REASON", "AGE",
                                         "DURATION",  "RUNNING", "BACKEND", "TARGET", "GROUP",  "UID"};
    enum { NARROW = 7 };
    size_t first = l->wide || args_has(&l->cli->args, "all-namespaces") ? 0 : 1;
    table_init(&l->table, l->cli->out_colours, titles + first, (l->wide ? ARRAY_LEN(titles) : NARROW) - first);
    if (l->cli->output == OUTPUT_JSON) {
        fputs("{\"jobs\":[", stdout);
    }
}

static void end(const struct listing *l) {
    if (l->cli->output == OUTPUT_JSON) {
        puts("]}");
    } else if (l->cli->output == OUTPUT_YAML && l->jobs == 0) {
        puts("jobs: []");
    } else if (is_table(l->cli) && l->jobs == 0) {
        cli_note(l->cli, "no jobs%s", args_has(&l->cli->args, "all-namespaces") ? "" : " in this namespace (-A: all)");
    }
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str selector = STR_INIT;
    struct listing l = {.cli = cli, .wide = cli->output == OUTPUT_WIDE};
    int64_t limit = 0;
    if (!args_int(&cli->args, "limit", 1, INT64_MAX, &limit, &err)) {
        return cli_fail(cli, &err);
    }
    pages_write_selector(cli, &selector);
    start(&l);
    bool ok = pages_each(cli, &selector, limit, on_page, &l, &err);
    if (ok || l.jobs > 0) {
        end(&l);
    }
    table_done(&l.table);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

const struct cli_command command_list = {
    .name = "list",
    .args = "",
    .summary = "list jobs, the newest first",
    .help = "AGE is since the submit, DURATION from the start to the end of the job.",
    .examples = "trainctl list\n"
                "trainctl list --state RUNNING --runtime pytorch\n"
                "trainctl list -l study=lr-sweep -o json",
    .flags = flags,
    .flag_count = ARRAY_LEN(flags),
    .run = run,
};
