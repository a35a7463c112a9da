#include "cli/spec.h"

#include "base/mem.h"
#include "cli/internal.h"
#include "cli/replicas.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- What each process is

// A plain program name means what it means in the user's shell, a virtual environment included: on this machine it is
// made a path. Elsewhere, and in containers, it is for the other side to find.
static const char *find_program(const struct cli *cli, struct arena *a, const char *program) {
    const char *path = getenv("PATH");
    bool here = str_starts(cli->address, "unix:") && !args_has(&cli->args, "image");
    if (!here || path == NULL || strchr(program, '/') != NULL) {
        return program;
    }
    while (*path != '\0') {
        size_t n = strcspn(path, ":");
        const char *file = arena_printf(a, "%.*s/%s", (int)n, path, program);
        if (file[0] == '/' && access(file, X_OK) == 0) {
            return file;
        }
        path += n + (path[n] == ':');
    }
    return program;
}

static bool working_dir(const struct cli *cli, struct arena *a, const char **ret, struct err *err) {
    const char *named = args_text(&cli->args, "working-dir", NULL);
    char here[PATH_MAX];
    if ((named == NULL && args_has(&cli->args, "image")) || (named != NULL && named[0] == '/')) {
        *ret = named; // a container has a directory of its own
        return true;
    }
    if (getcwd(here, sizeof here) == NULL) {
        return err_fail(err, ERR_INVALID, "USAGE", "the current directory is gone: give --working-dir");
    }
    *ret = named == NULL ? arena_strdup(a, here) : arena_printf(a, "%s/%s", here, named);
    return true;
}

static bool write_env(const struct cli *cli, struct json_writer *w, struct err *err) {
    size_t at = 0;
    if (!args_has(&cli->args, "env")) {
        return true;
    }
    json_key(w, "env");
    json_begin_array(w);
    for (const char *text = args_next(&cli->args, "env", &at); text != NULL; text = args_next(&cli->args, "env", &at)) {
        size_t n = strcspn(text, "=");
        CLEANUP(mem_free_ptr) char *name = mem_strndup(text, n);
        const char *value = text[n] == '=' ? text + n + 1 : getenv(name);
        if (value == NULL) {
            return err_fail(err, ERR_INVALID, "USAGE", "--env %s: is not set here; NAME=VALUE gives it a value", name);
        }
        json_begin_object(w);
        json_key(w, "name");
        json_add_string(w, name);
        json_key(w, "value");
        json_add_string(w, value);
        json_end_object(w);
    }
    json_end_array(w);
    return true;
}

static bool write_resources(const struct cli *cli, struct json_writer *w, struct err *err) {
    int64_t gpu = -1;
    if (!args_int(&cli->args, "gpu", 0, 1024, &gpu, err)) {
        return false;
    }
    if (gpu < 0 && !args_has(&cli->args, "cpu") && !args_has(&cli->args, "memory")) {
        return true;
    }
    json_key(w, "resources");
    json_begin_object(w);
    for (size_t i = 0; i < 2; i++) {
        static const char *const quantities[] = {"cpu", "memory"};
        if (args_has(&cli->args, quantities[i])) {
            json_key(w, quantities[i]);
            json_add_string(w, args_text(&cli->args, quantities[i], ""));
        }
    }
    if (gpu >= 0) {
        json_key(w, "gpu");
        json_add_int(w, gpu);
    }
    json_end_object(w);
    return true;
}

static void write_text(struct json_writer *w, const char *key, const char *text) {
    if (text != NULL) {
        json_key(w, key);
        json_add_string(w, text);
    }
}

static bool write_program(const struct cli *cli, struct json_writer *w, struct arena *a, struct err *err) {
    const char *directory = NULL;
    if (!working_dir(cli, a, &directory, err)) {
        return false;
    }
    json_key(w, "command");
    json_begin_array(w);
    json_add_string(w, find_program(cli, a, cli->args.words[0]));
    for (size_t i = 1; i < cli->args.word_count; i++) {
        json_add_string(w, cli->args.words[i]);
    }
    json_end_array(w);
    write_text(w, "working_dir", directory);
    return write_env(cli, w, err);
}

struct share {
    bool program, resources;
};

// With a launcher the program is the launcher's, which starts it on the workers; they are what the resources are for.
static struct share share_of(const struct json *roles, const struct json *role, int64_t workers) {
    bool launched = str_same(json_string(json_get(json_at(roles, 0), "name"), ""), "launcher");
    bool launches = launched && role == json_at(roles, 0);
    return (struct share){.program = launches || !launched, .resources = !launches || workers <= 0};
}

static bool write_role(const struct cli *cli, struct json_writer *w, const struct json *role, int64_t replicas,
                       struct share share, struct arena *a, struct err *err) {
    json_begin_object(w);
    write_text(w, "name", json_string(json_get(role, "name"), ""));
    json_key(w, "replicas");
    json_add_int(w, replicas);
    write_text(w, "image", args_text(&cli->args, "image", NULL));
    write_text(w, "restart_policy", args_text(&cli->args, "restart", NULL));
    bool ok = (!share.program || write_program(cli, w, a, err)) && (!share.resources || write_resources(cli, w, err));
    json_end_object(w);
    return ok;
}

