// Errors on the wire: grpc-status, grpc-message, and google.rpc.Status in grpc-status-details-bin, all within the 8 KiB
// of trailers that clients accept; with more the client would not see the error at all.
#include "rpc/internal.h"

#include "api/api.h"
#include "base/mem.h"

#include <string.h>

enum {
    TRAILER_MAX = 8 * 1024 - 512, // the rest: grpc-status, names, what HPACK counts for each
    MESSAGE_MAX = 1024,
    UTF8_MAX = 4
};

static void cut_message(struct err *err) {
    if (strlen(err->message) > MESSAGE_MAX) {
        size_t n = str_utf8_valid(err->message, MESSAGE_MAX - UTF8_MAX);
        memcpy(err->message + n, "...", sizeof "...");
    }
}

static void drop_violations(struct err *err, size_t keep) {
    size_t kept = err->violation_count < ERR_VIOLATIONS_MAX ? err->violation_count : ERR_VIOLATIONS_MAX;
    for (size_t i = keep; i < kept; i++) {
        mem_free(err->violations[i].field);
        mem_free(err->violations[i].description);
    }
    err->violation_count = keep;
}

// As C core writes it: everything but printable ASCII becomes %XX.
static size_t escaped_length(const char *message) {
    size_t n = 0;
    for (const char *p = message; *p != '\0'; p++) {
        n += *p >= ' ' && *p <= '~' && *p != '%' ? 1 : 3;
    }
    return n;
}

static bool fits(const struct err *err, const struct str *details) {
    return (details->len + 2) / 3 * 4 + escaped_length(err->message) <= TRAILER_MAX;
}

void rpc_status_write(const struct err *err, struct err *ret_sent, struct str *details) {
    err_copy(ret_sent, err);
    if (ret_sent->message == NULL) {
        ret_sent->message = mem_strdup("");
    }
    cut_message(ret_sent);
    api_encode_status(ret_sent, details);
    while (!fits(ret_sent, details) && ret_sent->violation_count > 0) {
        drop_violations(ret_sent, ret_sent->violation_count / 2);
        str_clear(details);
        api_encode_status(ret_sent, details);
    }
    if (!fits(ret_sent, details)) {
        str_clear(details); // the message alone still says what is wrong
    }
}
