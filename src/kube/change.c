// What we do to objects of the cluster: make them, change them, delete them.
//
// An answer that does not come says nothing: the object is looked up, and by the mark that it carries it is ours or
// not.
#include "kube/executor.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 5, WAIT_MS = 250, WAIT_MAX_MS = 5000 };

// One thing to be done, with its repetitions.
struct task {
    struct list link; // kube.tasks
    struct kube *kube;
    struct kube_call *call;
    struct loop_timer again;
    const char *method, *content_type;
    char *path, *look; // look: where to see whether it has been done; NULL: it can be repeated
    char *uid;         // of the job
    char *what;
    struct str body;
    struct kube_resource *made; // what is being created; NULL: nothing
    int tries;
    bool looking;
    enum err_code refusal; // without asking: `what` says why
    const char *refusal_reason;
    void (*done)(void *ctx, const struct err *err); // NULL: nobody waits
    void *ctx;
};

static void task_free(struct task *t) {
    if (t->call != NULL) {
        kube_call_cancel(t->call);
    }
    loop_timer_stop(&t->again);
    list_remove(&t->link);
    str_done(&t->body);
    mem_free(t->path);
    mem_free(t->look);
    mem_free(t->uid);
    mem_free(t->what);
    mem_free(t);
}

static void finish(struct task *t, const struct err *err) {
    if (err != NULL && t->done == NULL) {
        log_warn("kube", "%s", err->message);
    }
    if (t->done != NULL) {
        t->done(t->ctx, err);
    }
    task_free(t);
}

static void on_reply(void *ctx, const struct kube_reply *reply);

static void send(void *ctx) {
    struct task *t = ctx;
    t->call = kube_send(t->kube->client,
                        &(struct kube_request){.method = t->looking ? "GET" : t->method,
                                               .path = t->looking ? t->look : t->path,
                                               .body = t->looking || t->body.len == 0 ? NULL : t->body.data,
                                               .length = t->looking ? 0 : t->body.len,
                                               .content_type = t->content_type,
                                               .what = t->what},
                        on_reply, t);
}

static bool try_again(struct task *t, int64_t at_least_ms) {
    if (t->tries++ >= TRIES) {
        return false;
    }
    uint32_t random;
    id_random(&random, sizeof random);
    int64_t wait = WAIT_MS << t->tries;
    wait = wait > WAIT_MAX_MS ? WAIT_MAX_MS : wait;
    wait = wait / 2 + (int64_t)(random % (uint64_t)wait);
    loop_timer_start(&t->again, wait > at_least_ms ? wait : at_least_ms);
    return true;
}

// Whether the object that has the name is the one we meant to make.
static bool is_ours(const struct task *t, const struct kube_reply *reply) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *object = NULL;
    return json_parse(&a, reply->body, reply->length, &json_limits_default, &object, &err) &&
           str_same(json_string(json_get(json_path(object, "metadata.labels"), KUBE_LABEL_UID), ""), t->uid);
}

// The answer shows the object: from here on it can be changed, though no watch has told of it yet.
static void place(const struct task *t, const struct kube_reply *reply) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *object = NULL;
    if (t->made != NULL && json_parse(&a, reply->body, reply->length, &json_limits_default, &object, &err)) {
        const struct json *meta = json_get(object, "metadata");
        struct kube_job *j = kube_job_of(t->kube, t->uid, true);
        const char *uid = json_string(json_get(meta, "uid"), NULL);
        if (j != NULL && uid != NULL) {
            kube_job_place(j, t->made, json_string(json_get(meta, "namespace"), ""),
                           json_string(json_get(meta, "name"), ""), uid);
        }
    }
}

static void looked(struct task *t, const struct kube_reply *reply) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (reply->err == NULL && is_ours(t, reply)) {
        place(t, reply);
        finish(t, NULL);
        return;
    }
    if (reply->err == NULL) {
        err_fail(&err, ERR_EXISTS, "NAME_TAKEN", "%s: an object of that name exists already and is another job",
                 t->what);
        finish(t, &err);
        return;
    }
    if (reply->err->code == ERR_NOT_FOUND) { // it was not done: once more
        t->looking = false;
    }
    if (!try_again(t, reply->err->retry_after_ms)) {
        finish(t, reply->err);
    }
}

