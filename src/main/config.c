#include "main/config.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "base/str.h"
#include "job/quantity.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum kind { TEXT, COUNT, BYTES, SECONDS, CPU };

// Every key of the config file. flag: also a command-line flag.
struct key {
    const char *path; // "local.cpu"
    enum kind kind;
    size_t offset;
    int64_t min, max;
    const char *fallback; // as it would be written
    const char *flag;
    const char *help;
};

#define AT(member) offsetof(struct config, member)
#define GIB (INT64_C(1) << 30)
#define YEAR INT64_C(31622400)

static const struct key keys[] = {
    {"state_dir", TEXT, AT(state_dir), 0, 0, "", "state-dir",
     "journal, logs, socket and token; default: $TRAINERD_STATE_DIR, $XDG_STATE_HOME/trainerd or "
     "~/.local/state/trainerd"},
    {"socket", TEXT, AT(socket), 0, 0, "", "socket",
     "unix socket, mode 0600; none: no socket; default: STATE_DIR/trainerd.sock"},
    {"listen", TEXT, AT(listen), 0, 0, "127.0.0.1:0", "listen",
     "TCP address, needs the token in STATE_DIR/token; port 0: a free one, written to STATE_DIR/port; none: no TCP"},
    {"plugin_dir", TEXT, AT(plugin_dir), 0, 0, "", "plugin-dir",
     "every *.so in it is loaded; default: beside the program"},
    {"supervisor", TEXT, AT(supervisor), 0, 0, "", "supervisor",
     "program trainerd-supervisor; default: beside this program"},
    {"log_level", TEXT, AT(log_level), 0, 0, "info", "log-level", "error, warn, info or debug"},
    {"shutdown_grace", SECONDS, AT(shutdown_grace_s), 0, 3600, "10", NULL, "time that open calls have at SIGTERM"},
    {"journal.max_size", BYTES, AT(journal_max_bytes), 0, 1024 * GIB, "0", NULL,
     "of the journal file; beyond it new jobs are refused; 0: no limit"},
    {"local.name", TEXT, AT(local_name), 0, 0, "local", NULL, "name of the local backend"},
    {"local.cpu", CPU, AT(cpu_milli), 0, 1000000000, "0", NULL, "CPUs that jobs may take; 0: all of the machine"},
    {"local.gpu", COUNT, AT(gpu), -1, 1024, "-1", NULL, "GPUs that jobs may take; -1: what the machine has"},
    {"local.log_size", BYTES, AT(log_cap), 65536, 1024 * GIB, "64Mi", NULL,
     "of the log of one process and attempt; the oldest goes beyond it"},
    {"local.port_first", COUNT, AT(port_first), 1024, 65535, "20000", NULL, "ports for rendezvous, first"},
    {"local.port_last", COUNT, AT(port_last), 1024, 65535, "29999", NULL, "and last"},
    {"local.grace", SECONDS, AT(grace_s), 0, 3600, "10", NULL, "from TERM to KILL at restart, suspend and clean-up"},
    {"kubernetes.name", TEXT, AT(kube_name), 0, 0, "kubernetes", NULL, "name of the Kubernetes backend"},
    {"kubernetes.kubeconfig", TEXT, AT(kubeconfig), 0, 0, "none", "kubeconfig",
     "a kubeconfig file; default: as kubectl finds it, or the service account in a pod; none: no such backend"},
    {"kubernetes.context", TEXT, AT(kube_context), 0, 0, "", "context", "of the kubeconfig; default: its current one"},
    {"kubernetes.namespace", TEXT, AT(kube_namespace), 0, 0, "", NULL, "the only one that is watched; default: all"},
    {"limits.max_jobs", COUNT, AT(limits.max_jobs), 1, 100000000, "1000000", NULL, "records, ended ones included"},
    {"limits.max_active_jobs", COUNT, AT(limits.max_active_jobs), 1, 10000000, "100000", NULL,
     "jobs that have not ended"},
    {"limits.max_watchers", COUNT, AT(limits.max_watchers), 1, 10000000, "100000", NULL, "open Watch streams"},
    {"limits.max_log_streams", COUNT, AT(limits.max_log_streams), 1, 1000000, "10000", NULL, "open Logs streams"},
    {"limits.cancel_grace", SECONDS, AT(limits.cancel_grace_s), 0, 3600, "30", NULL, "from TERM to KILL at Cancel"},
    {"limits.feed_events", COUNT, AT(limits.feed_events), 16, 10000000, "65536", NULL,
     "newest transitions kept in memory"},
    {"limits.max_connections", COUNT, AT(max_connections), 1, 1000000, "10000", NULL, "open at once"},
    {"limits.max_streams_per_connection", COUNT, AT(max_streams), 1, 1000000, "10000", NULL,
     "calls open at once in one connection"},
    {"limits.max_message", BYTES, AT(max_message), 65536, 64 * 1024 * 1024, "4Mi", NULL, "of a request"},
    {"limits.pending_calls", COUNT, AT(pending_calls), 16, 4096, "256", NULL, "calls accepted ahead of time"},
    {"retention.age", SECONDS, AT(retention_age_s), 0, 100 * YEAR, "2592000", NULL, "of ended jobs; 0: for ever"},
    {"retention.jobs", COUNT, AT(limits.retention_jobs), 0, 100000000, "100000", NULL,
     "ended jobs kept at most; 0: no limit"},
    {"retention.transitions", COUNT, AT(limits.retention_transitions), 0, 1000000000, "1000000", NULL,
     "transitions kept at most; 0: no limit"},
};

