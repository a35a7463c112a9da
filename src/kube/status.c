#include "kube/status.h"

#include "base/str.h"
#include "json/json.h"

#include <string.h>

enum { MESSAGE_MAX = 2000, BODY_TEXT_MAX = 200 };

struct meaning {
    const char *reason; // of the Status
    int http;           // when there is no reason
    enum err_code code;
    const char *ours;
};

// The first row that fits by reason, else by number. https://kubernetes.io/docs/reference, "metav1.StatusReason".
static const struct meaning meanings[] = {
    {"Unauthorized", 401, ERR_UNAUTHENTICATED, "KUBE_UNAUTHORIZED"},
    {"Forbidden", 403, ERR_DENIED, "KUBE_FORBIDDEN"},
    {"NotFound", 404, ERR_NOT_FOUND, "KUBE_NOT_FOUND"},
    {"AlreadyExists", 0, ERR_EXISTS, "KUBE_ALREADY_EXISTS"},
    {"Conflict", 409, ERR_ABORTED, "KUBE_CONFLICT"},
    {"Expired", 410, ERR_RANGE, "KUBE_EXPIRED"},
    {"Gone", 0, ERR_RANGE, "KUBE_EXPIRED"},
    {"Invalid", 422, ERR_INVALID, "KUBE_INVALID"},
    {"BadRequest", 400, ERR_INVALID, "KUBE_BAD_REQUEST"},
    {"RequestEntityTooLarge", 413, ERR_INVALID, "KUBE_TOO_LARGE"},
    {"MethodNotAllowed", 405, ERR_PRECONDITION, "KUBE_METHOD_NOT_ALLOWED"},
    {"NotAcceptable", 406, ERR_INTERNAL, "KUBE_NOT_ACCEPTABLE"},
    {"UnsupportedMediaType", 415, ERR_INTERNAL, "KUBE_UNSUPPORTED_MEDIA"},
    {"TooManyRequests", 429, ERR_EXHAUSTED, "KUBE_TOO_MANY_REQUESTS"},
    {"ServerTimeout", 0, ERR_UNAVAILABLE, "KUBE_SERVER_TIMEOUT"},
    {"Timeout", 504, ERR_UNAVAILABLE, "KUBE_TIMEOUT"},
    {"ServiceUnavailable", 503, ERR_UNAVAILABLE, "KUBE_UNAVAILABLE"},
    {"InternalError", 500, ERR_UNAVAILABLE, "KUBE_INTERNAL_ERROR"},
    {NULL, 502, ERR_UNAVAILABLE, "KUBE_BAD_GATEWAY"},
};

static const struct meaning *meaning_of(int http, const char *reason) {
    static const struct meaning refused = {NULL, 0, ERR_INTERNAL, "KUBE_REFUSED"};
    static const struct meaning broken = {NULL, 0, ERR_UNAVAILABLE, "KUBE_SERVER_ERROR"};
    for (size_t i = 0; !str_is_empty(reason) && i < ARRAY_LEN(meanings); i++) {
        if (str_same(meanings[i].reason, reason)) {
            return &meanings[i];
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
        if (meanings[i].http == http) {
            return &meanings[i];
        }
    }
    return http >= 500 ? &broken : &refused;
}

// A webhook that says no is about what the user sent, whatever code it chose.
static bool is_webhook_denial(int http, const char *message) {
    return http >= 400 && http < 500 && strstr(message, "admission webhook") != NULL &&
           strstr(message, "denied the request") != NULL;
}

// The fields that the server names are of the object, not of the spec: the message says whose they are.
static void add_causes(struct err *err, const struct json *status, const char *what) {
    size_t before = err->violation_count;
    JSON_EACH (cause, json_path(status, "details.causes")) {
        const char *field = json_string(json_get(cause, "field"), "");
        if (field[0] != '\0' && err->code == ERR_INVALID) {
            err_violate(err, field, "%s", json_string(json_get(cause, "message"), "is not accepted"));
        }
    }
    if (err->violation_count != before) {
        err_wrap(err, "%s", what);
    }
}

void kube_status_error(struct err *err, int http, const char *body, size_t n, int64_t retry_after_s, const char *what) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err unread = ERR_INIT;
    const struct json *status = NULL;
    if (n == 0 || !json_parse(&a, body, n, &json_limits_default, &status, &unread) ||
        !str_same(json_string(json_get(status, "kind"), ""), "Status")) {
        status = NULL;
    }
    const char *message = json_string(json_get(status, "message"), "");
    const struct meaning *m = meaning_of(http, json_string(json_get(status, "reason"), ""));
    enum err_code code = is_webhook_denial(http, message) ? ERR_INVALID : m->code;
    const char *ours = is_webhook_denial(http, message) ? "KUBE_WEBHOOK_DENIED" : m->ours;
    if (message[0] != '\0') {
        size_t cut = strlen(message) < MESSAGE_MAX ? strlen(message) : MESSAGE_MAX;
        err_fail(err, code, ours, "%s: %.*s", what, (int)str_utf8_valid(message, cut), message);
    } else {
        size_t cut = str_utf8_valid(body, n < BODY_TEXT_MAX ? n : BODY_TEXT_MAX);
        err_fail(err, code, ours, "%s: the API server answered %d%s%.*s", what, http, cut != 0 ? ": " : "", (int)cut,
                 cut != 0 ? body : "");
    }
    int64_t seconds = retry_after_s;
    if (seconds == 0 && json_int(json_path(status, "details.retryAfterSeconds"), &seconds) && seconds < 0) {
        seconds = 0;
    }
    err->retry_after_ms = seconds > 0 && seconds <= 3600 ? seconds * 1000 : 0;
    add_causes(err, status, what);
}
