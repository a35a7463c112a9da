#include "base/err.h"

#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REASON_MAX = 63 }; // as google.rpc.ErrorInfo bounds it

void err_done(struct err *err) {
    mem_free(err->message);
    mem_free(err->own_reason);
    for (size_t i = 0; i < err->violation_count && i < ERR_VIOLATIONS_MAX; i++) {
        mem_free(err->violations[i].field);
        mem_free(err->violations[i].description);
    }
    mem_free(err->violations);
    for (size_t i = 0; i < err->fact_count; i++) {
        mem_free(err->facts[i].value);
    }
    mem_free(err->resource_type);
    mem_free(err->resource_name);
    *err = (struct err)ERR_INIT;
}

bool err_set(const struct err *err) {
    return err->code != ERR_NONE;
}

// The one way a text gets into an error.
static char *mended(char *take_text) {
    if (take_text != NULL) {
        str_utf8_mend(take_text);
    }
    return take_text;
}

static char *format(const char *fmt, va_list ap) {
    char *text = NULL;
    int n = vasprintf(&text, fmt, ap);
    assert(n >= 0);
    return mended(text);
}

bool err_fail(struct err *err, enum err_code code, const char *reason, const char *fmt, ...) {
    assert(!err_set(err) && code != ERR_NONE);
    va_list ap;
    va_start(ap, fmt);
    err->message = format(fmt, ap);
    va_end(ap);
    err->code = code;
    err->reason = reason;
    return false;
}

bool err_fail_errno(struct err *err, enum err_code code, const char *reason, int number, const char *fmt, ...) {
    assert(!err_set(err) && code != ERR_NONE);
    va_list ap;
    va_start(ap, fmt);
    CLEANUP(mem_free_ptr) char *text = format(fmt, ap);
    va_end(ap);
    char buffer[128];
    err->message = mem_printf("%s: %s", text, strerror_r(number, buffer, sizeof buffer));
    err->code = code;
    err->reason = reason;
    return false;
}

bool err_violate(struct err *err, const char *field, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *description = format(fmt, ap);
    va_end(ap);
    size_t n = err->violation_count++;
    if (n < ERR_VIOLATIONS_MAX) {
        err->violations = mem_realloc_array(err->violations, n + 1, sizeof *err->violations);
        err->violations[n] = (struct err_violation){.field = mended(mem_strdup(field)), .description = description};
    } else {
        mem_free(description);
    }
    if (n == 0 && !err_set(err)) {
        err->code = ERR_INVALID;
        err->reason = "INVALID_SPEC";
    }
    // The message names the first one in full and counts the rest: the details carry as many as fit.
    mem_free(err->message);
    const struct err_violation *first = &err->violations[0];
    err->message = err->violation_count == 1 ? mem_printf("%s: %s", first->field, first->description)
                                             : mem_printf("%s: %s (and %zu more)", first->field, first->description,
                                                          err->violation_count - 1);
    return false;
}

void err_set_reason(struct err *err, const char *reason) {
    size_t n = strlen(reason);
    bool well = n > 0 && n <= REASON_MAX && strspn(reason, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
    mem_free(err->own_reason);
    err->own_reason = well ? mem_strdup(reason) : NULL;
    err->reason = well ? err->own_reason : "OTHER";
}

void err_fact(struct err *err, const char *key, const char *value) {
    assert(err->fact_count < ARRAY_LEN(err->facts));
    err->facts[err->fact_count++] = (struct err_fact){.key = key, .value = mended(mem_strdup(value))};
}

void err_resource(struct err *err, const char *type, const char *name) {
    mem_free(err->resource_type);
    mem_free(err->resource_name);
    err->resource_type = mem_strdup(type);
    err->resource_name = mended(mem_strdup(name));
}

void err_wrap(struct err *err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    CLEANUP(mem_free_ptr) char *context = format(fmt, ap);
    va_end(ap);
    char *old = err->message;
    err->message = mem_printf("%s: %s", context, old != NULL ? old : "");
    mem_free(old);
}

void err_move(struct err *to, struct err *from) {
    assert(!err_set(to));
    *to = *from;
    *from = (struct err)ERR_INIT;
}

void err_copy(struct err *to, const struct err *from) {
    assert(!err_set(to));
    *to = *from;
    to->message = mem_strdup(from->message);
    to->own_reason = mem_strdup(from->own_reason);
    to->reason = from->own_reason != NULL ? to->own_reason : from->reason;
    to->resource_type = mem_strdup(from->resource_type);
    to->resource_name = mem_strdup(from->resource_name);
    size_t kept = from->violation_count < ERR_VIOLATIONS_MAX ? from->violation_count : ERR_VIOLATIONS_MAX;
    to->violations = kept != 0 ? mem_realloc_array(NULL, kept, sizeof *to->violations) : NULL;
    for (size_t i = 0; i < kept; i++) {
        to->violations[i].field = mem_strdup(from->violations[i].field);
        to->violations[i].description = mem_strdup(from->violations[i].description);
    }
    for (size_t i = 0; i < from->fact_count; i++) {
        to->facts[i].value = mem_strdup(from->facts[i].value);
    }
}

const char *err_code_name(enum err_code code) {
    static const char *const names[] = {
        "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
        "DATA_LOSS", "UNAUTHENTICATED"};
    return (size_t)code < ARRAY_LEN(names) ? names[code] : "UNKNOWN";
}
