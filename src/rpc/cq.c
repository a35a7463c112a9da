// The completion queue's thread: it pops and posts, and touches nothing but the tag it was handed.
#include "rpc/internal.h"

#include "base/log.h"

#include <stdlib.h>

enum { HERE = 0x7a6c1e05, OUT = 0x0c7a6c1e }; // where the tag is: with its owner, or with C core

// A wrong tag means that memory was freed too early; going on would only hide where. The magic also hands over what the
// loop wrote before: C core does so too, but the thread sanitizer cannot see it.
static void expect(struct rpc_tag *tag, unsigned where) {
    if (tag == NULL || atomic_load_explicit(&tag->magic, memory_order_acquire) != where) {
        log_error("rpc", "a completion came back for something that is not there");
        abort();
    }
}

static void deliver(struct loop_message *message) {
    struct rpc_tag *tag = CONTAINER_OF(message, struct rpc_tag, message);
    expect(tag, OUT);
    atomic_store_explicit(&tag->magic, HERE, memory_order_relaxed);
    tag->fn(tag, tag->ok);
}

void rpc_tag_init(struct rpc_tag *tag, void (*fn)(struct rpc_tag *tag, bool ok)) {
    atomic_init(&tag->magic, HERE);
    tag->fn = fn;
    tag->message.fn = deliver;
}

void *rpc_tag_hand_out(struct rpc_tag *tag) {
    expect(tag, HERE);
    atomic_store_explicit(&tag->magic, OUT, memory_order_release);
    return tag;
}

static void run(void *ctx) {
    const struct rpc_queue *q = ctx;
    for (;;) {
        grpc_event event = grpc_completion_queue_next(q->core, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            return;
        }
        struct rpc_tag *tag = event.tag;
        expect(tag, OUT);
        tag->ok = event.success != 0;
        loop_post(q->loop, &tag->message);
    }
}

void rpc_queue_start(struct rpc_queue *q, struct loop *loop) {
    q->loop = loop;
    q->thread = loop_thread_new("grpc-queue", run, q);
}

void rpc_queue_finish(struct rpc_queue *q) {
    grpc_completion_queue_shutdown(q->core);
    if (q->thread != NULL) {
        loop_thread_join(q->thread);
        q->thread = NULL;
    }
    loop_deliver(q->loop);
}

void rpc_queue_done(struct rpc_queue *q) {
    grpc_completion_queue_destroy(q->core);
    q->core = NULL;
}
