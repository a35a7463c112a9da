// What the files of http/ share, and the only place that includes libcurl.
//
// client -> endpoints -> pools (one libcurl multi handle each) -> calls (one easy handle each). libcurl refuses most
// of its functions inside its callbacks, and our users call us from there: so a public function only marks a call and
// asks for a turn of its endpoint, and the turn, a deferred call of the loop, does the work.
#ifndef HTTP_INTERNAL_H
#define HTTP_INTERNAL_H

#include "http/http.h"

#include "base/arena.h"
#include "base/list.h"
#include "base/str.h"

#include <curl/curl.h>

struct http_client {
    struct loop *loop;
    struct list endpoints;
    uint64_t last_id; // of calls, for the log
    bool closing;
};

// The sockets of one multi handle on the loop.
struct pool {
    struct list link; // in http_endpoint.retired
    struct http_endpoint *endpoint;
    CURLM *multi;
    struct loop_timer timer;
    struct list sockets;
    struct list calls;
    int64_t heard_at; // the last byte of any answer
};

struct header_set {
    char **names, **values;
    size_t count;
};

struct http_endpoint {
    struct list link;
    struct http_client *client;
    bool given_up;

    char *base; // scheme, host, port and prefix, without a slash at the end
    struct curl_slist *connect_to;
    char *host; // the Host header when base has another name in it, or NULL
    char *proxy, *unix_path, *user_agent;
    struct str ca, cert, key;
    bool insecure;
    size_t max_connections, max_requests, max_streams;
    struct header_set headers;

    struct pool *requests, *streams; // NULL until needed
    struct list retired;             // pools whose connections nobody should join any more
    struct list waiting;             // requests that are not in a pool yet
    size_t request_count, stream_count, in_pool;
    struct list marked; // calls that the turn has to look at
    struct loop_task turn;
};

struct http_call {
    struct list link;   // in http_endpoint.waiting or pool.calls
    struct list marked; // in http_endpoint.marked
    struct http_endpoint *endpoint;
    struct pool *pool;
    uint64_t id;

    void (*done)(void *ctx, const struct http_response *response);
    struct http_stream_events events;
    void *ctx;

    bool stream, gzip;
    char *method, *path;
    char *body;
    size_t body_len;
    int64_t connect_ms, total_ms, idle_ms;
    size_t max_response;

    CURL *easy;
    struct curl_slist *headers;
    char curl_problem[CURL_ERROR_SIZE];

    struct loop_timer deadline;
    int64_t begun_at, moved_at; // mono; moved: the last byte, or what idle_ms counts from
    bool sent;                  // libcurl may have written a part of it
    bool paused, held;          // held: libcurl keeps data because of it
    bool gone;                  // no callbacks any more
    enum http_failure failure;  // decided by us; HTTP_OK: by libcurl
    const char *problem;        // ours, static, with it

    struct arena header_memory;
    struct http_header *got;
    size_t got_count;
    size_t got_bytes;
    int status;
    bool head_done;
    struct str answer;
    size_t answer_bytes; // of streams too
};

// endpoint.c
struct pool *http_endpoint_pool(struct http_endpoint *endpoint, bool stream);
void http_endpoint_settings(const struct http_endpoint *endpoint, CURL *easy, bool stream);
void http_endpoint_want_turn(struct http_endpoint *endpoint);
void http_endpoint_retire(struct http_endpoint *endpoint, struct pool *pool);
void http_endpoint_destroy(struct http_endpoint *endpoint); // without calls

// pool.c
struct pool *http_pool_new(struct http_endpoint *endpoint, bool stream);
void http_pool_free(struct pool *pool); // without calls

// call.c
void http_call_start(struct http_call *call); // into a pool
void http_call_work(struct http_call *call);  // in the turn: what was marked
void http_call_mark(struct http_call *call);
// The end: the callback, unless it is gone, and free.
void http_call_finish(struct http_call *call, CURLcode code);
void http_call_fail(struct http_call *call, enum http_failure failure, const char *problem); // the turn finishes it

// answer.c
void http_answer_receive(struct http_call *call); // sets the callbacks of call->easy
void http_answer_response(const struct http_call *call, struct http_response *ret);

// headers.c
bool http_header_valid(const char *name, const char *value);
bool http_header_set_put(struct header_set *set, const char *name, const char *value);
void http_header_set_done(struct header_set *set);
// The lines of a call for libcurl. own wins over the endpoint's.
struct curl_slist *http_header_lines(const struct http_endpoint *endpoint, const struct http_request *request);

// failure.c
enum http_failure http_failure_of(CURLcode code, bool sent, const char *problem);

#endif
