// What a spec asks for and the local target cannot give: refused where the job would be another one without it, said
// where it is not; never dropped silently.
#include "flow/internal.h"

#include "base/mem.h"
#include "base/str.h"

// NULL: it is taken.
static const char *elastic_problem(const struct flow_choice *c) {
    bool able = c->backend->ops->create != NULL && (c->runtime->plugin->capabilities & TRAINER_CAP_ELASTIC) != 0;
    return able ? NULL : "this runtime on this target cannot run elastic jobs: their size is fixed";
}

void flow_refuse_unsupported(const struct job_spec *spec, const struct flow_choice *choice, struct err *err) {
    const struct {
        const char *path, *text;
    } fields[] = {
        {"depends_on", "dependencies between jobs are not live in this version"},
        {"elastic", elastic_problem(choice)},
        {"metrics", "metric collectors are not live in this version"},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct json *value = json_get(spec->tree, fields[i].path);
        if (fields[i].text != NULL && value != NULL && value->count != 0) {
            err_violate(err, fields[i].path, "%s", fields[i].text);
        }
    }
}

// Of containers, pods and the cluster's scheduler.
static const char *const role_fields[] = {
    "image",
    "volumes",
    "volume_mounts",
    "shm_size",
    "node_selector",
    "tolerations",
    "affinity",
    "service_account",
    "image_pull_secrets",
    "init_containers",
    "ports",
    "pod_overlay",
    "pod_labels",
    "pod_annotations",
    "host_network",
    "resources.ephemeral_storage",
    "resources.gpu_resource",
    "resources.extended",
    "resources.requests",
};

static const char *const policy_fields[] = {"queue", "priority_class", "gang", "min_available"};

static bool is_given(const struct json *value) {
    if (value == NULL) {
        return false;
    }
    switch (value->type) {
    case JSON_NULL:
        return false;
    case JSON_BOOL:
        return value->boolean;
    case JSON_STRING:
        return value->length != 0;
    case JSON_NUMBER:
        return true;
    default:
        return value->count != 0;
    }
}

// One warning a field, however many roles give it.
static void warn_of_roles(const struct job_spec *spec, const char *field, void (*warn)(void *ctx, const char *text),
                          void *ctx) {
    CLEANUP(str_done) struct str roles = STR_INIT;
    size_t n = 0;
    JSON_EACH (role, json_get(spec->tree, "roles")) {
        if (is_given(json_path(role, field))) {
            str_printf(&roles, "%s%s", n++ == 0 ? "" : ", ", json_string(json_get(role, "name"), ""));
        }
    }
    if (n != 0) {
        CLEANUP(mem_free_ptr)
        char *text = mem_printf("%s of role%s %s has no effect on the local backend", field, n == 1 ? "" : "s",
                                str_text(&roles));
        warn(ctx, text);
    }
}

static void warn_of_sources(const struct json *role, void (*warn)(void *ctx, const char *text), void *ctx) {
    JSON_EACH (e, json_get(role, "env")) {
        if (json_get(e, "value_from") != NULL) {
            CLEANUP(mem_free_ptr)
            char *text = mem_printf("env %s of role %s: value_from needs a cluster; it is empty here",
                                    json_string(json_get(e, "name"), ""), json_string(json_get(role, "name"), ""));
            warn(ctx, text);
        }
    }
}

void flow_warn_ignored(const struct job_spec *spec, void (*warn)(void *ctx, const char *text), void *ctx) {
    const struct json *run_policy = json_get(spec->tree, "run_policy");
    for (size_t i = 0; i < ARRAY_LEN(policy_fields); i++) {
        if (is_given(json_get(run_policy, policy_fields[i]))) {
            CLEANUP(mem_free_ptr)
            char *text = mem_printf("run_policy.%s has no effect on the local backend", policy_fields[i]);
            warn(ctx, text);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(role_fields); i++) {
        warn_of_roles(spec, role_fields[i], warn, ctx);
    }
    JSON_EACH (role, json_get(spec->tree, "roles")) {
        warn_of_sources(role, warn, ctx);
    }
}
