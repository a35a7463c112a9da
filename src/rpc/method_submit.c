#include "rpc/internal.h"

#include "api/api.h"

static void on_submitted(void *ctx, const struct flow_submitted *result, const struct err *err) {
    struct rpc_call *call = ctx;
    if (err != NULL) {
        rpc_call_end(call, err);
        return;
    }
    struct str out = STR_INIT;
    api_encode_submit(result, &out);
    rpc_call_reply(call, &out);
}

static bool run(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_submit request = {0};
    if (!api_decode_submit(&call->arena, data, n, &request, err)) {
        return false;
    }
    rpc_call_wait(call, flow_submit(call->server->flow, request.spec, request.request_id, request.validate_only,
                                    on_submitted, call));
    job_spec_unref(request.spec);
    return true;
}

const struct rpc_method rpc_method_submit = {"/trainer.v1.TrainerService/Submit", RPC_UNARY, run};
