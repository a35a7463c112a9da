// From objects and pods of the cluster to jobs, and from jobs to reports.
//
// An object is passed on at once. Pods change in bursts, so their jobs are marked and told of a moment later.
#include "kube/executor.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/logs.h"

#include <string.h>

enum { PODS_SETTLE_MS = 20, SILENCE_MS = 30 * 1000 };

// ---- Jobs

static void on_silence(void *ctx) {
    struct kube_job *j = ctx;
    CLEANUP(mem_free_ptr)
    char *text = mem_printf("no operator has picked up the %s within %d s: is its controller running?",
                            j->resource->kind, SILENCE_MS / 1000);
    kube_trouble(j, REASON_OPERATOR_SILENT, text);
}

struct kube_job *kube_job_of(struct kube *k, const char *uid, bool make) {
    struct kube_job *j = hash_get(&k->jobs, uid);
    if (j == NULL && make && strlen(uid) < sizeof j->uid) {
        j = NEW(struct kube_job);
        memcpy(j->uid, uid, strlen(uid) + 1);
        j->kube = k;
        list_init(&j->pods);
        list_init(&j->dirty);
        list_init(&j->logs);
        loop_timer_init(&j->silence, k->loop, "operator silence", on_silence, j);
        (void)hash_put(&k->jobs, j->uid, j);
    }
    return j;
}

void kube_job_place(struct kube_job *j, struct kube_resource *r, const char *namespace_, const char *name,
                    const char *object_uid) {
    if (j->object_uid != NULL) {
        return;
    }
    j->object_uid = mem_strdup(object_uid);
    j->resource = r;
    (void)hash_put(&j->kube->homes, j->object_uid, j);
    mem_free(j->name);
    mem_free(j->namespace_);
    j->name = mem_strdup(name);
    j->namespace_ = mem_strdup(namespace_);
    kube_early_take(j);
    if (j->wish != NULL) {
        kube_wish(j, j->wish);
    }
}

void kube_job_free(struct kube_job *j) {
    kube_logs_leave(j);
    LIST_EACH (node, &j->pods) {
        struct kube_pod *pod = CONTAINER_OF(node, struct kube_pod, link);
        (void)hash_remove(&j->kube->homes, pod->uid);
        list_remove(&pod->link);
        kube_pod_free(pod);
    }
    (void)hash_remove(&j->kube->jobs, j->uid);
    if (j->object_uid != NULL) {
        (void)hash_remove(&j->kube->homes, j->object_uid);
    }
    list_remove(&j->dirty);
    loop_timer_stop(&j->silence);
    mem_free(j->trouble_text);
    str_done(&j->unclaimed);
    mem_free(j->name);
    mem_free(j->namespace_);
    mem_free(j->object_uid);
    mem_free(j);
}

static void report(struct kube_job *j, const struct json *object) {
    struct kube_situation s;
    kube_situation_read(&j->pods, &s);
    if (s.reason == REASON_NONE || s.reason == REASON_INITIALIZING) {
        s.reason = j->trouble != REASON_NONE ? j->trouble : s.reason;
        s.message = j->trouble != REASON_NONE ? j->trouble_text : s.message;
    }
    const struct kube_scale *scale =
        j->resource != NULL ? kube_scale_find(j->resource->target->name, j->resource->kind) : NULL;
    const struct backend_object o = {
        .uid = j->uid,
        .target = j->resource != NULL ? j->resource->target->name : "",
        .object = object,
        .gone = j->gone,
        .asked_suspended = j->asked_suspended,
        .reason = s.reason,
        .message = s.message,
        .exit = s.exit,
        .roles = s.roles,
        .role_count = s.role_count,
        .scaled_role = scale != NULL ? scale->role : NULL,
        .scaled = j->scaled,
        .pods = s.pods,
        .active = s.active,
        .restarts = s.restarts,
    };
    j->kube->sink.object(j->kube->sink.ctx, &o);
}

void kube_claim(struct kube *k, const struct backend_start *start) {
    struct kube_job *j = kube_job_of(k, start->uid, true);
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *object = NULL;
    j->claimed = true;
    if (j->name == NULL) {
        j->name = mem_strdup(start->name);
        j->namespace_ = mem_strdup(start->namespace_);
    }
    text = j->unclaimed;
    j->unclaimed = (struct str)STR_INIT;
    if (text.len != 0 && json_parse(&a, text.data, text.len, &json_limits_default, &object, &err)) {
        report(j, object);
    }
}

// ---- Objects

static const char *label(const struct json *object, const char *name) {
    return json_string(json_get(json_path(object, "metadata.labels"), name), NULL);
}

