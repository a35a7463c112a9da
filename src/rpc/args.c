// What C core is told about connections and streams, and why.
#include "rpc/internal.h"

#include "base/mem.h"

#include <string.h>
#include <unistd.h>

enum {
    SEND_MAX = 4 * 1024 * 1024, // what clients receive by default
    HEADERS_MAX = 16 * 1024,
    KEEPALIVE_MS = 60 * 1000,
    KEEPALIVE_TIMEOUT_MS = 20 * 1000,
    PING_INTERVAL_MIN_MS = 10 * 1000,
    IDENTITY_ONLY = 1, // bit of GRPC_COMPRESS_NONE
};

static grpc_arg integer(const char *key, int64_t value) {
    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = (int)value};
}

// Idle transports are reclaimed above this, then streams. Half of the machine.
static size_t memory_quota(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages / 2 * (size_t)size : (size_t)512 * 1024 * 1024;
}

grpc_channel_args *rpc_server_args(const struct rpc_options *options) {
    grpc_resource_quota *quota = grpc_resource_quota_create("trainerd");
    grpc_resource_quota_resize(quota, memory_quota());
    const grpc_arg args[] = {
        integer(GRPC_ARG_ALLOW_REUSEPORT, 0),
        integer(GRPC_ARG_MAX_CONCURRENT_STREAMS, options->max_streams_per_connection),
        integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, options->max_message_bytes),
        integer(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, SEND_MAX),
        integer(GRPC_ARG_MAX_METADATA_SIZE, HEADERS_MAX),
        // Watchers whose host has gone are noticed; clients may ping every 10 s, also when idle.
        integer(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS),
        integer(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS),
        integer(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        integer(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, PING_INTERVAL_MIN_MS),
        integer(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
        integer(GRPC_ARG_HTTP2_BDP_PROBE, 0), // keeps windows and so memory small
        integer(GRPC_ARG_TCP_TX_ZEROCOPY_ENABLED, 0),
        // A compressed request may be a thousand times what it says, and C core inflates it without a limit: such
        // requests are refused, and never inflated.
        integer(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
        integer(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, IDENTITY_ONLY),
        {.type = GRPC_ARG_POINTER,
         .key = (char *)(uintptr_t)GRPC_ARG_RESOURCE_QUOTA,
         .value.pointer = {.p = quota, .vtable = grpc_resource_quota_arg_vtable()}},
    };
    grpc_channel_args *ret = NEW(grpc_channel_args);
    ret->num_args = ARRAY_LEN(args);
    ret->args = mem_dup(args, sizeof args);
    return ret;
}

void rpc_server_args_free(grpc_channel_args *args) {
    for (size_t i = 0; i < args->num_args; i++) {
        if (args->args[i].type == GRPC_ARG_POINTER) {
            grpc_resource_quota_unref(args->args[i].value.pointer.p);
        }
    }
    mem_free(args->args);
    mem_free(args);
}
