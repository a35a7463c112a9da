// Logs: a backend's reader, told when its job is over so that a follower can end.
#include "flow/internal.h"

#include "base/mem.h"

struct flow_logs {
    struct list link; // flow_job.logs
    struct flow *flow;
    struct job *job; // a reference
    struct backend *backend;
    struct backend_log *log;
};

bool flow_logs_open(struct flow *f, struct job *job, const struct backend_log_query *query, void (*wake)(void *ctx),
                    void *ctx, struct flow_logs **ret, struct err *err) {
    struct backend *b = flow_backend_find(f, job->backend);
    if (b == NULL) {
        return err_fail(err, ERR_PRECONDITION, "NO_BACKEND", "backend %s of this job is not configured any more",
                        job->backend);
    }
    if (f->log_streams >= f->limits.max_log_streams) {
        err_fail(err, ERR_EXHAUSTED, "LIMIT_REACHED", "limits.max_log_streams (%lld) streams are open",
                 (long long)f->limits.max_log_streams);
        err_fact(err, "limit", "limits.max_log_streams");
        err->retry_after_ms = 1000;
        return false;
    }
    struct backend_log_query q = *query;
    q.uid = job->uid;
    bool over = job_state_terminal(job->seen->state);
    struct backend_log *log = NULL;
    if (!b->ops->logs_open(b, &q, over, wake, ctx, &log, err)) {
        return false;
    }
    struct flow_logs *l = NEW(struct flow_logs);
    *l = (struct flow_logs){.flow = f, .job = job_ref(job), .backend = b, .log = log};
    list_init(&l->link);
    if (!over) {
        list_push(&flow_job_of(f, job)->logs, &l->link);
    }
    f->log_streams++;
    *ret = l;
    return true;
}

enum backend_log_result flow_logs_next(struct flow_logs *l, struct backend_log_item *item, struct err *err) {
    return l->backend->ops->logs_read(l->log, item, err);
}

void flow_logs_terminal(struct flow_job *fj) {
    struct list *node;
    while ((node = list_pop(&fj->logs)) != NULL) {
        struct flow_logs *l = CONTAINER_OF(node, struct flow_logs, link);
        l->backend->ops->logs_terminal(l->log);
    }
}

void flow_logs_close(struct flow_logs *l) {
    if (l == NULL) {
        return;
    }
    list_remove(&l->link);
    l->backend->ops->logs_close(l->log);
    l->flow->log_streams--;
    if (l->job->flow != NULL && job_state_terminal(l->job->head->state)) {
        flow_job_drop(l->job);
    }
    job_unref(l->job);
    mem_free(l);
}