// Nobody has written a status although somebody should: that is told after a while.
static void listen_for_operator(struct kube_job *j, const struct json *object) {
    bool silent = json_path(object, "status.conditions[0]") == NULL && !j->asked_suspended;
    if (!silent) {
        loop_timer_stop(&j->silence);
        if (j->trouble == REASON_OPERATOR_SILENT) {
            kube_trouble(j, REASON_NONE, NULL);
        }
    } else if (!loop_timer_active(&j->silence) && j->trouble == REASON_NONE) {
        loop_timer_start(&j->silence, SILENCE_MS);
    }
}

static int32_t scaled_in(const struct kube_resource *r, const struct json *object) {
    const struct kube_scale *scale = kube_scale_find(r->target->name, r->kind);
    int64_t n = 0;
    bool known = scale != NULL && json_int(json_path(object, scale->path), &n) && n > 0 && n <= INT32_MAX;
    return known ? (int32_t)n : 0;
}

// Before the first list is complete flow has not asked for all jobs that it knows.
static void tell_found(struct kube_job *j, const struct json *object) {
    const struct json *meta = json_get(object, "metadata");
    const struct json *notes = json_get(meta, "annotations");
    struct kube *k = j->kube;
    if (json_get(meta, "deletionTimestamp") != NULL ||
        !str_same(json_string(json_get(json_get(meta, "labels"), KUBE_LABEL_MANAGED), ""), KUBE_MANAGER)) {
        return;
    }
    struct backend_found found = {.uid = j->uid,
                                  .name = j->name,
                                  .namespace_ = j->namespace_,
                                  .target = j->resource->target->name,
                                  .request_id = json_string(json_get(notes, KUBE_NOTE_REQUEST), NULL),
                                  .spec_json = json_string(json_get(notes, KUBE_NOTE_SPEC), NULL)};
    (void)clock_parse(json_string(json_get(meta, "creationTimestamp"), ""), &found.created_ns);
    k->sink.found(k->sink.ctx, &found);
}

static void on_object(void *ctx, const struct json *object) {
    struct kube_resource *r = ctx;
    const char *uid = label(object, KUBE_LABEL_UID);
    struct kube_job *j = uid != NULL ? kube_job_of(r->kube, uid, true) : NULL;
    const char *object_uid = json_string(json_path(object, "metadata.uid"), "");
    if (j == NULL) {
        return;
    }
    kube_job_place(j, r, json_string(json_path(object, "metadata.namespace"), ""),
                   json_string(json_path(object, "metadata.name"), ""), object_uid);
    if (!str_same(j->object_uid, object_uid)) {
        log_warn("kube", "%s %s/%s carries the mark of another job, %s: left alone", r->kind,
                 json_string(json_path(object, "metadata.namespace"), ""),
                 json_string(json_path(object, "metadata.name"), ""), uid);
        return;
    }
    j->asked_suspended = json_bool(json_path(object, r->target->suspend), false);
    j->scaled = scaled_in(r, object);
    listen_for_operator(j, object);
    if (j->claimed) {
        report(j, object);
    } else if (!j->removed) {
        str_clear(&j->unclaimed);
        json_write(&j->unclaimed, object);
        tell_found(j, object);
    }
}

static void on_object_gone(void *ctx, const char *object_uid, const struct json *object UNUSED) {
    struct kube_resource *r = ctx;
    struct kube_job *j = hash_get(&r->kube->homes, object_uid);
    if (j == NULL) {
        return;
    }
    j->gone = true;
    if (j->claimed) {
        report(j, NULL);
    } else {
        kube_job_free(j);
    }
}

// ---- Lists

// Jobs that flow asked for and that no list has shown are no longer there.
static void tell_missing(struct kube *k) {
    size_t at = 0;
    struct kube_job *j;
    while ((j = hash_next(&k->jobs, &at)) != NULL) {
        if (j->claimed && j->object_uid == NULL && !j->gone) {
            j->gone = true;
            report(j, NULL);
        }
    }
}

static void on_listed(struct kube *k) {
    size_t unlisted = k->pods == NULL || !reflector_listed(k->pods);
    LIST_EACH (node, &k->resources) {
        const struct kube_resource *r = CONTAINER_OF(node, struct kube_resource, link);
        unlisted += r->reflector != NULL && !reflector_listed(r->reflector);
    }
    if (unlisted == 0 && !k->ready) {
        k->ready = true;
        tell_missing(k);
        k->sink.ready(k->sink.ctx);
    }
}

static void on_objects_listed(void *ctx) {
    struct kube_resource *r = ctx;
    if (r->events == NULL) {
        kube_watch_events(r);
    }
    on_listed(r->kube);
}

