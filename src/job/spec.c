// A spec from its tree: checked, normalised, sealed.
#include "job/spec.h"

#include "base/id.h"
#include "base/mem.h"
#include "job/quantity.h"
#include "job/rules.h"

#include <assert.h>
#include <string.h>

enum { SPEC_MAX_BYTES = 1024 * 1024 + 65536, BACKOFF_DEFAULT = 3 };

struct job_spec *job_spec_ref(struct job_spec *spec) {
    spec->refs++;
    return spec;
}

void job_spec_unref(struct job_spec *spec) {
    if (spec == NULL) {
        return;
    }
    assert(spec->refs > 0);
    if (--spec->refs == 0) {
        arena_done(&spec->arena);
        mem_free(spec);
    }
}

// ---- Normalise: the same job is the same text
// --------------------------------------------------------------------------------

static bool is_empty(const struct json *node) {
    return node->type == JSON_NULL || (node->type == JSON_STRING && node->length == 0) ||
           ((node->type == JSON_ARRAY || node->type == JSON_OBJECT) && node->count == 0);
}

static void put_default(struct json_writer *w, const struct json *object, const char *key, const char *value) {
    const struct json *given = json_get(object, key);
    if (given == NULL || is_empty(given)) {
        json_key(w, key);
        json_add_string(w, value);
    }
}

static void put_role(struct json_writer *w, const struct json *role) {
    json_begin_object(w);
    JSON_EACH (field, role) {
        if (!is_empty(field) && !str_same(field->key, "replicas")) {
            json_key(w, field->key);
            json_add_node(w, field);
        }
    }
    int64_t replicas = 1;
    (void)shape_int(json_get(role, "replicas"), &replicas);
    json_key(w, "replicas");
    json_add_int(w, replicas);
    json_end_object(w);
}

static void put_roles(struct json_writer *w, const struct json *roles) {
    json_key(w, "roles");
    json_begin_array(w);
    JSON_EACH (role, roles) {
        int64_t replicas = 1;
        (void)shape_int(json_get(role, "replicas"), &replicas);
        if (replicas != 0) { // 0: the role is left out
            put_role(w, role);
        }
    }
    json_end_array(w);
}

static void normalise(const struct json *tree, struct str *out) {
    struct json_writer w;
    json_writer_init(&w, out);
    json_begin_object(&w);
    JSON_EACH (field, tree) {
        if (is_empty(field)) {
            continue;
        }
        if (str_same(field->key, "roles")) {
            put_roles(&w, field);
            continue;
        }
        json_key(&w, field->key);
        json_add_node(&w, field);
    }
    put_default(&w, tree, "namespace", "default");
    const char *runtime = json_string(json_get(tree, "runtime"), "");
    if (str_is_empty(json_string(json_get(tree, "name"), NULL)) && !str_is_empty(runtime)) {
        // A plugin's name may be longer than a prefix, or end in a hyphen: what is sealed must read back.
        put_default(&w, tree, "name_prefix", job_name_valid(runtime, JOB_NAME_PREFIX_MAX) ? runtime : "job");
    }
    json_end_object(&w);
    assert(json_writer_ok(&w));
}

// ---- The typed part
// --------------------------------------------------------------------------------------------------------------

static const char *text(const struct json *object, const char *key) {
    const char *t = json_string(json_get(object, key), NULL);
    return str_is_empty(t) ? NULL : t;
}

static int64_t duration(const struct json *object, const char *key, int64_t fallback) {
    int64_t ns = fallback;
    const char *t = json_string(json_get(object, key), NULL);
    return t != NULL && shape_duration(t, &ns) ? ns : fallback;
}

static int32_t number(const struct json *object, const char *key, int32_t fallback) {
    int64_t v;
    return shape_int(json_get(object, key), &v) ? (int32_t)v : fallback;
}

static int place_of(const char *name, const char *const *names, size_t n, int fallback) {
    for (size_t i = 0; i < n; i++) {
        if (str_same(name, names[i])) {
            return (int)i;
        }
    }
    return fallback;
}

static size_t add_texts(const struct json *list, const char **out, size_t at) {
    JSON_EACH (t, list) {
        out[at++] = json_string(t, "");
    }
    return at;
}

static void read_role(struct job_spec *s, const struct json *tree, struct spec_role *r) {
    static const char *const restarts[] = {"", "NEVER", "ON_FAILURE", "ALWAYS", "EXIT_CODE"};
    const struct json *command = json_get(tree, "command");
    const struct json *args = json_get(tree, "args");
    const struct json *env = json_get(tree, "env");
    const struct json *resources = json_get(tree, "resources");
    const char **argv = ARENA_NEW_ARRAY(&s->arena, const char *,
                                        (command != NULL ? command->count : 0) + (args != NULL ? args->count : 0) + 1);
    struct spec_env *envs = ARENA_NEW_ARRAY(&s->arena, struct spec_env, env != NULL ? env->count : 0);
    r->tree = tree;
    r->name = text(tree, "name");
    r->replicas = number(tree, "replicas", 1);
    r->argc = add_texts(args, argv, add_texts(command, argv, 0));
    r->argv = argv;
    JSON_EACH (e, env) {
        envs[r->env_count++] = (struct spec_env){
            .name = text(e, "name"),
            .value = json_get(e, "value_from") != NULL ? NULL : json_string(json_get(e, "value"), "")};
    }
    r->env = envs;
    r->working_dir = text(tree, "working_dir");
    r->gpu = number(resources, "gpu", 0);
    (void)quantity_milli(json_string(json_get(resources, "cpu"), "0"), &r->cpu_milli);
    (void)quantity_whole(json_string(json_get(resources, "memory"), "0"), &r->memory_bytes);
    r->restart =
        (enum restart_policy)place_of(text(tree, "restart_policy"), restarts, ARRAY_LEN(restarts), RESTART_DEFAULT);
}

