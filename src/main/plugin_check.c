// plugin-check FILE.so: does a plugin keep the rules of trainer_plugin.h? For its author; nothing of the daemon runs.
//
// Each check runs in a child, so that a crash or an endless loop fails one check and not the rest.
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/spec.h"
#include "plugin/plugin.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIME_LIMIT_S = 10, BUDGET_MS = 50, LOAD_REPLICAS = 200, PROBES_MAX = 64 };
enum verdict { PASSED = 0, FAILED = 1, SKIPPED = 2 };

struct subject {
    struct plugins *plugins;
    const struct runtime *runtime;
    const char *spec_path; // of the author, or NULL
};

// ---- Specs

static void put_filled(struct json_writer *w, const char *text, int64_t least) {
    CLEANUP(str_done) struct str value = STR_INIT;
    str_add(&value, text);
    while ((int64_t)value.len < least) {
        str_add_char(&value, 'x');
    }
    json_add_string(w, str_text(&value));
}

// A value that a property's schema most likely takes. A pattern can defeat it: then the author gives a spec.
static void put_sample(struct json_writer *w, const struct json *schema) {
    const struct json *given = json_get(schema, "default");
    const struct json *type = json_get(schema, "type");
    const char *name = json_string(type != NULL && type->type == JSON_ARRAY ? type->first : type, "string");
    int64_t least = 0;
    if (given == NULL) {
        given = json_at(json_get(schema, "enum"), 0);
    }
    if (given == NULL) {
        given = json_get(schema, "minimum");
    }
    if (given != NULL) {
        json_add_node(w, given);
    } else if (str_same(name, "integer") || str_same(name, "number")) {
        json_add_int(w, 1);
    } else if (str_same(name, "boolean")) {
        json_add_bool(w, true);
    } else if (str_same(name, "array")) {
        json_begin_array(w);
        json_end_array(w);
    } else if (str_same(name, "object")) {
        json_begin_object(w);
        json_end_object(w);
    } else {
        (void)json_int(json_get(schema, "minLength"), &least); // none: 0
        put_filled(w, "x", least);
    }
}

static void put_params(struct json_writer *w, const struct json *schema) {
    json_key(w, "params");
    json_begin_object(w);
    JSON_EACH (name, json_get(schema, "required")) {
        json_key(w, name->text);
        put_sample(w, json_get(json_get(schema, "properties"), name->text));
    }
    json_end_object(w);
}

static int64_t replicas_of(const struct trainer_role *role, int64_t wanted) {
    int64_t n = wanted < role->min_replicas ? role->min_replicas : wanted;
    n = n < 1 ? 1 : n;
    return role->max_replicas != 0 && n > role->max_replicas ? role->max_replicas : n;
}

static void put_role(struct json_writer *w, const struct trainer_role *role, int64_t replicas) {
    json_begin_object(w);
    json_key(w, "name");
    json_add_string(w, role->name);
    json_key(w, "replicas");
    json_add_int(w, replicas_of(role, replicas));
    json_key(w, "image"); // needed where containers run
    json_add_string(w, "example:1");
    json_key(w, "command");
    json_begin_array(w);
    json_add_string(w, "program");
    json_add_string(w, "");
    json_add_string(w, "${host} ${port.x} ${y} \"quoted\"\n\xc3\xa9");
    json_end_array(w);
    json_key(w, "env");
    json_begin_array(w);
    json_begin_object(w);
    json_key(w, "name");
    json_add_string(w, "PLUGIN_CHECK");
    json_key(w, "value");
    json_add_string(w, "${host}");
    json_end_object(w);
    json_end_array(w);
    json_end_object(w);
}

// The roles whose bit is set in `roles`, each with as many replicas as asked for, within its bounds.
static void generate(const struct runtime *r, uint64_t roles, int64_t replicas, struct str *out) {
    struct json_writer w;
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, "name");
    json_add_string(&w, "plugin-check");
    json_key(&w, "runtime");
    json_add_string(&w, r->plugin->name);
    put_params(&w, r->params_schema);
    json_key(&w, "roles");
    json_begin_array(&w);
    for (size_t i = 0; r->plugin->roles[i].name != NULL && i < 64; i++) {
        if ((roles >> i & 1) != 0) {
            put_role(&w, &r->plugin->roles[i], replicas);
        }
    }
    json_end_array(&w);
    json_end_object(&w);
}

