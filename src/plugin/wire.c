// Messages between the daemon and the process of an isolated plugin: four bytes of length, then JSON. Both ends are on
// one machine and of one build.
#include "plugin/internal.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

// Waits until the socket is ready. Without a deadline for ever.
static enum wire_result wait_for(int fd, short events, int64_t deadline) {
    for (;;) {
        int ms = -1;
        if (deadline != 0) {
            int64_t left = (deadline - clock_mono() + CLOCK_MS - 1) / CLOCK_MS;
            if (left <= 0) {
                return WIRE_TIMEOUT;
            }
            ms = (int)left;
        }
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, ms);
        if (n > 0) {
            return WIRE_OK;
        }
        if (n < 0 && errno != EINTR) {
            return WIRE_CLOSED;
        }
    }
}

static enum wire_result send_all(int fd, const void *data, size_t n, int64_t deadline) {
    const char *p = data;
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
            continue;
        }
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return WIRE_CLOSED;
        }
        enum wire_result r = wait_for(fd, POLLOUT, deadline);
        if (r != WIRE_OK) {
            return r;
        }
    }
    return WIRE_OK;
}

static enum wire_result receive_all(int fd, void *data, size_t n, int64_t deadline) {
    char *p = data;
    while (n > 0) {
        ssize_t got = recv(fd, p, n, MSG_DONTWAIT);
        if (got > 0) {
            p += got;
            n -= (size_t)got;
            continue;
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            return WIRE_CLOSED;
        }
        enum wire_result r = wait_for(fd, POLLIN, deadline);
        if (r != WIRE_OK) {
            return r;
        }
    }
    return WIRE_OK;
}

enum wire_result wire_send(int fd, const struct str *text, int64_t deadline) {
    uint32_t n = (uint32_t)text->len;
    if (text->len > WIRE_MAX) {
        return WIRE_CLOSED;
    }
    enum wire_result r = send_all(fd, &n, sizeof n, deadline);
    return r == WIRE_OK ? send_all(fd, text->data, text->len, deadline) : r;
}

enum wire_result wire_receive(int fd, struct str *ret, int64_t deadline) {
    uint32_t n = 0;
    enum wire_result r = receive_all(fd, &n, sizeof n, deadline);
    if (r != WIRE_OK || n > WIRE_MAX) {
        return r != WIRE_OK ? r : WIRE_CLOSED;
    }
    str_clear(ret);
    str_reserve(ret, n);
    r = receive_all(fd, ret->data, n, deadline);
    if (r == WIRE_OK) {
        ret->len = n;
        ret->data[n] = '\0';
    }
    return r;
}

// ---- Errors. Reasons are static texts on each side.

static const char *const reasons[] = {"PLUGIN_FAULT", "PLAN_TOO_LARGE", "BAD_PLUGIN"};

static const char *known_reason(const char *text) {
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (str_same(reasons[i], text)) {
            return reasons[i];
        }
    }
    return reasons[0];
}

void wire_put_error(struct json_writer *w, const struct err *err) {
    json_key(w, "code");
    json_add_int(w, err->code);
    json_key(w, "reason");
    json_add_string(w, err->reason);
    json_key(w, "message");
    json_add_string(w, err->message);
    json_key(w, "violations");
    json_begin_array(w);
    for (size_t i = 0; i < err->violation_count && i < ERR_VIOLATIONS_MAX; i++) {
        json_begin_array(w);
        json_add_string(w, err->violations[i].field);
        json_add_string(w, err->violations[i].description);
        json_end_array(w);
    }
    json_end_array(w);
}

void wire_take_error(const struct json *answer, const char *plugin, struct err *err) {
    JSON_EACH (violation, json_get(answer, "violations")) {
        err_violate(err, json_string(json_at(violation, 0), ""), "%s", json_string(json_at(violation, 1), ""));
    }
    if (err_set(err)) {
        return;
    }
    int64_t code = ERR_INTERNAL;
    if (!json_int(json_get(answer, "code"), &code) || code <= ERR_NONE || code > ERR_UNAUTHENTICATED) {
        code = ERR_INTERNAL;
    }
    err_fail(err, (enum err_code)code, known_reason(json_string(json_get(answer, "reason"), NULL)), "%s",
             json_string(json_get(answer, "message"), "no reason given"));
    err_fact(err, "plugin", plugin);
}
