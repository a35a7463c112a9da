// Builds JSON text piece by piece. What is used wrongly is latched, so that a long sequence needs one check.
#include "json/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_writer_init(struct json_writer *w, struct str *out) {
    *w = (struct json_writer){.out = out};
}

static uint64_t bit(const struct json_writer *w) {
    return UINT64_C(1) << (w->depth - 1);
}

// Before every value: a comma if need be. false: there must be none here.
static bool value(struct json_writer *w) {
    if (w->depth == 0) {
        w->bad = w->bad || w->done;
        w->done = true;
        return !w->bad;
    }
    if ((w->is_object & bit(w)) != 0) {
        w->bad = w->bad || !w->after_key;
        w->after_key = false;
        return !w->bad;
    }
    if ((w->has_items & bit(w)) != 0) {
        str_add_char(w->out, ',');
    }
    w->has_items |= bit(w);
    return !w->bad;
}

static void begin(struct json_writer *w, bool object) {
    if (!value(w)) {
        return;
    }
    if (w->depth == JSON_DEPTH_MAX) {
        w->bad = true;
        return;
    }
    str_add_char(w->out, object ? '{' : '[');
    w->depth++;
    w->has_items &= ~bit(w);
    w->is_object = object ? w->is_object | bit(w) : w->is_object & ~bit(w);
}

static void end(struct json_writer *w, bool object) {
    if (w->depth == 0 || ((w->is_object & bit(w)) != 0) != object || w->after_key) {
        w->bad = true;
        return;
    }
    str_add_char(w->out, object ? '}' : ']');
    w->has_items &= ~bit(w);
    w->depth--;
}

void json_begin_object(struct json_writer *w) {
    begin(w, true);
}

void json_end_object(struct json_writer *w) {
    end(w, true);
}

void json_begin_array(struct json_writer *w) {
    begin(w, false);
}

void json_end_array(struct json_writer *w) {
    end(w, false);
}

// What comes from a program's output or a file may be anything: a byte that is not UTF-8 becomes U+FFFD.
static void text(struct json_writer *w, const char *p, size_t n) {
    size_t good = str_utf8_valid(p, n);
    if (good == n) {
        json_write_text(w->out, p, n);
        return;
    }
    CLEANUP(str_done) struct str repaired = STR_INIT;
    for (size_t at = 0; at < n; at += good + 1) {
        good = str_utf8_valid(p + at, n - at);
        str_add_bytes(&repaired, p + at, good);
        if (at + good < n) {
            str_add(&repaired, "\xef\xbf\xbd");
        }
    }
    json_write_text(w->out, repaired.data, repaired.len);
}

void json_key(struct json_writer *w, const char *key) {
    if (w->depth == 0 || (w->is_object & bit(w)) == 0 || w->after_key || key == NULL) {
        w->bad = true;
        return;
    }
    if ((w->has_items & bit(w)) != 0) {
        str_add_char(w->out, ',');
    }
    w->has_items |= bit(w);
    text(w, key, strlen(key));
    str_add_char(w->out, ':');
    w->after_key = true;
}

void json_add_bytes(struct json_writer *w, const char *p, size_t n) {
    if (value(w)) {
        text(w, p, n);
    }
}

void json_add_string(struct json_writer *w, const char *p) {
    if (p == NULL) {
        json_add_null(w);
    } else {
        json_add_bytes(w, p, strlen(p));
    }
}

void json_add_raw(struct json_writer *w, const char *json) {
    if (value(w)) {
        str_add(w->out, json);
    }
}

void json_add_int(struct json_writer *w, int64_t v) {
    char buffer[24];
    snprintf(buffer, sizeof buffer, "%" PRId64, v);
    json_add_raw(w, buffer);
}

void json_add_double(struct json_writer *w, double v) {
    if (!isfinite(v)) {
        json_add_string(w, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
        return;
    }
    char buffer[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(buffer, sizeof buffer, "%.*g", precision, v);
        if (strtod(buffer, NULL) == v) {
            break;
        }
    }
    json_add_raw(w, buffer);
}

void json_add_bool(struct json_writer *w, bool v) {
    json_add_raw(w, v ? "true" : "false");
}

void json_add_null(struct json_writer *w) {
    json_add_raw(w, "null");
}

void json_add_node(struct json_writer *w, const struct json *node) {
    if (node == NULL) {
        json_add_null(w);
    } else if (value(w)) {
        json_write(w->out, node);
    }
}

bool json_writer_ok(const struct json_writer *w) {
    return !w->bad && w->depth == 0 && !w->after_key;
}
