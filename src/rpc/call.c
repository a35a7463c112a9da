// One call, from the request slot that waits for it to its last completion.
//
// A call is freed when nothing of it is under way, C core has said that it is closed, and it was answered or had been
// canceled. RECV_CLOSE_ON_SERVER runs from the start, because it is how a vanished client, a cancel and a deadline are
// seen without writing; a method that answers at once sends it along with its answer, which saves a round of the queue.
#include "rpc/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/support/alloc.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_PER_METHOD_MIN = 4 };

static void post(struct rpc_side *side, size_t index);

const char *rpc_call_name(const struct rpc_call *call) {
    return call->method != NULL ? rpc_method_name(call->method) : "unknown method";
}

// ---- The end of a call
// ----------------------------------------------------------------------------------------------------------

static void free_call(struct rpc_call *call) {
    grpc_metadata_array_destroy(&call->metadata);
    grpc_call_details_destroy(&call->details);
    if (call->payload != NULL) {
        grpc_byte_buffer_destroy(call->payload);
    }
    grpc_slice_unref(call->details_bin);
    arena_done(&call->arena);
    if (call->core != NULL) {
        grpc_call_unref(call->core);
    }
    mem_free(call);
}

static void stop(struct rpc_call *call) {
    void (*fn)(void *ctx) = call->stop;
    call->stop = NULL;
    if (fn != NULL) {
        fn(call->stop_ctx);
    }
}

static void settle(struct rpc_call *call) {
    if (call->pending != 0 || !call->close_known) {
        return;
    }
    struct rpc_server *s = call->server;
    s->open_calls--;
    s->refused_calls -= call->refused;
    list_remove(&call->link);
    free_call(call);
    rpc_server_go_on_ending(s);
}

static void log_access(const struct rpc_call *call, const char *how) {
    log_debug("rpc", "%s %s %s %.1f ms", call->side->local ? "unix" : "tcp", rpc_call_name(call), how,
              (double)(clock_mono() - call->began_ns) / (double)CLOCK_MS);
}

static void came_back(struct rpc_call *call) {
    call->pending--;
}

static void close_is_known(struct rpc_call *call) {
    call->close_known = true;
    if (call->cancelled != 0 && !call->status_sent) {
        log_access(call, "gave up");
        stop(call);
    }
}

static void on_closed(struct rpc_tag *tag, bool ok UNUSED) {
    struct rpc_call *call = CONTAINER_OF(tag, struct rpc_call, closed);
    came_back(call);
    close_is_known(call);
    settle(call);
}

static void on_ended(struct rpc_tag *tag, bool ok UNUSED) {
    struct rpc_call *call = CONTAINER_OF(tag, struct rpc_call, ended);
    came_back(call);
    if (call->close_with_status) {
        close_is_known(call);
    }
    settle(call);
}

// ---- Starting operations
// ---------------------------------------------------------------------------------------------------------

// C core refuses what breaks its rules, never what clients send.
static void check(const struct rpc_call *call, grpc_call_error error) {
    if (error != GRPC_CALL_OK) {
        log_error("rpc", "%s: %s", rpc_call_name(call), grpc_call_error_to_string(error));
        abort();
    }
}

static void start(struct rpc_call *call, const grpc_op *ops, size_t n, struct rpc_tag *tag) {
    if (call->server->closing) {
        return; // C core has been told to cancel everything
    }
    call->pending++;
    rpc_queue_catch(call->queue);
    check(call, grpc_call_start_batch(call->core, ops, n, rpc_tag_hand_out(tag), NULL));
    rpc_queue_caught(call->queue);
}

static void add_close(struct rpc_call *call, grpc_op *ops, size_t *n) {
    if (!call->close_asked) {
        call->close_asked = true;
        ops[(*n)++] =
            (grpc_op){.op = GRPC_OP_RECV_CLOSE_ON_SERVER, .data.recv_close_on_server.cancelled = &call->cancelled};
    }
}

static void add_headers(struct rpc_call *call, grpc_op *ops, size_t *n) {
    if (!call->initial_sent) {
        call->initial_sent = true;
        ops[(*n)++] = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
    }
}

