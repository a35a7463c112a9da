// Taking over what a supervisor already holds, after a restart of the daemon or of the supervisor. The journal may be
// a little behind what has happened; the supervisor's records are what really ran.
#include "local/executor.h"

#include "base/mem.h"

#include <stdio.h>

// A newer attempt than the journal knows: the transitions in between were decided and lost.
static void take_newer(struct run *r, int32_t attempt) {
    bool counted = r->restarting || r->waiting || r->attempt == 0;
    r->restarts += attempt - r->attempt - (counted ? 1 : 0);
    r->attempt = attempt;
    r->restarting = r->waiting = r->seen = false;
    slots_release(r);
    ports_release(r);
}

bool run_is_about(struct run *r, int32_t attempt) {
    if (r->fresh && attempt > r->attempt) {
        take_newer(r, attempt);
    }
    if (attempt != r->attempt) {
        return false; // of an attempt that is over; forgotten when the next one begins, or with the job
    }
    if (r->fresh && !r->seen) {
        run_reset_procs(r);
        r->gone = false;
    }
    r->seen = true;
    return true;
}

// An earlier daemon had been told to stop it, and had not written down what came of that. true: that goes on.
static bool go_on_stopping(struct run *r) {
    int then;
    int reason;
    int message = 0;
    if (r->stopped_why == NULL || sscanf(r->stopped_why, "%d %d %n", &then, &reason, &message) != 2 ||
        then <= THEN_NOTHING || then > THEN_CANCEL) {
        return false;
    }
    if (then == THEN_FAIL) {
        run_fail(r, (enum job_reason)reason, r->stopped_why + message);
    }
    run_stop(r, (enum run_then)then, r->local->options.grace_ms, "");
    return true;
}

static bool any_missing(const struct run *r) {
    for (size_t i = 0; i < r->plan->process_count; i++) {
        if (r->procs[i].state == PROC_WAITING) {
            return true;
        }
    }
    return false;
}

// Its processes are, or were, with the supervisor.
static void adopt_seen(struct run *r) {
    int64_t grace_ms = r->local->options.grace_ms;
    slots_take(r);
    r->state = RUN_OUT;
    if (r->wanted != THEN_NOTHING) {
        return; // a command decides; how they ended does not matter any more
    }
    if (r->suspended) {
        run_stop(r, THEN_SUSPEND, grace_ms, "");
    } else if (r->restarting) {
        run_stop(r, THEN_RESTART, grace_ms, ""); // its failure is written down, and counted
    } else if (!go_on_stopping(r)) {
        run_evaluate(r);
        if (r->state == RUN_OUT && any_missing(r)) {
            run_fact(r, JOB_RESTARTING, REASON_NODE_LOST, "its start was interrupted, begins again");
            run_stop(r, THEN_RESTART, grace_ms, "");
        }
    }
}

void run_adopt(struct run *r) {
    bool of_interest = r->seen && !r->waiting && !(r->suspended && r->gone);
    r->fresh = false;
    if (of_interest) {
        adopt_seen(r);
        return;
    }
    slots_release(r); // noted by records of an attempt that is over
    ports_release(r);
    if (r->suspended || r->wanted != THEN_NOTHING) {
        return;
    }
    if (r->attempt == 0 || r->waiting || r->restarting) {
        queue_add(r);
    } else {
        slots_take(r);
        r->state = RUN_OUT;
        run_lost(r);
    }
}

void run_on_listed(struct run *r) {
    if (r->fresh) {
        run_step(r);
        return;
    }
    bool out = r->state == RUN_OUT || r->state == RUN_STOPPING;
    if (out && !r->seen) {
        run_lost(r);
    } else if (r->state == RUN_OUT) {
        run_evaluate(r);
    } else if (r->state == RUN_STOPPING) { // what was said before the connection broke may not have been heard
        run_stop(r, r->then, r->local->options.grace_ms, "");
    } else if (r->state == RUN_BACKOFF && !loop_timer_active(&r->backoff)) {
        run_start(r);
    } else if (r->state == RUN_DONE && r->holds_slots && (r->gone || !r->seen)) {
        run_on_gone(r);
        return;
    }
    run_step(r);
}
