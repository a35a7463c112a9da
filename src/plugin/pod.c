// A role of a job as a PodTemplateSpec.
#include "plugin/internal.h"

#include "base/mem.h"

#include <string.h>

#define SHM_VOLUME "trainerd-shm"
#define GPU_DEFAULT "nvidia.com/gpu"

static void put(struct json_writer *w, const char *key, const struct json *value) {
    if (value != NULL) {
        json_key(w, key);
        json_add_node(w, value);
    }
}

static void put_text(struct json_writer *w, const char *key, const char *text) {
    json_key(w, key);
    json_add_string(w, text);
}

static bool given(const struct json *node) {
    return node != NULL &&
           (node->count != 0 || !str_is_empty(node->text) || (node->type == JSON_BOOL && node->boolean));
}

// ---- Environment

static void put_ref(struct json_writer *w, const char *key, const struct json *ref) {
    json_key(w, key);
    json_begin_object(w);
    put(w, "name", json_get(ref, "name"));
    put(w, "key", json_get(ref, "key"));
    put(w, "optional", json_get(ref, "optional"));
    json_end_object(w);
}

static void put_source(struct json_writer *w, const struct json *source) {
    json_key(w, "valueFrom");
    json_begin_object(w);
    if (json_get(source, "secret") != NULL) {
        put_ref(w, "secretKeyRef", json_get(source, "secret"));
    } else if (json_get(source, "config_map") != NULL) {
        put_ref(w, "configMapKeyRef", json_get(source, "config_map"));
    } else {
        json_key(w, "fieldRef");
        json_begin_object(w);
        put(w, "fieldPath", json_get(source, "field_path"));
        json_end_object(w);
    }
    json_end_object(w);
}

static void put_env(struct json_writer *w, const struct json *env) {
    if (!given(env)) {
        return;
    }
    json_key(w, "env");
    json_begin_array(w);
    JSON_EACH (one, env) {
        json_begin_object(w);
        put(w, "name", json_get(one, "name"));
        if (json_get(one, "value_from") != NULL) {
            put_source(w, json_get(one, "value_from"));
        } else {
            put_text(w, "value", json_string(json_get(one, "value"), ""));
        }
        json_end_object(w);
    }
    json_end_array(w);
}

// ---- Resources: limits are what is asked for, and requests the same but for those that are given apart

static const char *requested(const struct json *resources, const char *name) {
    return json_string(json_get(json_get(resources, "requests"), name), NULL);
}

static void put_amount(struct json_writer *w, const struct json *resources, const char *name, const char *amount,
                       bool requests) {
    const char *other = requests ? requested(resources, name) : NULL;
    if (!str_is_empty(amount) || other != NULL) {
        put_text(w, name, other != NULL ? other : amount);
    }
}

static const struct {
    const char *ours, *theirs;
} plain[] = {{"cpu", "cpu"}, {"memory", "memory"}, {"ephemeral_storage", "ephemeral-storage"}};