static bool parse_spec(const char *text, size_t n, struct job_spec **ret, struct err *err) {
    struct arena a = {0};
    const struct json *tree = NULL;
    bool ok = json_parse_yaml(&a, text, n, &json_limits_default, &tree, err) && job_spec_parse(tree, ret, err);
    arena_done(&a);
    return ok;
}

// ---- One spec, all the way

struct answer {
    bool accepted;
    bool refused; // by a violation, as it should be
    struct str text;
    struct str why;
    int64_t longest_ms;
};

static void answer_done(struct answer *a) {
    str_done(&a->text);
    str_done(&a->why);
}

static void note_time(struct answer *a, int64_t began) {
    int64_t ms = (clock_mono() - began) / CLOCK_MS;
    a->longest_ms = ms > a->longest_ms ? ms : a->longest_ms;
}

static void note_error(struct answer *a, const struct err *err) {
    a->accepted = false;
    a->refused = err->code == ERR_INVALID;
    str_printf(&a->why, "%s %s", err_code_name(err->code), err->message);
}

static void each_target(const struct runtime *r, const struct json *tree, struct answer *a) {
    for (const struct trainer_target *t = r->plugin->targets; t->name != NULL && a->accepted; t++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        int64_t began = clock_mono();
        bool ok = str_same(t->name, "local") ? runtime_plan_local(r, tree, &a->text, &err)
                                             : runtime_render(r, tree, t->name, &a->text, &err);
        note_time(a, began);
        if (!ok) {
            note_error(a, &err);
        }
    }
}

static void ask(const struct runtime *r, const struct job_spec *spec, struct answer *ret) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(arena_done) struct arena a = {0};
    const struct json *tree = NULL;
    *ret = (struct answer){.accepted = true};
    int64_t began = clock_mono();
    bool ok = runtime_validate(r, spec, &a, &tree, &err);
    note_time(ret, began);
    if (!ok) {
        note_error(ret, &err);
        return;
    }
    each_target(r, tree, ret);
}

// The author's spec, or one with all roles, or the first single choice of roles that the plugin accepts.
static bool accepted_spec(const struct subject *s, struct job_spec **ret, struct str *why) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    if (s->spec_path != NULL) {
        if (!fd_read_file(s->spec_path, json_limits_default.max_bytes, &text, &err) ||
            !parse_spec(text.data, text.len, ret, &err)) {
            str_printf(why, "%s: %s", s->spec_path, err.message);
            return false;
        }
        return true;
    }
    for (int probe = 0; probe < PROBES_MAX; probe++) {
        uint64_t required = 0;
        size_t n = 0;
        for (; s->runtime->plugin->roles[n].name != NULL; n++) {
            required |= (uint64_t)(s->runtime->plugin->roles[n].required != 0) << n;
        }
        if (probe > (int)n) {
            break;
        }
        // First all roles, then the required ones with one more each.
        uint64_t roles = probe == 0 ? UINT64_MAX : required | UINT64_C(1) << (probe - 1);
        str_clear(&text);
        generate(s->runtime, roles, 2, &text);
        err_done(&err);
        if (!parse_spec(text.data, text.len, ret, &err)) {
            str_add(why, err.message);
            return false;
        }
        struct answer a;
        ask(s->runtime, *ret, &a);
        bool accepted = a.accepted;
        bool refused = a.refused;
        str_clear(why);
        str_add(why, str_text(&a.why));
        answer_done(&a);
        if (accepted) {
            return true;
        }
        job_spec_unref(*ret);
        *ret = NULL;
        if (!refused) {
            return false; // a fault, not an opinion
        }
    }
    return false;
}

// ---- The checks

static enum verdict check_accepts(const struct subject *s, struct str *why) {
    struct job_spec *spec = NULL;
    if (!accepted_spec(s, &spec, why)) {
        str_add(why, s->spec_path == NULL ? " (give a job file that it accepts with --spec)" : "");
        return FAILED;
    }
    struct answer a;
    ask(s->runtime, spec, &a);
    str_add(why, str_text(&a.why));
    return a.accepted ? PASSED : FAILED;
}