static bool write_roles(const struct cli *cli, struct json_writer *w, const struct json *runtime, struct arena *a,
                        struct err *err) {
    const struct json *roles = json_get(runtime, "roles");
    int64_t workers = -1;
    if (!args_int(&cli->args, "workers", 0, 10000, &workers, err) || !replicas_check(cli, roles, err)) {
        return false;
    }
    json_key(w, "roles");
    json_begin_array(w);
    JSON_EACH (role, roles) {
        int64_t replicas = replicas_of(cli, roles, role, workers);
        if (replicas > 0 && !write_role(cli, w, role, replicas, share_of(roles, role, workers), a, err)) {
            return false;
        }
    }
    json_end_array(w);
    return true;
}

// ---- Parameters, labels, policy

// The value as YAML has it: 0.1 is a number, true a truth, [1, 2] a list; what is no YAML is text.
static void write_value(struct json_writer *w, const char *text) {
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    const struct json *value;
    struct arena a;
    arena_init(&a, 0);
    if (json_parse_yaml(&a, text, strlen(text), &json_limits_default, &value, &ignored) && value->type != JSON_NULL) {
        json_add_node(w, value);
    } else {
        json_add_string(w, text);
    }
    arena_done(&a);
}

// What the runtimes call the processes of one replica, by the parameters they have.
static const char *nproc_param(const struct json *runtime, struct arena *a) {
    static const char *const names[] = {"nproc_per_node", "slots_per_worker", "nproc"};
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    const char *schema_text = json_string(json_get(runtime, "params_schema"), "{}");
    const struct json *schema = NULL;
    if (!json_parse(a, schema_text, strlen(schema_text), &json_limits_default, &schema, &ignored)) {
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (json_get(json_get(schema, "properties"), names[i]) != NULL) {
            return names[i];
        }
    }
    return NULL;
}

static bool write_pairs(const struct cli *cli, struct json_writer *w, const char *flag, bool typed, struct err *err) {
    size_t at = 0;
    for (const char *text = args_next(&cli->args, flag, &at); text != NULL; text = args_next(&cli->args, flag, &at)) {
        size_t n = strcspn(text, "=");
        if (n == 0 || text[n] == '\0') {
            return err_fail(err, ERR_INVALID, "USAGE", "--%s: \"%s\" is not NAME=VALUE", flag, text);
        }
        CLEANUP(mem_free_ptr) char *name = mem_strndup(text, n);
        json_key(w, name);
        if (typed) {
            write_value(w, text + n + 1);
        } else {
            json_add_string(w, text + n + 1);
        }
    }
    return true;
}

static bool write_params(const struct cli *cli, struct json_writer *w, const struct json *runtime, struct arena *a,
                         struct err *err) {
    const char *nproc = args_text(&cli->args, "nproc", NULL);
    if (nproc == NULL && !args_has(&cli->args, "param")) {
        return true;
    }
    json_key(w, "params");
    json_begin_object(w);
    if (nproc != NULL) {
        const char *name = nproc_param(runtime, a);
        if (name == NULL) {
            return err_fail(err, ERR_INVALID, "USAGE", "--nproc: %s runs one process a replica; use --workers",
                            json_string(json_get(runtime, "name"), "this runtime"));
        }
        json_key(w, name);
        write_value(w, nproc); // a number, or a word that the runtime knows
    }
    bool ok = write_pairs(cli, w, "param", true, err);
    json_end_object(w);
    return ok;
}

static bool write_labels(const struct cli *cli, struct json_writer *w, struct err *err) {
    if (!args_has(&cli->args, "label")) {
        return true;
    }
    json_key(w, "labels");
    json_begin_object(w);
    bool ok = write_pairs(cli, w, "label", false, err);
    json_end_object(w);
    return ok;
}

static bool write_policy(const struct cli *cli, struct json_writer *w, struct err *err) {
    int64_t timeout_ms = -1;
    int64_t retries = -1;
    if (!args_duration(&cli->args, "timeout", &timeout_ms, err) ||
        !args_int(&cli->args, "retries", 0, 1000, &retries, err)) {
        return false;
    }
    if (timeout_ms < 0 && retries < 0) {
        return true;
    }
    json_key(w, "run_policy");
    json_begin_object(w);
    if (timeout_ms >= 0) {
        CLEANUP(mem_free_ptr)
        char *seconds = mem_printf("%" PRId64 ".%03" PRId64 "s", timeout_ms / 1000, timeout_ms % 1000);
        write_text(w, "active_deadline", seconds);
    }
    if (retries >= 0) {
        json_key(w, "backoff_limit");
        json_add_int(w, retries);
    }
    json_end_object(w);
    return true;
}

bool spec_from_flags(const struct cli *cli, const struct json *runtime, struct str *out, struct err *err) {
    static const char *const texts[][2] = {
        {"name", "name"}, {"namespace", "namespace"}, {"backend", "backend"}, {"target", "target"}, {"group", "group"}};
    struct json_writer w;
    struct arena a;
    arena_init(&a, 0);
    json_writer_init(&w, out);
    json_begin_object(&w);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        write_text(&w, texts[i][1], args_text(&cli->args, texts[i][0], NULL));
    }
    write_text(&w, "runtime", json_string(json_get(runtime, "name"), ""));
    bool ok = write_labels(cli, &w, err) && write_roles(cli, &w, runtime, &a, err) &&
              write_params(cli, &w, runtime, &a, err) && write_policy(cli, &w, err);
    json_end_object(&w);
    arena_done(&a);
    return ok;
}
