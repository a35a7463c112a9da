// Watch, and the second half of SubmitAndWatch: a flow_watch as the source of a stream.
#include "rpc/internal.h"

#include "api/api.h"
#include "base/mem.h"

struct watch {
    struct rpc_call *call;
    struct flow_watch *flow;
    bool full;
    struct str first; // SubmitAndWatch: goes out before everything else
    // The full view: a snapshot that waits for its spec.
    struct flow_watch_item item;
    struct flow_op *op;
    struct str ready; // encoded
    struct err failed;
};

static void watch_close(void *ctx) {
    struct watch *w = ctx;
    if (w->op != NULL) {
        flow_op_cancel(w->op);
    }
    flow_watch_close(w->flow);
    str_done(&w->first);
    str_done(&w->ready);
    err_done(&w->failed);
    mem_free(w);
}

static void on_wake(void *ctx) {
    struct watch *w = ctx;
    rpc_stream_wake(w->call);
}

static void encode(enum flow_watch_kind kind, const struct flow_watch_item *item, const char *spec_json,
                   struct str *out) {
    const void *data = NULL;
    size_t n = 0;
    api_encode_watch(kind, item, spec_json, out, &data, &n);
    if (data != out->data) {
        str_clear(out);
        str_add_bytes(out, data, n);
    }
}

static void on_spec(void *ctx, const char *spec_json, const struct err *err) {
    struct watch *w = ctx;
    w->op = NULL;
    if (err != NULL) {
        err_copy(&w->failed, err);
    } else {
        encode(WATCH_SNAPSHOT, &w->item, spec_json, &w->ready);
    }
    rpc_stream_wake(w->call);
}

static enum rpc_source_result give(struct str *take, grpc_slice *ret) {
    *ret = rpc_slice_take(take);
    return RPC_SOURCE_MESSAGE;
}

static grpc_slice event_slice(struct watch *w, enum flow_watch_kind kind, const struct flow_watch_item *item) {
    CLEANUP(str_done) struct str scratch = STR_INIT;
    const void *data = NULL;
    size_t n = 0;
    api_encode_watch(kind, item, NULL, &scratch, &data, &n);
    return rpc_share_event(w->call->server, item->event, data, n);
}

// What waits: the first message, a snapshot with its spec. False: nothing does.
static bool waiting(struct watch *w, grpc_slice *ret, struct err *err, enum rpc_source_result *result) {
    if (err_set(&w->failed)) {
        err_move(err, &w->failed);
        *result = RPC_SOURCE_FAILED;
    } else if (w->op != NULL) {
        *result = RPC_SOURCE_WAIT;
    } else if (w->first.len != 0) {
        *result = give(&w->first, ret);
    } else if (w->ready.len != 0) {
        *result = give(&w->ready, ret);
    } else {
        return false;
    }
    return true;
}

static enum rpc_source_result watch_next(void *ctx, grpc_slice *ret, struct err *err) {
    struct watch *w = ctx;
    enum rpc_source_result result;
    if (waiting(w, ret, err, &result)) {
        return result;
    }
    enum flow_watch_kind kind = flow_watch_next(w->flow, &w->item, err);
    switch (kind) {
    case WATCH_WAIT:
        return RPC_SOURCE_WAIT;
    case WATCH_END:
        return RPC_SOURCE_END;
    case WATCH_FAILED:
        return RPC_SOURCE_FAILED;
    case WATCH_TRANSITION:
    case WATCH_DELETED:
        *ret = event_slice(w, kind, &w->item);
        return RPC_SOURCE_MESSAGE;
    case WATCH_SNAPSHOT:
        if (w->full) {
            struct flow_op *op = flow_spec(w->call->server->flow, w->item.event->job, on_spec, w);
            w->op = op;
            return waiting(w, ret, err, &result) ? result : RPC_SOURCE_WAIT;
        }
        break;
    case WATCH_SNAPSHOT_END:
    case WATCH_HEARTBEAT:
    case WATCH_RESYNC:
        break;
    }
    struct str out = STR_INIT;
    encode(kind, &w->item, NULL, &out);
    return give(&out, ret);
}

