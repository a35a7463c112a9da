// Talking to one API server: requests and streams with our identity, its errors as ours. On top of http/.
//
// Loop thread only. Every callback comes from the loop, exactly once for a request, and never from within the call
// that started it. What is passed to a callback is valid during the callback.
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H

#include "base/err.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_client;
struct kube_cluster; // kubeconfig.h

// cluster must outlive it. NULL: it cannot be used, and err says why.
struct kube_client *kube_client_new(struct loop *loop, const struct kube_cluster *cluster, struct err *err);
void kube_client_free(struct kube_client *client); // cancels what is under way, without callbacks

struct kube_reply {
    int status; // HTTP; 0: none came
    const char *body;
    size_t length;
    // What was asked for was not done, and why: not 2xx, or no answer at all. NULL when it was.
    const struct err *err;
    bool maybe_done; // no answer, and the server may have done it all the same: ask it
};

typedef void kube_reply_fn(void *ctx, const struct kube_reply *reply);

struct kube_request {
    const char *method; // "GET"
    const char *path;   // with query, encoded
    const char *body;   // NULL: none; copied
    size_t length;
    const char *content_type; // NULL: application/json
    const char *what;         // for errors: "create PyTorchJob team/x"; copied
    int64_t timeout_ms;       // 0: 30 s
};

struct kube_call;
// A 401 is tried once more with fresh credentials. Nothing else is repeated here.
struct kube_call *kube_send(struct kube_client *client, const struct kube_request *request, kube_reply_fn *fn,
                            void *ctx);
void kube_call_cancel(struct kube_call *call); // no callback follows; the server may do it all the same

// A stream of bytes on a connection of its own: a watch, a log.
struct kube_stream_handler {
    void (*open)(void *ctx); // 200 has come
    void (*data)(void *ctx, const char *data, size_t n);
    // The end, once, after which the stream is gone. err NULL: the server ended it in order.
    void (*end)(void *ctx, const struct err *err, int status);
};
struct kube_stream;
// idle_ms: no byte for so long ends it with KUBE_STALLED.
struct kube_stream *kube_stream_open(struct kube_client *client, const char *path, const char *what, int64_t idle_ms,
                                     const struct kube_stream_handler *handler, void *ctx);
void kube_stream_pause(struct kube_stream *stream); // no data until it is resumed; the sender waits
void kube_stream_resume(struct kube_stream *stream);
void kube_stream_close(struct kube_stream *stream); // no callback follows

// Appends text with everything but unreserved characters as %XX.
struct str;
void kube_path_add(struct str *out, const char *text);

#endif
