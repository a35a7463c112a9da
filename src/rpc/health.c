// grpc.health.v1.Health: Check, and Watch, which stays open also for a service that nobody knows.
#include "rpc/internal.h"

#include "api/api.h"
#include "base/mem.h"

enum { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };

static bool is_served(const char *service) {
    static const char *const services[] = {"", "trainer.v1.TrainerService", "grpc.health.v1.Health"};
    for (size_t i = 0; i < ARRAY_LEN(services); i++) {
        if (str_same(service, services[i])) {
            return true;
        }
    }
    return false;
}

static bool run_check(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    const char *service = NULL;
    if (!api_decode_health(&call->arena, data, n, &service, err)) {
        return false;
    }
    if (!is_served(service)) {
        err_fail(err, ERR_NOT_FOUND, "UNKNOWN_SERVICE", "there is no service %.200s", service);
        err_resource(err, "service", service);
        return false;
    }
    struct str out = STR_INIT;
    api_encode_health(SERVING, &out);
    rpc_call_reply(call, &out);
    return true;
}

// ---- Watch
// ----------------------------------------------------------------------------------------------------------------------

struct watcher {
    struct list link; // server->health_watchers
    struct rpc_call *call;
    bool known, told;
};

static enum rpc_source_result watch_next(void *ctx, grpc_slice *ret, struct err *err UNUSED) {
    struct watcher *w = ctx;
    if (w->told) {
        return RPC_SOURCE_WAIT;
    }
    struct str out = STR_INIT;
    w->told = true;
    api_encode_health(w->known ? SERVING : SERVICE_UNKNOWN, &out);
    *ret = rpc_slice_take(&out);
    return RPC_SOURCE_MESSAGE;
}

static void watch_close(void *ctx) {
    struct watcher *w = ctx;
    list_remove(&w->link);
    mem_free(w);
}

static const struct rpc_source watch_source = {.next = watch_next, .close = watch_close};

static bool run_watch(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    const char *service = NULL;
    if (!api_decode_health(&call->arena, data, n, &service, err)) {
        return false;
    }
    struct watcher *w = NEW(struct watcher);
    w->call = call;
    w->known = is_served(service);
    list_push(&call->server->health_watchers, &w->link);
    rpc_stream_start(call, &watch_source, w);
    return true;
}

// The last word to each, right before the stream's end.
void rpc_health_shutdown(struct rpc_server *s) {
    LIST_EACH (node, &s->health_watchers) {
        struct watcher *w = CONTAINER_OF(node, struct watcher, link);
        if (w->known && !w->call->sending) {
            struct str out = STR_INIT;
            api_encode_health(NOT_SERVING, &out);
            rpc_call_send(w->call, rpc_slice_take(&out), false);
        }
    }
}

const struct rpc_method rpc_method_health_check = {"/grpc.health.v1.Health/Check", RPC_UNARY, run_check};
const struct rpc_method rpc_method_health_watch = {"/grpc.health.v1.Health/Watch", RPC_SERVER_STREAM, run_watch};
const struct rpc_method rpc_method_health_list = {"/grpc.health.v1.Health/List", RPC_UNARY, NULL};
