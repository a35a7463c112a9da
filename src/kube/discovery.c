// Which of the kinds that our runtimes make does this cluster serve? Asked at the start and again now and then, so
// that an operator installed later is found without a restart.
#include "kube/executor.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

enum { AGAIN_MS = 60 * 1000, AGAIN_SOON_MS = 2000 };

struct asking {
    struct list link; // kube.askings
    struct kube *kube;
    const struct kube_target *target;
    struct kube_call *call;
};

struct kube_resource *kube_resource_find(struct kube *k, const char *target, const char *kind) {
    LIST_EACH (node, &k->resources) {
        struct kube_resource *r = CONTAINER_OF(node, struct kube_resource, link);
        if (str_same(r->target->name, target) && str_same(r->kind, kind)) {
            return r;
        }
    }
    return NULL;
}

static void collection_path(struct str *out, const struct kube_resource *r, const char *namespace_) {
    str_printf(out, "/apis/%s", r->target->name);
    if (namespace_ != NULL) {
        str_add(out, "/namespaces/");
        kube_path_add(out, namespace_);
    }
    str_printf(out, "/%s", r->plural);
}

void kube_object_path(struct str *out, const struct kube_resource *r, const char *namespace_, const char *name) {
    collection_path(out, r, namespace_);
    if (name != NULL) {
        str_add_char(out, '/');
        kube_path_add(out, name);
    }
}

// "/api/v1/pods", or with the namespace.
static void core_path(struct str *out, const struct kube *k, const char *plural) {
    str_add(out, "/api/v1");
    if (k->namespace_ != NULL) {
        str_add(out, "/namespaces/");
        kube_path_add(out, k->namespace_);
    }
    str_printf(out, "/%s", plural);
}

static void begin_watch(struct kube_resource *r) {
    struct kube *k = r->kube;
    CLEANUP(str_done) struct str path = STR_INIT;
    CLEANUP(mem_free_ptr) char *what = mem_printf("%ss", r->kind);
    collection_path(&path, r, k->namespace_);
    r->reflector = reflector_new(&(struct reflector_options){.loop = k->loop,
                                                             .client = k->client,
                                                             .path = str_text(&path),
                                                             .selector = KUBE_LABEL_UID,
                                                             .what = what,
                                                             .handler = &kube_object_handler,
                                                             .ctx = r});
    log_info("kube", "%s: %s of %s are served", k->base.name, r->kind, r->target->name);
}

void kube_watch_events(struct kube_resource *r) {
    struct kube *k = r->kube;
    CLEANUP(str_done) struct str events = STR_INIT;
    CLEANUP(mem_free_ptr) char *about = mem_printf("events of %ss", r->kind);
    CLEANUP(mem_free_ptr) char *fields = mem_printf("type=Warning,involvedObject.kind=%s", r->kind);
    core_path(&events, k, "events");
    r->events = reflector_new(&(struct reflector_options){.loop = k->loop,
                                                          .client = k->client,
                                                          .path = str_text(&events),
                                                          .fields = fields,
                                                          .what = about,
                                                          .handler = &kube_event_handler,
                                                          .ctx = k});
}

static void found(struct kube *k, const struct kube_target *target, const struct json *list) {
    LIST_EACH (node, &k->resources) {
        struct kube_resource *r = CONTAINER_OF(node, struct kube_resource, link);
        const struct json *row = NULL;
        JSON_EACH (one, r->target == target ? json_get(list, "resources") : NULL) {
            bool sub = strchr(json_string(json_get(one, "name"), "/"), '/') != NULL;
            row = !sub && str_same(json_string(json_get(one, "kind"), ""), r->kind) ? one : row;
        }
        if (row != NULL && r->plural == NULL) {
            r->plural = mem_strdup(json_string(json_get(row, "name"), ""));
            begin_watch(r);
        }
    }
}

static void begin_pods(struct kube *k) {
    CLEANUP(str_done) struct str path = STR_INIT;
    core_path(&path, k, "pods");
    k->pods = reflector_new(&(struct reflector_options){.loop = k->loop,
                                                        .client = k->client,
                                                        .path = str_text(&path),
                                                        .selector = KUBE_LABEL_UID,
                                                        .what = "pods",
                                                        .handler = &kube_pod_handler,
                                                        .ctx = k});
}

static void on_answer(void *ctx, const struct kube_reply *reply) {
    struct asking *a = ctx;
    struct kube *k = a->kube;
    CLEANUP(arena_done) struct arena arena = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *list = NULL;
    bool known = reply->err == NULL || reply->err->code == ERR_NOT_FOUND;
    if (reply->err == NULL && json_parse(&arena, reply->body, reply->length, &json_limits_default, &list, &err)) {
        found(k, a->target, list);
    }
    if (known && k->pods == NULL) {
        begin_pods(k);
    }
    if (!known || k->undiscovered) {
        mem_free(k->problem);
        k->problem = known ? NULL : mem_strdup(reply->err->message);
        k->undiscovered = !known;
        k->sink.health(k->sink.ctx, k->problem);
    }
    loop_timer_start(&k->discover, known ? AGAIN_MS : AGAIN_SOON_MS);
    list_remove(&a->link);
    mem_free(a);
}

void kube_discover(void *ctx) {
    struct kube *k = ctx;
    const struct kube_target *t;
    for (unsigned i = 0; (t = kube_target_at(i)) != NULL; i++) {
        CLEANUP(mem_free_ptr) char *path = mem_printf("/apis/%s", t->name);
        CLEANUP(mem_free_ptr) char *what = mem_printf("discover %s", t->name);
        struct asking *a = NEW(struct asking);
        a->kube = k;
        a->target = t;
        list_push(&k->askings, &a->link);
        a->call =
            kube_send(k->client, &(struct kube_request){.method = "GET", .path = path, .what = what}, on_answer, a);
    }
}

void kube_discovery_done(struct kube *k) {
    LIST_EACH (node, &k->askings) {
        struct asking *a = CONTAINER_OF(node, struct asking, link);
        kube_call_cancel(a->call);
        list_remove(&a->link);
        mem_free(a);
    }
}
