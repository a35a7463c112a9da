// The life of a call: checked and queued, into a pool, its deadlines, its end.
#include "http/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 64 * 1024, METHOD_MAX_BYTES = 16 };

static struct loop *loop_of(const struct http_call *call) {
    return call->endpoint->client->loop;
}

// ---- Deadlines

// When the call must have ended, or have moved on, as far as is known now; INT64_MAX: no such time.
static int64_t ends_at(const struct http_call *call, enum http_failure *why) {
    int64_t total = call->total_ms > 0 ? call->begun_at + call->total_ms * CLOCK_MS : INT64_MAX;
    int64_t idle = call->sent && !call->paused ? call->moved_at + call->idle_ms * CLOCK_MS : INT64_MAX;
    *why = idle < total ? HTTP_IDLE : HTTP_TIMEOUT;
    return idle < total ? idle : total;
}

// Bytes do not restart the timer: when it fires too early it is set to the rest.
static void set_deadline(struct http_call *call) {
    enum http_failure why;
    int64_t at = ends_at(call, &why);
    if (at == INT64_MAX) {
        loop_timer_stop(&call->deadline);
        return;
    }
    int64_t left = at - clock_mono();
    loop_timer_start(&call->deadline, left > 0 ? left / CLOCK_MS + 1 : 0);
}

static void on_deadline(void *ctx) {
    struct http_call *call = ctx;
    enum http_failure why;
    if (clock_mono() < ends_at(call, &why)) {
        set_deadline(call);
        return;
    }
    http_call_fail(call, why, why == HTTP_IDLE ? "nothing came any more" : "it took too long");
}

// ---- Making one

static bool path_valid(const char *path) {
    size_t n = 0;
    for (; path[n] != '\0'; n++) {
        if (path[n] <= ' ' || path[n] > '~' || path[n] == '#' || n == PATH_MAX_BYTES) {
            return false;
        }
    }
    return path[0] == '/';
}

static bool method_valid(const char *method) {
    size_t n = 0;
    while (isupper((unsigned char)method[n])) {
        n++;
    }
    return n > 0 && n <= METHOD_MAX_BYTES && method[n] == '\0';
}

static const char *what_is_wrong(const struct http_request *request, bool stream) {
    if (!method_valid(request->method)) {
        return "the method is no word of capital letters";
    }
    if (!path_valid(request->path)) {
        return "the path does not start with / or has characters that must be percent-encoded";
    }
    for (size_t i = 0; i < request->header_count; i++) {
        if (!http_header_valid(request->headers[i].name, request->headers[i].value)) {
            return "a header has a name or value that cannot be sent";
        }
    }
    if (request->connect_ms <= 0 || request->idle_ms <= 0 || (request->total_ms <= 0 && !stream)) {
        return "a deadline is missing";
    }
    return NULL;
}

void http_call_mark(struct http_call *call) {
    if (!list_linked(&call->marked)) {
        list_push(&call->endpoint->marked, &call->marked);
    }
    http_endpoint_want_turn(call->endpoint);
}

void http_call_fail(struct http_call *call, enum http_failure failure, const char *problem) {
    call->failure = failure;
    call->problem = problem;
    http_call_mark(call);
}

static struct http_call *call_new(struct http_endpoint *endpoint, const struct http_request *request, bool stream,
                                  void *ctx) {
    struct http_call *call = NEW(struct http_call);
    call->endpoint = endpoint;
    call->id = ++endpoint->client->last_id;
    call->stream = stream;
    call->ctx = ctx;
    call->gzip = request->gzip && !stream;
    call->method = mem_strdup(request->method);
    call->path = mem_strdup(request->path);
    call->connect_ms = request->connect_ms;
    call->total_ms = request->total_ms;
    call->idle_ms = request->idle_ms;
    call->max_response = request->max_response;
    call->begun_at = clock_mono();
    if (request->body != NULL) {
        call->body = mem_dup(request->body, request->body_len);
        call->body_len = request->body_len;
    }
    arena_init(&call->header_memory, 0); // got_bytes is the bound
    list_init(&call->marked);
    loop_timer_init(&call->deadline, loop_of(call), "http deadline", on_deadline, call);
    list_push(&endpoint->waiting, &call->link);

    size_t *count = stream ? &endpoint->stream_count : &endpoint->request_count;
    size_t most = stream ? endpoint->max_streams : endpoint->max_requests;
    const char *wrong = what_is_wrong(request, stream);
    if (wrong != NULL) {
        http_call_fail(call, HTTP_INVALID, wrong);
    } else if (*count >= most) {
        http_call_fail(call, HTTP_BUSY, "too many calls to this server are under way");
    } else {
        call->headers = http_header_lines(endpoint, request);
        set_deadline(call);
        http_endpoint_want_turn(endpoint);
    }
    ++*count;
    return call;
}

struct http_call *http_request(struct http_endpoint *endpoint, const struct http_request *request,
                               void (*done)(void *ctx, const struct http_response *response), void *ctx) {
    if (endpoint->client->closing) {
        return NULL;
    }
    struct http_call *call = call_new(endpoint, request, false, ctx);
    call->done = done;
    return call;
}

struct http_call *http_stream(struct http_endpoint *endpoint, const struct http_request *request,
                              const struct http_stream_events *events, void *ctx) {
    if (endpoint->client->closing) {
        return NULL;
    }
    struct http_call *call = call_new(endpoint, request, true, ctx);
    call->events = *events;
    return call;
}

void http_cancel(struct http_call *call) {
    if (call != NULL) {
        call->gone = true;
        http_call_mark(call);
    }
}

