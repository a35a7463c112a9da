#include "kube/client.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/http.h"
#include "kube/kubeconfig.h"
#include "kube/status.h"

#include <stdio.h>
#include <string.h>

enum { TIMEOUT_MS = 30 * 1000, BODY_MAX = 512 * 1024 * 1024, ERROR_BODY_MAX = 64 * 1024, CONNECT_MS = 10 * 1000 };

struct kube_client {
    struct loop *loop;
    const struct kube_cluster *cluster;
    struct http_client *http;
    struct http_endpoint *endpoint;
    struct list calls, streams;
};

struct kube_call {
    struct list link; // kube_client.calls
    struct kube_client *client;
    struct http_call *http;
    kube_reply_fn *fn;
    void *ctx;
    char *what;
};

struct kube_stream {
    struct list link; // kube_client.streams
    struct kube_client *client;
    struct http_call *http;
    const struct kube_stream_handler *handler;
    void *ctx;
    char *what;
    int status;
    int64_t retry_after_s;
    struct str error_body; // of an answer that is not 200
};

// ---- Life

static void call_free(struct kube_call *call) {
    list_remove(&call->link);
    mem_free(call->what);
    mem_free(call);
}

static void stream_free(struct kube_stream *s) {
    list_remove(&s->link);
    str_done(&s->error_body);
    mem_free(s->what);
    mem_free(s);
}

struct kube_client *kube_client_new(struct loop *loop, const struct kube_cluster *cluster, struct err *err) {
    struct kube_client *c = NEW(struct kube_client);
    c->loop = loop;
    c->cluster = cluster;
    c->http = http_client_new(loop);
    list_init(&c->calls);
    list_init(&c->streams);
    if (!http_endpoint_new(c->http, &cluster->endpoint, &c->endpoint, err)) {
        kube_client_free(c);
        return NULL;
    }
    return c;
}

void kube_client_free(struct kube_client *c) {
    if (c == NULL) {
        return;
    }
    LIST_EACH (node, &c->calls) {
        kube_call_cancel(CONTAINER_OF(node, struct kube_call, link));
    }
    LIST_EACH (node, &c->streams) {
        kube_stream_close(CONTAINER_OF(node, struct kube_stream, link));
    }
    http_client_free(c->http);
    mem_free(c);
}

// ---- Failures of the connection

static void connection_error(struct err *err, const struct http_response *r, const char *what) {
    static const struct {
        enum err_code code;
        const char *reason;
    } rows[HTTP_FAILURES] = {
        [HTTP_INVALID] = {ERR_INTERNAL, "KUBE_BAD_CALL"},     [HTTP_BUSY] = {ERR_EXHAUSTED, "KUBE_BUSY"},
        [HTTP_DNS] = {ERR_UNAVAILABLE, "KUBE_UNREACHABLE"},   [HTTP_CONNECT] = {ERR_UNAVAILABLE, "KUBE_UNREACHABLE"},
        [HTTP_TLS] = {ERR_UNAVAILABLE, "KUBE_TLS"},           [HTTP_TIMEOUT] = {ERR_UNAVAILABLE, "KUBE_NO_ANSWER"},
        [HTTP_IDLE] = {ERR_UNAVAILABLE, "KUBE_STALLED"},      [HTTP_RESET] = {ERR_UNAVAILABLE, "KUBE_BROKEN"},
        [HTTP_PROTOCOL] = {ERR_UNAVAILABLE, "KUBE_BROKEN"},   [HTTP_TOO_LARGE] = {ERR_INTERNAL, "KUBE_TOO_LARGE"},
        [HTTP_CANCELED] = {ERR_UNAVAILABLE, "KUBE_CANCELED"},
    };
    err_fail(err, rows[r->failure].code, rows[r->failure].reason, "%s: %s", what, r->problem);
}

static int64_t retry_after_s(const struct http_response *r) {
    int64_t ms = http_response_retry_after(r);
    return ms > 0 ? (ms + 999) / 1000 : 0;
}

// ---- Who we are: a header of the endpoint, as it is now

static bool identify(struct kube_client *c, struct err *err) {
    if (c->cluster->token == NULL) {
        return true;
    }
    CLEANUP(mem_free_ptr) char *bearer = mem_printf("Bearer %s", c->cluster->token);
    return http_endpoint_set_header(c->endpoint, "Authorization", bearer) ||
           err_fail(err, ERR_UNAUTHENTICATED, "KUBE_BAD_TOKEN", "the token for the API server is not one line of text");
}

// ---- Requests

