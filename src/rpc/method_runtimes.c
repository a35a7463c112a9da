#include "rpc/internal.h"

#include "api/api.h"

static bool run_list(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    const char *backend = NULL;
    if (!api_decode_list_runtimes(&call->arena, data, n, &backend, err)) {
        return false;
    }
    struct str out = STR_INIT;
    api_encode_runtimes(call->server->flow, backend, &out);
    rpc_call_reply(call, &out);
    return true;
}

static bool not_found(const struct plugins *plugins, const char *name, struct err *err) {
    const char *near = plugins_nearest(plugins, name);
    if (near != NULL) {
        err_fail(err, ERR_NOT_FOUND, "UNKNOWN_RUNTIME", "there is no runtime %.64s; did you mean %s?", name, near);
    } else {
        err_fail(err, ERR_NOT_FOUND, "UNKNOWN_RUNTIME", "there is no runtime %.64s; ListRuntimes shows those there are",
                 name);
    }
    err_resource(err, "trainer.v1.Runtime", name);
    return false;
}

static bool run_get(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    const char *name = NULL;
    if (!api_decode_get_runtime(&call->arena, data, n, &name, err)) {
        return false;
    }
    const struct plugins *plugins = flow_plugins(call->server->flow);
    const struct runtime *r = plugins_find(plugins, name);
    if (r == NULL) {
        return not_found(plugins, name, err);
    }
    struct str out = STR_INIT;
    api_encode_runtime(call->server->flow, r, &out);
    rpc_call_reply(call, &out);
    return true;
}

const struct rpc_method rpc_method_list_runtimes = {"/trainer.v1.TrainerService/ListRuntimes", RPC_UNARY, run_list};
const struct rpc_method rpc_method_get_runtime = {"/trainer.v1.TrainerService/GetRuntime", RPC_UNARY, run_get};
