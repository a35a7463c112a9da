// What a cluster is asked to do: who waits for its answer, and who is told nothing any more when flow ends first.
#include "flow/internal.h"

#include "base/mem.h"

struct promise {
    struct list link; // flow.promises
    void (*done)(void *ctx, const struct err *err);
    void (*drop)(void *ctx);
    void *ctx;
};

static void on_answer(void *ctx, const struct err *err) {
    struct promise *p = ctx;
    list_remove(&p->link);
    p->done(p->ctx, err);
    mem_free(p);
}

static struct promise *promise_new(struct flow *f, void (*done)(void *ctx, const struct err *err),
                                   void (*drop)(void *ctx), void *ctx) {
    struct promise *p = NEW(struct promise);
    *p = (struct promise){.done = done, .drop = drop, .ctx = ctx};
    list_push(&f->promises, &p->link);
    return p;
}

void flow_create(struct flow *f, struct backend *b, const struct backend_create *job,
                 void (*done)(void *ctx, const struct err *err), void (*drop)(void *ctx), void *ctx) {
    b->ops->create(b, job, on_answer, promise_new(f, done, drop, ctx));
}

void flow_resize(struct flow *f, struct backend *b, const char *uid, int32_t replicas,
                 void (*done)(void *ctx, const struct err *err), void (*drop)(void *ctx), void *ctx) {
    b->ops->scale(b, uid, replicas, on_answer, promise_new(f, done, drop, ctx));
}

// The backend goes on and is not listened to: what it makes is found by its mark at the next start.
void flow_promises_leave(struct flow *f) {
    LIST_EACH (node, &f->promises) {
        struct promise *p = CONTAINER_OF(node, struct promise, link);
        list_remove(&p->link);
        p->drop(p->ctx);
        mem_free(p);
    }
}
