// Cancel, Delete, Suspend, Resume, Scale: find the job, ask flow, answer when it is durable.
#include "rpc/internal.h"

#include "api/api.h"

static void on_job(void *ctx, struct job *job, const struct err *err) {
    struct rpc_call *call = ctx;
    if (err != NULL) {
        rpc_call_end(call, err);
        return;
    }
    struct str out = STR_INIT;
    api_encode_job(job, NULL, &out);
    rpc_call_reply(call, &out);
}

static bool run_cancel(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_cancel request = {0};
    struct job *job = NULL;
    if (!api_decode_cancel(&call->arena, data, n, &request, err) ||
        !flow_find(call->server->flow, &request.job, &job, err)) {
        return false;
    }
    rpc_call_wait(call, flow_cancel(call->server->flow, job, request.reason, request.grace_s, request.early_stopped,
                                    on_job, call));
    return true;
}

static bool run_suspend(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_job request = {0};
    struct job *job = NULL;
    if (!api_decode_suspend(&call->arena, data, n, &request, err) ||
        !flow_find(call->server->flow, &request.job, &job, err)) {
        return false;
    }
    rpc_call_wait(call, flow_suspend(call->server->flow, job, request.reason, on_job, call));
    return true;
}

static bool run_resume(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_job request = {0};
    struct job *job = NULL;
    if (!api_decode_resume(&call->arena, data, n, &request, err) ||
        !flow_find(call->server->flow, &request.job, &job, err)) {
        return false;
    }
    rpc_call_wait(call, flow_resume(call->server->flow, job, on_job, call));
    return true;
}

static void on_deleted(void *ctx, struct job *job, const struct err *err) {
    struct rpc_call *call = ctx;
    if (err != NULL) {
        rpc_call_end(call, err);
        return;
    }
    struct str out = STR_INIT;
    api_encode_deleted(job->uid, &out);
    rpc_call_reply(call, &out);
}

static bool run_delete(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_job request = {0};
    struct job *job = NULL;
    if (!api_decode_delete(&call->arena, data, n, &request, err) ||
        !flow_find(call->server->flow, &request.job, &job, err)) {
        return false;
    }
    rpc_call_wait(call, flow_delete(call->server->flow, job, request.force, on_deleted, call));
    return true;
}

static bool run_scale(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_scale request = {0};
    struct job *job = NULL;
    if (!api_decode_scale(&call->arena, data, n, &request, err) ||
        !flow_find(call->server->flow, &request.job, &job, err)) {
        return false;
    }
    rpc_call_wait(call, flow_scale(call->server->flow, job, request.role, request.replicas, on_job, call));
    return true;
}

const struct rpc_method rpc_method_scale = {"/trainer.v1.TrainerService/Scale", RPC_UNARY, run_scale};
const struct rpc_method rpc_method_cancel = {"/trainer.v1.TrainerService/Cancel", RPC_UNARY, run_cancel};
const struct rpc_method rpc_method_delete = {"/trainer.v1.TrainerService/Delete", RPC_UNARY, run_delete};
const struct rpc_method rpc_method_suspend = {"/trainer.v1.TrainerService/Suspend", RPC_UNARY, run_suspend};
const struct rpc_method rpc_method_resume = {"/trainer.v1.TrainerService/Resume", RPC_UNARY, run_resume};