static void read_depends_on(struct job_spec *s) {
    static const char *const names[] = {"", "SUCCEEDED", "FAILED", "TERMINAL"};
    const struct json *list = json_get(s->tree, "depends_on");
    struct spec_dependency *out = ARENA_NEW_ARRAY(&s->arena, struct spec_dependency, list != NULL ? list->count : 0);
    JSON_EACH (d, list) {
        out[s->depends_on_count++] = (struct spec_dependency){
            .job = text(d, "job"),
            .on = (enum dependency_on)place_of(text(d, "on"), names, ARRAY_LEN(names), ON_SUCCEEDED)};
    }
    s->depends_on = out;
}

static void read_policies(struct job_spec *s) {
    static const char *const cleans[] = {"", "RUNNING", "ALL", "NONE"};
    const struct json *p = json_get(s->tree, "run_policy");
    const struct json *e = json_get(s->tree, "elastic");
    s->active_deadline_ns = duration(p, "active_deadline", 0);
    s->ttl_ns = duration(p, "ttl_after_finished", -1);
    s->start_deadline_ns = duration(p, "start_deadline", 0);
    s->backoff_limit = number(p, "backoff_limit", BACKOFF_DEFAULT);
    s->clean_pods = (enum clean_pods)place_of(text(p, "clean_pods"), cleans, ARRAY_LEN(cleans), CLEAN_RUNNING);
    s->suspend = json_bool(json_get(p, "suspend"), false);
    s->elastic_min = number(e, "min", 0);
    s->elastic_max = number(e, "max", 0);
}

static void read_all(struct job_spec *s) {
    const struct json *roles = json_get(s->tree, "roles");
    s->name = text(s->tree, "name");
    s->name_prefix = s->name == NULL ? text(s->tree, "name_prefix") : NULL;
    s->namespace_ = text(s->tree, "namespace");
    s->runtime = text(s->tree, "runtime");
    s->backend = text(s->tree, "backend");
    s->target = text(s->tree, "target");
    s->group = text(s->tree, "group");
    s->labels = json_get(s->tree, "labels");
    s->annotations = json_get(s->tree, "annotations");
    s->params = json_get(s->tree, "params");
    s->manifest = text(s->tree, "manifest");
    s->roles = ARENA_NEW_ARRAY(&s->arena, struct spec_role, roles != NULL ? roles->count : 0);
    JSON_EACH (role, roles) {
        read_role(s, role, &s->roles[s->role_count++]);
    }
    read_depends_on(s);
    read_policies(s);
}

// ---- Parse
// -----------------------------------------------------------------------------------------------------------------------

static bool check(const struct json *tree, struct err *err) {
    struct shape_path path = {0};
    if (tree == NULL || tree->type != JSON_OBJECT) {
        return err_violate(err, "spec", "must be an object");
    }
    shape_check(shape_spec, tree, &path, err);
    if (!path.unfit) { // the rules read the keys of maps and compare the entries of lists with each other
        rules_names(tree, &path, err);
        rules_roles(tree, &path, err);
        rules_policies(tree, &path, err);
    }
    str_done(&path.text);
    return !err_set(err);
}

static bool seal(const char *text_in, size_t n, struct job_spec **ret, struct err *err) {
    struct job_spec *s = NEW(struct job_spec);
    struct str canonical = STR_INIT;
    s->refs = 1;
    arena_init(&s->arena, 0);
    if (!json_parse(&s->arena, text_in, n, &json_limits_default, &s->tree, err)) {
        job_spec_unref(s);
        return false;
    }
    json_write_canonical(&canonical, s->tree);
    s->json = arena_strndup(&s->arena, str_text(&canonical), canonical.len);
    uint8_t digest[ID_SHA256_LEN];
    id_sha256(s->json, canonical.len, digest);
    id_hex(digest, sizeof digest, s->hash);
    str_done(&canonical);
    read_all(s);
    *ret = s;
    return true;
}

bool job_spec_parse(const struct json *tree, struct job_spec **ret, struct err *err) {
    CLEANUP(str_done) struct str normal = STR_INIT;
    if (!check(tree, err)) {
        return false;
    }
    normalise(tree, &normal);
    if (normal.len > SPEC_MAX_BYTES) {
        return err_violate(err, "spec", "is %zu bytes as JSON, at most %d are allowed", normal.len, SPEC_MAX_BYTES);
    }
    return seal(str_text(&normal), normal.len, ret, err);
}

bool job_spec_parse_text(const char *json, size_t n, struct job_spec **ret, struct err *err) {
    CLEANUP(arena_done) struct arena a = {0};
    const struct json *tree = NULL;
    return json_parse(&a, json, n, &json_limits_default, &tree, err) && job_spec_parse(tree, ret, err);
}
