// The completion queue's thread: it pops and posts, and touches nothing but the tag it was handed.
#include "rpc/internal.h"

#include "base/log.h"

#include <stdlib.h>

enum { TAG_MAGIC = 0x7a6c1e05 };

// A wrong tag means memory was freed too early; going on would only hide where.
static void check(const struct rpc_tag *tag) {
    if (tag == NULL || tag->magic != TAG_MAGIC) {
        log_error("rpc", "a completion came back for something that is not there");
        abort();
    }
}

static void deliver(struct loop_message *message) {
    struct rpc_tag *tag = CONTAINER_OF(message, struct rpc_tag, message);
    check(tag);
    tag->fn(tag, tag->ok);
}

void rpc_tag_init(struct rpc_tag *tag, void (*fn)(struct rpc_tag *tag, bool ok)) {
    tag->magic = TAG_MAGIC;
    tag->fn = fn;
    tag->message.fn = deliver;
}

static void run(void *ctx) {
    const struct rpc_queue *q = ctx;
    for (;;) {
        grpc_event event = grpc_completion_queue_next(q->core, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            return;
        }
        struct rpc_tag *tag = event.tag;
        check(tag);
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
