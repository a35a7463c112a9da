// The server's life: sides, methods, and the order of its end.
//
// End: health says NOT_SERVING, streams end and new calls are refused with UNAVAILABLE; when what was admitted is
// answered the connections are closed, then C core stops, and slots come back; then the queues and their threads end. C
// core is stopped last because from then on it answers new calls with CANCELLED, which clients do not try again. What
// is left after the grace time is canceled.
#include "rpc/internal.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <grpc/grpc_security.h>
#include <signal.h>
#include <string.h>

static void stop_core(struct rpc_server *s) {
    if (!s->stopped) {
        s->stopped = true;
        for (size_t i = 0; i < s->side_count; i++) {
            struct rpc_side *side = &s->sides[i];
            grpc_server_shutdown_and_notify(side->core, s->queues[0].core, rpc_tag_hand_out(&side->stopped_tag));
        }
    }
}

static void cancel_all(struct rpc_server *s) {
    stop_core(s);
    for (size_t i = 0; i < s->side_count; i++) {
        grpc_server_cancel_all_calls(s->sides[i].core);
    }
}

static void on_grace_over(void *ctx) {
    struct rpc_server *s = ctx;
    log_warn("rpc", "the grace time is over: canceling the calls that are left");
    cancel_all(s);
}

static void on_finish(void *ctx) {
    struct rpc_server *s = ctx;
    s->done(s->done_ctx);
}

static bool everything_is_back(const struct rpc_server *s) {
    bool back = s->posted == 0 && list_empty(&s->calls);
    for (size_t i = 0; i < s->side_count; i++) {
        back = back && s->sides[i].is_stopped;
    }
    return back;
}

static void finish(struct rpc_server *s) {
    s->finished = true;
    loop_timer_stop(&s->grace);
    if (s->done != NULL && !s->closing) {
        loop_defer(s->loop, &s->finish);
    }
}

void rpc_server_go_on_ending(struct rpc_server *s) {
    if (!s->draining || s->finished) {
        return;
    }
    if (!s->hung_up && s->open_calls == s->refused_calls) {
        s->hung_up = true;
        rpc_accept_hang_up(s);
    }
    if (s->hung_up && s->connection_count == 0) {
        stop_core(s);
    }
    if (s->stopped && everything_is_back(s)) {
        finish(s);
    }
}

static void on_stopped(struct rpc_tag *tag, bool ok UNUSED) {
    struct rpc_side *side = CONTAINER_OF(tag, struct rpc_side, stopped_tag);
    side->is_stopped = true;
    rpc_server_go_on_ending(side->server);
}

// ---- Start
// ----------------------------------------------------------------------------------------------------------------------

static struct rpc_side *add_side(struct rpc_server *s, bool local) {
    struct rpc_side *side = &s->sides[s->side_count++];
    side->server = s;
    side->local = local;
    side->fd = -1;
    rpc_tag_init(&side->stopped_tag, on_stopped);
    return side;
}

static bool bind_sides(struct rpc_server *s, const struct rpc_options *options, struct err *err) {
    if (options->tcp_address != NULL && str_is_empty(options->token)) {
        return err_fail(err, ERR_INVALID, "TOKEN_REQUIRED", "a TCP address needs a token");
    }
    if (options->unix_path == NULL && options->tcp_address == NULL) {
        return err_fail(err, ERR_INVALID, "NO_ADDRESS", "set a socket or a TCP address: nobody could call otherwise");
    }
    return (options->unix_path == NULL || rpc_listen_unix(add_side(s, true), options->unix_path, err)) &&
           (options->tcp_address == NULL || rpc_listen_tcp(add_side(s, false), options->tcp_address, err));
}

