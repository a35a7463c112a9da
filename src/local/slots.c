// CPU and GPU slots and the queue for them: first in, first out, without exception.
#include "local/executor.h"

#include "base/clock.h"
#include "base/mem.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { CPU_DEFAULT_MILLI = 1000, SAID_OF_QUEUE = 100, SAY_EVERY_MS = 1000 };

static int32_t count_gpus(void) {
    glob_t found;
    int32_t n = glob("/dev/nvidia[0-9]*", GLOB_NOSORT, NULL, &found) == 0 ? (int32_t)found.gl_pathc : 0;
    globfree(&found);
    return n;
}

void slots_init(struct local *l) {
    l->cpu_total = l->options.cpu_slots_milli > 0 ? l->options.cpu_slots_milli : sysconf(_SC_NPROCESSORS_ONLN) * 1000;
    l->gpu_total = l->options.gpu_slots >= 0 ? l->options.gpu_slots : count_gpus();
    l->gpu_taken = mem_zalloc((size_t)l->gpu_total * sizeof *l->gpu_taken);
}

// A process that says nothing counts as one CPU; all together never more than there is, so that a job can run at all.
void slots_need(const struct local *l, const struct backend_plan *plan, int64_t *ret_cpu, int32_t *ret_gpu) {
    int64_t asked = 0;
    int64_t counted = 0;
    int32_t gpu = 0;
    for (size_t i = 0; i < plan->process_count; i++) {
        asked += plan->processes[i].cpu_milli;
        counted += plan->processes[i].cpu_milli != 0 ? 0 : CPU_DEFAULT_MILLI;
        gpu += plan->processes[i].gpu;
    }
    *ret_cpu = asked + counted > l->cpu_total && asked <= l->cpu_total ? l->cpu_total : asked + counted;
    *ret_gpu = gpu;
}

bool slots_check(const struct local *l, const struct backend_plan *plan, struct err *err) {
    int64_t cpu;
    int32_t gpu;
    slots_need(l, plan, &cpu, &gpu);
    if (cpu > l->cpu_total) {
        return err_fail(err, ERR_PRECONDITION, "NEVER_FITS",
                        "the job asks for %.6g CPUs and backend %s has %.6g (local.cpu)", (double)cpu / 1000,
                        l->base.name, (double)l->cpu_total / 1000);
    }
    if (gpu > l->gpu_total) {
        return err_fail(err, ERR_PRECONDITION, "NEVER_FITS",
                        "the job asks for %d GPUs and backend %s has %d (local.gpu)", gpu, l->base.name, l->gpu_total);
    }
    return true;
}

static bool fits(const struct local *l, const struct run *r) {
    return l->cpu_used + r->cpu_milli <= l->cpu_total && l->gpu_used + r->gpus <= l->gpu_total;
}

void slots_take(struct run *r) {
    struct local *l = r->local;
    int32_t next = 0;
    l->cpu_used += r->cpu_milli;
    l->gpu_used += r->gpus;
    l->running++;
    r->holds_slots = true;
    for (size_t i = 0; i < r->plan->process_count; i++) {
        const struct plan_process *p = &r->plan->processes[i];
        int32_t *ids = mem_alloc((size_t)(p->gpu + 1) * sizeof *ids);
        int32_t n = 0;
        for (; next < l->gpu_total && n < p->gpu; next++) {
            if (!l->gpu_taken[next]) {
                l->gpu_taken[next] = true;
                ids[n++] = next;
            }
        }
        ids[n] = -1;
        mem_free(r->procs[p->rank].gpus);
        r->procs[p->rank].gpus = ids;
    }
}

void slots_release(struct run *r) {
    struct local *l = r->local;
    if (!r->holds_slots) {
        return;
    }
    r->holds_slots = false;
    l->cpu_used -= r->cpu_milli;
    l->gpu_used -= r->gpus;
    l->running--;
    for (size_t i = 0; i < r->plan->process_count; i++) {
        for (int32_t *id = r->procs[i].gpus; id != NULL && *id >= 0; id++) {
            l->gpu_taken[*id] = false;
        }
        mem_free(TAKE(r->procs[i].gpus));
    }
    loop_defer(l->loop, &l->kick);
}

// ---- The queue
// -------------------------------------------------------------------------------------------------------------------

static void say_why(struct run *r, int64_t ahead) {
    const struct local *l = r->local;
    r->last_said_ns = clock_mono();
    r->waiting_said = true;
    char gpus[64] = "";
    if (r->gpus != 0) {
        snprintf(gpus, sizeof gpus, " and %d GPUs (%d of %d free)", r->gpus, l->gpu_total - l->gpu_used, l->gpu_total);
    }
    run_fact(r, JOB_PENDING, REASON_QUEUED, "waits for %.6g CPUs (%.6g of %.6g free)%s, %" PRId64 " jobs ahead",
             (double)r->cpu_milli / 1000, (double)(l->cpu_total - l->cpu_used) / 1000, (double)l->cpu_total / 1000,
             gpus, ahead);
}

// Only the head of a long queue is told how it moves, and not more often than people read.
static void say_queue(struct local *l) {
    int64_t ahead = 0;
    int64_t now = clock_mono();
    bool later = false;
    LIST_EACH (node, &l->queue) {
        struct run *r = CONTAINER_OF(node, struct run, queued);
        if (ahead >= SAID_OF_QUEUE) {
            break;
        }
        if (!r->waiting_said || now - r->last_said_ns >= SAY_EVERY_MS * CLOCK_MS) {
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

void queue_kick(void *ctx) {
    struct local *l = ctx;
    bool changed = false;
    while (l->listed && !list_empty(&l->queue)) {
        struct run *r = CONTAINER_OF(l->queue.next, struct run, queued);
        if (!fits(l, r)) {
            break;
        }
        queue_remove(r);
        slots_take(r);
        run_start(r);
        changed = true;
    }
    client_send(l);
    if (changed || !list_empty(&l->queue)) {
        say_queue(l);
    }
}

void queue_add(struct run *r) {
    r->state = RUN_QUEUED;
    r->waiting_said = false;
    list_push(&r->local->queue, &r->queued);
    r->local->queued++;
    loop_defer(r->local->loop, &r->local->kick);
}

void queue_remove(struct run *r) {
    if (list_linked(&r->queued)) {
        list_remove(&r->queued);
        r->local->queued--;
    }
}
