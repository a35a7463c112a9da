#include "kube/mark.h"

#include "base/str.h"
#include "kube/kinds.h"

#include <string.h>

struct pair {
    const char *key, *value; // value NULL: left out
};

// A map of texts with some keys set: what was there first, in its order, then what is new.
static void put_map(struct json_writer *w, const char *name, const struct json *map, const struct pair *pairs,
                    size_t n) {
    json_key(w, name);
    json_begin_object(w);
    JSON_EACH (old, map) {
        bool replaced = false;
        for (size_t i = 0; i < n; i++) {
            replaced = replaced || (pairs[i].value != NULL && str_same(old->key, pairs[i].key));
        }
        if (!replaced) {
            json_key(w, old->key);
            json_add_node(w, old);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (pairs[i].value != NULL) {
            json_key(w, pairs[i].key);
            json_add_string(w, pairs[i].value);
        }
    }
    json_end_object(w);
}

static bool is_pod_template(const struct json *node) {
    return node->key != NULL && strcmp(node->key, "template") == 0 && json_path(node, "spec.containers") != NULL;
}

static void put_node(struct json_writer *w, const struct json *node, const char *uid);

static void put_members(struct json_writer *w, const struct json *node, const char *but, const char *uid) {
    JSON_EACH (child, node) {
        if (but == NULL || strcmp(child->key, but) != 0) {
            json_key(w, child->key);
            put_node(w, child, uid);
        }
    }
}

static void put_template(struct json_writer *w, const struct json *node, const char *uid) {
    const struct json *meta = json_get(node, "metadata");
    const struct pair label = {KUBE_LABEL_UID, uid};
    json_begin_object(w);
    json_key(w, "metadata");
    json_begin_object(w);
    put_map(w, "labels", json_get(meta, "labels"), &label, 1);
    put_members(w, meta, "labels", uid);
    json_end_object(w);
    put_members(w, node, "metadata", uid);
    json_end_object(w);
}

static void put_node(struct json_writer *w, const struct json *node, const char *uid) {
    if (node->type == JSON_OBJECT && is_pod_template(node)) {
        put_template(w, node, uid);
    } else if (node->type == JSON_OBJECT) {
        json_begin_object(w);
        put_members(w, node, NULL, uid);
        json_end_object(w);
    } else if (node->type == JSON_ARRAY) {
        json_begin_array(w);
        JSON_EACH (child, node) {
            put_node(w, child, uid);
        }
        json_end_array(w);
    } else {
        json_add_node(w, node);
    }
}

static void put_metadata(struct json_writer *w, const struct json *meta, const struct kube_mark *i) {
    bool spec_fits = i->spec_json != NULL && strlen(i->spec_json) <= KUBE_SPEC_NOTE_MAX;
    const struct pair labels[] = {{KUBE_LABEL_MANAGED, KUBE_MANAGER}, {KUBE_LABEL_UID, i->uid}};
    const struct pair notes[] = {{KUBE_NOTE_REQUEST, i->request_id},
                                 {KUBE_NOTE_HASH, i->spec_hash},
                                 {KUBE_NOTE_SPEC, spec_fits ? i->spec_json : NULL}};
    json_begin_object(w);
    JSON_EACH (child, meta) {
        if (strcmp(child->key, "labels") != 0 && strcmp(child->key, "annotations") != 0) {
            json_key(w, child->key);
            json_add_node(w, child);
        }
    }
    if (json_get(meta, "namespace") == NULL) {
        json_key(w, "namespace");
        json_add_string(w, i->namespace_);
    }
    put_map(w, "labels", json_get(meta, "labels"), labels, 2);
    put_map(w, "annotations", json_get(meta, "annotations"), notes, 3);
    json_end_object(w);
}

void kube_mark_object(struct str *out, const struct json *object, const struct kube_mark *mark) {
    struct json_writer w;
    json_writer_init(&w, out);
    json_begin_object(&w);
    JSON_EACH (child, object) {
        json_key(&w, child->key);
        if (strcmp(child->key, "metadata") == 0) {
            put_metadata(&w, child, mark);
        } else {
            put_node(&w, child, mark->uid);
        }
    }
    json_end_object(&w);
}
