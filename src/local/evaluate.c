// What the reports of the supervisor mean for a run.
#include "local/executor.h"

#include "base/mem.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

void run_reset_procs(struct run *r) {
    for (size_t i = 0; i < r->plan->process_count; i++) {
        struct proc *p = &r->procs[i];
        mem_free(p->refused);
        *p = (struct proc){.gpus = p->gpus};
    }
    mem_free(TAKE(r->exit_message));
    mem_free(TAKE(r->stopped_why));
    r->exit = (struct job_exit){0};
    r->happened_ns = 0;
    r->running_said = false;
}

// ---- Reports

void run_on_started(struct run *r, uint32_t rank, const char *note, int64_t ns) {
    if (rank >= r->plan->process_count) {
        return;
    }
    const char *gpus = strchr(note, ';');
    ports_take_noted(r, note);
    slots_take_noted(r, rank, gpus != NULL ? gpus + 1 : "");
    if (r->procs[rank].state == PROC_WAITING) {
        r->procs[rank].state = PROC_RUNNING;
        r->procs[rank].started_ns = ns;
    }
}

void run_on_refused(struct run *r, uint32_t rank, const char *why, int64_t ns) {
    if (rank < r->plan->process_count && r->procs[rank].state == PROC_WAITING) {
        r->procs[rank].state = PROC_FAILED;
        r->procs[rank].refused = mem_strdup(why);
        r->procs[rank].ended_ns = ns;
    }
}

void run_on_exited(struct run *r, uint32_t rank, int status, int64_t ns) {
    if (rank >= r->plan->process_count || r->procs[rank].state > PROC_RUNNING) {
        return;
    }
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    r->procs[rank].status = status;
    r->procs[rank].ended_ns = ns;
    r->procs[rank].state = well ? PROC_OK : r->state == RUN_STOPPING ? PROC_STOPPED : PROC_FAILED;
}

void run_on_stopped(struct run *r, const char *why) {
    if (!r->local->listed) {
        mem_free(r->stopped_why);
        r->stopped_why = mem_strdup(why);
    }
}

// ---- A failure

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

void run_attempt_failed(struct run *r, bool restartable, enum job_reason reason) {
    int64_t grace_ms = r->local->options.grace_ms;
    int32_t limit = r->plan->backoff_limit;
    if (!restartable) {
        run_fail(r, reason, r->exit_message);
        run_stop(r, THEN_FAIL, grace_ms, "");
        return;
    }
    if (r->restarts >= limit) {
        CLEANUP(mem_free_ptr)
        char *text = mem_printf("%s, after %d restart%s (run_policy.backoff_limit)", r->exit_message, r->restarts,
                                r->restarts == 1 ? "" : "s");
        run_fail(r, reason == REASON_LOST ? reason : REASON_BACKOFF_LIMIT_EXCEEDED, text);
        run_stop(r, THEN_FAIL, grace_ms, "");
        return;
    }
    r->restarts++;
    run_fact(r, JOB_RESTARTING, reason == REASON_LOST ? REASON_NODE_LOST : REASON_PROCESS_EXITED,
             "%s, restart %d of %d", r->exit_message, r->restarts, limit);
    run_stop(r, THEN_RESTART, grace_ms, "");
}

static char *describe_exit(const struct plan_process *p, const struct proc *proc) {
    if (proc->refused != NULL) {
        return mem_printf("%s-%d: %s", p->role, p->index, proc->refused);
    }
    if (!WIFSIGNALED(proc->status)) {
        return mem_printf("%s-%d exited with %d", p->role, p->index, WEXITSTATUS(proc->status));
    }
    int number = WTERMSIG(proc->status);
    const char *name = sigabbrev_np(number);
    return name != NULL ? mem_printf("%s-%d was killed by SIG%s", p->role, p->index, name)
                        : mem_printf("%s-%d was killed by signal %d", p->role, p->index, number);
}

