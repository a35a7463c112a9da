// Rules within one role: environment, resources, ports, volumes, tolerations.
#include "job/rules.h"

#include "job/internal.h"
#include "job/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const struct json *object, const char *key) {
    return json_string(json_get(object, key), "");
}

// Names in a list must differ. Compares pairwise below this, which is the most a list of a role may have but env.
static bool earlier(const struct json *list, const struct json *entry, const char *key) {
    const char *text = text_of(entry, key);
    JSON_EACH (other, list) {
        if (other == entry) {
            return false;
        }
        if (strcmp(text_of(other, key), text) == 0) {
            return true;
        }
    }
    return false;
}

// Values never appear in what is said here.
static void check_env(const struct json *list, struct shape_path *path, struct err *err) {
    struct hash seen = HASH_INIT;
    size_t i = 0;
    JSON_EACH (e, list) {
        char at[64];
        const char *name = text_of(e, "name");
        snprintf(at, sizeof at, "env[%zu].name", i++);
        if (!job_env_name_valid(name)) {
            rules_at(path, err, at, "\"%.80s\" must match [-._a-zA-Z][-._a-zA-Z0-9]*", name);
        } else if (hash_put(&seen, name, (void *)(uintptr_t)e) != NULL) {
            rules_at(path, err, at, "\"%.80s\" is there twice", name);
        }
        const struct json *source = json_get(e, "value_from");
        if (source != NULL && (text_of(e, "value")[0] != '\0' || source->count != 1)) {
            snprintf(at, sizeof at, "env[%zu].value_from", i - 1);
            rules_at(path, err, at, "set exactly one of secret, config_map and field_path, and no value beside it");
        }
    }
    hash_done(&seen);
}

static void check_image(const char *image, struct shape_path *path, struct err *err) {
    for (const char *p = image; *p != '\0'; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f) {
            rules_at(path, err, "image", "contains white space or a control character");
            return;
        }
    }
}

static void check_extended(const struct json *resources, struct shape_path *path, struct err *err) {
    JSON_EACH (x, json_get(resources, "extended")) {
        char at[400];
        int64_t v;
        snprintf(at, sizeof at, "resources.extended[\"%.317s\"]", x->key);
        if (strchr(x->key, '/') == NULL || !job_label_key_valid(x->key)) {
            rules_at(path, err, at, "must be a full resource name such as nvidia.com/gpu");
        }
        enum quantity_result r = x->type == JSON_STRING ? quantity_whole(x->text, &v) : QUANTITY_OK;
        if (r != QUANTITY_OK) {
            rules_at(path, err, at, "\"%.40s\" %s", x->text, quantity_advice(r));
        }
    }
}

static void check_requests(const struct json *resources, struct shape_path *path, struct err *err) {
    JSON_EACH (x, json_get(resources, "requests")) {
        char at[400];
        int64_t wanted;
        int64_t limit;
        snprintf(at, sizeof at, "resources.requests[\"%.317s\"]", x->key);
        bool cpu = strcmp(x->key, "cpu") == 0;
        if (!cpu && strcmp(x->key, "memory") != 0 && strcmp(x->key, "ephemeral_storage") != 0) {
            rules_at(path, err, at, "only cpu, memory and ephemeral_storage may be requested below their limits");
            continue;
        }
        if (x->type != JSON_STRING) {
            continue; // said already
        }
        enum quantity_result r = cpu ? quantity_milli(x->text, &wanted) : quantity_whole(x->text, &wanted);
        if (r != QUANTITY_OK) {
            rules_at(path, err, at, "\"%.40s\" %s", x->text, quantity_advice(r));
            continue;
        }
        const char *given = json_string(json_get(resources, x->key), NULL);
        bool known =
            given != NULL && (cpu ? quantity_milli(given, &limit) : quantity_whole(given, &limit)) == QUANTITY_OK;
        if (known && wanted > limit) {
            rules_at(path, err, at, "is more than the limit \"%.40s\"", given);
        }
    }
}

static void check_shm(const struct json *role, struct shape_path *path, struct err *err) {
    const char *size = json_string(json_get(role, "shm_size"), NULL);
    const char *memory = json_string(json_path(role, "resources.memory"), NULL);
    int64_t a;
    int64_t b;
    if (size == NULL) {
        return;
    }
    if (memory != NULL && quantity_whole(size, &a) == QUANTITY_OK && quantity_whole(memory, &b) == QUANTITY_OK &&
        a > b) {
        rules_at(path, err, "shm_size", "\"%.40s\" is more than resources.memory (\"%.40s\"), which it counts against",
                 size, memory);
    }
    size_t i = 0;
    JSON_EACH (m, json_get(role, "volume_mounts")) {
        if (strcmp(text_of(m, "mount_path"), "/dev/shm") == 0) {
            char at[64];
            snprintf(at, sizeof at, "volume_mounts[%zu].mount_path", i);
            rules_at(path, err, at, "/dev/shm is what shm_size mounts; set only one of them");
        }
        i++;
    }
}