static void start_side(struct rpc_side *side, const struct rpc_options *options) {
    grpc_channel_args *args = rpc_server_args(options);
    side->core = grpc_server_create(args, NULL);
    rpc_server_args_free(args);
    grpc_server_register_completion_queue(side->core, side->server->queues[0].core, NULL);
    for (size_t i = 0; i < rpc_methods_count(); i++) {
        side->registered[i] = grpc_server_register_method(
            side->core, rpc_methods[i]->path, NULL,
            rpc_methods[i]->kind == RPC_BIDI ? GRPC_SRM_PAYLOAD_NONE : GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
        assert(side->registered[i] != NULL);
    }
    grpc_server_start(side->core);
    rpc_calls_post(side, options->pending_calls);
    rpc_accept_start(side);
}

// The library's threads inherit the signal mask: signals are for the loop.
static void start_core(struct rpc_server *s, const struct rpc_options *options) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rpc_log_to_ours();
    grpc_init();
    rpc_queues_create(s->queues);
    s->credentials = grpc_insecure_server_credentials_create();
    for (size_t i = 0; i < s->side_count; i++) {
        start_side(&s->sides[i], options);
    }
    rpc_queues_start(s->queues, s->loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool rpc_server_new(const struct rpc_options *options, struct rpc_server **ret, struct err *err) {
    struct rpc_server *s = NEW(struct rpc_server);
    s->loop = options->loop;
    s->flow = options->flow;
    s->token = mem_strdup(options->token);
    s->max_connections = options->max_connections;
    s->closed_fd = s->reserve_fd = -1;
    list_init(&s->connections);
    list_init(&s->calls);
    list_init(&s->health_watchers);
    rpc_streams_init(s);
    loop_timer_init(&s->grace, s->loop, "rpc grace", on_grace_over, s);
    loop_task_init(&s->finish, on_finish, s);
    if (!bind_sides(s, options, err) || !rpc_accept_init(s, err)) {
        rpc_server_free(s);
        return false;
    }
    start_core(s, options);
    *ret = s;
    return true;
}

int rpc_server_port(const struct rpc_server *s) {
    int port = 0;
    for (size_t i = 0; i < s->side_count; i++) {
        port += s->sides[i].port;
    }
    return port;
}

void rpc_server_stats(const struct rpc_server *s, struct rpc_stats *ret) {
    *ret = (struct rpc_stats){
        .connections = s->connection_count, .calls = s->call_count, .refused_connections = s->refused};
}

// ---- End
// ------------------------------------------------------------------------------------------------------------------------

static void stop_accepting(struct rpc_server *s) {
    for (size_t i = 0; i < s->side_count; i++) {
        rpc_accept_stop(&s->sides[i]);
    }
    rpc_accept_drop_waiting(s);
}

void rpc_server_shutdown(struct rpc_server *s, int64_t grace_ms, void (*done)(void *ctx), void *ctx) {
    if (s->draining) {
        return;
    }
    s->done = done;
    s->done_ctx = ctx;
    stop_accepting(s);
    rpc_health_shutdown(s);
    rpc_calls_drain(s);
    loop_timer_start(&s->grace, grace_ms);
    s->draining = true;
    rpc_server_go_on_ending(s);
}

// Also when shutdown was not called, or has not finished.
static void end_core(struct rpc_server *s) {
    stop_accepting(s);
    s->closing = s->draining = s->hung_up = true;
    if (!s->finished) {
        cancel_all(s);
    }
    rpc_queues_finish(s->queues);
    assert(everything_is_back(s));
    for (size_t i = 0; i < s->side_count; i++) {
        grpc_server_destroy(s->sides[i].core);
    }
    rpc_queues_destroy(s->queues);
    rpc_share_clear(s);
    grpc_server_credentials_release(s->credentials);
    grpc_shutdown_blocking();
}

void rpc_server_free(struct rpc_server *s) {
    if (s == NULL) {
        return;
    }
    if (s->queues[0].core != NULL) {
        end_core(s);
    }
    stop_accepting(s);
    rpc_accept_done(s);
    loop_timer_stop(&s->grace);
    loop_task_cancel(&s->pump);
    loop_task_cancel(&s->finish);
    mem_free(s->token);
    mem_free(s);
}
