// A blocking gRPC client for command lines: unary and server-streaming calls with bytes. Not for the daemon.
#ifndef RPC_CLIENT_H
#define RPC_CLIENT_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpc_client;
struct rpc_stream;

// address: "unix:/path" or "host:port"; token NULL: none. Connects lazily.
struct rpc_client *rpc_client_new(const char *address, const char *token);
void rpc_client_free(struct rpc_client *c);
// method: "/trainer.v1.TrainerService/Get". timeout_ms < 0: none. A failed call gives its status in err: code, message,
// and violations and reason from the details.
bool rpc_client_call(struct rpc_client *c, const char *method, const void *data, size_t n, int64_t timeout_ms,
                     struct str *ret, struct err *err) MUST_CHECK;
bool rpc_client_open(struct rpc_client *c, const char *method, const void *data, size_t n, struct rpc_stream **ret,
                     struct err *err) MUST_CHECK;
enum rpc_stream_result { STREAM_MESSAGE, STREAM_END, STREAM_ERROR, STREAM_TIMEOUT };
// Waits for the next message, at most timeout_ms (< 0: for ever). After TIMEOUT it may be called again.
enum rpc_stream_result rpc_stream_next(struct rpc_stream *s, int64_t timeout_ms, struct str *ret, struct err *err);
void rpc_stream_close(struct rpc_stream *s); // cancels when it has not ended

#endif