static enum verdict check_pure(const struct subject *s, struct str *why) {
    struct job_spec *spec = NULL;
    struct answer first;
    if (!accepted_spec(s, &spec, why)) {
        return SKIPPED;
    }
    ask(s->runtime, spec, &first);
    // What a plugin must not look at differs the second time.
    if (setenv("PLUGIN_CHECK_NOISE", "1", 1) != 0 || chdir("/") != 0) {
        return SKIPPED;
    }
    usleep(20 * 1000);
    for (int i = 0; i < 3; i++) {
        struct answer again;
        ask(s->runtime, spec, &again);
        if (again.accepted != first.accepted || !str_same(str_text(&again.text), str_text(&first.text))) {
            str_add(why, "the same spec gave other bytes the second time");
            return FAILED;
        }
        answer_done(&again);
    }
    return PASSED;
}

static enum verdict check_budget(const struct subject *s, struct str *why) {
    struct job_spec *spec = NULL;
    struct answer a;
    if (!accepted_spec(s, &spec, why)) {
        return SKIPPED;
    }
    ask(s->runtime, spec, &a);
    if (a.longest_ms > BUDGET_MS) {
        str_printf(why, "one call took %lld ms, the budget is %d", (long long)a.longest_ms, BUDGET_MS);
        return FAILED;
    }
    return PASSED;
}

static enum verdict check_many(const struct subject *s, struct str *why) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    struct job_spec *spec = NULL;
    struct answer a;
    generate(s->runtime, UINT64_MAX, LOAD_REPLICAS, &text);
    if (!parse_spec(text.data, text.len, &spec, &err)) {
        str_add(why, err.message);
        return SKIPPED;
    }
    ask(s->runtime, spec, &a);
    str_add(why, str_text(&a.why));
    return a.accepted || a.refused ? PASSED : FAILED;
}

// Specs that are wrong: the answer is a violation with a field, never a fault and never yes.
static enum verdict check_hostile(const struct subject *s, struct str *why) {
    static const char *const wrong[] = {
        "roles: [{name: no-such-role-anywhere, command: [x]}]",
        "roles: [{name: no-such-role-anywhere, command: [x]}, {name: another-wrong-one, command: [x]}]",
        "params: {no-such-parameter-anywhere: 1}, roles: [{name: no-such-role-anywhere, command: [x]}]",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        CLEANUP(mem_free_ptr)
        char *text = mem_printf("{name: plugin-check, runtime: %s, %s}", s->runtime->plugin->name, wrong[i]);
        struct job_spec *spec = NULL;
        if (!parse_spec(text, strlen(text), &spec, &err)) {
            str_add(why, err.message);
            return SKIPPED;
        }
        struct answer a;
        ask(s->runtime, spec, &a);
        if (!a.refused) {
            str_printf(why, "{%s} was %s", wrong[i], a.accepted ? "accepted" : str_text(&a.why));
            return FAILED;
        }
        answer_done(&a);
        job_spec_unref(spec);
    }
    return PASSED;
}

// Trees that no daemon would hand over: any answer will do, as long as there is one.
static enum verdict check_garbage(const struct subject *s, struct str *why) {
    static const char *const trees[] = {
        "null",
        "[]",
        "{}",
        "{name: 1, roles: 2, params: 3}",
        "{roles: {a: b}}",
        "{roles: [1, null, [], {}]}",
        "{roles: [{name: 1, replicas: x, env: 5, command: 6, resources: []}]}",
    };
    (void)why;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        CLEANUP(arena_done) struct arena a = {0};
        const struct json *tree = NULL;
        if (!json_parse_yaml(&a, trees[i], strlen(trees[i]), &json_limits_default, &tree, &err)) {
            return SKIPPED;
        }
        struct answer answer = {.accepted = true};
        each_target(s->runtime, tree, &answer);
        answer_done(&answer);
    }
    return PASSED;
}

