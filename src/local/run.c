// What a run does next. Commands and reports only note what they know; decisions are made here.
#include "local/executor.h"

#include "base/clock.h"
#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { BACKOFF_FIRST_MS = 200, BACKOFF_MAX_MS = 30000 };

void run_reset_procs(struct run *r) {
    for (size_t i = 0; i < r->plan->process_count; i++) {
        struct proc *p = &r->procs[i];
        mem_free(p->refused);
        *p = (struct proc){.gpus = p->gpus};
    }
    mem_free(TAKE(r->exit_message));
    r->exit = (struct job_exit){0};
    r->decided = r->gone = r->lost = r->started_said = r->running_said = r->stop_sent = false;
}

// ---- Starting
// ----------------------------------------------------------------------------------------------------------------------

static void send_spawns(struct run *r, bool only_missing) {
    CLEANUP(str_done) struct str note = STR_INIT;
    ports_note(r, &note);
    for (size_t i = 0; i < r->plan->process_count; i++) {
        const struct plan_process *p = &r->plan->processes[i];
        if (!only_missing || r->procs[p->rank].state == PROC_WAITING) {
            env_put_spawn(r, p, str_text(&note), &r->local->out);
        }
    }
}

void run_start(struct run *r) {
    if (!ports_take(r)) {
        r->then = THEN_FAIL;
        r->fail_reason = REASON_SPAWN_FAILED;
        r->fail_message =
            mem_printf("no free port from %d to %d", r->local->options.port_first, r->local->options.port_last);
        run_conclude(r);
        return;
    }
    r->attempt++;
    run_reset_procs(r);
    r->state = RUN_OUT;
    r->then = THEN_NOTHING;
    send_spawns(r, false);
}

// ---- What is known of the processes
// -----------------------------------------------------------------------------------------------

static enum restart_policy policy_of(const struct run *r, size_t rank) {
    for (size_t i = 0; i < r->plan->process_count; i++) {
        if ((size_t)r->plan->processes[i].rank == rank) {
            return r->plan->processes[i].restart;
        }
    }
    return RESTART_NEVER;
}

static const struct plan_process *process_of(const struct run *r, size_t rank) {
    for (size_t i = 0; i < r->plan->process_count; i++) {
        if ((size_t)r->plan->processes[i].rank == rank) {
            return &r->plan->processes[i];
        }
    }
    return NULL;
}

static bool may_restart(enum restart_policy policy, int status) {
    bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    switch (policy) {
    case RESTART_ALWAYS:
        return true;
    case RESTART_ON_FAILURE:
        return !ended_well;
    case RESTART_EXIT_CODE:
        return WIFSIGNALED(status) || WEXITSTATUS(status) >= 128;
    default:
        return false;
    }
}

static void stop(struct run *r, enum run_then then, int64_t grace_ms) {
    r->then = then > r->then ? then : r->then;
    r->state = RUN_STOPPING;
    if (!r->gone) {
        client_stop_attempt(r->local, r, grace_ms);
        r->stop_sent = true;
    }
}

static void set_failure(struct run *r, enum job_reason reason, const char *message) {
    r->fail_reason = reason;
    mem_free(r->fail_message);
    r->fail_message = mem_strdup(message);
}

// The attempt is over because of r->exit. Another one, or the end?
static void attempt_failed(struct run *r, bool restartable, enum job_reason reason) {
    if (!restartable) {
        set_failure(r, reason, r->exit_message);
        stop(r, THEN_FAIL, r->local->options.grace_ms);
        return;
    }
    // After a restart of the daemon this failure may have been counted already.
    int32_t next = r->restarts_counted > r->restarts ? r->restarts_counted : r->restarts + 1;
    r->restarts_counted = 0;
    if (next > r->plan->backoff_limit) {
        CLEANUP(mem_free_ptr)
        char *text = mem_printf("%s after %d restarts (backoff_limit)", r->exit_message, r->restarts);
        set_failure(r, reason == REASON_LOST ? REASON_LOST : REASON_BACKOFF_LIMIT_EXCEEDED, text);
        stop(r, THEN_FAIL, r->local->options.grace_ms);
        return;
    }
    r->restarts = next;
    run_fact(r, JOB_RESTARTING, reason == REASON_LOST ? REASON_NODE_LOST : REASON_PROCESS_EXITED,
             "%s, restart %d of %d", r->exit_message, next, r->plan->backoff_limit);
    stop(r, THEN_RESTART, r->local->options.grace_ms);
}