static bool narrow(const struct key *k) {
    return k->offset == AT(limits.cancel_grace_s); // the one int32_t
}

static const char *advice(enum kind kind) {
    static const char *const texts[] = {"a text", "a whole number", "a size such as 64Mi", "a whole number of seconds",
                                        "a number of CPUs such as 4 or 500m"};
    return texts[kind];
}

static bool number_of(const struct key *k, const char *text, int64_t *ret) {
    switch (k->kind) {
    case BYTES:
        return quantity_whole(text, ret) == QUANTITY_OK;
    case CPU:
        return quantity_milli(text, ret) == QUANTITY_OK;
    default:
        return str_to_int64(text, INT64_MIN, INT64_MAX, ret);
    }
}

static bool assign(struct config *cfg, const struct key *k, const char *text, struct err *err) {
    char *place = (char *)cfg + k->offset;
    if (k->kind == TEXT) {
        const char *copy = arena_strdup(&cfg->arena, text);
        memcpy(place, &copy, sizeof copy);
        return true;
    }
    int64_t v;
    if (!number_of(k, text, &v) || v < k->min || v > k->max) {
        return err_fail(err, ERR_INVALID, "BAD_CONFIG", "%s: \"%.80s\" is not %s from %" PRId64 " to %" PRId64, k->path,
                        text, advice(k->kind), k->min, k->max);
    }
    if (narrow(k)) {
        int32_t small = (int32_t)v;
        memcpy(place, &small, sizeof small);
    } else {
        memcpy(place, &v, sizeof v);
    }
    return true;
}

void config_init(struct config *cfg) {
    *cfg = (struct config){0};
    arena_init(&cfg->arena, 0);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        if (!assign(cfg, &keys[i], keys[i].fallback, &err)) {
            log_error("main", "%s", err.message); // a wrong table: the tests see it
        }
    }
}

void config_done(struct config *cfg) {
    arena_done(&cfg->arena);
}

// ---- The file
// -------------------------------------------------------------------------------------------------------------------

static const struct key *find(const char *path) {
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (str_same(keys[i].path, path)) {
            return &keys[i];
        }
    }
    return NULL;
}

static bool is_section(const char *path) {
    CLEANUP(mem_free_ptr) char *prefix = mem_printf("%s.", path);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (str_starts(keys[i].path, prefix)) {
            return true;
        }
    }
    return false;
}

static bool unknown_key(const char *path, struct err *err) {
    const char *names[ARRAY_LEN(keys)];
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        names[i] = keys[i].path;
    }
    const char *nearest = str_nearest(path, names, ARRAY_LEN(names));
    return nearest != NULL ? err_fail(err, ERR_INVALID, "BAD_CONFIG", "unknown key %s, did you mean %s?", path, nearest)
                           : err_fail(err, ERR_INVALID, "BAD_CONFIG", "unknown key %s", path);
}

