// The host services, over the json room: reading, reporting, and writing of free documents. Plans are in plan.c.
//
// A plugin is not trusted to be right: every service takes NULL and nonsense, and what cannot be taken is remembered
// as the call's first misuse.
#include "plugin/internal.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_MAX = 500, FIELD_MAX = 200 };

static const struct json *node(const struct trainer_value *value) {
    return (const struct json *)(const void *)value;
}

static const struct trainer_value *value_of(const struct json *json) {
    return (const struct trainer_value *)(const void *)json;
}

// ---- Log and errors

static void host_log(const struct trainer_host *host, uint32_t level, const char *text) {
    static const enum log_level levels[] = {
        [TRAINER_LOG_ERROR] = LOG_ERROR,
        [TRAINER_LOG_WARN] = LOG_WARN,
        [TRAINER_LOG_INFO] = LOG_INFO,
        [TRAINER_LOG_DEBUG] = LOG_DEBUG,
    };
    const struct entry *e = CONTAINER_OF(host, const struct entry, host);
    enum log_level at = level < ARRAY_LEN(levels) ? levels[level] : LOG_INFO;
    if (text != NULL && log_enabled(at)) {
        log_write(at, "plugin", "%s: %.*s", e->runtime.plugin->name, text_cut(text, REPORT_MAX), text);
    }
}

// "roles[0].replicas" as the plugin counts, to the user's index: role 0 of the canonical spec may be the user's third.
static char *user_field(const struct json *tree, const char *field) {
    static const char prefix[] = "roles[";
    char *end = NULL;
    if (tree == NULL || !str_starts(field, prefix)) {
        return mem_strndup(field, FIELD_MAX);
    }
    unsigned long at = strtoul(field + strlen(prefix), &end, 10);
    int64_t position;
    if (*end != ']' || !json_int(json_get(json_at(json_get(tree, "roles"), at), "position"), &position)) {
        return mem_strndup(field, FIELD_MAX);
    }
    return mem_printf("%s%lld%.*s", prefix, (long long)position, text_cut(end, FIELD_MAX), end);
}

static int32_t host_fail(struct trainer_errors *errors, const char *field, const char *text) {
    const char *said = text_line_valid(text, (size_t)64 * 1024) ? text : "is not accepted by the runtime";
    bool field_ok = field != NULL && (field[0] == '\0' || text_line_valid(field, FIELD_MAX));
    CLEANUP(mem_free_ptr) char *where = user_field(errors->tree, field_ok ? field : "");
    errors->failed = true;
    err_violate(errors->err, where, "%.*s", text_cut(said, REPORT_MAX), said);
    return TRAINER_FAILED;
}

static int32_t host_fail_with(struct trainer_errors *errors, const char *field, const char *text, const char *arg) {
    const char *at = text != NULL ? strstr(text, "%s") : NULL;
    if (at == NULL || arg == NULL) {
        return host_fail(errors, field, text);
    }
    CLEANUP(mem_free_ptr)
    char *whole = mem_printf("%.*s%.*s%s", (int)(at - text), text, text_cut(arg, REPORT_MAX), arg, at + 2);
    return host_fail(errors, field, whole);
}

// ---- Reading

static const struct trainer_value *host_get(const struct trainer_value *value, const char *path) {
    return path != NULL ? value_of(json_path(node(value), path)) : NULL;
}

static const struct trainer_value *host_first(const struct trainer_value *value) {
    return value != NULL ? value_of(node(value)->first) : NULL;
}

static const struct trainer_value *host_next(const struct trainer_value *value) {
    return value != NULL ? value_of(node(value)->next) : NULL;
}

static size_t host_count(const struct trainer_value *value) {
    return value != NULL ? node(value)->count : 0;
}

static uint32_t host_type(const struct trainer_value *value) {
    static const uint32_t types[] = {
        [JSON_NULL] = TRAINER_NULL,     [JSON_BOOL] = TRAINER_BOOL,   [JSON_NUMBER] = TRAINER_NUMBER,
        [JSON_STRING] = TRAINER_STRING, [JSON_ARRAY] = TRAINER_ARRAY, [JSON_OBJECT] = TRAINER_OBJECT,
    };
    return value != NULL ? types[node(value)->type] : TRAINER_NULL;
}

static const char *host_key(const struct trainer_value *value) {
    return value != NULL ? node(value)->key : NULL;
}

static const char *host_text(const struct trainer_value *value, const char *fallback) {
    return json_string(node(value), fallback);
}

static int64_t host_integer(const struct trainer_value *value, int64_t fallback) {
    int64_t v;
    return json_int(node(value), &v) ? v : fallback;
}

static double host_number(const struct trainer_value *value, double fallback) {
    double v;
    return json_double(node(value), &v) ? v : fallback;
}

static int32_t host_boolean(const struct trainer_value *value, int32_t fallback) {
    return json_bool(node(value), fallback != 0);
}

