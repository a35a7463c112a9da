// Events: what a job's cluster said of it. The backend asks; an asker who goes ends the question.
#include "flow/internal.h"

#include "base/mem.h"

struct question {
    struct flow_op op; // first: what flow_op_cancel gets
    struct backend *backend;
    struct backend_asking *asking;
    backend_events_fn *fn;
};

static void on_answer(void *ctx, const struct backend_event *events, size_t n, const struct err *err) {
    struct question *q = ctx;
    list_remove(&q->op.link);
    q->fn(q->op.fn_ctx, events, n, err);
    mem_free(q);
}

static void cancel(struct flow_op *op) {
    struct question *q = CONTAINER_OF(op, struct question, op);
    q->backend->ops->events_cancel(q->asking);
    list_remove(&op->link);
    mem_free(q);
}

struct flow_op *flow_events(struct flow *f, struct job *job, size_t limit, backend_events_fn *fn, void *ctx) {
    struct backend *b = flow_backend_find(f, job->backend);
    if (b == NULL || b->ops->events == NULL) {
        fn(ctx, NULL, 0, NULL);
        return NULL;
    }
    struct question *q = NEW(struct question);
    q->backend = b;
    q->fn = fn;
    q->op = (struct flow_op){.fn_ctx = ctx, .cancel = cancel};
    list_push(&f->specs, &q->op.link);
    q->asking = b->ops->events(b,
                               &(struct backend_events_query){.uid = job->uid,
                                                              .name = job->name,
                                                              .namespace_ = job->namespace_,
                                                              .created_ns = job->created_ns,
                                                              .limit = limit},
                               on_answer, q);
    return &q->op;
}
