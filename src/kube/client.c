#include "kube/client.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/http.h"
#include "kube/credential.h"
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
    struct kube_credential *credential;
    uint64_t certificate_generation; // of the endpoint
    struct list calls, streams;
};

// What a request and a stream share: asking who we are, and once more after a 401.
struct asking {
    struct kube_client *client;
    struct kube_credential_wait wait;
    uint64_t generation; // of the identity that was used
    bool again;          // it was told 401 once
    char *path;
    struct http_header *headers;
    size_t header_count;
};

struct kube_call {
    struct list link; // kube_client.calls
    struct asking asking;
    struct http_call *http; // NULL: it is not known yet who we are
    const char *method;     // static
    char *content_type;
    struct str body;
    bool has_body;
    int64_t timeout_ms;
    kube_reply_fn *fn;
    void *ctx;
    char *what;
};

struct kube_stream {
    struct list link; // kube_client.streams
    struct asking asking;
    struct http_call *http; // NULL: it is not known yet who we are
    bool paused;
    int64_t idle_ms;
    const struct kube_stream_handler *handler;
    void *ctx;
    char *what;
    int status;
    int64_t retry_after_s;
    struct str error_body; // of an answer that is not 200
};

// ---- Life

static void asking_done(struct asking *a) {
    kube_credential_cancel(&a->wait);
    mem_free(a->headers);
    mem_free(a->path);
}

static void call_free(struct kube_call *call) {
    list_remove(&call->link);
    asking_done(&call->asking);
    str_done(&call->body);
    mem_free(call->content_type);
    mem_free(call->what);
    mem_free(call);
}

static void stream_free(struct kube_stream *s) {
    list_remove(&s->link);
    asking_done(&s->asking);
    str_done(&s->error_body);
    mem_free(s->what);
    mem_free(s);
}