static void note_exit(struct run *r, size_t rank, int status) {
    const struct plan_process *p = process_of(r, rank);
    const char *refused = r->procs[rank].refused;
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
    r->decided = true;
    r->exit = (struct job_exit){.present = true,
                                .role = p->role,
                                .index = p->index,
                                .rank = p->rank,
                                .attempt = r->attempt,
                                .exit_code = refused == NULL && WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                                .signal = refused == NULL && WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    mem_free(r->exit_message);
    r->exit_message = refused != NULL ? mem_printf("%s-%d: %s", p->role, p->index, refused)
                      : WIFSIGNALED(status)
                          ? mem_printf("%s-%d was killed by SIG%s", p->role, p->index, name != NULL ? name : "?")
                          : mem_printf("%s-%d exited with %d", p->role, p->index, WEXITSTATUS(status));
    r->exit.message = r->exit_message;
}

static void look_at_failure(struct run *r, size_t rank) {
    const struct proc *p = &r->procs[rank];
    note_exit(r, rank, p->status);
    if (p->refused != NULL) {
        attempt_failed(r, false, REASON_SPAWN_FAILED); // trying again would not find the program either
        return;
    }
    attempt_failed(r, may_restart(policy_of(r, rank), p->status),
                   WIFSIGNALED(p->status) ? REASON_KILLED_BY_SIGNAL : REASON_NONZERO_EXIT);
}

void run_lost(struct run *r) {
    r->gone = true;
    r->lost = true;
    bool restartable = true;
    for (size_t i = 0; i < r->plan->process_count; i++) {
        restartable = restartable && r->plan->processes[i].restart != RESTART_NEVER &&
                      r->plan->processes[i].restart != RESTART_DEFAULT;
    }
    mem_free(r->exit_message);
    r->exit_message = mem_strdup("its processes were lost with their supervisor or the machine");
    if (r->state == RUN_OUT) {
        r->decided = true;
        attempt_failed(r, restartable, REASON_LOST);
    }
    run_conclude(r);
}

static void on_deadline(struct run *r) {
    set_failure(r, REASON_DEADLINE_EXCEEDED, "ran longer than run_policy.active_deadline");
    stop(r, THEN_FAIL, r->local->options.grace_ms);
}

static void deadline_passed(void *ctx) {
    struct run *r = ctx;
    if (r->state == RUN_OUT) {
        on_deadline(r);
        client_send(r->local);
    } else if (r->state == RUN_BACKOFF || r->state == RUN_QUEUED) {
        set_failure(r, REASON_DEADLINE_EXCEEDED, "ran longer than run_policy.active_deadline");
        r->then = THEN_FAIL;
        r->gone = true;
        run_conclude(r);
    }
}

static void arm_deadline(struct run *r) {
    if (r->plan->active_deadline_ns == 0 || loop_timer_active(&r->deadline)) {
        return;
    }
    int64_t left = r->started_ns + r->plan->active_deadline_ns - clock_wall();
    loop_timer_init(&r->deadline, r->local->loop, "job deadline", deadline_passed, r);
    loop_timer_start(&r->deadline, left > 0 ? left / CLOCK_MS : 0);
}

static void say_progress(struct run *r, size_t waiting) {
    size_t n = r->plan->process_count;
    if (!r->started_said) {
        r->started_said = true;
        run_fact(r, JOB_STARTING, REASON_STARTED, "starting %zu process%s", n, n == 1 ? "" : "es");
    }
    if (waiting == 0 && !r->running_said) {
        r->running_said = true;
        r->started_ns = r->started_ns != 0 ? r->started_ns : clock_wall();
        run_fact(r, JOB_RUNNING, REASON_ALL_RUNNING, "%zu of %zu processes run", n, n);
        arm_deadline(r);
    }
}

void run_evaluate(struct run *r) {
    if (r->state != RUN_OUT) {
        return;
    }
    size_t n = r->plan->process_count;
    size_t waiting = 0;
    size_t known = 0;
    size_t undecided = 0;
    for (size_t i = 0; i < n; i++) {
        waiting += r->procs[i].state == PROC_WAITING;
        known += r->procs[i].state != PROC_WAITING;
        undecided += process_of(r, i)->decides && r->procs[i].state != PROC_OK;
    }
    if (known == 0) {
        return;
    }
    bool refused = false;
    for (size_t i = 0; i < n; i++) {
        refused = refused || r->procs[i].refused != NULL;
    }
    if (!refused) {
        say_progress(r, waiting);
    }
    for (size_t i = 0; i < n; i++) {
        bool again = r->procs[i].state == PROC_OK && policy_of(r, i) == RESTART_ALWAYS;
        if (r->procs[i].state == PROC_FAILED || again) {
            look_at_failure(r, i);
            return;
        }
    }
    if (undecided == 0) {
        r->then = THEN_SUCCEED;
        if (r->plan->clean_pods == CLEAN_NONE) {
            run_conclude(r); // what still runs is left alone
        } else if (waiting + known == n) {
            r->state = RUN_STOPPING;
            bool all_ended = true;
            for (size_t i = 0; i < n; i++) {
                all_ended = all_ended && r->procs[i].state != PROC_RUNNING && r->procs[i].state != PROC_WAITING;
            }
            if (!all_ended) {
                stop(r, THEN_SUCCEED, r->local->options.grace_ms);
            }
        }
    }
}

// ---- Reports of the supervisor
// -----------------------------------------------------------------------------------------------------

void run_on_started(struct run *r, uint32_t rank, const char *note) {
    if (rank < r->plan->process_count && r->procs[rank].state == PROC_WAITING) {
        r->procs[rank].state = PROC_RUNNING;
        ports_take_noted(r, note);
    }
}

void run_on_refused(struct run *r, uint32_t rank, const char *why) {
    if (rank < r->plan->process_count && r->procs[rank].state == PROC_WAITING) {
        r->procs[rank].state = PROC_FAILED;
        r->procs[rank].refused = mem_strdup(why);
    }
}

void run_on_exited(struct run *r, uint32_t rank, int status, int64_t ns UNUSED) {
    if (rank < r->plan->process_count && r->procs[rank].state <= PROC_RUNNING) {
        r->procs[rank].status = status;
        r->procs[rank].state = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? PROC_OK : PROC_FAILED;
    }
}

void run_on_gone(struct run *r) {
    r->gone = true;
    if (r->state == RUN_DONE) {
        slots_release(r);
        ports_release(r);
    }
    if (r->state == RUN_STOPPING) {
        run_conclude(r);
    }
}

// ---- Ends of an attempt
// ------------------------------------------------------------------------------------------------------------

static void next_attempt(void *ctx) {
    struct run *r = ctx;
    run_start(r);
    client_send(r->local);
}

static void back_off(struct run *r) {
    int64_t ms = BACKOFF_FIRST_MS;
    for (int32_t i = 1; i < r->restarts && ms < BACKOFF_MAX_MS; i++) {
        ms *= 2;
    }
    r->state = RUN_BACKOFF;
    if (!r->holds_slots) {
        slots_take(r);
    }
    loop_timer_init(&r->backoff, r->local->loop, "restart", next_attempt, r);
    loop_timer_start(&r->backoff, ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS);
}

static void end(struct run *r, enum job_state state, enum job_reason reason, const char *message) {
    bool left = state == JOB_SUCCEEDED && r->plan->clean_pods == CLEAN_NONE && !r->gone;
    r->state = RUN_DONE;
    loop_timer_stop(&r->deadline);
    loop_timer_stop(&r->backoff);
    run_fact(r, state, reason, "%s", message);
    if (!left) {
        slots_release(r);
        ports_release(r);
    }
}

void run_conclude(struct run *r) {
    queue_remove(r);
    switch (r->then) {
    case THEN_RESTART:
        back_off(r);
        return;
    case THEN_SUCCEED:
        end(r, JOB_SUCCEEDED, REASON_COMPLETED, "all deciding processes ended well");
        return;
    case THEN_FAIL:
        end(r, JOB_FAILED, r->fail_reason, r->fail_message != NULL ? r->fail_message : "");
        return;
    case THEN_CANCEL:
        end(r, JOB_CANCELED, REASON_CANCELED_BY_USER, "canceled");
        return;
    case THEN_SUSPEND:
        r->state = RUN_IDLE;
        r->then = THEN_NOTHING;
        loop_timer_stop(&r->deadline);
        loop_timer_stop(&r->backoff);
        slots_release(r);
        ports_release(r);
        run_fact(r, JOB_SUSPENDED, REASON_SUSPENDED_BY_USER, "suspended by request");
        return;
    case THEN_NOTHING:
        return;
    }
}

// ---- Commands
// ----------------------------------------------------------------------------------------------------------------------

static void obey(struct run *r) {
    enum run_then wanted = r->wanted;
    r->wanted = THEN_NOTHING;
    switch (r->state) {
    case RUN_OUT:
        stop(r, wanted, r->wanted_grace_ms);
        return;
    case RUN_STOPPING: // also sooner than it was going to be
        stop(r, wanted, r->wanted_grace_ms);
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
    if (r->wanted != THEN_NOTHING) {
        obey(r);
    }
    if (r->resume_wanted && r->state == RUN_IDLE) {
        r->resume_wanted = false;
        queue_add(r);
    }
    client_send(r->local);
}
