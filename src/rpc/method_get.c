#include "rpc/internal.h"

#include "api/api.h"
#include "base/mem.h"

static void reply(struct rpc_call *call, const struct job *job, const char *spec_json) {
    struct str out = STR_INIT;
    api_encode_job(job, spec_json, &out);
    rpc_call_reply(call, &out);
}

struct full {
    struct rpc_call *call;
    struct job *job; // a reference: it may be deleted while its spec is read
    struct flow_op *op;
};

static void full_free(struct full *f) {
    job_unref(f->job);
    mem_free(f);
}

static void on_spec(void *ctx, const char *spec_json, const struct err *err) {
    struct full *f = ctx;
    if (err != NULL) {
        rpc_call_end(f->call, err);
    } else {
        reply(f->call, f->job, spec_json);
    }
    full_free(f);
}

static void on_stop(void *ctx) {
    struct full *f = ctx;
    flow_op_cancel(f->op);
    full_free(f);
}

static bool run(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_get request = {0};
    struct job *job = NULL;
    if (!api_decode_get(&call->arena, data, n, &request, err) ||
        !flow_find(call->server->flow, &request.job, &job, err)) {
        return false;
    }
    if (!request.full) {
        reply(call, job, NULL);
        return true;
    }
    struct full *f = NEW(struct full);
    *f = (struct full){.call = call, .job = job_ref(job)};
    struct flow_op *op = flow_spec(call->server->flow, job, on_spec, f);
    if (op != NULL) { // otherwise it was answered, and f is gone
        f->op = op;
        rpc_call_on_stop(call, on_stop, f);
    }
    return true;
}

const struct rpc_method rpc_method_get = {"/trainer.v1.TrainerService/Get", RPC_UNARY, run};