struct kube_client *kube_client_new(struct loop *loop, const struct kube_cluster *cluster, struct err *err) {
    struct kube_client *c = NEW(struct kube_client);
    c->loop = loop;
    c->cluster = cluster;
    c->http = http_client_new(loop);
    c->credential = kube_credential_new(loop, cluster, NULL);
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
    kube_credential_free(c->credential);
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

// ---- Who we are

// A certificate that came with the identity: connections made with another one must not be used any longer.
static bool use_certificate(struct kube_client *c, const struct kube_identity *id, struct err *err) {
    struct http_endpoint_config config = c->cluster->endpoint;
    struct http_endpoint *fresh = NULL;
    if (id->cert_pem == NULL || id->certificate_generation == c->certificate_generation) {
        return true;
    }
    config.cert = (struct http_pem){.text = id->cert_pem};
    config.key = (struct http_pem){.text = id->key_pem};
    if (!http_endpoint_new(c->http, &config, &fresh, err)) {
        return false;
    }
    http_endpoint_free(c->endpoint);
    c->endpoint = fresh;
    c->certificate_generation = id->certificate_generation;
    return true;
}

static void add_header(struct asking *a, const char *name, const char *value) {
    if (value != NULL) {
        a->headers[a->header_count++] = (struct http_header){name, value};
    }
}

static void begin_headers(struct asking *a, const struct kube_identity *id, const char *accept) {
    enum { OWN = 3 };
    const struct kube_cluster *cluster = a->client->cluster;
    mem_free(a->headers);
    a->headers = mem_zalloc((OWN + cluster->impersonation_count) * sizeof *a->headers);
    a->header_count = 0;
    a->generation = id->generation;
    add_header(a, "Accept", accept);
    add_header(a, "Authorization", id->authorization);
    for (size_t i = 0; i < cluster->impersonation_count; i++) {
        add_header(a, cluster->impersonation[i].name, cluster->impersonation[i].value);
    }
}

// true: it is asked once more, with a fresh identity.
static bool ask_again(struct asking *a, int status) {
    if (status != 401 || a->again) {
        return false;
    }
    a->again = true;
    kube_credential_rejected(a->client->credential, a->generation);
    kube_credential_get(a->client->credential, &a->wait);
    return true;
}

// ---- Requests

static void answer(struct kube_call *call, const struct kube_reply *reply) {
    kube_reply_fn *fn = call->fn;
    void *to = call->ctx;
    call_free(call);
    fn(to, reply);
}

static void on_response(void *ctx, const struct http_response *r) {
    struct kube_call *call = ctx;
    CLEANUP(err_done) struct err err = ERR_INIT;
    bool well = r->failure == HTTP_OK && r->status >= 200 && r->status < 300;
    call->http = NULL;
    if (r->failure == HTTP_OK && ask_again(&call->asking, r->status)) {
        return;
    }
    if (r->failure != HTTP_OK) {
        connection_error(&err, r, call->what);
    } else if (!well) {
        kube_status_error(&err, r->status, r->body, r->body_len, retry_after_s(r), call->what);
    }
    answer(call, &(struct kube_reply){.status = r->status,
                                      .body = r->body,
                                      .length = r->body_len,
                                      .err = well ? NULL : &err,
                                      .maybe_done = (r->failure != HTTP_OK && r->sent) || r->status == 504});
}

static void send_as(void *ctx, const struct kube_identity *id, const struct err *problem) {
    struct kube_call *call = ctx;
    struct kube_client *c = call->asking.client;
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (problem != NULL || !use_certificate(c, id, &err)) {
        answer(call, &(struct kube_reply){.body = "", .err = problem != NULL ? problem : &err});
        return;
    }
    begin_headers(&call->asking, id, "application/json");
    add_header(&call->asking, "Content-Type", call->has_body ? call->content_type : NULL);
    call->http = http_request(c->endpoint,
                              &(struct http_request){.method = call->method,
                                                     .path = call->asking.path,
                                                     .headers = call->asking.headers,
                                                     .header_count = call->asking.header_count,
                                                     .body = call->has_body ? str_text(&call->body) : NULL,
                                                     .body_len = call->body.len,
                                                     .connect_ms = CONNECT_MS,
                                                     .total_ms = call->timeout_ms,
                                                     .idle_ms = call->timeout_ms,
                                                     .max_response = BODY_MAX},
                              on_response, call);
}

struct kube_call *kube_send(struct kube_client *c, const struct kube_request *r, kube_reply_fn *fn, void *ctx) {
    struct kube_call *call = NEW(struct kube_call);
    *call =
        (struct kube_call){.asking = {.client = c, .path = mem_strdup(r->path), .wait = {.fn = send_as, .ctx = call}},
                           .method = r->method,
                           .content_type = mem_strdup(r->content_type != NULL ? r->content_type : "application/json"),
                           .has_body = r->body != NULL,
                           .timeout_ms = r->timeout_ms != 0 ? r->timeout_ms : TIMEOUT_MS,
                           .fn = fn,
                           .ctx = ctx,
                           .what = mem_strdup(r->what)};
    if (r->body != NULL) {
        str_add_bytes(&call->body, r->body, r->length);
    }
    list_push(&c->calls, &call->link);
    kube_credential_get(c->credential, &call->asking.wait);
    return call;
}

void kube_call_cancel(struct kube_call *call) {
    if (call->http != NULL) {
        http_cancel(call->http);
    }
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

static void end_stream(struct kube_stream *s, const struct err *err) {
    const struct kube_stream_handler *handler = s->handler;
    void *to = s->ctx;
    int status = s->status;
    stream_free(s);
    handler->end(to, err, status);
}

static void on_end(void *ctx, const struct http_response *r) {
    struct kube_stream *s = ctx;
    CLEANUP(err_done) struct err err = ERR_INIT;
    s->http = NULL;
    if (r->failure == HTTP_OK && ask_again(&s->asking, s->status)) {
        str_clear(&s->error_body);
        return;
    }
    if (r->failure != HTTP_OK) {
        connection_error(&err, r, s->what);
    } else if (s->status != 200) {
        kube_status_error(&err, s->status, str_text(&s->error_body), s->error_body.len, s->retry_after_s, s->what);
    }
    end_stream(s, err_set(&err) ? &err : NULL);
}

static void open_as(void *ctx, const struct kube_identity *id, const struct err *problem) {
    static const struct http_stream_events ours = {.head = on_head, .data = on_data, .end = on_end};
    struct kube_stream *s = ctx;
    struct kube_client *c = s->asking.client;
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (problem != NULL || !use_certificate(c, id, &err)) {
        end_stream(s, problem != NULL ? problem : &err);
        return;
    }
    begin_headers(&s->asking, id, "*/*");
    s->http = http_stream(c->endpoint,
                          &(struct http_request){.method = "GET",
                                                 .path = s->asking.path,
                                                 .headers = s->asking.headers,
                                                 .header_count = s->asking.header_count,
                                                 .connect_ms = CONNECT_MS,
                                                 .idle_ms = s->idle_ms},
                          &ours, s);
    if (s->paused) {
        http_pause(s->http);
    }
}

struct kube_stream *kube_stream_open(struct kube_client *c, const char *path, const char *what, int64_t idle_ms,
                                     const struct kube_stream_handler *handler, void *ctx) {
    struct kube_stream *s = NEW(struct kube_stream);
    *s = (struct kube_stream){.asking = {.client = c, .path = mem_strdup(path), .wait = {.fn = open_as, .ctx = s}},
                              .idle_ms = idle_ms,
                              .handler = handler,
                              .ctx = ctx,
                              .what = mem_strdup(what)};
    list_push(&c->streams, &s->link);
    kube_credential_get(c->credential, &s->asking.wait);
    return s;
}

void kube_stream_pause(struct kube_stream *s) {
    s->paused = true;
    if (s->http != NULL) {
        http_pause(s->http);
    }
}

void kube_stream_resume(struct kube_stream *s) {
    s->paused = false;
    if (s->http != NULL) {
        http_resume(s->http);
    }
}

void kube_stream_close(struct kube_stream *s) {
    if (s->http != NULL) {
        http_cancel(s->http);
    }
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
