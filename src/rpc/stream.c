// Streams that the server writes: a source is pulled when there is room, one message at a time.
//
// C core writes to the socket in the thread that starts a batch, about 10 us a message: ten thousand streams woken at
// once would hold the loop for a tenth of a second. So streams with something to do queue up, and a turn serves them
// for a bounded time. A stream is served once a completion, so none can keep the others from their turn.
#include "rpc/internal.h"

#include "base/clock.h"
#include "base/mem.h"

enum { TURN_STREAMS = 64, TURN_NS = 1000000 };

struct writer {
    struct list link; // server->ready
    struct rpc_call *call;
    const struct rpc_source *source;
    void *ctx;
    bool has_next, ended, failed;
    grpc_slice next; // pulled and not sent, so that it is known whether more follows
    struct err err;
};

static void writer_free(void *ctx) {
    struct writer *w = ctx;
    w->call->state = NULL;
    list_remove(&w->link);
    w->source->close(w->ctx);
    if (w->has_next) {
        grpc_slice_unref(w->next);
    }
    err_done(&w->err);
    mem_free(w);
}

static void pull(struct writer *w) {
    if (w->has_next || w->ended || w->failed) {
        return;
    }
    switch (w->source->next(w->ctx, &w->next, &w->err)) {
    case RPC_SOURCE_MESSAGE:
        w->has_next = true;
        break;
    case RPC_SOURCE_WAIT:
        break;
    case RPC_SOURCE_END:
        w->ended = true;
        break;
    case RPC_SOURCE_FAILED:
        w->failed = true;
        break;
    }
}

static void end(struct writer *w) {
    struct rpc_call *call = w->call;
    if (w->failed) {
        rpc_call_end(call, &w->err);
    } else {
        rpc_call_end(call, NULL);
    }
    writer_free(w);
}

static void serve(struct writer *w) {
    struct rpc_call *call = w->call;
    if (call->server->draining) {
        rpc_call_end_draining(call);
        writer_free(w);
        return;
    }
    if (call->sending) {
        return; // its completion comes back here
    }
    pull(w);
    if (w->has_next) {
        grpc_slice message = w->next;
        w->has_next = false;
        pull(w);
        rpc_call_send(call, message, w->has_next);
    }
    if (!w->has_next && (w->ended || w->failed)) {
        end(w);
    } else if (!call->initial_sent) {
        rpc_call_send_headers(call); // a client may want to know that its stream is there
    }
}

static void on_pump(void *ctx) {
    struct rpc_server *s = ctx;
    int64_t until = clock_mono() + TURN_NS;
    for (int i = 0; i < TURN_STREAMS && clock_mono() < until; i++) {
        struct list *node = list_pop(&s->ready);
        if (node == NULL) {
            return;
        }
        serve(CONTAINER_OF(node, struct writer, link));
    }
    if (!list_empty(&s->ready)) {
        loop_defer(s->loop, &s->pump);
    }
}

void rpc_streams_init(struct rpc_server *s) {
    list_init(&s->ready);
    loop_task_init(&s->pump, on_pump, s);
}

static void queue(struct writer *w) {
    struct rpc_server *s = w->call->server;
    if (!list_linked(&w->link)) {
        list_push(&s->ready, &w->link);
        loop_defer(s->loop, &s->pump);
    }
}

static void on_sent(struct rpc_call *call) {
    queue(call->state);
}

void rpc_stream_start(struct rpc_call *call, const struct rpc_source *source, void *ctx) {
    struct writer *w = NEW(struct writer);
    w->call = call;
    w->source = source;
    w->ctx = ctx;
    list_init(&w->link);
    call->state = w;
    call->on_sent = on_sent;
    rpc_call_on_stop(call, writer_free, w);
    queue(w);
}

void rpc_stream_wake(struct rpc_call *call) {
    if (call->state != NULL) { // not started yet: it will look by itself
        queue(call->state);
    }
}

// ---- Slices
// ---------------------------------------------------------------------------------------------------------------------

static void free_text(void *text) {
    mem_free(text); // on whichever thread the last write ended
}

grpc_slice rpc_slice_take(struct str *take) {
    size_t n = take->len;
    if (n == 0) {
        str_done(take); // it may have been reserved
        return grpc_empty_slice();
    }
    return grpc_slice_new(str_take(take), n, free_text);
}

// All streams that are at the same place in the feed send the same event within a few turns. The slice counts its own
// references, atomically; the event's are counted here, on the loop.
grpc_slice rpc_share_event(struct rpc_server *s, struct job_event *event, const void *data, size_t n) {
    struct rpc_share_slot *slot = &s->share[(uint64_t)event->sequence % RPC_SHARE_SLOTS];
    if (slot->event != event) {
        if (slot->event != NULL) {
            job_event_unref(slot->event);
            grpc_slice_unref(slot->slice);
        }
        slot->event = job_event_ref(event);
        slot->slice = grpc_slice_from_copied_buffer(data, n);
    }
    return grpc_slice_ref(slot->slice);
}

void rpc_share_clear(struct rpc_server *s) {
    for (size_t i = 0; i < RPC_SHARE_SLOTS; i++) {
        if (s->share[i].event != NULL) {
            job_event_unref(TAKE(s->share[i].event));
            grpc_slice_unref(s->share[i].slice);
        }
    }
}
