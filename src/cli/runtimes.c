#include "cli/commands.h"
#include "cli/internal.h"
#include "cli/table.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct cli_flag flags[] = {
    {"backend", NULL, "NAME", "only as this backend sees them", NULL, WORDS_NONE},
};

static void join(struct str *out, const struct json *list, const char *key) {
    JSON_EACH (item, list) {
        str_printf(out, "%s%s", out->len > 0 ? ", " : "", json_string(key != NULL ? json_get(item, key) : item, ""));
    }
}

// ---- All of them

static void add_row(const struct cli *cli, struct table *table, const struct json *runtime) {
    CLEANUP(str_done) struct str targets = STR_INIT;
    CLEANUP(str_done) struct str roles = STR_INIT;
    bool available = json_bool(json_get(runtime, "available"), false);
    JSON_EACH (target, json_get(runtime, "targets")) {
        if (cli->output == OUTPUT_WIDE || json_bool(json_get(target, "available"), false)) {
            str_printf(&targets, "%s%s", targets.len > 0 ? ", " : "", json_string(json_get(target, "name"), ""));
        }
    }
    join(&roles, json_get(runtime, "roles"), "name");
    table_add(table, json_string(json_get(runtime, "name"), ""));
    table_add_coloured(table, available ? "32" : "31", available ? "yes" : "no");
    table_add(table, str_text(&roles));
    table_add(table, str_text(&targets));
    table_add(table, available ? json_string(json_get(runtime, "description"), "")
                               : json_string(json_get(runtime, "unavailable_reason"), ""));
}

static void print_all(const struct cli *cli, const struct json *answer) {
    static const char *const titles[] = {"NAME", "AVAILABLE", "ROLES", "TARGETS", "DESCRIPTION"};
    CLEANUP(str_done) struct str text = STR_INIT;
    struct table table;
    table_init(&table, cli->out_colours, titles, ARRAY_LEN(titles));
    JSON_EACH (runtime, json_get(answer, "runtimes")) {
        add_row(cli, &table, runtime);
    }
    table_write(&table, &text);
    table_done(&table);
    fputs(str_text(&text), stdout);
    JSON_EACH (failure, json_get(answer, "failures")) {
        cli_note(cli, "plugin %s was not loaded: %s", json_string(json_get(failure, "file"), "?"),
                 json_string(json_get(failure, "message"), ""));
    }
}

static bool all(struct cli *cli, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    const struct json *answer;
    struct json_writer w;
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "backend");
    json_add_string(&w, args_text(&cli->args, "backend", ""));
    json_end_object(&w);
    if (!call_unary(cli, "ListRuntimes", &request, &cli->arena, &answer, err)) {
        return false;
    }
    if (!out_tree(cli, answer)) {
        print_all(cli, answer);
    }
    return true;
}

// ---- One of them

static void title(const struct cli *cli, struct str *text, const char *name) {
    str_add_char(text, '\n');
    text_colour(text, cli->out_colours, "1", name);
    str_add_char(text, '\n');
}

static void print_table(const struct cli *cli, struct str *text, const char *const *titles, size_t columns,
                        const struct json *rows, void (*add)(struct table *table, const struct json *row)) {
    struct table table;
    table_init(&table, cli->out_colours, titles, columns);
    JSON_EACH (row, rows) {
        add(&table, row);
    }
    table_write(&table, text);
    table_done(&table);
}

static void add_role(struct table *table, const struct json *role) {
    char replicas[48];
    int64_t max = call_int(json_get(role, "max_replicas"));
    snprintf(replicas, sizeof replicas, max > 0 ? "%" PRId64 "..%" PRId64 : "%" PRId64 "..",
             call_int(json_get(role, "min_replicas")), max);
    table_add(table, json_string(json_get(role, "name"), ""));
    table_add(table, json_bool(json_get(role, "required"), false) ? "yes" : "no");
    table_add(table, replicas);
    table_add(table, json_string(json_get(role, "restart_policy"), ""));
    table_add(table, json_string(json_get(role, "description"), ""));
}

static void add_target(struct table *table, const struct json *target) {
    CLEANUP(str_done) struct str backends = STR_INIT;
    bool available = json_bool(json_get(target, "available"), false);
    join(&backends, json_get(target, "backends"), NULL);
    table_add(table, json_string(json_get(target, "name"), ""));
    table_add(table, json_string(json_get(target, "kind"), ""));
    table_add_coloured(table, available ? "32" : "31", available ? "yes" : "no");
    table_add(table, available ? str_text(&backends) : json_string(json_get(target, "unavailable_reason"), ""));
}

