// Events: what the cluster said of a job.
#include "rpc/internal.h"

#include "api/api.h"

static void on_events(void *ctx, const struct backend_event *events, size_t n, const struct err *err) {
    struct rpc_call *call = ctx;
    if (err != NULL) {
        rpc_call_end(call, err);
        return;
    }
    struct str out = STR_INIT;
    api_encode_events(events, n, &out);
    rpc_call_reply(call, &out);
}

static bool run(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_events request = {0};
    struct job *job = NULL;
    if (!api_decode_events(&call->arena, data, n, &request, err) ||
        !flow_find(call->server->flow, &request.job, &job, err)) {
        return false;
    }
    rpc_call_wait(call, flow_events(call->server->flow, job, request.limit, on_events, call));
    return true;
}

const struct rpc_method rpc_method_events = {"/trainer.v1.TrainerService/Events", RPC_UNARY, run};
