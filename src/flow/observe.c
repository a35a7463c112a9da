// The way up: facts of a backend become moves of a job. What a backend sees is not always what a job becomes: a job
// that is being canceled stays so until it is over, and what is over stays over.
#include "flow/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

struct flow_sink {
    struct flow *flow;
    struct backend *backend;
    bool ready;
};

static bool still_canceling(const struct job *job, enum job_state seen) {
    return job->head->state == JOB_CANCELING && !job_state_terminal(seen);
}

static void on_fact(void *ctx, const struct backend_fact *fact) {
    struct flow_sink *sink = ctx;
    struct flow *f = sink->flow;
    struct job *job = job_table_by_uid(f->table, fact->uid);
    if (job == NULL || job->head == NULL) {
        log_debug("flow", "fact about unknown job %s, ignoring", fact->uid);
        return;
    }
    if (job_state_terminal(job->head->state)) {
        return; // latched
    }
    struct job_change change = {
        .to = fact->state,
        .reason = fact->reason,
        .message = fact->message,
        .attempt = fact->attempt,
        .restarts = fact->restarts,
        .exit = fact->exit,
        .roles = fact->roles,
        .role_count = fact->role_count,
        .observed_ns = clock_wall(),
        .happened_ns = fact->happened_ns,
    };
    // Why it is being canceled was decided and journaled with CANCELING; the backend does not know it.
    if (still_canceling(job, fact->state) || (job->head->state == JOB_CANCELING && fact->state == JOB_CANCELED)) {
        change.to = fact->state == JOB_CANCELED ? JOB_CANCELED : JOB_CANCELING;
        change.reason = job->head->reason;
        change.message = job->head->message;
    }
    flow_move(f, job, &change);
}

static void on_object(void *ctx, const struct backend_object *object) {
    struct flow_sink *sink = ctx;
    flow_on_object(sink->flow, object, on_fact, sink);
}

static void on_found(void *ctx, const struct backend_found *found) {
    struct flow_sink *sink = ctx;
    flow_adopt(sink->flow, sink->backend, found);
}

static void on_ready(void *ctx) {
    struct flow_sink *sink = ctx;
    sink->ready = true;
    log_debug("flow", "backend %s is ready", sink->backend->name);
}

static void on_health(void *ctx, const char *problem) {
    struct flow_sink *sink = ctx;
    if (problem != NULL) {
        log_warn("flow", "backend %s: %s", sink->backend->name, problem);
    } else {
        log_info("flow", "backend %s is well again", sink->backend->name);
    }
}

struct flow_sink *flow_sinks_new(struct flow *f) {
    struct flow_sink *sinks = mem_zalloc(f->backend_count * sizeof *sinks);
    for (size_t i = 0; i < f->backend_count; i++) {
        sinks[i] = (struct flow_sink){.flow = f, .backend = f->backends[i]};
    }
    return sinks;
}

void flow_sinks_start(struct flow *f) {
    for (size_t i = 0; i < f->backend_count; i++) {
        const struct backend_sink sink = {.found = on_found,
                                          .fact = on_fact,
                                          .object = on_object,
                                          .ready = on_ready,
                                          .health = on_health,
                                          .ctx = &f->sinks[i]};
        f->backends[i]->ops->start(f->backends[i], &sink);
    }
}

void flow_sinks_free(struct flow_sink *sinks) {
    mem_free(sinks);
}
