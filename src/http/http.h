// The HTTP client on the loop: requests over a shared pool, and long streams with a connection each. The only door to
// libcurl. It knows nothing of what the bodies mean.
//
// Everything belongs to the loop thread. Nothing blocks, and no callback is ever made from within one of these
// functions, except http_client_free. Callbacks may call anything here but http_client_free. At most one line a call is
// logged, at DEBUG, with method and path but never with a query, a header or a body.
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/err.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;
struct http_endpoint;
struct http_call; // a request or a stream that has not ended

struct http_client *http_client_new(struct loop *loop);
// Ends what is under way, with HTTP_CANCELED, and frees the endpoints too.
void http_client_free(struct http_client *client);

struct http_header {
    const char *name, *value;
};

struct http_pem { // text wins over file; both NULL: none. Files are read once, by http_endpoint_new.
    const char *file;
    const char *text;
};

// One server, or one address of a group of equal servers. Everything is copied.
struct http_endpoint_config {
    const char *url;         // http or https, host, port, path prefix; no user, query or fragment
    struct http_pem ca;      // whom to trust; none: the system's authorities
    struct http_pem cert;    // client certificate (chain) and its key: both or none
    struct http_pem key;     //
    const char *server_name; // the name that the certificate must have, and SNI; NULL: the host of the url
    bool insecure;           // believe any certificate; not together with ca
    const char *proxy;       // http, https, socks5 or socks5h url; "" none; NULL what the environment says
    const char *unix_path;   // connect to this socket instead of host and port; NULL: no
    const char *user_agent;
    size_t max_connections; // of requests, 0: 8. HTTP/2 carries up to 100 requests on one
    size_t max_requests;    // under way or queued, 0: 1024; further ones end with HTTP_BUSY
    size_t max_streams;     // 0: 4096
};
// false: err says which part is wrong. What is in the certificates is only looked into when connecting.
bool http_endpoint_new(struct http_client *client, const struct http_endpoint_config *config,
                       struct http_endpoint **ret, struct err *err) MUST_CHECK;
// Gives it up: what is under way ends in its own time, then its connections are closed and it is freed. To change
// certificates, make a new endpoint and free the old one.
void http_endpoint_free(struct http_endpoint *endpoint);
// A header of each request and stream that starts from now on, e.g. Authorization. NULL takes it away. false: no valid
// name or value (a line break in a token), nothing has changed.
bool http_endpoint_set_header(struct http_endpoint *endpoint, const char *name, const char *value) MUST_CHECK;

enum http_failure {
    HTTP_OK,        // an answer of any status came whole
    HTTP_INVALID,   // the request cannot be written: path, method or a header
    HTTP_BUSY,      // max_requests or max_streams is reached
    HTTP_DNS,       // no address for the name
    HTTP_CONNECT,   // refused, unreachable, or the proxy would not
    HTTP_TLS,       // handshake, unknown authority, wrong name, bad client certificate
    HTTP_TIMEOUT,   // connect_ms or total_ms is over
    HTTP_IDLE,      // idle_ms is over: no byte came for that long
    HTTP_RESET,     // the connection broke, or ended in the middle of the answer
    HTTP_PROTOCOL,  // what came is not HTTP
    HTTP_TOO_LARGE, // more than max_response, or than HTTP_HEADERS_MAX bytes of headers
    HTTP_CANCELED,  // by http_client_free
    HTTP_FAILURES
};
const char *http_failure_name(enum http_failure failure); // "TIMEOUT"
enum { HTTP_HEADERS_MAX = 64 * 1024, HTTP_HEADER_COUNT_MAX = 128 };

struct http_response { // all of it is valid during the callback only
    enum http_failure failure;
    // The server may have got the request. false: certainly not, whatever it was can be repeated. A request with a
    // method other than GET or HEAD is never sent twice by itself.
    bool sent;
    int status;                        // 0: no answer came; with a failure, that of the answer that broke off
    const struct http_header *headers; // in order, names as they came (HTTP/2: lower case)
    size_t header_count;
    const char *body; // also of an answer that broke off; NUL-terminated, never NULL; "" for streams
    size_t body_len;
    const char *problem; // for people; "" with HTTP_OK. No dot, no secret
    int64_t took_ms;     // since the call
};
// The first of that name, in any case, or NULL.
const char *http_response_header(const struct http_response *response, const char *name);
// Retry-After (seconds or date) in ms, 0 .. one hour; -1 when there is none or it is unreadable.
int64_t http_response_retry_after(const struct http_response *response);

struct http_request {                  // everything is copied
    const char *method;                // "GET"
    const char *path;                  // "/a/b?c=d", percent-encoded already; comes behind the prefix of the url
    const struct http_header *headers; // a name that the endpoint has too: this one wins
    size_t header_count;
    const char *body; // NULL: none
    size_t body_len;
    int64_t connect_ms; // name, connection, handshakes
    int64_t total_ms;   // all of it, with the time in the queue; 0 only for streams: none
    int64_t idle_ms;    // between two bytes of the answer, and to the first one after the request began to be sent
    size_t max_response;
    bool gzip; // ask for a compressed answer; max_response counts what was unpacked
};

// Calls done exactly once, unless canceled. HTTP/2 where the server has it, over TLS. NULL only while http_client_free
// runs: nothing will come of it.
struct http_call *http_request(struct http_endpoint *endpoint, const struct http_request *request,
                               void (*done)(void *ctx, const struct http_response *response), void *ctx);

struct http_stream_events {
    void (*head)(void *ctx, const struct http_response *response); // once, when status and headers are there
    void (*data)(void *ctx, const char *data, size_t n);           // pieces cut anywhere; not while paused
    void (*end)(void *ctx, const struct http_response *response);  // once; HTTP_OK: the server ended the body in order
};
// HTTP/1.1 on a connection that nobody else uses, so that a receiver that is slow or paused stops only its own sender.
// Any status comes this way, with its body as data. max_response and gzip are not used.
struct http_call *http_stream(struct http_endpoint *endpoint, const struct http_request *request,
                              const struct http_stream_events *events, void *ctx);
// No data from now on until http_resume; what came meanwhile waits in the kernel and with the sender. idle_ms does not
// run meanwhile. After a pause in `data` nothing more comes. Streams only; both may be called at any time, also twice.
void http_pause(struct http_call *call);
void http_resume(struct http_call *call);

// Ends it without any further callback, at any time from the call to the end of the last callback. The request may
// have been carried out all the same.
void http_cancel(struct http_call *call);

#endif
