// A stream with one request is all that command lines need; a unary call is such a stream with one answer.
//
// Each call has a queue of its own, so that calls of several threads do not meet.
#include "rpc/client.h"

#include "api/api.h"
#include "base/clock.h"
#include "base/mem.h"
#include "rpc/internal.h"

#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <string.h>

enum { RECEIVE_MAX = 64 * 1024 * 1024 };

struct rpc_client {
    grpc_channel *channel;
    char *address;
    char *authorization; // header value or NULL
};

// What a completion was for: the tag is its address.
struct rpc_stream {
    struct rpc_client *client;
    grpc_completion_queue *queue;
    grpc_call *call;
    grpc_metadata header;
    grpc_byte_buffer *request, *message;
    grpc_metadata_array initial, trailing;
    grpc_status_code status;
    grpc_slice status_text;
    char sent, received, ended; // tags
    int pending;
    bool has_message, receiving, no_more, is_ended;
    bool reached; // the request went out on a connection
};

struct rpc_client *rpc_client_new(const char *address, const char *token) {
    grpc_arg args[] = {
        {.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)GRPC_ARG_ENABLE_HTTP_PROXY, .value.integer = 0},
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)(uintptr_t)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
         .value.integer = RECEIVE_MAX},
        {.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)GRPC_ARG_KEEPALIVE_TIME_MS, .value.integer = 30 * 1000},
        {.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, .value.integer = 0},
    };
    const grpc_channel_args channel_args = {.num_args = ARRAY_LEN(args), .args = args};
    struct rpc_client *c = NEW(struct rpc_client);
    rpc_log_to_ours();
    grpc_init();
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    c->channel = grpc_channel_create(address, credentials, &channel_args);
    grpc_channel_credentials_release(credentials);
    c->address = mem_strdup(address);
    c->authorization = token != NULL ? mem_printf("Bearer %s", token) : NULL;
    return c;
}

void rpc_client_free(struct rpc_client *c) {
    if (c == NULL) {
        return;
    }
    grpc_channel_destroy(c->channel);
    mem_free(c->address);
    mem_free(c->authorization);
    mem_free(c);
    grpc_shutdown_blocking();
}

// ---- Opening
// ---------------------------------------------------------------------------------------------------------------------

static bool start(struct rpc_stream *s, const grpc_op *ops, size_t n, void *tag, struct err *err) {
    grpc_call_error error = grpc_call_start_batch(s->call, ops, n, tag, NULL);
    if (error != GRPC_CALL_OK) {
        return err_fail(err, ERR_INTERNAL, "CLIENT", "cannot call: %s", grpc_call_error_to_string(error));
    }
    s->pending++;
    return true;
}

static bool send_request(struct rpc_stream *s, struct err *err) {
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA,
         .data.send_initial_metadata = {.count = s->client->authorization != NULL ? 1 : 0, .metadata = &s->header}},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = s->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA, .data.recv_initial_metadata.recv_initial_metadata = &s->initial},
    };
    const grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
                            .data.recv_status_on_client = {.trailing_metadata = &s->trailing,
                                                           .status = &s->status,
                                                           .status_details = &s->status_text}};
    return start(s, &status, 1, &s->ended, err) && start(s, ops, ARRAY_LEN(ops), &s->sent, err);
}

static gpr_timespec after(int64_t ms) {
    return ms < 0 ? gpr_inf_future(GPR_CLOCK_MONOTONIC)
                  : gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN));
}

static bool open_call(struct rpc_client *c, const char *method, const void *data, size_t n, int64_t timeout_ms,
                      struct rpc_stream **ret, struct err *err) {
    struct rpc_stream *s = NEW(struct rpc_stream);
    grpc_slice request = grpc_slice_from_copied_buffer(data, n);
    grpc_slice path = grpc_slice_from_copied_string(method);
    s->client = c;
    s->queue = grpc_completion_queue_create_for_next(NULL);
    s->call = grpc_channel_create_call(c->channel, NULL, GRPC_PROPAGATE_DEFAULTS, s->queue, path, NULL,
                                       after(timeout_ms), NULL);
    s->request = grpc_raw_byte_buffer_create(&request, 1);
    grpc_slice_unref(request);
    grpc_slice_unref(path);
    s->status_text = grpc_empty_slice();
    grpc_metadata_array_init(&s->initial);
    grpc_metadata_array_init(&s->trailing);
    if (c->authorization != NULL) {
        s->header = (grpc_metadata){.key = grpc_slice_from_static_string("authorization"),
                                    .value = grpc_slice_from_copied_string(c->authorization)};
    }
    if (c->authorization != NULL && !grpc_header_nonbin_value_is_legal(s->header.value)) {
        err_fail(err, ERR_INVALID, "BAD_TOKEN", "the token has characters that a header cannot carry");
    } else if (send_request(s, err)) {
        *ret = s;
        return true;
    }
    rpc_stream_close(s);
    return false;
}

