// A server without a flow on a loop of its own, so that the blocking client can be used from the test.
#ifndef SERVER_THREAD_H
#define SERVER_THREAD_H

#include "base/fd.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "rpc/client.h"
#include "rpc/rpc.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN "a-token-of-the-tests"

struct server_thread {
    struct loop *loop;
    struct rpc_server *server;
    struct loop_thread *thread;
    struct loop_message stop;
    sem_t ready;
    struct rpc_options options;
    struct err err;
    char directory[64], address[128], tcp[32];
    bool orderly;
};

static void on_done(void *ctx) {
    loop_stop(((struct server_thread *)ctx)->loop);
}

static void on_stop(struct loop_message *message) {
    struct server_thread *t = CONTAINER_OF(message, struct server_thread, stop);
    if (t->orderly) {
        rpc_server_shutdown(t->server, 5000, on_done, t);
    } else {
        loop_stop(t->loop);
    }
}

static void serve(void *ctx) {
    struct server_thread *t = ctx;
    t->loop = loop_new();
    t->options.loop = t->loop;
    bool ok = rpc_server_new(&t->options, &t->server, &t->err);
    if (ok) {
        snprintf(t->tcp, sizeof t->tcp, "127.0.0.1:%d", rpc_server_port(t->server));
    }
    sem_post(&t->ready);
    if (ok) {
        loop_run(t->loop);
        rpc_server_free(t->server);
    }
    loop_free(t->loop);
}

// Both sides, unless the test has set addresses.
static bool server_start(struct server_thread *t) {
    char template[] = "/tmp/rpc-test-XXXXXX";
    snprintf(t->directory, sizeof t->directory, "%s", mkdtemp(template));
    snprintf(t->address, sizeof t->address, "unix:%s/s", t->directory);
    if (t->options.unix_path == NULL && t->options.tcp_address == NULL) {
        t->options.unix_path = t->address + strlen("unix:");
        t->options.tcp_address = "127.0.0.1:0";
    }
    t->options.token = TOKEN;
    t->options.max_connections = 100;
    t->options.max_streams_per_connection = 100;
    t->options.max_message_bytes = 65536;
    t->stop.fn = on_stop;
    sem_init(&t->ready, 0, 0);
    t->thread = loop_thread_new("server", serve, t);
    sem_wait(&t->ready);
    return t->server != NULL;
}

static void server_stop(struct server_thread *t, bool orderly) {
    t->orderly = orderly;
    if (t->server != NULL) {
        loop_post(t->loop, &t->stop);
    }
    loop_thread_join(t->thread);
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    (void)!fd_remove_tree(t->directory, &ignored);
    err_done(&t->err);
}

#endif
