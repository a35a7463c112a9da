// What libcurl hands over of an answer: bounded, collected for a request, passed on for a stream.
#include "http/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

enum { RETRY_AFTER_MAX_MS = 3600 * 1000 };

static void moved(struct http_call *call) {
    call->moved_at = call->pool->heard_at = clock_mono();
}

// A header callback that returns less than it was given makes libcurl end the transfer.
enum { REFUSE = 0 };

static size_t refuse(struct http_call *call, enum http_failure failure, const char *problem) {
    call->failure = failure;
    call->problem = problem;
    return REFUSE;
}

static bool keep_header(struct http_call *call, const char *line, size_t n) {
    const char *colon = memchr(line, ':', n);
    if (colon == NULL) { // the status line
        return true;
    }
    if (call->got_count == HTTP_HEADER_COUNT_MAX) {
        return false;
    }
    const char *value = colon + 1, *end = line + n;
    while (value < end && (*value == ' ' || *value == '\t')) {
        value++;
    }
    while (end > value && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    if (call->got == NULL) {
        call->got = arena_alloc(&call->header_memory, HTTP_HEADER_COUNT_MAX * sizeof *call->got);
    }
    call->got[call->got_count++] = (struct http_header){
        arena_strndup(&call->header_memory, line, (size_t)(colon - line)),
        arena_strndup(&call->header_memory, value, (size_t)(end - value)),
    };
    return true;
}

static size_t end_of_head(struct http_call *call, size_t n) {
    long status = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) { // an informational one: the real one follows
        call->got_count = 0;
        return n;
    }
    call->status = (int)status;
    call->head_done = true;
    if (call->stream && !call->gone) {
        struct http_response response;
        http_answer_response(call, &response);
        call->events.head(call->ctx, &response);
    }
    return call->gone ? REFUSE : n;
}

static const char too_many[] = "the answer has too many headers";

static size_t on_header(char *line, size_t size, size_t count, void *ctx) {
    struct http_call *call = ctx;
    size_t n = size * count, len = n;
    moved(call);
    if (call->gone) {
        return REFUSE;
    }
    call->got_bytes += n;
    if (call->got_bytes > HTTP_HEADERS_MAX) {
        return refuse(call, HTTP_TOO_LARGE, too_many);
    }
    if (call->head_done) { // a trailer
        return n;
    }
    while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == '\n')) {
        len--;
    }
    if (len == 0) {
        return end_of_head(call, n);
    }
    return keep_header(call, line, len) ? n : refuse(call, HTTP_TOO_LARGE, too_many);
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx) {
    struct http_call *call = ctx;
    size_t n = size * count;
    if (call->gone) {
        return REFUSE;
    }
    if (call->paused) {
        call->held = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    moved(call);
    call->answer_bytes += n;
    if (call->stream) {
        if (n > 0) {
            call->events.data(call->ctx, data, n);
        }
        return call->gone ? (size_t)CURL_WRITEFUNC_ERROR : n;
    }
    if (n > call->max_response - call->answer.len) {
        refuse(call, HTTP_TOO_LARGE, "the answer is larger than the limit");
        return CURL_WRITEFUNC_ERROR;
    }
    str_add_bytes(&call->answer, data, n);
    return n;
}

void http_answer_receive(struct http_call *call) {
    curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
    // Else the headers of a proxy would be taken for the server's.
    curl_easy_setopt(call->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

void http_answer_response(const struct http_call *call, struct http_response *ret) {
    *ret = (struct http_response){
        .failure = call->failure,
        .sent = call->sent,
        .status = call->status,
        .headers = call->got,
        .header_count = call->got_count,
        .body = str_text(&call->answer),
        .body_len = call->answer.len,
        .problem = "",
        .took_ms = (clock_mono() - call->begun_at) / CLOCK_MS,
    };
}

const char *http_response_header(const struct http_response *response, const char *name) {
    for (size_t i = 0; i < response->header_count; i++) {
        if (str_same_nocase(response->headers[i].name, name)) {
            return response->headers[i].value;
        }
    }
    return NULL;
}

int64_t http_response_retry_after(const struct http_response *response) {
    const char *text = http_response_header(response, "Retry-After");
    int64_t ms = -1;
    if (text == NULL) {
        return -1;
    }
    if (str_to_int64(text, 0, INT64_MAX / 1000, &ms)) {
        ms *= 1000;
    } else {
        time_t when = curl_getdate(text, NULL);
        if (when == (time_t)-1) {
            return -1;
        }
        ms = ((int64_t)when * CLOCK_SECOND - clock_wall()) / CLOCK_MS;
        ms = ms > 0 ? ms : 0;
    }
    return ms < RETRY_AFTER_MAX_MS ? ms : RETRY_AFTER_MAX_MS;
}
