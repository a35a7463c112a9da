// The completion queues' threads: they pop and post, and touch nothing but the tag they were handed.
//
// One queue would do, but Debian's library is built with assertions: it looks for each finished tag among all that are
// under way in its queue, and every open stream has one. So unary calls have a queue apart from the streams, and these
// share a few.
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

void rpc_queue_catch(struct rpc_queue *q) {
    grpc_completion_queue_thread_local_cache_init(q->core);
}

void rpc_queue_caught(struct rpc_queue *q) {
    void *found = NULL;
    int ok = 0;
    if (grpc_completion_queue_thread_local_cache_flush(q->core, &found, &ok) != 0) {
        struct rpc_tag *tag = found;
        expect(tag, OUT);
        tag->ok = ok != 0;
        loop_post(q->loop, &tag->message); // not delivered here: its owner may be in the middle of something
    }
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

void rpc_queues_create(struct rpc_queue *queues) {
    const grpc_completion_queue_attributes quiet = {
        .version = GRPC_CQ_CURRENT_VERSION, .cq_completion_type = GRPC_CQ_NEXT, .cq_polling_type = GRPC_CQ_NON_POLLING};
    queues[0].core = grpc_completion_queue_create_for_next(NULL);
    for (size_t i = 1; i < RPC_QUEUES; i++) {
        queues[i].core = grpc_completion_queue_create(grpc_completion_queue_factory_lookup(&quiet), &quiet, NULL);
    }
}

void rpc_queues_start(struct rpc_queue *queues, struct loop *loop) {
    for (size_t i = 0; i < RPC_QUEUES; i++) {
        queues[i].loop = loop;
        queues[i].thread = loop_thread_new("grpc-queue", run, &queues[i]);
    }
}

void rpc_queues_finish(struct rpc_queue *queues) {
    for (size_t i = RPC_QUEUES; i-- > 0;) { // the one that does the I/O last
        grpc_completion_queue_shutdown(queues[i].core);
        loop_thread_join(queues[i].thread);
    }
    loop_deliver(queues[0].loop);
}

void rpc_queues_destroy(struct rpc_queue *queues) {
    for (size_t i = 0; i < RPC_QUEUES; i++) {
        grpc_completion_queue_destroy(queues[i].core);
        queues[i].core = NULL;
    }
}
