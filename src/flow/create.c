// What a cluster is asked to make: who waits for its answer, and who is told nothing any more when flow ends first.
#include "flow/internal.h"

#include "base/mem.h"

struct creation {
    struct list link; // flow.creations
    void (*done)(void *ctx, const struct err *err);
    void (*drop)(void *ctx);
    void *ctx;
};

static void on_answer(void *ctx, const struct err *err) {
    struct creation *c = ctx;
    list_remove(&c->link);
    c->done(c->ctx, err);
    mem_free(c);
}

void flow_create(struct flow *f, struct backend *b, const struct backend_create *job,
                 void (*done)(void *ctx, const struct err *err), void (*drop)(void *ctx), void *ctx) {
    struct creation *c = NEW(struct creation);
    *c = (struct creation){.done = done, .drop = drop, .ctx = ctx};
    list_push(&f->creations, &c->link);
    b->ops->create(b, job, on_answer, c);
}

// The backend goes on and is not listened to: what it makes is found by its mark at the next start.
void flow_creations_leave(struct flow *f) {
    LIST_EACH (node, &f->creations) {
        struct creation *c = CONTAINER_OF(node, struct creation, link);
        list_remove(&c->link);
        c->drop(c->ctx);
        mem_free(c);
    }
}
