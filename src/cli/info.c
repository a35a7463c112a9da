#include "base/clock.h"
#include "cli/commands.h"
#include "cli/internal.h"
#include "cli/table.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>

static void row(const struct cli *cli, struct str *text, const char *title, const char *value) {
    CLEANUP(str_done) struct str padded = STR_INIT;
    str_printf(&padded, "%-12s", title);
    text_colour(text, cli->out_colours, "1", str_text(&padded));
    str_add_char(text, ' ');
    text_safe(text, value);
    str_add_char(text, '\n');
}

static void number_row(const struct cli *cli, struct str *text, const char *title, const struct json *node) {
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, call_int(node));
    row(cli, text, title, number);
}

static void slots(char *out, size_t n, int64_t used, int64_t all, int64_t unit) {
    snprintf(out, n, "%.4g/%.4g", (double)used / (double)unit, (double)all / (double)unit);
}

static void backends(const struct cli *cli, struct str *text, const struct json *list) {
    static const char *const titles[] = {"BACKEND",  "KIND",    "HEALTHY", "CPU USED",
                                         "GPU USED", "RUNNING", "QUEUED",  "MESSAGE"};
    struct table table;
    table_init(&table, cli->out_colours, titles, ARRAY_LEN(titles));
    JSON_EACH (b, list) {
        char used[64];
        char number[24];
        bool healthy = json_bool(json_get(b, "healthy"), false);
        table_add(&table, json_string(json_get(b, "name"), ""));
        table_add(&table, json_string(json_get(b, "kind"), ""));
        table_add_coloured(&table, healthy ? "32" : "31", healthy ? "yes" : "no");
        slots(used, sizeof used, call_int(json_get(b, "cpu_slots_used_milli")),
              call_int(json_get(b, "cpu_slots_milli")), 1000);
        table_add(&table, used);
        slots(used, sizeof used, call_int(json_get(b, "gpu_slots_used")), call_int(json_get(b, "gpu_slots")), 1);
        table_add(&table, used);
        snprintf(number, sizeof number, "%" PRId64, call_int(json_get(b, "running_jobs")));
        table_add(&table, number);
        snprintf(number, sizeof number, "%" PRId64, call_int(json_get(b, "queued_jobs")));
        table_add(&table, number);
        table_add(&table, json_string(json_get(b, "message"), ""));
    }
    str_add_char(text, '\n');
    table_write(&table, text);
    table_done(&table);
}

static void limits(const struct cli *cli, struct str *text, const struct json *list) {
    static const char *const titles[] = {"LIMIT", "VALUE", "UNIT"};
    struct table table;
    table_init(&table, cli->out_colours, titles, ARRAY_LEN(titles));
    JSON_EACH (limit, list) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, call_int(json_get(limit, "value")));
        table_add(&table, json_string(json_get(limit, "name"), ""));
        table_add(&table, number);
        table_add(&table, json_string(json_get(limit, "unit"), ""));
    }
    str_add_char(text, '\n');
    table_write(&table, text);
    table_done(&table);
}

static void methods(const struct cli *cli, struct str *text, const struct json *list) {
    CLEANUP(str_done) struct str missing = STR_INIT;
    JSON_EACH (method, list) {
        if (!json_bool(json_get(method, "live"), false)) {
            str_printf(&missing, "%s%s", missing.len > 0 ? ", " : "", json_string(json_get(method, "name"), ""));
        }
    }
    if (missing.len > 0) {
        row(cli, text, "Not served", str_text(&missing));
    }
}

static void print(const struct cli *cli, const struct json *info) {
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(str_done) struct str jobs = STR_INIT;
    int64_t start;
    row(cli, &text, "Server", cli->address);
    row(cli, &text, "Version", json_string(json_get(info, "version"), "?"));
    if (call_time(json_get(info, "start_time"), &start)) {
        char up[TEXT_DURATION_MAX];
        text_duration(clock_wall() - start, up);
        row(cli, &text, "Up for", up);
    }
    str_printf(&jobs, "%" PRId64 " active, %" PRId64 " in all", call_int(json_get(info, "active_jobs")),
               call_int(json_get(info, "jobs")));
    row(cli, &text, "Jobs", str_text(&jobs));
    number_row(cli, &text, "Watchers", json_get(info, "watchers"));
    const char *problem = json_string(json_get(info, "journal_error"), "");
    row(cli, &text, "Journal", problem[0] != '\0' ? problem : "healthy");
    if (cli->output == OUTPUT_WIDE) {
        row(cli, &text, "Epoch", json_string(json_get(info, "epoch"), ""));
        number_row(cli, &text, "Oldest seq.", json_get(info, "oldest_sequence"));
        number_row(cli, &text, "Newest seq.", json_get(info, "newest_sequence"));
    }
    methods(cli, &text, json_get(info, "methods"));
    backends(cli, &text, json_get(info, "backends"));
    if (cli->output == OUTPUT_WIDE) {
        limits(cli, &text, json_get(info, "limits"));
    }
    fputs(str_text(&text), stdout);
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str request = STR_INIT;
    const struct json *info;
    str_add(&request, "{}");
    if (!call_unary(cli, "GetServerInfo", &request, &cli->arena, &info, &err)) {
        return cli_fail(cli, &err);
    }
    if (!out_tree(cli, info)) {
        print(cli, info);
    }
    return CLI_OK;
}

const struct cli_command command_info = {
    .name = "info",
    .args = "",
    .summary = "show the server: version, backends, slots; with -o wide its limits",
    .help = "",
    .examples = "trainctl info\n"
                "trainctl info -o wide",
    .run = run,
};