static void note_exit(struct run *r, size_t rank) {
    const struct plan_process *p = r->by_rank[rank];
    const struct proc *proc = &r->procs[rank];
    bool ran = proc->refused == NULL;
    mem_free(r->exit_message);
    r->exit_message = describe_exit(p, proc);
    r->happened_ns = proc->ended_ns;
    r->exit = (struct job_exit){.present = true,
                                .role = p->role,
                                .index = p->index,
                                .rank = p->rank,
                                .attempt = r->attempt,
                                .exit_code = ran && WIFEXITED(proc->status) ? WEXITSTATUS(proc->status) : 0,
                                .signal = ran && WIFSIGNALED(proc->status) ? WTERMSIG(proc->status) : 0,
                                .message = r->exit_message};
}

static void look_at_failure(struct run *r, size_t rank) {
    const struct proc *p = &r->procs[rank];
    note_exit(r, rank);
    if (p->refused != NULL) {
        run_attempt_failed(r, false, REASON_SPAWN_FAILED); // trying again would not find the program either
        return;
    }
    run_attempt_failed(r, may_restart(r->by_rank[rank]->restart, p->status),
                       WIFSIGNALED(p->status) ? REASON_KILLED_BY_SIGNAL : REASON_NONZERO_EXIT);
}

// ---- All together

struct verdict {
    size_t waiting, ended, refused;
    size_t undecided;   // processes that the job's success still needs
    int64_t success_ns; // when the last of them ended well
    int64_t running_ns; // when the last one had started
    bool failed;
    size_t failed_rank; // the first one in time
    int64_t failed_ns;
};

static bool any_decides(const struct run *r) {
    for (size_t i = 0; i < r->plan->process_count; i++) {
        if (r->by_rank[i]->decides) {
            return true;
        }
    }
    return false;
}

static void judge(const struct run *r, struct verdict *v) {
    bool all_decide = !any_decides(r);
    *v = (struct verdict){0};
    for (size_t i = 0; i < r->plan->process_count; i++) {
        const struct proc *p = &r->procs[i];
        bool again = p->state == PROC_OK && r->by_rank[i]->restart == RESTART_ALWAYS;
        v->waiting += p->state == PROC_WAITING;
        v->ended += p->state > PROC_RUNNING;
        v->refused += p->refused != NULL;
        v->running_ns = p->started_ns > v->running_ns ? p->started_ns : v->running_ns;
        if (r->by_rank[i]->decides || all_decide) {
            v->undecided += p->state != PROC_OK;
            v->success_ns = p->ended_ns > v->success_ns ? p->ended_ns : v->success_ns;
        }
        if ((p->state == PROC_FAILED || again) && (!v->failed || p->ended_ns < v->failed_ns)) {
            v->failed = true;
            v->failed_rank = i;
            v->failed_ns = p->ended_ns;
        }
    }
}

static void say_progress(struct run *r, const struct verdict *v) {
    size_t n = r->plan->process_count;
    if (v->waiting != 0 || r->running_said) {
        return;
    }
    r->running_said = true;
    r->started_ns = r->started_ns != 0 ? r->started_ns : v->running_ns;
    r->happened_ns = v->running_ns;
    run_fact(r, JOB_RUNNING, REASON_ALL_RUNNING, "%zu process%s", n, n == 1 ? " runs" : "es run");
    r->happened_ns = 0;
    run_arm_deadline(r);
}

static void succeed(struct run *r, const struct verdict *v) {
    r->happened_ns = v->success_ns;
    if (r->plan->clean_pods == CLEAN_NONE) {
        r->then = THEN_SUCCEED;
        run_conclude(r); // what still runs is left alone
    } else if (v->ended < r->plan->process_count) {
        run_stop(r, THEN_SUCCEED, r->local->options.grace_ms, "");
    } else {
        r->then = THEN_SUCCEED;
        r->state = RUN_STOPPING; // GONE comes by itself, most often at once
        if (r->gone) {
            run_conclude(r);
        }
    }
}

void run_evaluate(struct run *r) {
    struct verdict v;
    if (r->state != RUN_OUT) {
        return;
    }
    judge(r, &v);
    if (v.refused == 0) {
        say_progress(r, &v);
    }
    // In the order of time, also when all of it is learnt at once after a restart: what ends after the job has
    // succeeded has been stopped.
    if (v.failed && (v.undecided != 0 || v.failed_ns <= v.success_ns)) {
        look_at_failure(r, v.failed_rank);
    } else if (v.undecided == 0) {
        succeed(r, &v);
    }
}