static bool is_plain(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if (strcmp(plain[i].theirs, name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_amounts(struct json_writer *w, const struct json *resources, bool requests) {
    const struct json *gpu = json_get(resources, "gpu");
    const struct json *extended = json_get(resources, "extended");
    const char *gpu_name = json_string(json_get(resources, "gpu_resource"), "");
    gpu_name = gpu_name[0] != '\0' ? gpu_name : GPU_DEFAULT;
    int64_t gpus = 0;
    json_key(w, requests ? "requests" : "limits");
    json_begin_object(w);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        const char *amount = json_string(json_get(resources, plain[i].ours), "");
        if (requests || amount[0] != '\0') {
            put_amount(w, resources, plain[i].theirs, amount, requests);
        }
    }
    if (json_int(gpu, &gpus) && gpus > 0) {
        put_amount(w, resources, gpu_name, gpu->text, requests);
    }
    JSON_EACH (one, extended) {
        put_amount(w, resources, one->key, json_string(one, ""), requests);
    }
    JSON_EACH (one, requests ? json_get(resources, "requests") : NULL) { // asked for without a limit
        bool said =
            is_plain(one->key) || json_get(extended, one->key) != NULL || (gpus > 0 && strcmp(one->key, gpu_name) == 0);
        if (!said) {
            put(w, one->key, one);
        }
    }
    json_end_object(w);
}

static void put_resources(struct json_writer *w, const struct json *resources) {
    if (given(resources)) {
        json_key(w, "resources");
        json_begin_object(w);
        put_amounts(w, resources, true);
        put_amounts(w, resources, false);
        json_end_object(w);
    }
}

// ---- Volumes

static void put_mounts(struct json_writer *w, const struct json *mounts, bool shm) {
    if (!given(mounts) && !shm) {
        return;
    }
    json_key(w, "volumeMounts");
    json_begin_array(w);
    JSON_EACH (one, mounts) {
        json_begin_object(w);
        put(w, "name", json_get(one, "name"));
        put(w, "mountPath", json_get(one, "mount_path"));
        put(w, "subPath", json_get(one, "sub_path"));
        put(w, "readOnly", json_get(one, "read_only"));
        json_end_object(w);
    }
    if (shm) {
        json_begin_object(w);
        put_text(w, "name", SHM_VOLUME);
        put_text(w, "mountPath", "/dev/shm");
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_named(struct json_writer *w, const char *kind, const char *key, const struct json *name) {
    if (name != NULL) {
        json_key(w, kind);
        json_begin_object(w);
        put(w, key, name);
        json_end_object(w);
    }
}

static void put_volume(struct json_writer *w, const struct json *v) {
    const struct json *claim = json_get(v, "persistent_volume_claim");
    const struct json *empty = json_get(v, "empty_dir");
    json_begin_object(w);
    put(w, "name", json_get(v, "name"));
    if (claim != NULL) {
        json_key(w, "persistentVolumeClaim");
        json_begin_object(w);
        put(w, "claimName", json_get(claim, "claim_name"));
        put(w, "readOnly", json_get(claim, "read_only"));
        json_end_object(w);
    }
    if (empty != NULL) {
        json_key(w, "emptyDir");
        json_begin_object(w);
        put(w, "medium", json_get(empty, "medium"));
        put(w, "sizeLimit", json_get(empty, "size_limit"));
        json_end_object(w);
    }
    put_named(w, "configMap", "name", json_get(v, "config_map"));
    put_named(w, "secret", "secretName", json_get(v, "secret"));
    put_named(w, "hostPath", "path", json_get(v, "host_path"));
    JSON_EACH (member, json_get(v, "raw")) {
        put(w, member->key, member);
    }
    json_end_object(w);
}

static void put_volumes(struct json_writer *w, const struct json *role, const char *shm) {
    const struct json *volumes = json_get(role, "volumes");
    if (!given(volumes) && shm == NULL) {
        return;
    }
    json_key(w, "volumes");
    json_begin_array(w);
    JSON_EACH (one, volumes) {
        put_volume(w, one);
    }
    if (shm != NULL) {
        json_begin_object(w);
        put_text(w, "name", SHM_VOLUME);
        json_key(w, "emptyDir");
        json_begin_object(w);
        put_text(w, "medium", "Memory");
        put_text(w, "sizeLimit", shm);
        json_end_object(w);
        json_end_object(w);
    }
    json_end_array(w);
}

// ---- Containers

static void put_ports(struct json_writer *w, const struct json *ports) {
    if (!given(ports)) {
        return;
    }
    json_key(w, "ports");
    json_begin_array(w);
    JSON_EACH (one, ports) {
        json_begin_object(w);
        put(w, "name", json_get(one, "name"));
        put(w, "containerPort", json_get(one, "port"));
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_container(struct json_writer *w, const struct json *c, const char *name, bool shm) {
    json_begin_object(w);
    put_text(w, "name", name);
    put(w, "image", json_get(c, "image"));
    put(w, "command", json_get(c, "command"));
    put(w, "args", json_get(c, "args"));
    put_env(w, json_get(c, "env"));
    put(w, "workingDir", json_get(c, "working_dir"));
    put_resources(w, json_get(c, "resources"));
    put_mounts(w, json_get(c, "volume_mounts"), shm);
    put_ports(w, json_get(c, "ports"));
    json_end_object(w);
}

static void put_containers(struct json_writer *w, const struct json *role, const char *name, bool shm) {
    const struct json *init = json_get(role, "init_containers");
    json_key(w, "containers");
    json_begin_array(w);
    put_container(w, role, name, shm);
    json_end_array(w);
    if (given(init)) {
        json_key(w, "initContainers");
        json_begin_array(w);
        JSON_EACH (one, init) {
            put_container(w, one, json_string(json_get(one, "name"), ""), false);
        }
        json_end_array(w);
    }
}

// ---- The pod

static void put_tolerations(struct json_writer *w, const struct json *tolerations) {
    if (!given(tolerations)) {
        return;
    }
    json_key(w, "tolerations");
    json_begin_array(w);
    JSON_EACH (one, tolerations) {
        json_begin_object(w);
        put(w, "key", json_get(one, "key"));
        put(w, "operator", json_get(one, "operator"));
        put(w, "value", json_get(one, "value"));
        put(w, "effect", json_get(one, "effect"));
        put(w, "tolerationSeconds", json_get(one, "toleration_seconds"));
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_pull_secrets(struct json_writer *w, const struct json *names) {
    if (!given(names)) {
        return;
    }
    json_key(w, "imagePullSecrets");
    json_begin_array(w);
    JSON_EACH (one, names) {
        json_begin_object(w);
        put(w, "name", one);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_spec(struct json_writer *w, const struct json *role, const char *container) {
    const char *shm = json_string(json_get(role, "shm_size"), "");
    shm = shm[0] != '\0' ? shm : NULL;
    json_begin_object(w);
    put_containers(w, role, container, shm != NULL);
    put_volumes(w, role, shm);
    put(w, "nodeSelector", json_get(role, "node_selector"));
    put_tolerations(w, json_get(role, "tolerations"));
    put(w, "affinity", json_get(role, "affinity"));
    put(w, "serviceAccountName", json_get(role, "service_account"));
    put_pull_secrets(w, json_get(role, "image_pull_secrets"));
    if (json_bool(json_get(role, "host_network"), false)) {
        json_key(w, "hostNetwork");
        json_add_bool(w, true);
        put_text(w, "dnsPolicy", "ClusterFirstWithHostNet");
    }
    json_end_object(w);
}

static void put_metadata(struct json_writer *w, const struct json *role) {
    const struct json *labels = json_get(role, "pod_labels");
    const struct json *annotations = json_get(role, "pod_annotations");
    if (given(labels) || given(annotations)) {
        json_key(w, "metadata");
        json_begin_object(w);
        put(w, "labels", labels);
        put(w, "annotations", annotations);
        json_end_object(w);
    }
}

void pod_template_add(struct str *out, const struct json *role, const char *container) {
    CLEANUP(str_done) struct str base = STR_INIT;
    const struct json *overlay = json_get(role, "pod_overlay");
    struct json_writer w;
    json_writer_init(&w, &base);
    json_begin_object(&w);
    put_metadata(&w, role);
    json_key(&w, "spec");
    put_spec(&w, role, container);
    json_end_object(&w);
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    if (overlay != NULL && json_parse(&a, str_text(&base), base.len, &json_limits_default, &tree, &err)) {
        json_writer_init(&w, out);
        overlay_merge(&w, tree, overlay);
    } else {
        str_add_bytes(out, base.data, base.len);
    }
}
