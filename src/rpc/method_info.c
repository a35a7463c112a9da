// GetServerInfo, which also says which methods of the contract are live.
#include "rpc/internal.h"

#include "api/api.h"

static size_t list_methods(struct api_method_live *ret) {
    size_t n = 0;
    for (size_t i = 0; rpc_methods[i] != NULL; i++) {
        if (str_starts(rpc_methods[i]->path, "/trainer.v1.TrainerService/")) {
            ret[n++] =
                (struct api_method_live){.name = rpc_method_name(rpc_methods[i]), .live = rpc_methods[i]->run != NULL};
        }
    }
    return n;
}

static bool run(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_method_live methods[RPC_METHODS_MAX];
    if (!api_decode_empty(data, n, err)) {
        return false;
    }
    struct str out = STR_INIT;
    api_encode_server_info(call->server->flow, methods, list_methods(methods), &out);
    rpc_call_reply(call, &out);
    return true;
}

const struct rpc_method rpc_method_info = {"/trainer.v1.TrainerService/GetServerInfo", RPC_UNARY, run};
