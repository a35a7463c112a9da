// What the cluster said of one job and of its pods, asked for on demand: nobody pays for it who does not ask.
//
// Events can be selected by one object at a time, and each such request reads all of the namespace. So the namespace is
// read once, in pages, and what is about the job is kept.
#include "kube/executor.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 250, RESTARTS = 2 };

struct backend_asking {
    struct list link; // kube.questions
    struct kube *kube;
    struct kube_call *call;
    backend_events_fn *fn;
    void *ctx;
    char *uid, *name, *namespace_; // of the job
    int64_t from_ns;
    size_t limit;
    struct arena arena; // the texts of events
    struct backend_event *events;
    size_t count, cap;
    int restarts; // the list expired while it was read
};

static void asking_free(struct backend_asking *q) {
    if (q->call != NULL) {
        kube_call_cancel(q->call);
    }
    list_remove(&q->link);
    arena_done(&q->arena);
    mem_free(q->events);
    mem_free(q->uid);
    mem_free(q->name);
    mem_free(q->namespace_);
    mem_free(q);
}

// ---- Which events

// "NAME-ROLE" or "NAME-ROLE-INDEX": how operators call what they make for the job NAME. A role has letters only, so
// nothing of a job NAME-2 is taken for it.
static bool is_made_for(const char *job, const char *name) {
    size_t n = strlen(job);
    if (strncmp(name, job, n) != 0 || name[n] != '-') {
        return false;
    }
    const char *role = name + n + 1;
    size_t letters = strspn(role, "abcdefghijklmnopqrstuvwxyz");
    const char *index = role + letters;
    return letters > 0 && (*index == '\0' ||
                           (*index == '-' && index[1] != '\0' && index[1 + strspn(index + 1, "0123456789")] == '\0'));
}

// A pod or an object that is there is known by its uid; one that has gone, by its name.
static bool is_about(const struct backend_asking *q, const struct json *object) {
    const struct kube_job *j = hash_get(&q->kube->homes, json_string(json_get(object, "uid"), ""));
    const char *kind = json_string(json_get(object, "kind"), "");
    const char *name = json_string(json_get(object, "name"), "");
    if (j != NULL) {
        return str_same(j->uid, q->uid);
    }
    if (str_same(kind, "Pod") || str_same(kind, "Service")) {
        return is_made_for(q->name, name);
    }
    return str_same(kind, "PodGroup") && str_same(name, q->name);
}

// The first of these paths that holds a time; 0: none.
static int64_t time_at(const struct json *event, const char *const *paths) {
    int64_t wall = 0;
    for (; *paths != NULL && wall == 0; paths++) {
        if (!clock_parse(json_string(json_path(event, *paths), ""), &wall)) {
            wall = 0;
        }
    }
    return wall;
}