static void add_status(struct rpc_call *call, const struct err *err, grpc_slice *message, grpc_op *ops, size_t *n) {
    grpc_op op = {.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    call->status_sent = true;
    *message = grpc_empty_slice();
    if (err != NULL) {
        CLEANUP(err_done) struct err sent = ERR_INIT;
        struct str details = STR_INIT;
        rpc_status_write(err, &sent, &details);
        *message = grpc_slice_from_copied_string(sent.message);
        op.data.send_status_from_server.status = (grpc_status_code)err->code;
        op.data.send_status_from_server.status_details = message;
        if (details.len != 0) {
            call->details_bin = rpc_slice_take(&details);
            call->trailer = (grpc_metadata){.key = grpc_slice_from_static_string("grpc-status-details-bin"),
                                            .value = call->details_bin};
            op.data.send_status_from_server.trailing_metadata_count = 1;
            op.data.send_status_from_server.trailing_metadata = &call->trailer;
        }
        str_done(&details);
        if (err->code == ERR_INTERNAL || err->code == ERR_DATA_LOSS) {
            log_error("rpc", "%s: %s", rpc_call_name(call), err->message);
        }
    }
    ops[(*n)++] = op;
    log_access(call, err != NULL ? err_code_name(err->code) : "OK");
}

static grpc_op message_op(grpc_byte_buffer *buffer, bool more) {
    return (grpc_op){.op = GRPC_OP_SEND_MESSAGE,
                     .flags = more ? GRPC_WRITE_BUFFER_HINT : 0,
                     .data.send_message.send_message = buffer};
}

static grpc_byte_buffer *take_slice(grpc_slice slice) {
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

static void finish(struct rpc_call *call, grpc_byte_buffer *message, const struct err *err) {
    grpc_op ops[4];
    grpc_slice text;
    size_t n = 0;
    if (call->status_sent) {
        return;
    }
    call->stop = NULL;
    call->close_with_status = !call->close_asked;
    add_close(call, ops, &n);
    add_headers(call, ops, &n);
    if (message != NULL) {
        ops[n++] = message_op(message, false);
    }
    add_status(call, err, &text, ops, &n);
    start(call, ops, n, &call->ended);
    grpc_slice_unref(text);
}

// ---- What methods use
// -----------------------------------------------------------------------------------------------------------

void rpc_call_reply(struct rpc_call *call, struct str *take_message) {
    grpc_byte_buffer *buffer = take_slice(rpc_slice_take(take_message));
    finish(call, buffer, NULL);
    grpc_byte_buffer_destroy(buffer);
}

void rpc_call_end(struct rpc_call *call, const struct err *err) {
    finish(call, NULL, err);
}

void rpc_call_end_draining(struct rpc_call *call) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    err_fail(&err, ERR_UNAVAILABLE, "SHUTTING_DOWN", "the server is draining, resume from your last token");
    rpc_call_end(call, &err);
}

void rpc_call_on_stop(struct rpc_call *call, void (*fn)(void *ctx), void *ctx) {
    call->stop = fn;
    call->stop_ctx = ctx;
}

static void cancel_op(void *ctx) {
    struct rpc_call *call = ctx;
    flow_op_cancel(TAKE(call->op));
}

void rpc_call_wait(struct rpc_call *call, struct flow_op *op) {
    call->op = op;
    if (op != NULL) {
        rpc_call_on_stop(call, cancel_op, call);
    }
}

static void on_sent(struct rpc_tag *tag, bool ok) {
    struct rpc_call *call = CONTAINER_OF(tag, struct rpc_call, sent);
    came_back(call);
    call->sending = false;
    if (ok && !call->status_sent && !call->close_known) {
        call->on_sent(call);
    }
    settle(call);
}

void rpc_call_send(struct rpc_call *call, grpc_slice take_message, bool more) {
    grpc_byte_buffer *buffer = take_slice(take_message);
    grpc_op ops[2];
    size_t n = 0;
    // C core would keep the headers back with the message, and their completion with them: for ever.
    bool buffer_it = more && call->initial_sent;
    add_headers(call, ops, &n);
    ops[n++] = message_op(buffer, buffer_it);
    call->sending = true;
    start(call, ops, n, &call->sent);
    grpc_byte_buffer_destroy(buffer);
}

void rpc_call_send_headers(struct rpc_call *call) {
    grpc_op ops[1];
    size_t n = 0;
    add_headers(call, ops, &n);
    call->sending = true;
    start(call, ops, n, &call->sent);
}

static void on_received(struct rpc_tag *tag, bool ok) {
    struct rpc_call *call = CONTAINER_OF(tag, struct rpc_call, received);
    grpc_byte_buffer *message = TAKE(call->incoming);
    came_back(call);
    if (ok && !call->status_sent && !call->close_known) {
        call->on_received(call, message);
    }
    if (message != NULL) {
        grpc_byte_buffer_destroy(message);
    }
    settle(call);
}

void rpc_call_receive(struct rpc_call *call) {
    const grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->incoming};
    start(call, &op, 1, &call->received);
}

grpc_slice rpc_message_read(grpc_byte_buffer *message) {
    grpc_byte_buffer_reader reader;
    if (message == NULL || grpc_byte_buffer_reader_init(&reader, message) == 0) {
        return grpc_empty_slice();
    }
    grpc_slice slice = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    return slice;
}

// ---- The beginning of a call
// ------------------------------------------------------------------------------------------------------