bool rpc_client_open(struct rpc_client *c, const char *method, const void *data, size_t n, struct rpc_stream **ret,
                     struct err *err) {
    return open_call(c, method, data, n, -1, ret, err);
}

// ---- Reading
// ---------------------------------------------------------------------------------------------------------------------

// false: the time is over.
static bool wait_one(struct rpc_stream *s, gpr_timespec until) {
    grpc_event event = grpc_completion_queue_next(s->queue, until, NULL);
    if (event.type != GRPC_OP_COMPLETE) {
        return false;
    }
    s->pending--;
    if (event.tag == &s->received) {
        s->receiving = false;
        s->has_message = s->message != NULL;
        s->no_more = s->message == NULL;
    } else if (event.tag == &s->ended) {
        s->is_ended = true;
    } else {
        s->reached = event.success != 0;
    }
    return true;
}

static void take_message(struct rpc_stream *s, struct str *ret) {
    grpc_slice slice = rpc_message_read(s->message);
    str_clear(ret);
    str_add_bytes(ret, GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
    grpc_slice_unref(slice);
    grpc_byte_buffer_destroy(TAKE(s->message));
    s->has_message = false;
}

static const grpc_slice *find_details(const struct rpc_stream *s) {
    for (size_t i = 0; i < s->trailing.count; i++) {
        if (grpc_slice_str_cmp(s->trailing.metadata[i].key, "grpc-status-details-bin") == 0) {
            return &s->trailing.metadata[i].value;
        }
    }
    return NULL;
}

static void fill_error(struct rpc_stream *s, struct err *err) {
    const grpc_slice *details = find_details(s);
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    if (details != NULL &&
        api_decode_status(GRPC_SLICE_START_PTR(*details), GRPC_SLICE_LENGTH(*details), err, &ignored) &&
        (int)err->code == (int)s->status) {
        return;
    }
    err_done(err);
    if (s->status == GRPC_STATUS_UNAVAILABLE && details == NULL && !s->reached) {
        err_fail(err, ERR_UNAVAILABLE, "NO_SERVER", "no trainerd at %s", s->client->address);
        return;
    }
    char *text = grpc_slice_to_c_string(s->status_text);
    err_fail(err, s->status <= GRPC_STATUS_UNAUTHENTICATED ? (enum err_code)s->status : ERR_UNKNOWN, "", "%s", text);
    gpr_free(text);
}

enum rpc_stream_result rpc_stream_next(struct rpc_stream *s, int64_t timeout_ms, struct str *ret, struct err *err) {
    gpr_timespec until = after(timeout_ms);
    for (;;) {
        if (s->has_message) {
            take_message(s, ret);
            return STREAM_MESSAGE;
        }
        if (s->no_more && s->is_ended) {
            if (s->status == GRPC_STATUS_OK) {
                return STREAM_END;
            }
            fill_error(s, err);
            return STREAM_ERROR;
        }
        if (!s->receiving && !s->no_more) {
            const grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &s->message};
            if (!start(s, &op, 1, &s->received, err)) {
                return STREAM_ERROR;
            }
            s->receiving = true;
        }
        if (!wait_one(s, until)) {
            return STREAM_TIMEOUT;
        }
    }
}

void rpc_stream_close(struct rpc_stream *s) {
    if (s == NULL) {
        return;
    }
    if (!s->is_ended) {
        grpc_call_cancel(s->call, NULL);
    }
    while (s->pending > 0 && wait_one(s, gpr_inf_future(GPR_CLOCK_MONOTONIC))) {
    }
    grpc_call_unref(s->call);
    grpc_completion_queue_shutdown(s->queue);
    while (grpc_completion_queue_next(s->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
           GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(s->queue);
    grpc_metadata_array_destroy(&s->initial);
    grpc_metadata_array_destroy(&s->trailing);
    grpc_byte_buffer_destroy(s->request);
    if (s->message != NULL) {
        grpc_byte_buffer_destroy(s->message);
    }
    if (s->client->authorization != NULL) {
        grpc_slice_unref(s->header.value);
    }
    grpc_slice_unref(s->status_text);
    mem_free(s);
}

bool rpc_client_call(struct rpc_client *c, const char *method, const void *data, size_t n, int64_t timeout_ms,
                     struct str *ret, struct err *err) {
    struct rpc_stream *s = NULL;
    CLEANUP(str_done) struct str none = STR_INIT;
    if (!open_call(c, method, data, n, timeout_ms, &s, err)) {
        return false;
    }
    bool answered = rpc_stream_next(s, -1, ret, err) == STREAM_MESSAGE;
    bool ended = answered && rpc_stream_next(s, -1, &none, err) == STREAM_END;
    if (!ended && !err_set(err)) {
        err_fail(err, ERR_INTERNAL, "CLIENT", "the server sent %s answer", answered ? "more than one" : "no");
    }
    rpc_stream_close(s);
    return ended;
}