static bool read_value(struct config *cfg, const char *path, const struct json *node, struct err *err) {
    const struct key *k = find(path);
    if (k == NULL) {
        return unknown_key(path, err);
    }
    if (node->type != JSON_STRING && node->type != JSON_NUMBER) {
        return err_fail(err, ERR_INVALID, "BAD_CONFIG", "%s: must be %s, not %s", path, advice(k->kind),
                        json_type_name(node->type));
    }
    return assign(cfg, k, node->text, err);
}

static bool read_object(struct config *cfg, const char *file, const char *prefix, const struct json *object,
                        struct err *err) {
    JSON_EACH (child, object) {
        CLEANUP(mem_free_ptr) char *path = mem_printf("%s%s%s", prefix, prefix[0] != '\0' ? "." : "", child->key);
        if (prefix[0] == '\0' && str_same(child->key, "plugins") && child->type == JSON_OBJECT) {
            cfg->plugins = child;
            continue;
        }
        bool ok = child->type == JSON_OBJECT && is_section(path) ? read_object(cfg, file, path, child, err)
                                                                 : read_value(cfg, path, child, err);
        if (!ok) {
            if (!str_starts(err->message, file)) { // the innermost place says most
                err_wrap(err, "%s: line %u, column %u", file, child->line, child->column);
            }
            return false;
        }
    }
    return true;
}

bool config_parse(struct config *cfg, const char *name, const char *text, size_t n, struct err *err) {
    const struct json *tree = NULL;
    if (!json_parse_yaml(&cfg->arena, text, n, &json_limits_default, &tree, err)) {
        err_wrap(err, "%s", name);
        return false;
    }
    if (tree->type == JSON_NULL) {
        return true; // an empty file
    }
    if (tree->type != JSON_OBJECT) {
        return err_fail(err, ERR_INVALID, "BAD_CONFIG", "%s: must be a mapping of keys to values", name);
    }
    return read_object(cfg, name, "", tree, err);
}

bool config_read_file(struct config *cfg, const char *path, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    return fd_read_file(path, 1024 * 1024, &text, err) && config_parse(cfg, path, str_text(&text), text.len, err);
}

// ---- The command line
// -------------------------------------------------------------------------------------------------------------

static void print_help(void) {
    puts("trainerd: runs training jobs that it is handed over gRPC.\n\n"
         "usage: trainerd [--config FILE] [flags]\n\n"
         "  --config FILE        YAML; see --print-config for every key");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (keys[i].flag != NULL) {
            printf("  --%-18s %s\n", keys[i].flag, keys[i].help);
        }
    }
    puts("  --print-config       the config file with every key, its default and meaning\n"
         "  --version            version\n"
         "  --help               this\n\n"
         "It stays in the foreground and logs to stderr. SIGTERM and SIGINT end it; jobs go on and are found again by "
         "the\n"
         "next start. trainctl finds it by its state directory.");
}

void config_print_example(void) {
    char section[64] = "";
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *dot = strchr(keys[i].path, '.');
        size_t n = dot != NULL ? (size_t)(dot - keys[i].path) : 0;
        if (dot != NULL && (strlen(section) != n || strncmp(section, keys[i].path, n) != 0)) {
            snprintf(section, sizeof section, "%.*s", (int)n, keys[i].path);
            printf("\n%s:\n", section);
        }
        const char *indent = dot != NULL ? "  " : "";
        printf("%s# %s\n%s%s%s: %s\n", indent, keys[i].help, indent, keys[i].fallback[0] == '\0' ? "# " : "",
               dot != NULL ? dot + 1 : keys[i].path, keys[i].fallback);
    }
}

static int bad_usage(const char *text) {
    fprintf(stderr, "trainerd: %s (see trainerd --help)\n", text);
    return 2;
}

static bool flag_matches(const char *arg, const char *flag, const char **ret_value) {
    size_t n = strlen(flag);
    if (!str_starts(arg, "--") || strncmp(arg + 2, flag, n) != 0 || (arg[2 + n] != '\0' && arg[2 + n] != '=')) {
        return false;
    }
    *ret_value = arg[2 + n] == '=' ? arg + 3 + n : NULL;
    return true;
}

static const struct key *find_flag(const char *arg, const char **ret_value) {
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (keys[i].flag != NULL && flag_matches(arg, keys[i].flag, ret_value)) {
            return &keys[i];
        }
    }
    return NULL;
}

