// Cancel, Delete, Suspend, Resume: each decides, moves the job, tells the backend, and answers when it is durable.
#include "flow/internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

enum { REASON_TEXT_MAX = 1024 };

static void answer_job(struct flow_op *op, const struct err *err) {
    op->fn.job(op->fn_ctx, err != NULL ? NULL : op->owner->job, err);
}

static struct flow_op *wait(struct flow *f, struct job *job, bool (*ready)(const struct flow_op *op), flow_job_fn *fn,
                            void *ctx) {
    struct flow_job *fj = flow_job_of(f, job);
    struct flow_op *op = NEW(struct flow_op);
    *op = (struct flow_op){.owner = fj,
                           .ready = ready,
                           .answer = answer_job,
                           .fn.job = fn,
                           .fn_ctx = ctx,
                           .want = job->head->job_sequence};
    list_push(&fj->waiters, &op->link);
    return op;
}

static struct flow_op *refuse(flow_job_fn *fn, void *ctx, struct err *err) {
    fn(ctx, NULL, err);
    err_done(err);
    return NULL;
}

// ---- What a request may wait for
// ------------------------------------------------------------------------------------------------

static bool head_is_seen(const struct flow_op *op) {
    return op->owner->job->seen->job_sequence >= op->want;
}

static bool is_suspended(const struct flow_op *op) {
    enum job_state s = op->owner->job->seen->state;
    return s == JOB_SUSPENDED || job_state_terminal(s);
}

static bool is_deleted(const struct flow_op *op) {
    return op->owner->job->seen == NULL; // the record has let go of its events
}

// ---- Cancel
// -----------------------------------------------------------------------------------------------------------------------

static void start_cancel(struct flow *f, struct job *job, const char *reason, int64_t grace_ms, bool early_stopped) {
    struct flow_job *fj = flow_job_of(f, job);
    CLEANUP(mem_free_ptr)
    char *message = mem_strndup(str_is_empty(reason) ? "canceled by request" : reason, REASON_TEXT_MAX);
    flow_move(f, job,
              &(struct job_change){.to = JOB_CANCELING,
                                   .reason = early_stopped ? REASON_EARLY_STOPPED : REASON_CANCELED_BY_USER,
                                   .message = message,
                                   .observed_ns = clock_wall()});
    fj->backend->ops->cancel(fj->backend, job->uid, grace_ms);
}

struct flow_op *flow_cancel(struct flow *f, struct job *job, const char *reason, int32_t grace_s, bool early_stopped,
                            flow_job_fn *fn, void *ctx) {
    if (job_state_terminal(job->seen->state)) {
        fn(ctx, job, NULL);
        return NULL;
    }
    int64_t grace_ms = (int64_t)(grace_s < 0 ? f->limits.cancel_grace_s : grace_s) * 1000;
    if (!job_state_terminal(job->head->state)) {
        struct flow_job *fj = flow_job_of(f, job);
        if (job->head->state == JOB_CANCELING) { // again: perhaps with less patience
            fj->backend->ops->cancel(fj->backend, job->uid, grace_ms);
        } else {
            start_cancel(f, job, reason, grace_ms, early_stopped);
        }
    }
    if (job->head == job->seen) { // durable already; the next commit may be far away
        fn(ctx, job, NULL);
        return NULL;
    }
    return wait(f, job, head_is_seen, fn, ctx);
}

// ---- Delete
// -----------------------------------------------------------------------------------------------------------------------

void flow_delete_now(struct flow *f, struct job *job) {
    flow_retention_remove(f, job);
    job_table_delete(f->table, job, clock_wall());
}

struct flow_op *flow_delete(struct flow *f, struct job *job, bool force, flow_job_fn *fn, void *ctx) {
    bool over = job_state_terminal(job->seen->state);
    if (!over && !force) {
        struct err err = ERR_INIT;
        err_fail(&err, ERR_PRECONDITION, "JOB_ACTIVE", "job %s is %s: cancel it first, or delete with force", job->name,
                 job_state_name(job->seen->state));
        err_resource(&err, "trainer.v1.Job", job->uid);
        return refuse(fn, ctx, &err);
    }
    struct flow_op *op = wait(f, job, is_deleted, fn, ctx);
    if (over) {
        flow_delete_now(f, job);
        return op;
    }
    flow_job_of(f, job)->delete_forced = true;
    if (!job_state_terminal(job->head->state)) {
        start_cancel(f, job, "deleted with force", 0, false);
    }
    return op;
}

// ---- Suspend and resume
// --------------------------------------------------------------------------------------------------------------

struct flow_op *flow_suspend(struct flow *f, struct job *job, const char *reason UNUSED, flow_job_fn *fn, void *ctx) {
    enum job_state s = job->head->state;
    if (s == JOB_SUSPENDED && job->seen == job->head) {
        fn(ctx, job, NULL);
        return NULL;
    }
    if (job_state_terminal(s) || s == JOB_CANCELING) {
        struct err err = ERR_INIT;
        err_fail(&err, ERR_PRECONDITION, "NOT_SUSPENDABLE",
                 "job %s is %s; only a job that is not over can be suspended", job->name, job_state_name(s));
        return refuse(fn, ctx, &err);
    }
    struct flow_job *fj = flow_job_of(f, job);
    if (s != JOB_SUSPENDED) {
        fj->backend->ops->suspend(fj->backend, job->uid);
    }
    return wait(f, job, is_suspended, fn, ctx);
}

struct flow_op *flow_resume(struct flow *f, struct job *job, flow_job_fn *fn, void *ctx) {
    if (job->head->state != JOB_SUSPENDED) {
        struct err err = ERR_INIT;
        err_fail(&err, ERR_PRECONDITION, "NOT_SUSPENDED", "job %s is %s; only a suspended job can be resumed",
                 job->name, job_state_name(job->head->state));
        return refuse(fn, ctx, &err);
    }
    struct flow_job *fj = flow_job_of(f, job);
    flow_move(f, job,
              &(struct job_change){.to = JOB_PENDING,
                                   .reason = REASON_RESUMED,
                                   .message = "resumed, waits for its turn",
                                   .observed_ns = clock_wall()});
    fj->backend->ops->resume(fj->backend, job->uid);
    return wait(f, job, head_is_seen, fn, ctx);
}
