// The gRPC server: methods, calls, health, reflection; and a small client. The only door to gRPC.
//
// The queues' threads sit in grpc_completion_queue_next and post what they get to the loop; the loop owns every call
// and starts every batch. One file a method or family of methods, each with a `const struct rpc_method`.
#ifndef RPC_RPC_H
#define RPC_RPC_H

#include "base/err.h"
#include "flow/flow.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpc_server;

struct rpc_options {
    struct loop *loop;
    struct flow *flow;
    const char *unix_path; // socket, made with mode 0600; NULL: none. A stale file is replaced, a live one is an error
    const char *tcp_address; // "127.0.0.1:7070", "[::1]:0"; NULL: none
    const char *token;       // bearer token that TCP calls need; NULL: TCP is refused at start
    int32_t max_connections; // open at once; further ones are closed at accept
    int32_t max_streams_per_connection;
    int64_t max_message_bytes; // of requests
    int32_t pending_calls;     // requests kept posted, in all
};

// Binds (ERR_PRECONDITION "ADDRESS_IN_USE" names the address) and serves. Own accept loop: survives EMFILE.
bool rpc_server_new(const struct rpc_options *options, struct rpc_server **ret, struct err *err) MUST_CHECK;
int rpc_server_port(const struct rpc_server *s); // of TCP, 0: none
// Health NOT_SERVING, no new calls, streams end with UNAVAILABLE and their resume token stays valid; after grace_ms
// what is left is canceled. done is called on the loop when no call is left.
void rpc_server_shutdown(struct rpc_server *s, int64_t grace_ms, void (*done)(void *ctx), void *ctx);
void rpc_server_free(struct rpc_server *s); // after done

struct rpc_stats {
    int64_t connections, calls, refused_connections;
};
void rpc_server_stats(const struct rpc_server *s, struct rpc_stats *ret);

#endif
