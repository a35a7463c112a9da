// grpc.reflection: v1 and v1alpha have the same bytes. Requests of a stream are answered in order, one at a time.
#include "rpc/internal.h"

#include "api/api.h"
#include "base/mem.h"

static void on_sent(struct rpc_call *call) {
    rpc_call_receive(call);
}

static bool answer(struct rpc_call *call, grpc_byte_buffer *message, struct err *err) {
    struct str out = STR_INIT;
    if (message->data.raw.compression != GRPC_COMPRESS_NONE) {
        return err_fail(err, ERR_UNIMPLEMENTED, "COMPRESSED", "compressed requests are not accepted: send it as it is");
    }
    grpc_slice request = rpc_message_read(message);
    bool ok = api_reflect(GRPC_SLICE_START_PTR(request), GRPC_SLICE_LENGTH(request), &out, err);
    grpc_slice_unref(request);
    if (ok) {
        rpc_call_send(call, rpc_slice_take(&out), false);
    }
    str_done(&out);
    return ok;
}

static void on_received(struct rpc_call *call, grpc_byte_buffer *message) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (message == NULL) {
        rpc_call_end(call, NULL);
    } else if (!answer(call, message, &err)) {
        rpc_call_end(call, &err);
    }
}

static bool run(struct rpc_call *call, const void *data UNUSED, size_t n UNUSED, struct err *err UNUSED) {
    call->on_sent = on_sent;
    call->on_received = on_received;
    rpc_call_receive(call);
    return true;
}

const struct rpc_method rpc_method_reflect = {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", RPC_BIDI,
                                              run};
const struct rpc_method rpc_method_reflect_alpha = {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                                    RPC_BIDI, run};