static int64_t host_replicas(const struct trainer_value *spec, const char *role) {
    int64_t sum = 0;
    JSON_EACH (one, json_get(node(spec), "roles")) {
        int64_t n;
        if ((role == NULL || str_same(json_string(json_get(one, "name"), NULL), role)) &&
            json_int(json_get(one, "replicas"), &n)) {
            sum += n;
        }
    }
    return sum;
}

// ---- Writing

void writer_init(struct trainer_writer *w, size_t limit) {
    *w = (struct trainer_writer){.limit = limit};
    json_writer_init(&w->json, &w->out);
    w->to = &w->json;
}

void writer_done(struct trainer_writer *w) {
    str_done(&w->out);
}

void writer_misuse(struct trainer_writer *w, const char *fmt, ...) {
    if (w->wrong[0] != '\0') {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(w->wrong, sizeof w->wrong, fmt, ap);
    va_end(ap);
}

bool writer_room(struct trainer_writer *w, size_t more) {
    if (w->out.len > w->limit || more > w->limit - w->out.len) {
        w->too_large = true;
    }
    return !w->too_large && w->wrong[0] == '\0';
}

struct json_writer *writer_target(struct trainer_writer *w, size_t more) {
    if (w->to == NULL) {
        writer_misuse(w, "wrote JSON into a plan, which takes processes only");
    }
    size_t pending = w->to != NULL && w->to != &w->json ? w->to->out->len : 0; // a variable being built
    return writer_room(w, more + pending) ? w->to : NULL;
}

static bool text_ok(struct trainer_writer *w, const char *text) {
    if (text == NULL) {
        writer_misuse(w, "wrote NULL as text");
        return false;
    }
    size_t n = strlen(text);
    if (str_utf8_valid(text, n) != n) {
        writer_misuse(w, "wrote text that is not UTF-8");
        return false;
    }
    return true;
}

enum { PIECE = 32 }; // more than any bracket, number or separator takes

static void host_begin_object(struct trainer_writer *w) {
    struct json_writer *to = writer_target(w, PIECE);
    if (to != NULL) {
        json_begin_object(to);
    }
}

static void host_end_object(struct trainer_writer *w) {
    struct json_writer *to = writer_target(w, PIECE);
    if (to != NULL) {
        json_end_object(to);
    }
}

static void host_begin_array(struct trainer_writer *w) {
    struct json_writer *to = writer_target(w, PIECE);
    if (to != NULL) {
        json_begin_array(to);
    }
}

static void host_end_array(struct trainer_writer *w) {
    struct json_writer *to = writer_target(w, PIECE);
    if (to != NULL) {
        json_end_array(to);
    }
}

static void host_put_key(struct trainer_writer *w, const char *key) {
    struct json_writer *to = text_ok(w, key) ? writer_target(w, strlen(key) + PIECE) : NULL;
    if (to != NULL) {
        json_key(to, key);
    }
}

static void host_put_text(struct trainer_writer *w, const char *text) {
    struct json_writer *to = text_ok(w, text) ? writer_target(w, strlen(text) + PIECE) : NULL;
    if (to != NULL) {
        json_add_string(to, text);
    }
}

static void host_put_integer(struct trainer_writer *w, int64_t value) {
    struct json_writer *to = writer_target(w, PIECE);
    if (to != NULL) {
        json_add_int(to, value);
    }
}

static void host_put_number(struct trainer_writer *w, double value) {
    struct json_writer *to = writer_target(w, PIECE);
    if (to != NULL) {
        json_add_double(to, value);
    }
}

static void host_put_boolean(struct trainer_writer *w, int32_t value) {
    struct json_writer *to = writer_target(w, PIECE);
    if (to != NULL) {
        json_add_bool(to, value != 0);
    }
}

static void host_put_value(struct trainer_writer *w, const struct trainer_value *value) {
    struct json_writer *to = writer_target(w, PIECE);
    if (to == NULL) {
        return;
    }
    if (value == NULL) {
        json_add_null(to);
    } else {
        json_add_node(to, node(value));
    }
}

void host_table(struct trainer_host *ret) {
    *ret = (struct trainer_host){
        .size = sizeof(struct trainer_host),
        .abi_major = TRAINER_ABI_MAJOR,
        .abi_minor = TRAINER_ABI_MINOR,
        .log = host_log,
        .fail = host_fail,
        .fail_with = host_fail_with,
        .get = host_get,
        .first = host_first,
        .next = host_next,
        .count = host_count,
        .type = host_type,
        .key = host_key,
        .text = host_text,
        .integer = host_integer,
        .number = host_number,
        .boolean = host_boolean,
        .replicas = host_replicas,
        .begin_object = host_begin_object,
        .end_object = host_end_object,
        .begin_array = host_begin_array,
        .end_array = host_end_array,
        .put_key = host_put_key,
        .put_text = host_put_text,
        .put_integer = host_put_integer,
        .put_number = host_put_number,
        .put_boolean = host_put_boolean,
        .put_value = host_put_value,
    };
    plan_services(ret);
    object_services(ret);
}
