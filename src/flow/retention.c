// Retention: terminal jobs go by their own ttl, by age and by number; old transitions go from the journal. In small
// steps.
#include "flow/internal.h"

#include "base/clock.h"
#include "base/mem.h"

enum { TICK_MS = 5000, DELETES_A_TICK = 500 };

// A job with a ttl of its own. Only these have a timer; the others wait in one list by the order of their end.
struct flow_ttl {
    struct flow *flow;
    struct job *job;
    struct loop_timer timer;
};

static void ttl_free(struct flow_ttl *t) {
    loop_timer_stop(&t->timer);
    mem_free(t);
}

static void ttl_passed(void *ctx) {
    struct flow_ttl *t = ctx;
    struct job *job = t->job;
    flow_delete_now(t->flow, job); // which also ends t
}

void flow_retention_add(struct flow *f, struct job *job, int64_t ttl_ns) {
    if (list_linked(&job->owner)) {
        return;
    }
    list_push(&f->ended, &job->owner);
    f->ended_count++;
    if (ttl_ns < 0) {
        return;
    }
    struct flow_ttl *t = NEW(struct flow_ttl);
    t->flow = f;
    t->job = job;
    hash_put(&f->ttl, job->uid, t);
    loop_timer_init(&t->timer, f->loop, "job ttl", ttl_passed, t);
    int64_t left = job->seen->ended_ns + ttl_ns - clock_wall();
    loop_timer_start(&t->timer, left > 0 ? left / CLOCK_MS + 1 : 0);
}

void flow_retention_remove(struct flow *f, struct job *job) {
    if (list_linked(&job->owner)) {
        list_remove(&job->owner);
        f->ended_count--;
    }
    struct flow_ttl *t = hash_remove(&f->ttl, job->uid);
    if (t != NULL) {
        ttl_free(t);
    }
}

static bool too_old(const struct flow *f, const struct job *job, int64_t now) {
    return (f->limits.retention_age_ns != 0 && now - job->seen->ended_ns > f->limits.retention_age_ns) ||
           (f->limits.retention_jobs != 0 && f->ended_count > (size_t)f->limits.retention_jobs);
}

static void on_trimmed(void *ctx, int64_t removed UNUSED) {
    struct flow *f = ctx;
    f->trimming = false;
}

static void tick(void *ctx) {
    struct flow *f = ctx;
    int64_t now = clock_wall();
    for (int i = 0; i < DELETES_A_TICK && !list_empty(&f->ended); i++) {
        struct job *oldest = CONTAINER_OF(f->ended.next, struct job, owner);
        if (!too_old(f, oldest, now)) {
            break;
        }
        flow_delete_now(f, oldest);
    }
    int64_t up_to = job_feed_last(f->feed) - f->limits.retention_transitions;
    if (f->limits.retention_transitions != 0 && !f->trimming && up_to >= store_oldest_sequence(f->store)) {
        f->trimming = true;
        store_trim(f->store, up_to, on_trimmed, f);
    }
    loop_timer_start(&f->retention, TICK_MS);
}

void flow_retention_start(struct flow *f) {
    loop_timer_init(&f->retention, f->loop, "retention", tick, f);
    loop_timer_start(&f->retention, TICK_MS);
}

void flow_retention_stop(struct flow *f) {
    loop_timer_stop(&f->retention);
    struct flow_ttl *t;
    for (size_t at = 0; (t = hash_next(&f->ttl, &at)) != NULL;) {
        ttl_free(t);
    }
    hash_done(&f->ttl);
}