static void check_volumes(const struct json *role, struct shape_path *path, struct err *err) {
    const struct json *volumes = json_get(role, "volumes");
    const struct json *mounts = json_get(role, "volume_mounts");
    char at[64];
    size_t i = 0;
    JSON_EACH (v, volumes) {
        snprintf(at, sizeof at, "volumes[%zu].name", i);
        if (!job_namespace_valid(text_of(v, "name"))) {
            rules_at(path, err, at, "\"%.63s\" must match [a-z0-9]([-a-z0-9]*[a-z0-9])?", text_of(v, "name"));
        } else if (earlier(volumes, v, "name")) {
            rules_at(path, err, at, "\"%.63s\" is there twice", text_of(v, "name"));
        }
        if (v->count != 2) {
            snprintf(at, sizeof at, "volumes[%zu]", i);
            rules_at(path, err, at, "must have a name and exactly one source");
        }
        i++;
    }
    i = 0;
    JSON_EACH (m, mounts) {
        snprintf(at, sizeof at, "volume_mounts[%zu].mount_path", i);
        if (text_of(m, "mount_path")[0] != '/') {
            rules_at(path, err, at, "must be an absolute path");
        } else if (earlier(mounts, m, "mount_path")) {
            rules_at(path, err, at, "\"%.200s\" is mounted twice", text_of(m, "mount_path"));
        }
        bool found = false;
        JSON_EACH (v, volumes) {
            found = found || strcmp(text_of(v, "name"), text_of(m, "name")) == 0;
        }
        if (!found) {
            snprintf(at, sizeof at, "volume_mounts[%zu].name", i);
            rules_at(path, err, at, "\"%.63s\" is none of this role's volumes", text_of(m, "name"));
        }
        i++;
    }
}

static void check_ports(const struct json *ports, struct shape_path *path, struct err *err) {
    size_t i = 0;
    JSON_EACH (p, ports) {
        char at[64];
        const char *name = text_of(p, "name");
        int64_t number = 0;
        snprintf(at, sizeof at, "ports[%zu].name", i);
        if (!job_namespace_valid(name) || strlen(name) > 15) {
            rules_at(path, err, at, "\"%.63s\" must match [a-z0-9]([-a-z0-9]*[a-z0-9])? and have at most 15 characters",
                     name);
        } else if (earlier(ports, p, "name")) {
            rules_at(path, err, at, "\"%.63s\" is there twice", name);
        }
        snprintf(at, sizeof at, "ports[%zu].port", i);
        if (!shape_int(json_get(p, "port"), &number)) {
            rules_at(path, err, at, "is required, from 1 to 65535");
        }
        JSON_EACH (other, ports) {
            int64_t same = -1;
            if (other == p) {
                break;
            }
            if (shape_int(json_get(other, "port"), &same) && same == number) {
                rules_at(path, err, at, "%" PRId64 " is there twice", number);
                break;
            }
        }
        i++;
    }
}

static void check_tolerations(const struct json *list, struct shape_path *path, struct err *err) {
    static const char *const effects[] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute"};
    size_t i = 0;
    JSON_EACH (t, list) {
        char at[64];
        const char *op = text_of(t, "operator");
        bool exists = strcmp(op, "Exists") == 0;
        snprintf(at, sizeof at, "tolerations[%zu].operator", i);
        if (!exists && op[0] != '\0' && strcmp(op, "Equal") != 0) {
            rules_at(path, err, at, "must be Equal or Exists");
        } else if (!exists && text_of(t, "key")[0] == '\0') {
            rules_at(path, err, at, "must be Exists when the key is empty");
        }
        if (exists && text_of(t, "value")[0] != '\0') {
            snprintf(at, sizeof at, "tolerations[%zu].value", i);
            rules_at(path, err, at, "must be empty with operator Exists");
        }
        bool known = false;
        for (size_t k = 0; k < ARRAY_LEN(effects); k++) {
            known = known || strcmp(text_of(t, "effect"), effects[k]) == 0;
        }
        if (!known) {
            snprintf(at, sizeof at, "tolerations[%zu].effect", i);
            rules_at(path, err, at, "must be NoSchedule, PreferNoSchedule, NoExecute or empty");
        }
        i++;
    }
}

void rules_role(const struct json *role, struct shape_path *path, struct err *err) {
    const char *dir = text_of(role, "working_dir");
    if (dir[0] != '\0' && dir[0] != '/') {
        rules_at(path, err, "working_dir", "must be an absolute path");
    }
    check_image(text_of(role, "image"), path, err);
    check_env(json_get(role, "env"), path, err);
    check_extended(json_get(role, "resources"), path, err);
    check_requests(json_get(role, "resources"), path, err);
    check_shm(role, path, err);
    check_volumes(role, path, err);
    check_ports(json_get(role, "ports"), path, err);
    check_tolerations(json_get(role, "tolerations"), path, err);
    const struct json *before = json_get(role, "init_containers");
    size_t i = 0;
    JSON_EACH (c, before) {
        size_t mark = shape_enter(path, "init_containers[%zu]", i++);
        if (!job_namespace_valid(text_of(c, "name"))) {
            rules_at(path, err, "name", "\"%.63s\" must match [a-z0-9]([-a-z0-9]*[a-z0-9])?", text_of(c, "name"));
        } else if (earlier(before, c, "name")) {
            rules_at(path, err, "name", "\"%.63s\" is there twice", text_of(c, "name"));
        }
        check_image(text_of(c, "image"), path, err);
        check_env(json_get(c, "env"), path, err);
        shape_leave(path, mark);
    }
}
