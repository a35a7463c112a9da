// From the runtime's plan, as JSON, to the plan that a backend runs. The JSON itself stays with it: Render shows it.
#include "flow/internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "job/quantity.h"

#include <string.h>

static const struct {
    const char *name;
    enum restart_policy policy;
} restart_names[] = {
    {"NEVER", RESTART_NEVER},
    {"ON_FAILURE", RESTART_ON_FAILURE},
    {"ALWAYS", RESTART_ALWAYS},
    {"EXIT_CODE", RESTART_EXIT_CODE},
};

static enum restart_policy restart_parse(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(restart_names); i++) {
        if (str_same(restart_names[i].name, name)) {
            return restart_names[i].policy;
        }
    }
    return RESTART_NEVER;
}

static const char *const *texts(struct arena *a, const struct json *array, size_t *ret_count) {
    size_t n = array != NULL ? array->count : 0;
    const char **out = ARENA_NEW_ARRAY(a, const char *, n + 1);
    size_t i = 0;
    JSON_EACH (child, array) {
        out[i++] = json_string(child, "");
    }
    *ret_count = i;
    return out;
}

static int64_t whole(const struct json *node) {
    int64_t v = 0;
    return json_int(node, &v) ? v : 0;
}

static void read_env(struct arena *a, const struct json *array, struct plan_process *p) {
    struct plan_env *env = ARENA_NEW_ARRAY(a, struct plan_env, array != NULL ? array->count : 0);
    JSON_EACH (e, array) {
        const char *template = json_string(json_get(e, "template"), NULL);
        env[p->env_count++] = (struct plan_env){
            .name = json_string(json_get(e, "name"), ""),
            .value = template != NULL ? template : json_string(json_get(e, "value"), ""),
            .is_template = template != NULL,
        };
    }
    p->env = env;
}

static void read_process(struct arena *a, const struct json *node, struct plan_process *p) {
    p->role = json_string(json_get(node, "role"), "");
    p->index = (int32_t)whole(json_get(node, "index"));
    p->rank = (int32_t)whole(json_get(node, "rank"));
    p->argv = texts(a, json_get(node, "argv"), &p->argc);
    p->argv_is_template = json_bool(json_get(node, "argv_template"), false);
    p->working_dir = json_string(json_get(node, "working_dir"), NULL);
    p->restart = restart_parse(json_string(json_get(node, "restart"), NULL));
    p->decides = json_bool(json_get(node, "decides"), false);
    p->gpu = (int32_t)whole(json_get(node, "gpu"));
    // Both were checked with the spec: a bad one cannot get here.
    (void)quantity_milli(json_string(json_get(node, "cpu"), "0"), &p->cpu_milli);
    (void)quantity_whole(json_string(json_get(node, "memory"), "0"), &p->memory_bytes);
    read_env(a, json_get(node, "env"), p);
}

static bool check_programs(const struct backend_plan *plan, const struct job_spec *spec, struct err *err) {
    for (size_t i = 0; i < plan->process_count; i++) {
        const struct plan_process *p = &plan->processes[i];
        if (p->argc != 0 && p->argv[0][0] != '\0') {
            continue;
        }
        for (size_t k = 0; k < spec->role_count; k++) {
            if (p->index == 0 && str_same_nocase(spec->roles[k].name, p->role)) {
                CLEANUP(mem_free_ptr) char *field = mem_printf("roles[%zu].command", k);
                err_violate(err, field, "the local backend needs a program: set command or args");
            }
        }
    }
    return !err_set(err);
}

static struct backend_plan *plan_of_text(const struct str *text) {
    struct backend_plan *plan = NEW(struct backend_plan);
    plan->refs = 1;
    arena_init(&plan->arena, 0);
    plan->json = arena_strndup(&plan->arena, str_text(text), text->len);
    return plan;
}

bool flow_plan_make(const struct runtime *r, const struct job_spec *spec, const struct json *tree,
                    struct backend_plan **ret, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    if (!runtime_plan_local(r, tree, &text, err)) {
        return false;
    }
    struct backend_plan *plan = plan_of_text(&text);
    if (!json_parse(&plan->arena, plan->json, text.len, &json_limits_default, &plan->tree, err)) {
        err_wrap(err, "the plan of runtime %s cannot be read", r->plugin->name);
        backend_plan_unref(plan);
        return false;
    }
    const struct json *processes = json_get(plan->tree, "processes");
    struct plan_process *out =
        ARENA_NEW_ARRAY(&plan->arena, struct plan_process, processes != NULL ? processes->count : 0);
    JSON_EACH (node, processes) {
        read_process(&plan->arena, node, &out[plan->process_count++]);
    }
    plan->processes = out;
    plan->ports = texts(&plan->arena, json_get(plan->tree, "ports"), &plan->port_count);
    plan->backoff_limit = spec->backoff_limit;
    plan->clean_pods = spec->clean_pods;
    plan->active_deadline_ns = spec->active_deadline_ns;
    if (!check_programs(plan, spec, err)) {
        backend_plan_unref(plan);
        return false;
    }
    *ret = plan;
    return true;
}

// The tree with this name instead of its own.
static bool named(const struct json *tree, const char *name, struct arena *a, const struct json **ret,
                  struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    struct json_writer w;
    json_writer_init(&w, &text);
    json_begin_object(&w);
    json_key(&w, "name");
    json_add_string(&w, name);
    JSON_EACH (child, tree) {
        if (!str_same(child->key, "name") && !str_same(child->key, "name_prefix")) {
            json_key(&w, child->key);
            json_add_node(&w, child);
        }
    }
    json_end_object(&w);
    return json_parse(a, str_text(&text), text.len, &json_limits_default, ret, err);
}

bool flow_plan_render(const struct runtime *r, const struct json *tree, const char *target, const char *name,
                      struct backend_plan **ret, struct err *err) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *with_name = NULL;
    if (!named(tree, name, &a, &with_name, err) || !runtime_render(r, with_name, target, &text, err)) {
        return false;
    }
    struct backend_plan *plan = plan_of_text(&text);
    if (!json_parse(&plan->arena, plan->json, text.len, &json_limits_default, &plan->tree, err)) {
        err_wrap(err, "what runtime %s rendered cannot be read", r->plugin->name);
        backend_plan_unref(plan);
        return false;
    }
    *ret = plan;
    return true;
}