// config: only --config is obeyed; otherwise everything else. So a flag wins over the file wherever it stands.
static int read_pass(struct config *cfg, int argc, char **argv, bool config) {
    for (int i = 1; i < argc; i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        const char *value = NULL;
        bool is_config = flag_matches(argv[i], "config", &value);
        const struct key *k = is_config ? NULL : find_flag(argv[i], &value);
        if (!is_config && k == NULL) {
            CLEANUP(mem_free_ptr) char *text = mem_printf("unknown argument %s", argv[i]);
            return bad_usage(text);
        }
        if (value == NULL && ++i == argc) {
            CLEANUP(mem_free_ptr) char *text = mem_printf("%s needs a value", argv[i - 1]);
            return bad_usage(text);
        }
        value = value != NULL ? value : argv[i];
        if (config == is_config && !(is_config ? config_read_file(cfg, value, &err) : assign(cfg, k, value, &err))) {
            fprintf(stderr, "trainerd: %s\n", err.message);
            return 2;
        }
    }
    return -1;
}

void config_read_flags(struct config *cfg, int argc, char **argv, int *ret_exit) {
    *ret_exit = 0;
    for (int i = 1; i < argc; i++) {
        if (str_same(argv[i], "--help") || str_same(argv[i], "-h")) {
            print_help();
            return;
        }
        if (str_same(argv[i], "--version")) {
            puts("trainerd " TRAINERD_VERSION);
            return;
        }
        if (str_same(argv[i], "--print-config")) {
            config_print_example();
            return;
        }
    }
    *ret_exit = read_pass(cfg, argc, argv, true);
    if (*ret_exit == -1) {
        *ret_exit = read_pass(cfg, argc, argv, false);
    }
}

// ---- What depends on other things
// ---------------------------------------------------------------------------------------------------

// The program's own directory, so that a build tree and an installed tree both work without flags.
static const char *beside(struct config *cfg, const char *const *relative, size_t n) {
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0) {
        return relative[0];
    }
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    const char *path = NULL;
    for (size_t i = 0; i < n; i++) {
        path = arena_printf(&cfg->arena, "%s/%s", self, relative[i]);
        if (access(path, F_OK) == 0) {
            return path;
        }
    }
    return path;
}

bool config_complete(struct config *cfg, struct err *err) {
    static const char *const plugin_dirs[] = {"../plugins", "../lib/trainerd/plugins"};
    static const char *const supervisors[] = {"trainerd-supervisor", "../libexec/trainerd/trainerd-supervisor"};
    enum log_level level;
    if (str_is_empty(cfg->state_dir)) {
        CLEANUP(str_done) struct str dir = STR_INIT;
        paths_state_dir(&dir);
        cfg->state_dir = arena_strdup(&cfg->arena, str_text(&dir));
    }
    if (cfg->state_dir[0] != '/') {
        char here[4096];
        if (getcwd(here, sizeof here) == NULL) {
            return err_fail(err, ERR_INVALID, "BAD_CONFIG",
                            "state_dir: must be absolute when there is no current directory");
        }
        cfg->state_dir = arena_printf(&cfg->arena, "%s/%s", here, cfg->state_dir);
    }
    if (str_is_empty(cfg->socket)) {
        cfg->socket = arena_printf(&cfg->arena, "%s/trainerd.sock", cfg->state_dir);
    }
    if (str_is_empty(cfg->plugin_dir)) {
        cfg->plugin_dir = beside(cfg, plugin_dirs, ARRAY_LEN(plugin_dirs));
    }
    if (str_is_empty(cfg->supervisor)) {
        cfg->supervisor = beside(cfg, supervisors, ARRAY_LEN(supervisors));
    }
    if (!log_level_parse(cfg->log_level, &level)) {
        return err_fail(err, ERR_INVALID, "BAD_CONFIG", "log_level: \"%s\" is none of error, warn, info, debug",
                        cfg->log_level);
    }
    if (cfg->port_last < cfg->port_first) {
        return err_fail(err, ERR_INVALID, "BAD_CONFIG", "local.port_last: is below local.port_first");
    }
    if (str_same(cfg->socket, "none") && str_same(cfg->listen, "none")) {
        return err_fail(err, ERR_INVALID, "BAD_CONFIG",
                        "socket and listen are both none: nobody could reach this server");
    }
    cfg->limits.retention_age_ns = cfg->retention_age_s * INT64_C(1000000000);
    cfg->limits.max_spec_bytes = cfg->max_message;
    log_set_level(level);
    return true;
}