static const struct check {
    const char *sentence;
    enum verdict (*run)(const struct subject *s, struct str *why);
} checks[] = {
    {"accepts a spec and makes every target's form of it", check_accepts},
    {"is pure: the same spec gives the same bytes, whatever the time, directory and environment", check_pure},
    {"answers within 50 ms a call", check_budget},
    {"stands a job with hundreds of replicas", check_many},
    {"lets wrong roles and parameters be refused", check_hostile},
    {"survives trees of any shape", check_garbage},
};

// ---- Running them

static void child(const struct check *c, const struct subject *s, int fd) {
    struct str why = STR_INIT;
    alarm(TIME_LIMIT_S);
    enum verdict v = c->run(s, &why);
    (void)fd_write_all(fd, str_text(&why), why.len); // only the explanation is lost
    _exit((int)v);
}

static enum verdict judge(int status, struct str *why) {
    if (WIFSIGNALED(status)) {
        str_clear(why);
        if (WTERMSIG(status) == SIGALRM) {
            str_printf(why, "no answer within %d s", TIME_LIMIT_S);
        } else {
            str_printf(why, "crashed: %s", strsignal(WTERMSIG(status)));
        }
        return FAILED;
    }
    if (WEXITSTATUS(status) > SKIPPED) {
        str_printf(why, "ended the process with status %d", WEXITSTATUS(status));
        return FAILED;
    }
    return (enum verdict)WEXITSTATUS(status);
}

static enum verdict run(const struct check *c, const struct subject *s, struct str *why) {
    int fds[2];
    if (pipe(fds) != 0) {
        str_add(why, "cannot make a pipe");
        return FAILED;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        child(c, s, fds[1]);
    }
    close(fds[1]);
    char buffer[1024];
    for (ssize_t n; (n = read(fds[0], buffer, sizeof buffer)) > 0;) {
        str_add_bytes(why, buffer, (size_t)n);
    }
    close(fds[0]);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        str_add(why, "cannot run a child");
        return FAILED;
    }
    return judge(status, why);
}

static void describe(const struct runtime *r) {
    printf("# runtime %s %s, abi %s, built with %s\n", r->plugin->name, r->plugin->version, r->abi,
           r->plugin->built_with);
    for (const struct trainer_role *role = r->plugin->roles; role->name != NULL; role++) {
        printf("# role %s: %s\n", role->name, role->description);
    }
    for (const struct trainer_target *t = r->plugin->targets; t->name != NULL; t++) {
        printf("# target %s: %s\n", t->name, t->kind);
    }
}

static int run_all(const struct subject *s) {
    static const char *const words[] = {[PASSED] = "ok", [FAILED] = "not ok", [SKIPPED] = "skipped"};
    int counts[3] = {[PASSED] = 1}; // it has loaded
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        CLEANUP(str_done) struct str why = STR_INIT;
        enum verdict v = run(&checks[i], s, &why);
        counts[v]++;
        printf("%s - %s%s%s\n", words[v], checks[i].sentence, v != PASSED && why.len != 0 ? ": " : "",
               v != PASSED ? str_text(&why) : "");
    }
    printf("%d passed, %d failed, %d skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    return counts[FAILED] == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    struct subject s = {0};
    const char *file = argc > 1 ? argv[1] : NULL;
    if (argc == 4 && str_same(argv[2], "--spec")) {
        s.spec_path = argv[3];
    } else if (argc != 2 || file[0] == '-') {
        fprintf(stderr, "usage: plugin-check FILE.so [--spec JOB.yaml]\n");
        return 2;
    }
    CLEANUP(err_done) struct err err = ERR_INIT;
    log_set_level(LOG_ERROR); // what the host warns of, the checks say
    s.plugins = plugins_new();
    bool loaded = plugins_load(s.plugins, file, NULL, &err);
    printf("%s - loads%s%s\n", loaded ? "ok" : "not ok", loaded ? "" : ": ", loaded ? "" : err.message);
    int status = 1;
    if (loaded) {
        s.runtime = plugins_at(s.plugins, 0);
        describe(s.runtime);
        status = run_all(&s);
    }
    plugins_free(s.plugins);
    return status;
}