// One that is well again says nothing about the others.
static const char *any_problem(const struct kube *k) {
    const char *problem = reflector_problem(k->pods);
    LIST_EACH (node, &k->resources) {
        const struct kube_resource *r = CONTAINER_OF(node, struct kube_resource, link);
        problem = problem != NULL ? problem : reflector_problem(r->reflector);
    }
    return problem;
}

static void set_problem(struct kube *k, const char *told) {
    const char *problem = told != NULL ? told : any_problem(k);
    if (problem == NULL && k->undiscovered) {
        return;
    }
    mem_free(k->problem);
    k->problem = mem_strdup(problem);
    k->sink.health(k->sink.ctx, problem);
}

static void on_objects_health(void *ctx, const char *problem) {
    const struct kube_resource *r = ctx;
    set_problem(r->kube, problem);
}

const struct reflector_handler kube_object_handler = {
    .object = on_object, .gone = on_object_gone, .listed = on_objects_listed, .health = on_objects_health};

// ---- Pods

void kube_mark_dirty(struct kube_job *j) {
    struct kube *k = j->kube;
    if (!list_linked(&j->dirty)) {
        list_push(&k->dirty, &j->dirty);
    }
    if (!loop_timer_active(&k->tell_dirty)) {
        loop_timer_start(&k->tell_dirty, PODS_SETTLE_MS);
    }
}

void kube_trouble(struct kube_job *j, enum job_reason reason, const char *text) {
    if (j->trouble == reason && str_same(j->trouble_text, text)) {
        return; // the same again and again is one trouble
    }
    j->trouble = reason;
    mem_free(j->trouble_text);
    j->trouble_text = mem_strdup(text);
    kube_mark_dirty(j);
}

void kube_tell_dirty(void *ctx) {
    struct kube *k = ctx;
    struct list *node;
    while ((node = list_pop(&k->dirty)) != NULL) {
        struct kube_job *j = CONTAINER_OF(node, struct kube_job, dirty);
        if (j->claimed) {
            report(j, NULL);
        }
        kube_logs_update(j);
    }
}

static struct kube_pod *find_pod(const struct kube_job *j, const char *uid) {
    LIST_EACH (node, &j->pods) {
        struct kube_pod *pod = CONTAINER_OF(node, struct kube_pod, link);
        if (str_same(pod->uid, uid)) {
            return pod;
        }
    }
    return NULL;
}

static void drop_pod(struct kube_job *j, struct kube_pod *pod) {
    (void)hash_remove(&j->kube->homes, pod->uid);
    list_remove(&pod->link);
    kube_pod_free(pod);
}

static const struct kube_target *target_of_pod(const struct json *object) {
    const struct kube_target *t;
    for (unsigned i = 0; (t = kube_target_at(i)) != NULL; i++) {
        if (label(object, t->role_label) != NULL) {
            return t;
        }
    }
    return kube_target_at(0);
}

static void on_pod(void *ctx, const struct json *object) {
    struct kube *k = ctx;
    const char *uid = label(object, KUBE_LABEL_UID);
    struct kube_job *j = uid != NULL ? kube_job_of(k, uid, true) : NULL;
    struct kube_pod *pod = j != NULL ? kube_pod_read(object, target_of_pod(object)) : NULL;
    if (pod == NULL) {
        return;
    }
    struct kube_pod *old = find_pod(j, pod->uid);
    bool same = old != NULL && kube_pod_same(old, pod);
    if (old != NULL) {
        drop_pod(j, old);
    }
    list_push(&j->pods, &pod->link);
    (void)hash_put(&k->homes, pod->uid, j);
    if (old == NULL && (j->trouble == REASON_CREATE_FAILED || j->trouble == REASON_QUOTA_EXCEEDED)) {
        kube_trouble(j, REASON_NONE, NULL); // they can be made again
    }
    if (!same) {
        kube_mark_dirty(j);
    }
}

static void on_pod_gone(void *ctx, const char *uid, const struct json *object UNUSED) {
    struct kube *k = ctx;
    struct kube_job *j = hash_get(&k->homes, uid);
    struct kube_pod *pod = j != NULL ? find_pod(j, uid) : NULL;
    if (pod != NULL) {
        drop_pod(j, pod);
        kube_mark_dirty(j);
    }
}

static void on_pods_listed(void *ctx) {
    on_listed(ctx);
}

static void on_pods_health(void *ctx, const char *problem) {
    set_problem(ctx, problem);
}

const struct reflector_handler kube_pod_handler = {
    .object = on_pod, .gone = on_pod_gone, .listed = on_pods_listed, .health = on_pods_health};
