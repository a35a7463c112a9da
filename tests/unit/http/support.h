// What the tests of http/ share: the server of tests/lib/http_server.py, and calls that are waited for.
#ifndef HTTP_TEST_SUPPORT_H
#define HTTP_TEST_SUPPORT_H

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/http.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 8, HEADERS_KEPT = 16 };

struct server {
    pid_t pid;
    int stdin_fd;
    int port;
};

UNUSED static void server_start(struct server *s, const char *const *args) {
    char *argv[ARGS_MAX + 3] = {"/usr/bin/python3", TRAINERD_SOURCE_DIR "/tests/lib/http_server.py"};
    for (int i = 0; args != NULL && args[i] != NULL; i++) {
        argv[i + 2] = (char *)args[i];
    }
    int in[2], out[2];
    cr_assert(pipe(in) == 0 && pipe(out) == 0);
    s->pid = fork();
    if (s->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execv(argv[0], argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    s->stdin_fd = in[1];
    char text[16] = "";
    for (size_t n = 0; n < sizeof text - 1 && strchr(text, '\n') == NULL; n++) {
        cr_assert(read(out[0], &text[n], 1) == 1, "the server did not start");
    }
    close(out[0]);
    s->port = atoi(text);
}

UNUSED static void server_stop(struct server *s) {
    close(s->stdin_fd);
    waitpid(s->pid, NULL, 0);
}

// A server, a client of it, and what they need.
struct bench {
    struct loop *loop;
    struct http_client *client;
    struct http_endpoint *endpoint;
    struct server server;
    bool joined;
    int left; // calls that have not ended
};

static const struct http_request usual = {
    .method = "GET", .path = "/", .connect_ms = 5000, .total_ms = 10000, .idle_ms = 5000, .max_response = 1 << 20};

UNUSED static void bench_client(struct bench *b, struct http_endpoint_config config) {
    b->client = http_client_new(b->loop);
    b->left = 0;
    CLEANUP(mem_free_ptr) char *url = mem_printf("http://127.0.0.1:%d", b->server.port);
    config.url = config.url != NULL ? config.url : url;
    config.proxy = config.proxy != NULL ? config.proxy : "";
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_assert(http_endpoint_new(b->client, &config, &b->endpoint, &err), "%s", err.message);
}

// config.url NULL: plain HTTP to the server
UNUSED static void bench_start(struct bench *b, const char *const *server_args, struct http_endpoint_config config) {
    signal(SIGPIPE, SIG_IGN);
    server_start(&b->server, server_args);
    b->loop = loop_new();
    b->joined = false;
    bench_client(b, config);
}

// Another client on the loop of the first, of the same server.
UNUSED static void bench_join(struct bench *b, const struct bench *first, struct http_endpoint_config config) {
    b->server = first->server;
    b->loop = first->loop;
    b->joined = true;
    bench_client(b, config);
}

UNUSED static void bench_stop(struct bench *b) {
    http_client_free(b->client);
    if (!b->joined) {
        loop_free(b->loop);
        server_stop(&b->server);
    }
}

// What came of a call: a copy.
struct outcome {
    struct bench *bench;
    struct http_call *call; // NULL when it has ended
    int ended;
    enum http_failure failure;
    bool sent;
    int status;
    char *body;
    size_t body_len;
    char *problem;
    char *headers; // "name: value\n"...
    int connection;
    int64_t took_ms, retry_after;
    int heads, head_status, pieces; // of streams
    struct str data;
    void (*on_data)(struct outcome *o);
    void (*on_end)(struct outcome *o);
};

UNUSED static void outcome_done(struct outcome *o) {
    mem_free(o->body);
    mem_free(o->problem);
    mem_free(o->headers);
    str_done(&o->data);
    o->body = o->problem = o->headers = NULL;
}

UNUSED static void keep(void *ctx, const struct http_response *r) {
    struct outcome *o = ctx;
    struct str headers = STR_INIT;
    for (size_t i = 0; i < r->header_count; i++) {
        str_printf(&headers, "%s: %s\n", r->headers[i].name, r->headers[i].value);
    }
    const char *connection = http_response_header(r, "x-connection");
    o->call = NULL;
    o->ended++;
    o->failure = r->failure;
    o->sent = r->sent;
    o->status = r->status;
    o->body = mem_strndup(r->body, r->body_len);
    o->body_len = r->body_len;
    o->problem = mem_strdup(r->problem);
    o->headers = str_take(&headers);
    o->connection = connection != NULL ? atoi(connection) : 0;
    o->took_ms = r->took_ms;
    o->retry_after = http_response_retry_after(r);
    if (o->on_end != NULL) {
        o->on_end(o);
    }
    if (o->bench != NULL && --o->bench->left == 0) {
        loop_stop(o->bench->loop);
    }
}

UNUSED static void begin(struct bench *b, struct outcome *o, const struct http_request *request) {
    o->bench = b;
    b->left++;
    o->call = http_request(b->endpoint, request, keep, o);
}

UNUSED static void begin_get(struct bench *b, struct outcome *o, const char *path) {
    struct http_request request = usual;
    request.path = path;
    begin(b, o, &request);
}

UNUSED static void finish(struct bench *b) { // all that was begun
    if (b->left > 0) {
        loop_run(b->loop);
    }
}

UNUSED static struct outcome get(struct bench *b, const char *path) {
    struct outcome o = {0};
    begin_get(b, &o, path);
    finish(b);
    cr_assert_eq(o.ended, 1);
    return o;
}

UNUSED static void on_head(void *ctx, const struct http_response *r) {
    struct outcome *o = ctx;
    o->heads++;
    o->head_status = r->status;
}

UNUSED static void on_data(void *ctx, const char *data, size_t n) {
    struct outcome *o = ctx;
    o->pieces++;
    str_add_bytes(&o->data, data, n);
    if (o->on_data != NULL) {
        o->on_data(o);
    }
}

UNUSED static void begin_stream(struct bench *b, struct outcome *o, const struct http_request *request) {
    static const struct http_stream_events events = {on_head, on_data, keep};
    o->bench = b;
    b->left++;
    o->call = http_stream(b->endpoint, request, &events, o);
}

UNUSED static void end_of_wait(void *ctx) {
    loop_stop(ctx);
}

UNUSED static void run_for(struct bench *b, int64_t ms) {
    struct loop_timer timer;
    loop_timer_init(&timer, b->loop, "wait", end_of_wait, b->loop);
    loop_timer_start(&timer, ms);
    loop_run(b->loop);
    loop_timer_stop(&timer);
}

// Until *value is at least `least`: a loaded machine may take its time.
UNUSED static void run_until(struct bench *b, const int *value, int least) {
    for (int i = 0; i < 1000 && *value < least; i++) {
        run_for(b, 10);
    }
    cr_assert(*value >= least, "%d", *value);
}

#endif