static void on_reply(void *ctx, const struct kube_reply *reply) {
    struct task *t = ctx;
    t->call = NULL;
    if (t->looking) {
        looked(t, reply);
        return;
    }
    if (reply->err == NULL) {
        place(t, reply);
        finish(t, NULL);
        return;
    }
    enum err_code code = reply->err->code;
    bool doubtful = t->look != NULL && (reply->maybe_done || code == ERR_EXISTS);
    // A patch names no version: a conflict means that others were quicker several times.
    bool conflict = reply->status == 409 && strcmp(t->method, "PATCH") == 0;
    bool passing = conflict || code == ERR_UNAVAILABLE || code == ERR_EXHAUSTED || code == ERR_DEADLINE;
    if (doubtful) {
        t->looking = true;
        send(t);
    } else if (!passing || !try_again(t, reply->err->retry_after_ms)) {
        finish(t, reply->err);
    }
}

static struct task *task_new(struct kube *k, const char *method, const char *uid) {
    struct task *t = NEW(struct task);
    t->kube = k;
    t->method = method;
    t->uid = mem_strdup(uid);
    loop_timer_init(&t->again, k->loop, "change", send, t);
    list_push(&k->tasks, &t->link);
    return t;
}

void kube_tasks_free(struct kube *k) {
    LIST_EACH (node, &k->tasks) {
        task_free(CONTAINER_OF(node, struct task, link));
    }
}

// ---- Create

static const struct json *only_object(const struct json *objects) {
    if (objects->type != JSON_ARRAY) {
        return objects;
    }
    return objects->count == 1 ? objects->first : NULL;
}

static void fail_later(void *ctx) {
    struct task *t = ctx;
    CLEANUP(err_done) struct err err = ERR_INIT;
    err_fail(&err, t->refusal, t->refusal_reason, "%s", t->what);
    finish(t, &err);
}

// Nobody is called back from within a call.
static void refuse(struct task *t, enum err_code code, const char *reason) {
    t->refusal = code;
    t->refusal_reason = reason;
    t->again.fn = fail_later;
    loop_timer_start(&t->again, 0);
}

void kube_create(struct backend *b, const struct backend_create *job, void (*done)(void *ctx, const struct err *err),
                 void *ctx) {
    struct kube *k = kube_of(b);
    struct task *t = task_new(k, "POST", job->uid);
    t->done = done;
    t->ctx = ctx;
    const struct json *object = only_object(job->objects);
    const char *kind = json_string(json_get(object, "kind"), "");
    struct kube_resource *r = kube_resource_find(k, job->target, kind);
    if (r == NULL || r->plural == NULL) {
        t->what = mem_printf("backend %s does not serve %s of %s", k->base.name, kind, job->target);
        refuse(t, ERR_PRECONDITION, "TARGET_NOT_SERVED");
        return;
    }
    CLEANUP(str_done) struct str path = STR_INIT;
    kube_object_path(&path, r, job->namespace_, NULL);
    if (!job->dry_run) {
        CLEANUP(str_done) struct str look = STR_INIT;
        kube_object_path(&look, r, job->namespace_, job->name);
        t->made = r;
        t->look = str_take(&look);
    }
    str_printf(&path, "?fieldManager=%s&fieldValidation=Strict%s", KUBE_MANAGER, job->dry_run ? "&dryRun=All" : "");
    t->path = str_take(&path);
    t->what = mem_printf("create %s %s/%s", kind, job->namespace_, job->name);
    kube_mark_object(&t->body, object,
                     &(struct kube_mark){.uid = job->uid,
                                         .namespace_ = job->namespace_,
                                         .request_id = job->request_id,
                                         .spec_hash = job->spec_hash,
                                         .spec_json = job->spec_json});
    send(t);
}

// ---- Change

