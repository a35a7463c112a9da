// Birth and end of the flow room, and what is kept of each job that is not over.
#include "flow/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <string.h>

static void start_deadline_passed(void *ctx) {
    struct flow_job *fj = ctx;
    if (fj->job->head->state == JOB_PENDING) {
        fj->backend->ops->fail(fj->backend, fj->job->uid, REASON_START_DEADLINE_EXCEEDED,
                               "did not start within run_policy.start_deadline");
    }
}

struct flow_job *flow_job_of(struct flow *f, struct job *job) {
    if (job->flow == NULL) {
        struct flow_job *fj = NEW(struct flow_job);
        fj->flow = f;
        fj->job = job;
        fj->backend = flow_backend_find(f, job->backend);
        list_push(&f->jobs, &fj->link);
        list_init(&fj->waiters);
        list_init(&fj->logs);
        loop_timer_init(&fj->start_deadline, f->loop, "flow start deadline", start_deadline_passed, fj);
        flow_explain_init(fj);
        job->flow = fj;
    }
    return job->flow;
}

void flow_job_drop(struct job *job) {
    struct flow_job *fj = job->flow;
    if (fj == NULL || !list_empty(&fj->waiters) || !list_empty(&fj->logs)) {
        return;
    }
    list_remove(&fj->link);
    loop_timer_stop(&fj->start_deadline);
    loop_timer_stop(&fj->explain);
    backend_plan_unref(fj->plan);
    mem_free(fj->observed.message);
    job->flow = NULL;
    mem_free(fj);
}

// ---- Start: from the journal
// -----------------------------------------------------------------------------------------------

static bool load_job(void *ctx, const struct store_job *row, const struct store_transition *last) {
    struct flow *f = ctx;
    struct job_spec *spec = NULL;
    if (row->spec_json != NULL && !job_state_terminal((enum job_state)last->state)) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        if (!job_spec_parse_text(row->spec_json, strlen(row->spec_json), &spec, &err)) {
            log_error("flow", "job %s: its journaled spec cannot be read: %s", row->uid, err.message);
        }
    }
    struct job_new args;
    flow_job_from_row(row, &args);
    args.spec = spec;
    struct job *job = job_table_add(f->table, &args);
    job_spec_unref(spec);
    struct arena a;
    arena_init(&a, 0);
    struct job_change change;
    flow_change_from_row(last, &a, &change);
    job_table_restore(f->table, job, &change, last->sequence, last->job_sequence, last->started_ns, last->ended_ns);
    arena_done(&a);
    if (job_state_terminal(job->seen->state)) {
        flow_retention_add(f, job, row->ttl_ns);
    }
    return true;
}

// A job that was active when the daemon went: its backend gets it again, and knows or finds out what became of it.
static void revive(struct flow *f, struct job *job) {
    struct flow_job *fj = flow_job_of(f, job);
    if (fj->backend != NULL && job->spec != NULL) {
        flow_hand_over(f, job);
    }
    if (fj->backend == NULL || !fj->handed_over) {
        flow_move(f, job,
                  &(struct job_change){.to = JOB_FAILED,
                                       .reason = REASON_BACKEND_ERROR,
                                       .message = "its backend or runtime is not configured any more",
                                       .observed_ns = clock_wall()});
        return;
    }
    if (job->head->state == JOB_CANCELING) {
        fj->backend->ops->cancel(fj->backend, job->uid, (int64_t)f->limits.cancel_grace_s * 1000);
    }
}

static void revive_all(struct flow *f) {
    size_t n = 0;
    struct job **active = mem_realloc_array(NULL, job_table_count(f->table), sizeof(struct job *));
    for (struct job *j = job_table_next_older(f->table, 0); j != NULL; j = job_table_next_older(f->table, j->ordinal)) {
        if (!job_state_terminal(j->head->state)) {
            active[n++] = j;
        }
    }
    while (n > 0) { // oldest first: the queue's order
        revive(f, active[--n]);
    }
    mem_free(active);
}

bool flow_new(const struct flow_options *options, struct flow **ret, struct err *err) {
    assert(options->backend_count != 0);
    struct flow *f = NEW(struct flow);
    f->loop = options->loop;
    f->store = options->store;
    f->plugins = options->plugins;
    f->backends = options->backends;
    f->backend_count = options->backend_count;
    f->limits = options->limits;
    f->started_ns = clock_wall();
    list_init(&f->ended);
    list_init(&f->specs);
    list_init(&f->commits);
    list_init(&f->promises);
    list_init(&f->jobs);
    f->feed = job_feed_new((size_t)f->limits.feed_events, store_newest_sequence(f->store));
    f->table = job_table_new(f->feed);
    loop_task_init(&f->flush, flow_journal_flush, f);
    flow_retention_start(f);
    f->sinks = flow_sinks_new(f);
    if (!store_load(f->store, load_job, f, err)) {
        flow_free(f);
        return false;
    }
    job_table_on_outbox(f->table, flow_on_outbox, f);
    revive_all(f);
    flow_sinks_start(f);
    log_info("flow", "%zu jobs in the journal, %zu of them active", job_table_count(f->table),
             job_table_active_count(f->table));
    *ret = f;
    return true;
}

void flow_on_outbox(void *ctx) {
    struct flow *f = ctx;
    loop_defer(f->loop, &f->flush);
}

void flow_drain(struct flow *f) {
    f->draining = true;
}

void flow_free(struct flow *f) {
    if (f == NULL) {
        return;
    }
    flow_journal_flush(f); // what was decided last; store_close writes it
    loop_task_cancel(&f->flush);
    flow_retention_stop(f);
    struct err gone = ERR_INIT;
    err_fail(&gone, ERR_UNAVAILABLE, "SHUTTING_DOWN", "the server is shutting down");
    LIST_EACH (node, &f->jobs) { // also of jobs that have left the table, while their deletion is written
        struct flow_job *fj = CONTAINER_OF(node, struct flow_job, link);
        flow_waiters_fail(fj, &gone);
        flow_job_drop(fj->job);
    }
    err_done(&gone);
    LIST_EACH (node, &f->specs) { // their calls are gone
        flow_op_cancel(CONTAINER_OF(node, struct flow_op, link));
    }
    flow_promises_leave(f);
    flow_journal_leave(f);
    job_table_free(f->table);
    job_feed_free(f->feed);
    flow_sinks_free(f->sinks);
    mem_free(f->page);
    mem_free(f);
}

// ---- About
// ---------------------------------------------------------------------------------------------------------------------

void flow_info(struct flow *f, struct flow_info *ret) {
    *ret = (struct flow_info){
        .epoch = store_epoch(f->store),
        .oldest_sequence = store_oldest_sequence(f->store),
        .newest_sequence = job_feed_last(f->feed),
        .started_ns = f->started_ns,
        .jobs = (int64_t)job_table_count(f->table),
        .active_jobs = (int64_t)job_table_active_count(f->table),
        .watchers = f->watchers,
        .journal_problem = store_problem(f->store),
        .limits = &f->limits,
    };
}

size_t flow_backends(struct flow *f, struct backend *const **ret) {
    *ret = f->backends;
    return f->backend_count;
}

struct plugins *flow_plugins(struct flow *f) {
    return f->plugins;
}
