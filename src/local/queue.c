// The queue for slots: first in, first out, without exception.
#include "local/executor.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

enum { SAID_OF_QUEUE = 100, SAY_EVERY_MS = 1000 };

static bool fits(const struct local *l, const struct run *r) {
    return l->cpu_used + r->cpu_milli <= l->cpu_total && l->gpu_used + r->gpus <= l->gpu_total;
}

// ---- Saying why a job waits

static const char *plural(double n) {
    return n == 1 ? "" : "s";
}

static void say_why(struct run *r, int64_t ahead) {
    const struct local *l = r->local;
    double cpus = (double)r->cpu_milli / 1000;
    int64_t free_milli = l->cpu_used < l->cpu_total ? l->cpu_total - l->cpu_used : 0;
    char gpus[96] = "";
    if (r->said_ns != 0 && r->said_ahead == ahead && r->said_cpu == free_milli) {
        return;
    }
    r->said_ns = clock_mono();
    r->said_ahead = ahead;
    r->said_cpu = free_milli;
    if (r->gpus != 0) {
        snprintf(gpus, sizeof gpus, " and %d GPU%s (%d of %d free)", r->gpus, plural(r->gpus),
                 l->gpu_used < l->gpu_total ? l->gpu_total - l->gpu_used : 0, l->gpu_total);
    }
    run_fact(r, JOB_PENDING, REASON_QUEUED, "waits for %.6g CPU%s (%.6g of %.6g free)%s, %" PRId64 " job%s ahead", cpus,
             plural(cpus), (double)free_milli / 1000, (double)l->cpu_total / 1000, gpus, ahead, plural((double)ahead));
}

// Only the head of a long queue is told how it moves, and not more often than people read.
static void say_queue(struct local *l) {
    int64_t ahead = 0;
    int64_t now = clock_mono();
    bool later = false;
    LIST_EACH (node, &l->queue) {
        struct run *r = CONTAINER_OF(node, struct run, queued);
        if (ahead == SAID_OF_QUEUE) {
            break;
        }
        if (r->said_ns == 0 || now - r->said_ns >= SAY_EVERY_MS * CLOCK_MS) {
            say_why(r, ahead);
        } else {
            later = true;
        }
        ahead++;
    }
    if (later && !loop_timer_active(&l->say_queue)) {
        loop_timer_start(&l->say_queue, SAY_EVERY_MS);
    }
}

// ---- Moving on

void queue_kick(void *ctx) {
    struct local *l = ctx;
    if (!l->listed) {
        return; // kicked again when the supervisor has said what it holds
    }
    while (!list_empty(&l->queue)) {
        struct run *r = CONTAINER_OF(l->queue.next, struct run, queued);
        if (!fits(l, r)) {
            break;
        }
        queue_remove(r);
        slots_take(r);
        run_start(r);
    }
    say_queue(l);
}

void queue_add(struct run *r) {
    r->state = RUN_QUEUED;
    r->said_ns = 0;
    list_push(&r->local->queue, &r->queued);
    r->local->queued++;
    loop_defer(r->local->loop, &r->local->kick);
}

void queue_remove(struct run *r) {
    if (list_linked(&r->queued)) {
        list_remove(&r->queued);
        r->local->queued--;
        loop_defer(r->local->loop, &r->local->kick); // those behind it move up
    }
}
