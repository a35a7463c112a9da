#include "rpc/internal.h"

#include "api/api.h"
#include "base/mem.h"

enum { HEARTBEAT_MS = 15 * 1000 };

struct logs {
    struct rpc_call *call;
    struct flow_logs *flow;
    struct loop_timer heartbeat;
    bool heartbeat_due, limited;
    int64_t left; // bytes, when limited
};

static void logs_close(void *ctx) {
    struct logs *l = ctx;
    loop_timer_stop(&l->heartbeat);
    flow_logs_close(l->flow);
    mem_free(l);
}

static void on_wake(void *ctx) {
    struct logs *l = ctx;
    rpc_stream_wake(l->call);
}

static void on_heartbeat(void *ctx) {
    struct logs *l = ctx;
    l->heartbeat_due = true;
    rpc_stream_wake(l->call);
}

// A chunk that the limit cuts carries no token: whoever resumes gets it whole.
static void apply_limit(struct logs *l, struct backend_log_item *item) {
    if (!l->limited || item->kind != LOG_ITEM_CHUNK) {
        return;
    }
    if ((int64_t)item->length > l->left) {
        item->length = (size_t)l->left;
        item->resume = NULL;
    }
    l->left -= (int64_t)item->length;
}

static enum rpc_source_result give(struct logs *l, struct str *take, grpc_slice *ret) {
    *ret = rpc_slice_take(take);
    l->heartbeat_due = false; // there was no silence
    loop_timer_start(&l->heartbeat, HEARTBEAT_MS);
    return RPC_SOURCE_MESSAGE;
}

static enum rpc_source_result logs_next(void *ctx, grpc_slice *ret, struct err *err) {
    struct logs *l = ctx;
    struct backend_log_item item;
    struct str out = STR_INIT;
    if (l->limited && l->left == 0) {
        return RPC_SOURCE_END;
    }
    switch (flow_logs_next(l->flow, &item, err)) {
    case LOG_READ_ITEM:
        apply_limit(l, &item);
        api_encode_log(&item, &out);
        return give(l, &out, ret);
    case LOG_READ_END:
        return RPC_SOURCE_END;
    case LOG_READ_FAILED:
        return RPC_SOURCE_FAILED;
    case LOG_READ_WAIT:
        break;
    }
    if (l->heartbeat_due) {
        api_encode_log_heartbeat(&out);
        return give(l, &out, ret);
    }
    return RPC_SOURCE_WAIT;
}

static const struct rpc_source logs_source = {.next = logs_next, .close = logs_close};

static bool run(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct flow *flow = call->server->flow;
    struct api_logs request = {0};
    struct job *job = NULL;
    if (!api_decode_logs(&call->arena, data, n, &request, err) || !flow_find(flow, &request.job, &job, err)) {
        return false;
    }
    struct logs *l = NEW(struct logs);
    *l = (struct logs){.call = call, .limited = request.limit_bytes > 0, .left = request.limit_bytes};
    loop_timer_init(&l->heartbeat, call->server->loop, "logs heartbeat", on_heartbeat, l);
    if (!flow_logs_open(flow, job, &request.query, on_wake, l, &l->flow, err)) {
        mem_free(l);
        return false;
    }
    loop_timer_start(&l->heartbeat, HEARTBEAT_MS);
    rpc_stream_start(call, &logs_source, l);
    return true;
}

const struct rpc_method rpc_method_logs = {"/trainer.v1.TrainerService/Logs", RPC_SERVER_STREAM, run};