// {"a":{"b":value}} for the path a.b, and the annotation, when there is one.
static void merge_patch(struct str *out, const char *path, const char *value, const char *cancel,
                        const char *object_uid) {
    int depth = 0;
    str_add(out, "{\"metadata\":{");
    if (object_uid != NULL) { // another object of that name is not meant
        str_printf(out, "\"uid\":\"%s\"", object_uid);
    }
    if (cancel != NULL) {
        str_printf(out, "%s\"annotations\":{\"" KUBE_NOTE_CANCEL "\":\"%s\"}", object_uid != NULL ? "," : "", cancel);
    }
    str_add(out, "}");
    for (const char *p = path; *p != '\0'; p += p[0] == '.') {
        size_t n = strcspn(p, ".");
        str_printf(out, "%s\"%.*s\":", depth++ == 0 ? "," : "{", (int)n, p);
        p += n;
    }
    str_add(out, value);
    while (depth-- > 0) {
        str_add_char(out, '}');
    }
}

static void begin_patch(struct task *t, const struct kube_job *j, const char *verb) {
    CLEANUP(str_done) struct str path = STR_INIT;
    kube_object_path(&path, j->resource, j->namespace_, j->name);
    str_printf(&path, "?fieldManager=%s", KUBE_MANAGER);
    t->path = str_take(&path);
    t->content_type = "application/merge-patch+json";
    t->what = mem_printf("%s %s %s/%s", verb, j->resource->kind, j->namespace_, j->name);
}

void kube_wish(struct kube_job *j, const char *wish) {
    struct kube *k = j->kube;
    bool known = j->resource != NULL && j->object_uid != NULL;
    j->wish = known ? NULL : wish;
    if (!known || j->gone) {
        return;
    }
    struct task *t = task_new(k, "PATCH", j->uid);
    begin_patch(t, j, wish);
    merge_patch(&t->body, j->resource->target->suspend, strcmp(wish, "resume") != 0 ? "true" : "false",
                strcmp(wish, "cancel") == 0 ? "requested" : NULL, j->object_uid);
    send(t);
}

const char *kube_scales(struct backend *b UNUSED, const char *target, const char *kind) {
    const struct kube_scale *scale = kube_scale_find(target, kind);
    return scale != NULL ? scale->role : NULL;
}

void kube_scale(struct backend *b, const char *uid, int32_t replicas, void (*done)(void *ctx, const struct err *err),
                void *ctx) {
    struct kube *k = kube_of(b);
    const struct kube_job *j = kube_job_of(k, uid, false);
    struct task *t = task_new(k, "PATCH", uid);
    t->done = done;
    t->ctx = ctx;
    if (j == NULL || j->object_uid == NULL || j->gone) {
        t->what =
            mem_strdup("the job's object has not been seen in the cluster yet, or is gone: ask again in a moment");
        refuse(t, ERR_UNAVAILABLE, "OBJECT_UNKNOWN");
        return;
    }
    const struct kube_scale *scale = kube_scale_find(j->resource->target->name, j->resource->kind);
    char number[16];
    snprintf(number, sizeof number, "%" PRId32, replicas);
    begin_patch(t, j, "scale");
    merge_patch(&t->body, scale->path, number, NULL, j->object_uid);
    send(t);
}

// ---- Delete

static void on_deleted(void *ctx UNUSED, const struct err *err) {
    if (err != NULL && err->code != ERR_NOT_FOUND) {
        log_warn("kube", "%s", err->message);
    }
}

void kube_delete(struct kube_job *j) {
    struct kube *k = j->kube;
    if (j->resource == NULL || j->gone) {
        return;
    }
    struct task *t = task_new(k, "DELETE", j->uid);
    CLEANUP(str_done) struct str path = STR_INIT;
    kube_object_path(&path, j->resource, j->namespace_, j->name);
    t->path = str_take(&path);
    t->what = mem_printf("delete %s %s/%s", j->resource->kind, j->namespace_, j->name);
    t->done = on_deleted;
    str_printf(&t->body,
               "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\","
               "\"preconditions\":{\"uid\":\"%s\"}}",
               j->object_uid);
    send(t);
}
