// A partial object merged into a whole one, by the rules of strategic merge: objects member by member, lists of things
// with a name by that name, everything else replaced. null deletes, and "$patch": "delete" deletes from a list.
#include "plugin/internal.h"

#include <string.h>

// Lists that are merged, and the member that tells their items apart.
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
static const char *merge_key(const char *list) {
    static const struct {
        const char *list, *key;
    } rows[] = {
        {"containers", "name"},
        {"initContainers", "name"},
        {"volumes", "name"},
        {"env", "name"},
        {"volumeMounts", "mountPath"},
        {"ports", "containerPort"},
        {"imagePullSecrets", "name"},
        {"hostAliases", "ip"},
        {"volumeDevices", "devicePath"},
        {"ephemeralContainers", "name"},
        {"topologySpreadConstraints", "topologyKey"},
    };
    for (size_t i = 0; list != NULL && i < ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].list, list) == 0) {
            return rows[i].key;
        }
    }
    return NULL;
}

static bool is_directive(const struct json *node, const char *value) {
    return str_same(json_string(json_get(node, "$patch"), NULL), value);
}

// Sources of a volume exclude each other: one of another kind takes the place of the old one.
static const struct json *item_of(const struct json *list, const char *key, const struct json *like) {
    const struct json *id = json_get(like, key);
    JSON_EACH (item, list) {
        if (id != NULL && json_get(item, key) != NULL && json_equal(json_get(item, key), id)) {
            return item;
        }
    }
    return NULL;
}

static void merge_list(struct json_writer *w, const struct json *base, const struct json *over, const char *key) {
    json_begin_array(w);
    JSON_EACH (item, base) {
        const struct json *change = item_of(over, key, item);
        if (change == NULL) {
            json_add_node(w, item);
        } else if (!is_directive(change, "delete")) {
            overlay_merge(w, item, change);
        }
    }
    JSON_EACH (item, over) {
        if (item_of(base, key, item) == NULL && !is_directive(item, "delete")) {
            overlay_merge(w, NULL, item);
        }
    }
    json_end_array(w);
}

static void merge_object(struct json_writer *w, const struct json *base, const struct json *over) {
    json_begin_object(w);
    JSON_EACH (member, base) {
        const struct json *change = json_get(over, member->key);
        if (change == NULL) {
            json_key(w, member->key);
            json_add_node(w, member);
        } else if (change->type != JSON_NULL) {
            json_key(w, member->key);
            overlay_merge(w, member, change);
        }
    }
    JSON_EACH (member, over) {
        if (json_get(base, member->key) == NULL && member->type != JSON_NULL && strcmp(member->key, "$patch") != 0) {
            json_key(w, member->key);
            overlay_merge(w, NULL, member);
        }
    }
    json_end_object(w);
}

void overlay_merge(struct json_writer *w, const struct json *base, const struct json *over) {
    const char *key = over->type == JSON_ARRAY ? merge_key(over->key) : NULL;
    bool replace = base == NULL || base->type != over->type || is_directive(over, "replace");
    if (over->type == JSON_OBJECT) {
        merge_object(w, replace ? NULL : base, over);
    } else if (key != NULL) {
        merge_list(w, replace ? NULL : base, over, key);
    } else {
        json_add_node(w, over);
    }
}
