// Who may call: the owner of the unix socket, and over TCP whoever has the token.
#include "rpc/internal.h"

#include "base/id.h"
#include "base/mem.h"

#include <string.h>

static bool is_bearer(const char *value, size_t n, const char *token) {
    static const char scheme[] = "bearer ";
    size_t length = sizeof scheme - 1;
    if (n <= length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if ((value[i] | 0x20) != (scheme[i] | 0x20)) {
            return false;
        }
    }
    CLEANUP(mem_free_ptr) char *given = mem_strndup(value + length, n - length);
    return id_equal_secret(given, token);
}

// Probes cannot send a token, and learn no more than whether the server serves.
static bool is_open_to_all(const struct rpc_method *method) {
    return method == &rpc_method_health_check || method == &rpc_method_health_watch;
}

bool rpc_authenticate(const struct rpc_call *call, struct err *err) {
    if (call->side->local || is_open_to_all(call->method)) {
        return true;
    }
    bool found = false;
    for (size_t i = 0; i < call->metadata.count; i++) {
        const grpc_metadata *m = &call->metadata.metadata[i];
        if (grpc_slice_str_cmp(m->key, "authorization") == 0) {
            found = true;
            if (is_bearer((const char *)GRPC_SLICE_START_PTR(m->value), GRPC_SLICE_LENGTH(m->value),
                          call->server->token)) {
                return true;
            }
        }
    }
    return err_fail(err, ERR_UNAUTHENTICATED, found ? "WRONG_TOKEN" : "TOKEN_REQUIRED",
                    "%s: send the bearer token of STATE_DIR/token in the authorization metadata",
                    found ? "the token is not the server's" : "a token is required");
}
