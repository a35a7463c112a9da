// events: what the cluster said of a job, newest last.
#include "cli/commands.h"
#include "cli/internal.h"
#include "cli/job.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>

static const struct cli_flag flags[] = {
    {"limit", NULL, "N", "the newest N; default 100, at most 1000", NULL, WORDS_NONE},
};

static void print_events(const struct cli *cli, const struct json *events) {
    static const char *const titles[] = {"AGE", "COUNT", "TYPE", "REASON", "OBJECT", "MESSAGE"};
    static const char *const keys[] = {"type", "reason", "object", "message"};
    CLEANUP(str_done) struct str text = STR_INIT;
    struct table table;
    table_init(&table, cli->out_colours, titles, ARRAY_LEN(titles));
    JSON_EACH (event, events) {
        char ago[TEXT_DURATION_MAX];
        char count[24];
        job_age(json_get(event, "last_time"), ago);
        snprintf(count, sizeof count, "%" PRId64, call_int(json_get(event, "count")));
        table_add(&table, ago);
        table_add(&table, count);
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
            table_add(&table, json_string(json_get(event, keys[i]), ""));
        }
    }
    table_write(&table, &text);
    table_done(&table);
    fputs(str_text(&text), stdout);
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str request = STR_INIT;
    struct json_writer w;
    const struct json *answer;
    int64_t limit = 0;
    if (!args_int(&cli->args, "limit", 1, 1000, &limit, &err)) {
        return cli_fail(cli, &err);
    }
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "job");
    call_write_ref(cli, &w, cli->args.words[0]);
    json_key(&w, "limit");
    json_add_int(&w, limit);
    json_end_object(&w);
    if (!call_unary(cli, "Events", &request, &cli->arena, &answer, &err)) {
        return cli_fail(cli, &err);
    }
    const struct json *events = json_get(answer, "events");
    if (out_tree(cli, answer)) {
        return CLI_OK;
    }
    if (events == NULL || events->count == 0) {
        cli_note(cli, "no events: clusters forget them after an hour, and local jobs have none");
        return CLI_OK;
    }
    print_events(cli, events);
    return CLI_OK;
}

const struct cli_command command_events = {
    .name = "events",
    .args = "JOB",
    .summary = "show what the cluster said of a job: scheduling, images, quota",
    .help = "Newest last. Clusters forget events after a while, usually an hour; jobs of the local backend have none.",
    .examples = "trainctl events pytorch-4h7k2m9x\n"
                "trainctl events pytorch-4h7k2m9x --limit 10",
    .flags = flags,
    .flag_count = ARRAY_LEN(flags),
    .min_args = 1,
    .max_args = 1,
    .words = WORDS_JOB,
    .run = run,
};
