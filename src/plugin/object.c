// Objects of a cluster: what every runtime's objects have in common, and the frame of the Kubeflow kinds.
#include "plugin/internal.h"

#include "base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KUEUE_LABEL "kueue.x-k8s.io/queue-name"
enum { BACKOFF_DEFAULT = 3 };

static const struct json *node(const struct trainer_value *value) {
    return (const struct json *)(const void *)value;
}

// A whole value that the host made itself.
static void put_raw(struct trainer_writer *w, const struct str *text) {
    struct json_writer *to = writer_target(w, text->len + 32);
    if (to != NULL) {
        json_add_raw(to, str_text(text));
    }
}

static void put_key(struct trainer_writer *w, const char *key) {
    struct json_writer *to = writer_target(w, strlen(key) + 32);
    if (to != NULL) {
        json_key(to, key);
    }
}

// ---- What a cluster would leave hanging

static bool is_dns_1035(const char *name) {
    size_t n = strlen(name);
    if (n == 0 || n > 63 || name[0] < 'a' || name[0] > 'z' || name[n - 1] == '-') {
        return false;
    }
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static int32_t cluster_check(const struct trainer_value *spec, struct trainer_errors *errors) {
    const struct json *tree = node(spec);
    const char *name = json_string(json_get(tree, "name"), NULL);
    size_t index = 0;
    if (name != NULL && !is_dns_1035(name)) {
        errors->failed = true;
        err_violate(
            errors->err, "name",
            "\"%s\" must be a DNS-1035 label in a cluster: lower case letters, digits and '-', beginning with a "
            "letter",
            name);
    }
    JSON_EACH (role, json_get(tree, "roles")) {
        const struct json *containers = json_path(role, "pod_overlay.spec.containers");
        int64_t position = (int64_t)index++;
        (void)json_int(json_get(role, "position"), &position);
        if (str_is_empty(json_string(json_get(role, "image"), "")) && containers == NULL) {
            CLEANUP(mem_free_ptr) char *field = mem_printf("roles[%lld].image", (long long)position);
            errors->failed = true;
            err_violate(errors->err, field, "a role needs an image in a cluster");
        }
    }
    return errors->failed ? TRAINER_FAILED : TRAINER_OK;
}

// ---- The frame

static void put_labels(struct json_writer *w, const struct json *tree) {
    const struct json *labels = json_get(tree, "labels");
    const char *queue = json_string(json_path(tree, "run_policy.queue"), "");
    if (queue[0] == '\0' || json_get(labels, KUEUE_LABEL) != NULL) {
        if (labels != NULL) {
            json_key(w, "labels");
            json_add_node(w, labels);
        }
        return;
    }
    json_key(w, "labels");
    json_begin_object(w);
    JSON_EACH (one, labels) {
        json_key(w, one->key);
        json_add_node(w, one);
    }
    json_key(w, KUEUE_LABEL);
    json_add_string(w, queue);
    json_end_object(w);
}

static void put_name(struct json_writer *w, const struct json *tree) {
    const char *name = json_string(json_get(tree, "name"), NULL);
    CLEANUP(mem_free_ptr)
    char *made = name == NULL ? mem_printf("%s-00000", json_string(json_get(tree, "name_prefix"), "job")) : NULL;
    json_key(w, "name");
    json_add_string(w, name != NULL ? name : made);
}

static void object_begin(struct trainer_writer *w, const struct trainer_value *spec, const char *api_version,
                         const char *kind) {
    const struct json *tree = node(spec);
    CLEANUP(str_done) struct str meta = STR_INIT;
    struct json_writer m;
    json_writer_init(&m, &meta);
    json_begin_object(&m);
    put_name(&m, tree);
    json_key(&m, "namespace");
    json_add_string(&m, json_string(json_get(tree, "namespace"), "default"));
    put_labels(&m, tree);
    if (json_get(tree, "annotations") != NULL) {
        json_key(&m, "annotations");
        json_add_node(&m, json_get(tree, "annotations"));
    }
    json_end_object(&m);
    struct json_writer *to = writer_target(w, meta.len + 256);
    if (to == NULL || api_version == NULL || kind == NULL) {
        return;
    }
    json_begin_object(to);
    json_key(to, "apiVersion");
    json_add_string(to, api_version);
    json_key(to, "kind");
    json_add_string(to, kind);
    json_key(to, "metadata");
    json_add_raw(to, str_text(&meta));
    json_key(to, "spec");
    json_begin_object(to);
}

static void object_end(struct trainer_writer *w) {
    struct json_writer *to = writer_target(w, 32);
    if (to != NULL) {
        json_end_object(to);
        json_end_object(to);
    }
}

static void pod_template(struct trainer_writer *w, const struct trainer_value *role, const char *container) {
    CLEANUP(str_done) struct str text = STR_INIT;
    pod_template_add(&text, node(role), container != NULL ? container : "main");
    put_raw(w, &text);
}

// ---- The Kubeflow kinds

// "90s" or "1.5s" in whole seconds, upwards.
static int64_t seconds(const struct json *duration) {
    double s = strtod(json_string(duration, "0"), NULL);
    return s > 0 && s < 1e10 ? (int64_t)ceil(s) : 0;
}

static void put_scheduling(struct json_writer *w, const struct json *policy) {
    const char *queue = json_string(json_get(policy, "queue"), "");
    const char *priority = json_string(json_get(policy, "priority_class"), "");
    int64_t available = 0;
    (void)json_int(json_get(policy, "min_available"), &available);
    if (queue[0] == '\0' && priority[0] == '\0' && available == 0) {
        return;
    }
    json_key(w, "schedulingPolicy");
    json_begin_object(w);
    if (available > 0) {
        json_key(w, "minAvailable");
        json_add_int(w, available);
    }
    if (queue[0] != '\0') {
        json_key(w, "queue");
        json_add_string(w, queue);
    }
    if (priority[0] != '\0') {
        json_key(w, "priorityClass");
        json_add_string(w, priority);
    }
    json_end_object(w);
}

static const char *clean_policy(const char *ours) {
    static const char *const names[][2] = {{"ALL", "All"}, {"NONE", "None"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_same(ours, names[i][0])) {
            return names[i][1];
        }
    }
    return "Running";
}

static void kubeflow_run_policy(struct trainer_writer *w, const struct trainer_value *spec) {
    const struct json *policy = json_get(node(spec), "run_policy");
    CLEANUP(str_done) struct str text = STR_INIT;
    struct json_writer p;
    int64_t backoff = BACKOFF_DEFAULT;
    (void)json_int(json_get(policy, "backoff_limit"), &backoff);
    json_writer_init(&p, &text);
    json_begin_object(&p);
    json_key(&p, "cleanPodPolicy");
    json_add_string(&p, clean_policy(json_string(json_get(policy, "clean_pods"), "")));
    json_key(&p, "backoffLimit");
    json_add_int(&p, backoff);
    if (seconds(json_get(policy, "active_deadline")) != 0) {
        json_key(&p, "activeDeadlineSeconds");
        json_add_int(&p, seconds(json_get(policy, "active_deadline")));
    }
    if (json_bool(json_get(policy, "suspend"), false)) {
        json_key(&p, "suspend");
        json_add_bool(&p, true);
    }
    put_scheduling(&p, policy);
    json_end_object(&p);
    put_key(w, "runPolicy");
    put_raw(w, &text);
}

static const char *restart_of(const struct json *role) {
    static const char *const names[][2] = {
        {"NEVER", "Never"}, {"ON_FAILURE", "OnFailure"}, {"ALWAYS", "Always"}, {"EXIT_CODE", "ExitCode"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_same(json_string(json_get(role, "restart_policy"), ""), names[i][0])) {
            return names[i][1];
        }
    }
    return "Never";
}

static void put_role_key(struct json_writer *w, const char *name) {
    char key[64];
    size_t n = strnlen(name, sizeof key - 1);
    memcpy(key, name, n);
    key[n] = '\0';
    bool all = strcmp(name, "ps") == 0;
    for (size_t i = 0; i < (all ? n : 1); i++) {
        key[i] = (char)toupper((unsigned char)key[i]);
    }
    json_key(w, key);
}

static void kubeflow_replicas(struct trainer_writer *w, const struct trainer_value *spec, const char *name,
                              const char *container) {
    CLEANUP(str_done) struct str text = STR_INIT;
    struct json_writer p;
    json_writer_init(&p, &text);
    json_begin_object(&p);
    JSON_EACH (role, json_get(node(spec), "roles")) {
        CLEANUP(str_done) struct str template = STR_INIT;
        pod_template_add(&template, role, container != NULL ? container : "main");
        put_role_key(&p, json_string(json_get(role, "name"), ""));
        json_begin_object(&p);
        json_key(&p, "replicas");
        json_add_node(&p, json_get(role, "replicas"));
        json_key(&p, "restartPolicy");
        json_add_string(&p, restart_of(role));
        json_key(&p, "template");
        json_add_raw(&p, str_text(&template));
        json_end_object(&p);
    }
    json_end_object(&p);
    put_key(w, name != NULL ? name : "replicaSpecs");
    put_raw(w, &text);
}

static void kubeflow_observe(struct trainer_writer *w, const struct trainer_value *object) {
    CLEANUP(str_done) struct str text = STR_INIT;
    struct json_writer p;
    json_writer_init(&p, &text);
    conditions_observe(&p, node(object));
    put_raw(w, &text);
}

void object_services(struct trainer_host *ret) {
    ret->cluster_check = cluster_check;
    ret->object_begin = object_begin;
    ret->object_end = object_end;
    ret->pod_template = pod_template;
    ret->kubeflow_run_policy = kubeflow_run_policy;
    ret->kubeflow_replicas = kubeflow_replicas;
    ret->kubeflow_observe = kubeflow_observe;
}