static bool admit(const struct rpc_call *call, struct err *err) {
    if (!rpc_authenticate(call, err)) {
        return false;
    }
    if (call->method == NULL) {
        char *method = grpc_slice_to_c_string(call->details.method);
        err_fail(err, ERR_UNIMPLEMENTED, "UNKNOWN_METHOD", "unknown method %.200s; this server has %s", method,
                 "trainer.v1.TrainerService, grpc.health.v1.Health and grpc.reflection.v1.ServerReflection");
        gpr_free(method);
        return false;
    }
    if (call->method->run == NULL) {
        return err_fail(err, ERR_UNIMPLEMENTED, "METHOD_NOT_LIVE",
                        "%s is part of the contract and not live in this version; GetServerInfo lists what is",
                        rpc_call_name(call));
    }
    if (call->refused) {
        return err_fail(err, ERR_UNAVAILABLE, "SHUTTING_DOWN", "the server is shutting down, try again");
    }
    if (call->method->kind == RPC_BIDI) {
        return true;
    }
    if (call->payload == NULL) {
        return err_fail(err, ERR_INVALID, "NO_REQUEST", "%s needs one request message, and none came",
                        rpc_call_name(call));
    }
    return call->payload->data.raw.compression == GRPC_COMPRESS_NONE ||
           err_fail(err, ERR_UNIMPLEMENTED, "COMPRESSED", "compressed requests are not accepted: send it as it is");
}

static bool run(struct rpc_call *call, struct err *err) {
    grpc_slice request = grpc_empty_slice();
    if (!admit(call, err)) {
        return false;
    }
    if (call->payload != NULL) {
        request = rpc_message_read(call->payload);
        grpc_byte_buffer_destroy(TAKE(call->payload));
    }
    bool ok = call->method->run(call, GRPC_SLICE_START_PTR(request), GRPC_SLICE_LENGTH(request), err);
    grpc_slice_unref(request);
    return ok;
}

static void begin(struct rpc_call *call) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    call->began_ns = clock_mono();
    call->server->call_count++;
    call->server->open_calls++;
    call->refused = call->server->draining;
    call->server->refused_calls += call->refused;
    list_push(&call->server->calls, &call->link);
    if (!run(call, &err)) {
        rpc_call_end(call, &err);
    }
    if (!call->close_asked) {
        grpc_op op[1];
        size_t n = 0;
        add_close(call, op, &n);
        start(call, op, n, &call->closed);
    }
}

static void on_arrived(struct rpc_tag *tag, bool ok) {
    struct rpc_call *call = CONTAINER_OF(tag, struct rpc_call, arrived);
    struct rpc_server *s = call->server;
    s->posted--;
    if (!ok || s->closing) {
        free_call(call);
        rpc_server_go_on_ending(s);
        return;
    }
    if (!s->stopped) {
        post(call->side, call->index);
    }
    begin(call);
}

// A slot for one more call of a method; the last index is for whatever is not registered, which C core would otherwise
// never answer.
static void post(struct rpc_side *side, size_t index) {
    struct rpc_call *call = NEW(struct rpc_call);
    struct rpc_server *s = side->server;
    call->server = s;
    call->side = side;
    call->queue = &s->queues[0];
    call->index = index;
    call->method = rpc_methods[index];
    call->details_bin = grpc_empty_slice();
    list_init(&call->link);
    grpc_metadata_array_init(&call->metadata);
    grpc_call_details_init(&call->details);
    arena_init(&call->arena, 0);
    rpc_tag_init(&call->arrived, on_arrived);
    rpc_tag_init(&call->closed, on_closed);
    rpc_tag_init(&call->sent, on_sent);
    rpc_tag_init(&call->received, on_received);
    rpc_tag_init(&call->ended, on_ended);
    s->posted++;
    if (call->method != NULL && call->method->kind != RPC_UNARY) {
        call->queue = &s->queues[1 + s->next_queue++ % (RPC_QUEUES - 1)];
    }
    grpc_completion_queue *own = call->queue->core;
    grpc_completion_queue *arrivals = s->queues[0].core;
    void *tag = rpc_tag_hand_out(&call->arrived);
    if (call->method == NULL) {
        check(call,
              grpc_server_request_call(side->core, &call->core, &call->details, &call->metadata, own, arrivals, tag));
        return;
    }
    bool reads = call->method->kind != RPC_BIDI;
    check(call,
          grpc_server_request_registered_call(side->core, side->registered[index], &call->core, &call->deadline,
                                              &call->metadata, reads ? &call->payload : NULL, own, arrivals, tag));
}

void rpc_calls_post(struct rpc_side *side, int32_t pending_calls) {
    size_t methods = rpc_methods_count() + 1;
    size_t each = (size_t)pending_calls / (methods * side->server->side_count);
    for (size_t i = 0; i < methods; i++) {
        for (size_t k = 0; k < each || k < SLOTS_PER_METHOD_MIN; k++) {
            post(side, i);
        }
    }
}

void rpc_calls_drain(struct rpc_server *s) {
    LIST_EACH (node, &s->calls) {
        struct rpc_call *call = CONTAINER_OF(node, struct rpc_call, link);
        bool endless = call->method != NULL && call->method->kind != RPC_UNARY;
        if (endless && call->state != NULL) {
            rpc_stream_wake(call); // it ends itself: there may be thousands
        } else if (endless && !call->status_sent) {
            stop(call);
            rpc_call_end_draining(call);
        }
    }
}