// A property of a JSON schema. An enum counts as the type, and there may be several types.
static void add_param(struct table *table, const struct json *param) {
    CLEANUP(str_done) struct str type = STR_INIT;
    CLEANUP(str_done) struct str fallback = STR_INIT;
    const struct json *types = json_get(param, "type");
    join(&type, json_get(param, "enum"), NULL);
    if (type.len == 0 && types != NULL && types->type == JSON_ARRAY) {
        join(&type, types, NULL);
    } else if (type.len == 0) {
        str_add(&type, json_string(types, "any"));
    }
    if (json_get(param, "default") != NULL) {
        json_write(&fallback, json_get(param, "default"));
    }
    table_add(table, param->key);
    table_add(table, str_text(&type));
    table_add(table, str_text(&fallback));
    table_add(table, json_string(json_get(param, "description"), ""));
}

static void add_params(const struct cli *cli, struct str *text, const struct json *runtime, struct arena *a) {
    static const char *const titles[] = {"PARAMETER", "TYPE", "DEFAULT", "DESCRIPTION"};
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    const char *schema_text = json_string(json_get(runtime, "params_schema"), "{}");
    const struct json *schema = NULL;
    bool ok = json_parse(a, schema_text, strlen(schema_text), &json_limits_default, &schema, &ignored);
    const struct json *properties = ok ? json_get(schema, "properties") : NULL;
    if (properties != NULL && properties->count > 0) {
        title(cli, text, "parameters (--param NAME=VALUE, or params in a job file)");
        print_table(cli, text, titles, ARRAY_LEN(titles), properties, add_param);
    }
}

static void print_one(struct cli *cli, const struct json *runtime) {
    static const char *const role_titles[] = {"ROLE", "REQUIRED", "REPLICAS", "RESTART", "DESCRIPTION"};
    static const char *const target_titles[] = {"TARGET", "KIND", "AVAILABLE", "WHERE"};
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(str_done) struct str reserved = STR_INIT;
    CLEANUP(str_done) struct str plugin = STR_INIT;
    text_colour(&text, cli->out_colours, "1", json_string(json_get(runtime, "name"), ""));
    str_add(&text, ": ");
    text_safe(&text, json_string(json_get(runtime, "description"), ""));
    str_add_char(&text, '\n');
    title(cli, &text, "roles");
    print_table(cli, &text, role_titles, ARRAY_LEN(role_titles), json_get(runtime, "roles"), add_role);
    title(cli, &text, "targets");
    print_table(cli, &text, target_titles, ARRAY_LEN(target_titles), json_get(runtime, "targets"), add_target);
    add_params(cli, &text, runtime, &cli->arena);
    join(&reserved, json_get(runtime, "reserved_env"), NULL);
    if (reserved.len > 0) {
        title(cli, &text, "environment that it sets");
        text_safe(&text, str_text(&reserved));
        str_add_char(&text, '\n');
    }
    str_printf(&plugin, "plugin %s, version %s, ABI %s; job names up to %" PRId64 " bytes",
               json_string(json_path(runtime, "plugin.file"), "?"),
               json_string(json_path(runtime, "plugin.version"), "?"),
               json_string(json_path(runtime, "plugin.abi"), "?"), call_int(json_get(runtime, "name_limit")));
    str_add_char(&text, '\n');
    text_safe(&text, str_text(&plugin));
    puts(str_text(&text));
}

static bool one(struct cli *cli, const char *name, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    const struct json *runtime;
    struct json_writer w;
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "name");
    json_add_string(&w, name);
    json_end_object(&w);
    if (!call_unary(cli, "GetRuntime", &request, &cli->arena, &runtime, err)) {
        return false;
    }
    if (!out_tree(cli, runtime)) {
        print_one(cli, runtime);
    }
    return true;
}

static int run(struct cli *cli) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    bool ok = cli->args.word_count > 0 ? one(cli, cli->args.words[0], &err) : all(cli, &err);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

const struct cli_command command_runtimes = {
    .name = "runtimes",
    .args = "[RUNTIME]",
    .summary = "list what the server can run; with a name, its roles and parameters",
    .help = "",
    .examples = "trainctl runtimes\n"
                "trainctl runtimes pytorch",
    .flags = flags,
    .flag_count = ARRAY_LEN(flags),
    .max_args = 1,
    .words = WORDS_RUNTIME,
    .run = run,
};