static const struct rpc_source watch_source = {.next = watch_next, .close = watch_close};

static struct watch *open_watch(struct rpc_call *call, struct flow_watch_args *args, struct err *err) {
    struct watch *w = NEW(struct watch);
    w->call = call;
    if (!flow_watch_open(call->server->flow, args, on_wake, w, &w->flow, err)) {
        mem_free(w);
        return NULL;
    }
    arena_done(&call->arena); // the request; a watch may live for days, and there may be many
    return w;
}

static bool run(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_watch request = {0};
    if (!api_decode_watch(&call->arena, data, n, &request, err)) {
        return false;
    }
    struct watch *w = open_watch(call, &request.args, err);
    if (w == NULL) {
        return false;
    }
    w->full = request.full;
    rpc_stream_start(call, &watch_source, w);
    return true;
}

// ---- SubmitAndWatch
// ---------------------------------------------------------------------------------------------------------------

struct submitting {
    struct rpc_call *call;
    struct flow_op *op;
    bool until_terminal;
    int32_t heartbeat_s;
};

// `submitted` shows the job as the snapshot would, so the token after the snapshot continues after it.
static bool skip_snapshot(struct watch *w, struct err *err) {
    for (;;) {
        switch (flow_watch_next(w->flow, &w->item, err)) {
        case WATCH_SNAPSHOT:
            break;
        case WATCH_SNAPSHOT_END:
            return true;
        case WATCH_FAILED:
            return false;
        default:
            return err_fail(err, ERR_INTERNAL, "NO_SNAPSHOT", "the new job's snapshot is not there");
        }
    }
}

static bool watch_submitted(const struct submitting *s, const struct flow_submitted *result, struct err *err) {
    const char *const uids[] = {result->job->uid};
    struct flow_watch_args args = {.until_terminal = s->until_terminal, .heartbeat_s = s->heartbeat_s};
    if (!job_selector_new(&(struct job_selector_args){.uids = uids, .uid_count = 1}, &args.take_selector, err)) {
        return false;
    }
    struct watch *w = open_watch(s->call, &args, err);
    if (w == NULL) {
        return false;
    }
    if (!skip_snapshot(w, err)) {
        watch_close(w);
        return false;
    }
    api_encode_submitted(result, w->item.token, &w->first);
    rpc_stream_start(s->call, &watch_source, w);
    return true;
}

static void on_submitted(void *ctx, const struct flow_submitted *result, const struct err *submit_err) {
    struct submitting *s = ctx;
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (submit_err != NULL) {
        rpc_call_end(s->call, submit_err);
    } else if (!watch_submitted(s, result, &err)) {
        rpc_call_end(s->call, &err);
    }
    mem_free(s);
}

static void stop_submitting(void *ctx) {
    struct submitting *s = ctx;
    flow_op_cancel(s->op);
    mem_free(s);
}

static bool run_submit(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_submit_watch request = {0};
    if (!api_decode_submit_watch(&call->arena, data, n, &request, err)) {
        return false;
    }
    struct submitting *s = NEW(struct submitting);
    *s =
        (struct submitting){.call = call, .until_terminal = request.until_terminal, .heartbeat_s = request.heartbeat_s};
    struct flow_op *op =
        flow_submit(call->server->flow, request.submit.spec, request.submit.request_id, false, on_submitted, s);
    job_spec_unref(request.submit.spec);
    if (op != NULL) { // otherwise it was answered, and s is gone
        s->op = op;
        rpc_call_on_stop(call, stop_submitting, s);
    }
    return true;
}

const struct rpc_method rpc_method_watch = {"/trainer.v1.TrainerService/Watch", RPC_SERVER_STREAM, run};
const struct rpc_method rpc_method_submit_and_watch = {"/trainer.v1.TrainerService/SubmitAndWatch", RPC_SERVER_STREAM,
                                                       run_submit};
