// The vtable of the Kubernetes backend, its birth and its end.
#include "kube/executor.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/kubeconfig.h"
#include "kube/logs.h"

#include <string.h>

// ---- Commands

static void op_submit(struct backend *b, const struct backend_start *start) {
    kube_claim(kube_of(b), start);
}

static void wish(struct backend *b, const char *uid, const char *what) {
    struct kube_job *j = kube_job_of(kube_of(b), uid, false);
    if (j != NULL) {
        kube_wish(j, what);
    }
}

static void op_cancel(struct backend *b, const char *uid, int64_t grace_ms UNUSED) {
    wish(b, uid, "cancel");
}

static void op_fail(struct backend *b, const char *uid, enum job_reason reason, const char *message) {
    struct kube *k = kube_of(b);
    op_cancel(b, uid, 0);
    k->sink.fact(k->sink.ctx,
                 &(struct backend_fact){.uid = uid, .state = JOB_FAILED, .reason = reason, .message = message});
}

static void op_suspend(struct backend *b, const char *uid) {
    wish(b, uid, "suspend");
}

static void op_resume(struct backend *b, const char *uid) {
    wish(b, uid, "resume");
}

static void op_settled(struct backend *b UNUSED, const char *uid UNUSED) {
    // the object itself is the record; there is nothing else to drop
}

static void op_remove(struct backend *b, const char *uid) {
    struct kube_job *j = kube_job_of(kube_of(b), uid, false);
    if (j != NULL && j->object_uid != NULL && !j->gone) {
        kube_delete(j);
        kube_logs_leave(j);
        j->removed = true; // until it is gone, so that what is still told of it makes no new job
        j->claimed = false;
    } else if (j != NULL) {
        kube_job_free(j);
    }
}

static bool op_check(struct backend *b UNUSED, const struct backend_plan *plan UNUSED,
                     void (*warn)(void *ctx, const char *text) UNUSED, void *ctx UNUSED, struct err *err UNUSED) {
    return true; // the cluster itself says so, in create()
}

static bool op_serves(struct backend *b, const char *target, const char *kind, const char **ret_why) {
    struct kube *k = kube_of(b);
    const struct kube_resource *r = kube_resource_find(k, target, kind);
    if (r != NULL && r->plural != NULL) {
        return true;
    }
    *ret_why = k->problem != NULL ? k->problem : "the cluster does not serve it";
    return false;
}

// ---- Life

static void op_info(struct backend *b, struct backend_info *ret) {
    const struct kube *k = kube_of(b);
    *ret = (struct backend_info){.healthy = k->problem == NULL && k->ready,
                                 .message = k->problem != NULL ? k->problem
                                            : k->ready         ? ""
                                                               : "has not listed the cluster yet"};
}

static void op_start(struct backend *b, const struct backend_sink *sink) {
    struct kube *k = kube_of(b);
    k->sink = *sink;
    loop_timer_start(&k->discover, 0);
}

static void resource_free(struct kube_resource *r) {
    reflector_free(r->reflector);
    reflector_free(r->events);
    list_remove(&r->link);
    mem_free(r->kind);
    mem_free(r->plural);
    mem_free(r);
}

static void op_stop(struct backend *b) {
    struct kube *k = kube_of(b);
    loop_timer_stop(&k->discover);
    loop_timer_stop(&k->tell_dirty);
    kube_discovery_done(k);
    kube_tasks_free(k);
    kube_questions_leave(k);
    reflector_free(k->pods);
    k->pods = NULL;
    LIST_EACH (node, &k->resources) {
        resource_free(CONTAINER_OF(node, struct kube_resource, link));
    }
    size_t at = 0;
    struct kube_job *j;
    while ((j = hash_next(&k->jobs, &at)) != NULL) {
        kube_job_free(j);
    }
    kube_early_free(k);
    kube_client_free(k->client);
    k->client = NULL;
}

static void op_free(struct backend *b) {
    struct kube *k = kube_of(b);
    hash_done(&k->jobs);
    hash_done(&k->homes);
    kube_cluster_free(k->cluster);
    mem_free((char *)(uintptr_t)k->base.name);
    mem_free(k->namespace_);
    mem_free(k->problem);
    mem_free(k);
}

static const char *const targets[] = {"kubeflow.org/v1", NULL};

static const struct backend_ops ops = {
    .kind = "kubernetes",
    .targets = targets,
    .serves = op_serves,
    .create = kube_create,
    .start = op_start,
    .check = op_check,
    .submit = op_submit,
    .cancel = op_cancel,
    .fail = op_fail,
    .suspend = op_suspend,
    .resume = op_resume,
    .scales = kube_scales,
    .scale = kube_scale,
    .settled = op_settled,
    .remove = op_remove,
    .logs_open = kube_logs_open,
    .logs_read = kube_logs_read,
    .logs_terminal = kube_logs_terminal,
    .logs_close = kube_logs_close,
    .events = kube_events,
    .events_cancel = kube_events_cancel,
    .info = op_info,
    .stop = op_stop,
    .free = op_free,
};

static void want(struct kube *k, const struct kube_want *w) {
    const struct kube_target *target = kube_target_find(w->target);
    if (target == NULL || kube_resource_find(k, w->target, w->kind) != NULL) {
        return;
    }
    struct kube_resource *r = NEW(struct kube_resource);
    r->kube = k;
    r->target = target;
    r->kind = mem_strdup(w->kind);
    list_push(&k->resources, &r->link);
}

bool kube_backend_new(const struct kube_options *options, struct loop *loop, struct backend **ret, struct err *err) {
    struct kube_cluster *cluster = NULL;
    if (!kube_cluster_load(options->kubeconfig, options->context, &cluster, err)) {
        err_wrap(err, "backend %s", options->name);
        return false;
    }
    struct kube_client *client = kube_client_new(loop, cluster, err);
    if (client == NULL) {
        kube_cluster_free(cluster);
        err_wrap(err, "backend %s", options->name);
        return false;
    }
    struct kube *k = NEW(struct kube);
    k->base = (struct backend){.name = mem_strdup(options->name), .ops = &ops};
    k->loop = loop;
    k->cluster = cluster;
    k->client = client;
    k->namespace_ = mem_strdup(options->namespace_);
    list_init(&k->resources);
    list_init(&k->dirty);
    list_init(&k->askings);
    list_init(&k->tasks);
    list_init(&k->questions);
    loop_timer_init(&k->tell_dirty, loop, "pods", kube_tell_dirty, k);
    loop_timer_init(&k->discover, loop, "discovery", kube_discover, k);
    for (size_t i = 0; i < options->want_count; i++) {
        want(k, &options->wants[i]);
    }
    *ret = &k->base;
    return true;
}