static int by_time(const void *a, const void *b) {
    const struct backend_event *x = a, *y = b;
    return x->last_ns != y->last_ns ? (x->last_ns > y->last_ns) - (x->last_ns < y->last_ns)
                                    : (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

// Sorts, and lets go of the oldest beyond the limit.
static void settle(struct backend_asking *q) {
    if (q->count > 1) {
        qsort(q->events, q->count, sizeof *q->events, by_time);
    }
    if (q->count > q->limit) {
        memmove(q->events, q->events + (q->count - q->limit), q->limit * sizeof *q->events);
        q->count = q->limit;
    }
}

static const char *keep(struct backend_asking *q, const struct json *text, const char *fallback) {
    return arena_strdup(&q->arena, json_string(text, fallback));
}

static void take(struct backend_asking *q, const struct json *event) {
    static const char *const last[] = {"series.lastObservedTime", "lastTimestamp", "eventTime",
                                       "metadata.creationTimestamp", NULL};
    static const char *const first[] = {"firstTimestamp", "eventTime", "metadata.creationTimestamp", NULL};
    const struct json *object = json_get(event, "involvedObject");
    int64_t last_ns = time_at(event, last);
    if (last_ns < q->from_ns || !is_about(q, object)) {
        return;
    }
    if (q->count == q->cap) {
        if (q->count >= 4 * q->limit) { // most were older
            settle(q);
        } else {
            q->cap = q->cap != 0 ? q->cap * 2 : 64;
            q->events = mem_realloc_array(q->events, q->cap, sizeof *q->events);
        }
    }
    int64_t count = 1;
    if (!json_int(json_path(event, "series.count"), &count) && !json_int(json_get(event, "count"), &count)) {
        count = 1;
    }
    q->events[q->count++] =
        (struct backend_event){.first_ns = time_at(event, first),
                               .last_ns = last_ns,
                               .count = (int32_t)(count < 1           ? 1
                                                  : count > INT32_MAX ? INT32_MAX
                                                                      : count),
                               .type = keep(q, json_get(event, "type"), ""),
                               .reason = keep(q, json_get(event, "reason"), ""),
                               .message = keep(q, json_get(event, "message"), ""),
                               .object = arena_printf(&q->arena, "%s/%s", json_string(json_get(object, "kind"), ""),
                                                      json_string(json_get(object, "name"), "")),
                               .source = keep(q, json_path(event, "source.component"),
                                              json_string(json_get(event, "reportingComponent"), ""))};
}

// ---- Page by page

static void finish(struct backend_asking *q, const struct err *err) {
    settle(q);
    q->fn(q->ctx, err == NULL ? q->events : NULL, err == NULL ? q->count : 0, err);
    asking_free(q);
}

static void on_page(void *ctx, const struct kube_reply *reply);

static void ask(struct backend_asking *q, const char *next) {
    CLEANUP(str_done) struct str path = STR_INIT;
    CLEANUP(mem_free_ptr) char *what = mem_printf("list events of %s/%s", q->namespace_, q->name);
    str_add(&path, "/api/v1/namespaces/");
    kube_path_add(&path, q->namespace_);
    str_printf(&path, "/events?limit=%d", PAGE);
    if (next != NULL) {
        str_add(&path, "&continue=");
        kube_path_add(&path, next);
    }
    q->call = kube_send(q->kube->client, &(struct kube_request){.method = "GET", .path = str_text(&path), .what = what},
                        on_page, q);
}

static void on_page(void *ctx, const struct kube_reply *reply) {
    struct backend_asking *q = ctx;
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *list = NULL;
    q->call = NULL;
    if (reply->status == 410 && q->restarts++ < RESTARTS) {
        q->count = 0;
        ask(q, NULL);
        return;
    }
    if (reply->err != NULL) {
        finish(q, reply->err);
        return;
    }
    if (!json_parse(&a, reply->body, reply->length, &json_limits_default, &list, &err)) {
        CLEANUP(err_done) struct err garbage = ERR_INIT;
        err_fail(&garbage, ERR_UNAVAILABLE, "BAD_ANSWER", "list events of %s/%s: the answer cannot be read: %s",
                 q->namespace_, q->name, err.message);
        finish(q, &garbage);
        return;
    }
    JSON_EACH (event, json_get(list, "items")) {
        take(q, event);
    }
    const char *next = json_string(json_path(list, "metadata.continue"), "");
    if (*next != '\0') {
        ask(q, next);
    } else {
        finish(q, NULL);
    }
}

struct backend_asking *kube_events(struct backend *b, const struct backend_events_query *query, backend_events_fn *fn,
                                   void *ctx) {
    struct kube *k = kube_of(b);
    struct backend_asking *q = NEW(struct backend_asking);
    q->kube = k;
    q->fn = fn;
    q->ctx = ctx;
    q->uid = mem_strdup(query->uid);
    q->name = mem_strdup(query->name);
    q->namespace_ = mem_strdup(query->namespace_);
    q->from_ns = query->created_ns / CLOCK_SECOND * CLOCK_SECOND; // events know whole seconds only
    q->limit = query->limit;
    arena_init(&q->arena, 0);
    list_push(&k->questions, &q->link);
    ask(q, NULL);
    return q;
}

void kube_events_cancel(struct backend_asking *asking) {
    asking_free(asking);
}

// Whoever asked still holds it, and cancels it.
void kube_questions_leave(struct kube *k) {
    LIST_EACH (node, &k->questions) {
        struct backend_asking *q = CONTAINER_OF(node, struct backend_asking, link);
        if (q->call != NULL) {
            kube_call_cancel(TAKE(q->call));
        }
        list_remove(&q->link);
    }
}