void http_pause(struct http_call *call) {
    if (call != NULL) {
        call->paused = true;
    }
}

void http_resume(struct http_call *call) {
    if (call != NULL && call->paused && !call->gone) {
        call->paused = false;
        call->moved_at = clock_mono();
        set_deadline(call);
        http_call_mark(call);
    }
}

// ---- Under way

// Comes when the connection is there and before anything is written. A second time when libcurl found a connection of
// the pool dead after it had written to it, and is about to write all of it again to another one: a server that died
// after it had done the work looks the same.
static int before_sending(void *ctx, char *ip UNUSED, char *local_ip UNUSED, int port UNUSED, int local_port UNUSED) {
    struct http_call *call = ctx;
    bool repeatable = strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0;
    if (call->gone || (call->sent && !repeatable)) {
        call->failure = HTTP_RESET;
        call->problem = "the connection broke after the request was sent";
        return CURL_PREREQFUNC_ABORT;
    }
    call->sent = true;
    call->moved_at = clock_mono();
    set_deadline(call);
    return CURL_PREREQFUNC_OK;
}

static void set_method(struct http_call *call) {
    if (call->body != NULL) {
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, call->body);
    } else if (strcmp(call->method, "POST") == 0 || strcmp(call->method, "PUT") == 0) {
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0); // so that Content-Length: 0 is said
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, "");
    } else if (strcmp(call->method, "HEAD") == 0) {
        curl_easy_setopt(call->easy, CURLOPT_NOBODY, 1L);
    }
    curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, call->method);
}

void http_call_start(struct http_call *call) {
    struct http_endpoint *endpoint = call->endpoint;
    call->easy = curl_easy_init();
    if (call->easy == NULL) {
        abort();
    }
    CLEANUP(mem_free_ptr) char *url = mem_printf("%s%s", endpoint->base, call->path);
    http_endpoint_settings(endpoint, call->easy, call->stream);
    curl_easy_setopt(call->easy, CURLOPT_URL, url);
    curl_easy_setopt(call->easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(call->easy, CURLOPT_ERRORBUFFER, call->curl_problem);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms);
    curl_easy_setopt(call->easy, CURLOPT_PREREQFUNCTION, before_sending);
    curl_easy_setopt(call->easy, CURLOPT_PREREQDATA, call);
    if (call->gzip) {
        curl_easy_setopt(call->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    }
    set_method(call);
    http_answer_receive(call);
    call->pool = http_endpoint_pool(endpoint, call->stream);
    list_remove(&call->link);
    list_push(&call->pool->calls, &call->link);
    endpoint->in_pool += call->stream ? 0 : 1;
    curl_multi_add_handle(call->pool->multi, call->easy);
}

void http_call_work(struct http_call *call) {
    if (call->gone || call->failure != HTTP_OK) {
        http_call_finish(call, CURLE_OK);
    } else if (call->held && !call->paused) {
        call->held = false;
        curl_easy_pause(call->easy, CURLPAUSE_CONT); // hands over what was held: may call us, and mark this call again
    }
}

// ---- The end

static void write_log(const struct http_call *call, const struct http_response *response) {
    log_debug("http", "%c%llu %s %.*s: %s%s%s, status %d, %lld ms, %zu bytes", call->stream ? 's' : 'r',
              (unsigned long long)call->id, call->method, (int)strcspn(call->path, "?"), call->path,
              call->gone ? "canceled" : http_failure_name(response->failure), *response->problem != '\0' ? ", " : "",
              response->problem, response->status, (long long)response->took_ms, call->answer_bytes);
}

static void call_free(struct http_call *call) {
    curl_slist_free_all(call->headers);
    arena_done(&call->header_memory);
    str_done(&call->answer);
    mem_free(call->method);
    mem_free(call->path);
    mem_free(call->body);
    mem_free(call);
}

// A server that has stopped answering leaves a connection that looks alive, and the next requests would join it.
static void judge_connection(struct http_call *call) {
    if (call->pool != NULL && !call->stream && call->sent &&
        (call->failure == HTTP_TIMEOUT || call->failure == HTTP_IDLE) && call->pool->heard_at <= call->moved_at) {
        http_endpoint_retire(call->endpoint, call->pool);
    }
}

void http_call_finish(struct http_call *call, CURLcode code) {
    struct http_endpoint *endpoint = call->endpoint;
    if (call->failure == HTTP_OK) {
        call->failure = http_failure_of(code, call->sent, call->curl_problem);
    }
    judge_connection(call);
    loop_timer_stop(&call->deadline);
    list_remove(&call->link);
    list_remove(&call->marked);
    if (call->easy != NULL) {
        curl_multi_remove_handle(call->pool->multi, call->easy);
        curl_easy_cleanup(call->easy);
        endpoint->in_pool -= call->stream ? 0 : 1;
    }
    --*(call->stream ? &endpoint->stream_count : &endpoint->request_count);

    struct http_response response;
    http_answer_response(call, &response);
    if (call->failure != HTTP_OK) {
        response.problem = call->problem != NULL           ? call->problem
                           : call->curl_problem[0] != '\0' ? call->curl_problem
                                                           : curl_easy_strerror(code);
    }
    write_log(call, &response);
    if (!call->gone) {
        call->gone = true; // a cancel in its own last callback changes nothing
        (call->stream ? call->events.end : call->done)(call->ctx, &response);
    }
    list_remove(&call->marked);
    call_free(call);
    http_endpoint_want_turn(endpoint);
}