static void on_response(void *ctx, const struct http_response *r) {
    struct kube_call *call = ctx;
    CLEANUP(err_done) struct err err = ERR_INIT;
    bool well = r->failure == HTTP_OK && r->status >= 200 && r->status < 300;
    if (r->failure != HTTP_OK) {
        connection_error(&err, r, call->what);
    } else if (!well) {
        kube_status_error(&err, r->status, r->body, r->body_len, retry_after_s(r), call->what);
    }
    const struct kube_reply reply = {.status = r->status,
                                     .body = r->body,
                                     .length = r->body_len,
                                     .err = well ? NULL : &err,
                                     .maybe_done = (r->failure != HTTP_OK && r->sent) || r->status == 504};
    kube_reply_fn *fn = call->fn;
    void *to = call->ctx;
    call_free(call);
    fn(to, &reply);
}

struct kube_call *kube_send(struct kube_client *c, const struct kube_request *r, kube_reply_fn *fn, void *ctx) {
    struct kube_call *call = NEW(struct kube_call);
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct http_header headers[] = {
        {"Accept", "application/json"},
        {"Content-Type", r->content_type != NULL ? r->content_type : "application/json"},
    };
    *call = (struct kube_call){.client = c, .fn = fn, .ctx = ctx, .what = mem_strdup(r->what)};
    list_push(&c->calls, &call->link);
    (void)identify(c, &err); // without it the server says 401, which is what the caller then hears
    call->http = http_request(c->endpoint,
                              &(struct http_request){.method = r->method,
                                                     .path = r->path,
                                                     .headers = headers,
                                                     .header_count = r->body != NULL ? 2 : 1,
                                                     .body = r->body,
                                                     .body_len = r->length,
                                                     .connect_ms = CONNECT_MS,
                                                     .total_ms = r->timeout_ms != 0 ? r->timeout_ms : TIMEOUT_MS,
                                                     .idle_ms = r->timeout_ms != 0 ? r->timeout_ms : TIMEOUT_MS,
                                                     .max_response = BODY_MAX},
                              on_response, call);
    return call;
}

void kube_call_cancel(struct kube_call *call) {
    http_cancel(call->http);
    call_free(call);
}

// ---- Streams

static void on_head(void *ctx, const struct http_response *r) {
    struct kube_stream *s = ctx;
    s->status = r->status;
    s->retry_after_s = retry_after_s(r);
    if (s->status == 200 && s->handler->open != NULL) {
        s->handler->open(s->ctx);
    }
}

static void on_data(void *ctx, const char *data, size_t n) {
    struct kube_stream *s = ctx;
    if (s->status == 200) {
        s->handler->data(s->ctx, data, n);
        return;
    }
    size_t room = ERROR_BODY_MAX - s->error_body.len;
    str_add_bytes(&s->error_body, data, n < room ? n : room);
}

static void on_end(void *ctx, const struct http_response *r) {
    struct kube_stream *s = ctx;
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (r->failure != HTTP_OK) {
        connection_error(&err, r, s->what);
    } else if (s->status != 200) {
        kube_status_error(&err, s->status, str_text(&s->error_body), s->error_body.len, s->retry_after_s, s->what);
    }
    const struct kube_stream_handler *handler = s->handler;
    void *to = s->ctx;
    int status = s->status;
    stream_free(s);
    handler->end(to, err_set(&err) ? &err : NULL, status);
}

struct kube_stream *kube_stream_open(struct kube_client *c, const char *path, const char *what, int64_t idle_ms,
                                     const struct kube_stream_handler *handler, void *ctx) {
    static const struct http_stream_events ours = {.head = on_head, .data = on_data, .end = on_end};
    static const struct http_header accept = {"Accept", "*/*"};
    struct kube_stream *s = NEW(struct kube_stream);
    CLEANUP(err_done) struct err err = ERR_INIT;
    *s = (struct kube_stream){.client = c, .handler = handler, .ctx = ctx, .what = mem_strdup(what)};
    list_push(&c->streams, &s->link);
    (void)identify(c, &err);
    s->http = http_stream(c->endpoint,
                          &(struct http_request){.method = "GET",
                                                 .path = path,
                                                 .headers = &accept,
                                                 .header_count = 1,
                                                 .connect_ms = CONNECT_MS,
                                                 .idle_ms = idle_ms},
                          &ours, s);
    return s;
}

void kube_stream_pause(struct kube_stream *s) {
    http_pause(s->http);
}

void kube_stream_resume(struct kube_stream *s) {
    http_resume(s->http);
}

void kube_stream_close(struct kube_stream *s) {
    http_cancel(s->http);
    stream_free(s);
}

// ---- Paths

void kube_path_add(struct str *out, const char *text) {
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *text != '\0'; text++) {
        if (strchr(kept, *text) != NULL) {
            str_add_char(out, *text);
        } else {
            str_printf(out, "%%%02X", (unsigned char)*text);
        }
    }
}
