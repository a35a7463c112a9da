// What the files of kube/ share of the backend itself. Nobody outside includes this.
#ifndef KUBE_EXECUTOR_H
#define KUBE_EXECUTOR_H

#include "base/hash.h"
#include "base/id.h"
#include "base/list.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/kinds.h"
#include "kube/kube.h"
#include "kube/pods.h"
#include "kube/reflector.h"

// One kind of object, e.g. PyTorchJob of kubeflow.org/v1.
struct kube_resource {
    struct list link; // kube.resources
    struct kube *kube;
    const struct kube_target *target;
    char *kind;
    char *plural;                // NULL: not served, as far as is known
    struct reflector *reflector; // while it is served
    struct reflector *events;    // of the cluster about objects of this kind
};

// What is known of one job: its object in short, its pods.
struct kube_job {
    char uid[ID_UID_LEN + 1]; // of the job
    struct kube *kube;
    struct kube_resource *resource; // NULL until its object has been seen or made
    char *name, *namespace_, *object_uid;
    struct list pods;          // kube_pod.link
    struct list dirty;         // kube.dirty
    struct list logs;          // backend_log.link
    struct str unclaimed;      // the object's text, until flow asks for the job
    bool claimed;              // flow wants to know
    bool removed;              // flow has given it up, and its object is being deleted
    struct loop_timer silence; // runs while no operator has written anything
    // What stands in its way beside its pods: events, an operator that says nothing. REASON_NONE: nothing.
    enum job_reason trouble;
    char *trouble_text;
    const char *wish; // "cancel", "suspend" or "resume", until its object is known; NULL: nothing
    bool gone;
    bool asked_suspended;
    int32_t scaled; // replicas that its object asks for, of the role that can be scaled; 0: unknown
};

// A warning about an object that has not been seen yet: streams of two kinds come in no order.
struct kube_early {
    char object_uid[64];
    enum job_reason reason;
    char *text;
};
enum { KUBE_EARLY = 64 };

struct kube {
    struct backend base;
    struct loop *loop;
    struct kube_cluster *cluster;
    struct kube_client *client;
    struct backend_sink sink;
    struct list resources;
    struct hash jobs;  // kube_job by uid
    struct hash homes; // kube_job by the uid of its object, and of each of its pods
    struct reflector *pods;
    struct kube_early early[KUBE_EARLY]; // a ring
    size_t early_next;
    struct list dirty; // jobs whose pods have changed
    struct loop_timer tell_dirty, discover;
    struct list askings;   // discovery.c: under way
    struct list tasks;     // change.c: under way
    struct list questions; // history.c: under way
    char *namespace_, *problem;
    bool ready;
    bool undiscovered; // the problem is that the server does not say what it serves
};

// discovery.c: which kinds are served; asks again now and then
// Path of an object of this kind, or of all in a namespace when name is NULL.
void kube_object_path(struct str *out, const struct kube_resource *r, const char *namespace_, const char *name);
struct kube_resource *kube_resource_find(struct kube *k, const char *target, const char *kind);
void kube_discover(void *ctx);
void kube_watch_events(struct kube_resource *r); // once its objects are known
void kube_discovery_done(struct kube *k);

// track.c: objects and pods to jobs, jobs to reports
// Where its object is. Only the first time counts.
void kube_job_place(struct kube_job *j, struct kube_resource *r, const char *namespace_, const char *name,
                    const char *object_uid);
struct kube_job *kube_job_of(struct kube *k, const char *uid, bool make);
void kube_job_free(struct kube_job *j);
extern const struct reflector_handler kube_object_handler; // ctx: kube_resource
extern const struct reflector_handler kube_pod_handler;    // ctx: kube
void kube_tell_dirty(void *ctx);
void kube_claim(struct kube *k, const struct backend_start *start);

void kube_mark_dirty(struct kube_job *j);                                        // is told of in a moment
void kube_trouble(struct kube_job *j, enum job_reason reason, const char *text); // REASON_NONE: it is over

// events.c: warnings about objects
void kube_early_take(struct kube_job *j); // its object is known now
void kube_early_free(struct kube *k);
extern const struct reflector_handler kube_event_handler; // ctx: kube

// change.c: what we do to objects
void kube_create(struct backend *b, const struct backend_create *job, void (*done)(void *ctx, const struct err *err),
                 void *ctx);
void kube_wish(struct kube_job *j, const char *wish); // "cancel", "suspend" or "resume"; as soon as its object is known
const char *kube_scales(struct backend *b, const char *target, const char *kind);
void kube_scale(struct backend *b, const char *uid, int32_t replicas, void (*done)(void *ctx, const struct err *err),
                void *ctx);
void kube_delete(struct kube_job *j);
void kube_tasks_free(struct kube *k);

// history.c: what the cluster said of one job
struct backend_asking *kube_events(struct backend *b, const struct backend_events_query *query, backend_events_fn *fn,
                                   void *ctx);
void kube_events_cancel(struct backend_asking *asking);
void kube_questions_leave(struct kube *k);

static inline struct kube *kube_of(struct backend *b) {
    return CONTAINER_OF(b, struct kube, base);
}

#endif
