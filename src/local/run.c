// What a run does next. Commands and reports only note what they know; decisions are made here.
#include "local/executor.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>

enum { BACKOFF_MS = 1000, BACKOFF_MAX_MS = 30000, WHY_MAX = 1100 };

// ---- Starting

void run_start(struct run *r) {
    struct local *l = r->local;
    if (!ports_take(r)) {
        CLEANUP(mem_free_ptr)
        char *text = mem_printf("no free port from %d to %d", l->options.port_first, l->options.port_last);
        run_fail(r, REASON_SPAWN_FAILED, text);
        r->then = THEN_FAIL;
        run_conclude(r);
        return;
    }
    if (r->attempt > 0) {
        client_forget(l, r->uid, r->attempt);
    }
    r->attempt++;
    run_reset_procs(r);
    r->state = RUN_OUT;
    r->then = THEN_NOTHING;
    r->gone = false;
    run_fact(r, JOB_STARTING, REASON_STARTED, "starts %zu process%s", r->plan->process_count,
             r->plan->process_count == 1 ? "" : "es");
    for (uint32_t i = 0; i < r->plan->process_count; i++) {
        if (!env_put_spawn(r, r->by_rank[i], &l->out)) {
            run_on_refused(r, i, "its arguments and environment are too large", clock_wall());
        }
    }
    client_send(l);
    run_evaluate(r);
}

void run_next_attempt(void *ctx) {
    struct run *r = ctx;
    if (r->local->listed) { // or else as soon as that is so
        run_start(r);
    }
}

static void back_off(struct run *r) {
    int64_t ms = r->local->options.backoff_ms > 0 ? r->local->options.backoff_ms : BACKOFF_MS;
    for (int32_t i = 1; i < r->restarts && ms < BACKOFF_MAX_MS; i++) {
        ms *= 2;
    }
    r->state = RUN_BACKOFF;
    loop_timer_start(&r->backoff, ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS);
}

// ---- Stopping

void run_fail(struct run *r, enum job_reason reason, const char *message) {
    r->fail_reason = reason;
    mem_free(r->fail_message);
    r->fail_message = mem_strdup(message);
}

void run_stop(struct run *r, enum run_then then, int64_t grace_ms, const char *why) {
    r->then = then > r->then ? then : r->then;
    r->state = RUN_STOPPING;
    if (r->gone) {
        run_conclude(r);
    } else {
        client_stop(r->local, r->uid, r->attempt, grace_ms, why);
    }
}

// A command's stop also tells the supervisor why: should this daemon die now, the next one knows that the processes
// were told to end, and for what.
static void stop_for(struct run *r, enum run_then then, int64_t grace_ms) {
    char why[WHY_MAX];
    r->happened_ns = 0;
    snprintf(why, sizeof why, "%d %d %s", then, r->fail_reason,
             then == THEN_FAIL && r->fail_message != NULL ? r->fail_message : "");
    run_stop(r, then, grace_ms, why);
}

void run_lost(struct run *r) {
    bool restartable = true;
    for (size_t i = 0; i < r->plan->process_count; i++) {
        restartable = restartable && r->plan->processes[i].restart != RESTART_NEVER;
    }
    r->gone = true;
    if (r->state != RUN_OUT) {
        run_conclude(r);
        return;
    }
    r->happened_ns = 0;
    mem_free(r->exit_message);
    r->exit_message = mem_strdup("its processes were lost with their supervisor or the machine");
    run_attempt_failed(r, restartable, REASON_LOST);
}

void run_deadline_passed(void *ctx) {
    struct run *r = ctx;
    run_fail(r, REASON_DEADLINE_EXCEEDED, "ran longer than run_policy.active_deadline");
    r->wanted = r->wanted > THEN_FAIL ? r->wanted : THEN_FAIL;
    r->wanted_grace_ms = r->local->options.grace_ms;
    run_step(r);
}

void run_arm_deadline(struct run *r) {
    if (r->plan->active_deadline_ns == 0 || loop_timer_active(&r->deadline)) {
        return;
    }
    int64_t left = r->started_ns + r->plan->active_deadline_ns - clock_wall();
    loop_timer_start(&r->deadline, left > 0 ? left / CLOCK_MS : 0);
}

// ---- Ends

static void end(struct run *r, enum job_state state, enum job_reason reason, const char *message) {
    queue_remove(r);
    r->state = RUN_DONE;
    loop_timer_stop(&r->deadline);
    loop_timer_stop(&r->backoff);
    run_fact(r, state, reason, "%s", message);
    if (r->gone) { // what clean_pods NONE leaves running keeps its slots
        slots_release(r);
        ports_release(r);
    }
}

static void end_suspended(struct run *r) {
    queue_remove(r);
    r->state = RUN_IDLE;
    r->then = THEN_NOTHING;
    r->happened_ns = 0;
    loop_timer_stop(&r->deadline);
    loop_timer_stop(&r->backoff);
    slots_release(r);
    ports_release(r);
    run_fact(r, JOB_SUSPENDED, REASON_SUSPENDED_BY_USER, "suspended by request");
    if (r->resume_wanted) {
        loop_defer(r->local->loop, &r->step);
    }
}

void run_conclude(struct run *r) {
    switch (r->then) {
    case THEN_RESTART:
        back_off(r);
        return;
    case THEN_SUSPEND:
        end_suspended(r);
        return;
    case THEN_SUCCEED:
        end(r, JOB_SUCCEEDED, REASON_COMPLETED, "completed");
        return;
    case THEN_FAIL:
        end(r, JOB_FAILED, r->fail_reason, r->fail_message != NULL ? r->fail_message : "");
        return;
    case THEN_CANCEL:
        r->happened_ns = 0;
        end(r, JOB_CANCELED, REASON_CANCELED_BY_USER, "canceled");
        return;
    case THEN_NOTHING:
        return;
    }
}

void run_on_gone(struct run *r) {
    r->gone = true;
    if (!r->local->listed) {
        return; // what follows from it is decided when all is known
    }
    if (r->state == RUN_STOPPING) {
        run_conclude(r);
    } else if (r->state == RUN_DONE) {
        slots_release(r);
        ports_release(r);
        if (r->settled) {
            run_free(r);
        }
    }
}

// ---- Commands

static void obey(struct run *r) {
    enum run_then wanted = r->wanted;
    r->wanted = THEN_NOTHING;
    switch (r->state) {
    case RUN_OUT:
    case RUN_STOPPING: // also sooner than it was going to be
        stop_for(r, wanted, r->wanted_grace_ms);
        return;
    case RUN_IDLE:
    case RUN_QUEUED:
    case RUN_BACKOFF:
        r->then = wanted;
        loop_timer_stop(&r->backoff);
        run_conclude(r);
        return;
    case RUN_DONE:
        return;
    }
}

void run_step(void *ctx) {
    struct run *r = ctx;
    if (!r->local->listed) {
        return; // stepped again once it is known what runs
    }
    if (r->fresh) {
        run_adopt(r);
    }
    if (r->wanted != THEN_NOTHING) {
        obey(r);
    }
    if (r->resume_wanted && r->state == RUN_IDLE) {
        r->resume_wanted = false;
        queue_add(r);
    }
    if (r->settled && r->state == RUN_DONE && r->gone) {
        run_free(r);
    }
}
