#include "job/shape.h"

#include "base/mem.h"
#include "job/quantity.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS_MAX = 32, ITEMS_DEFAULT = 1000 };

size_t shape_enter(struct shape_path *path, const char *fmt, ...) {
    size_t mark = path->text.len;
    char part[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(part, sizeof part, fmt, ap);
    va_end(ap);
    if (mark != 0 && part[0] != '[') {
        str_add_char(&path->text, '.');
    }
    str_add(&path->text, part);
    return mark;
}

void shape_leave(struct shape_path *path, size_t mark) {
    path->text.len = mark;
    if (path->text.data != NULL) {
        path->text.data[mark] = '\0';
    }
}

bool shape_int(const struct json *node, int64_t *ret) {
    if (node != NULL && node->type == JSON_STRING) {
        return str_to_int64(node->text, INT64_MIN, INT64_MAX, ret);
    }
    return json_int(node, ret);
}

bool shape_duration(const char *text, int64_t *ret_ns) {
    const char *p = text;
    bool negative = *p == '-';
    p += negative;
    int64_t seconds = 0;
    int64_t nanos = 0;
    const char *begin = p;
    for (; *p >= '0' && *p <= '9'; p++) {
        seconds = seconds * 10 + (*p - '0');
        if (seconds > INT64_C(315576000000)) { // the proto's own bound, 10,000 years
            return false;
        }
    }
    if (p == begin) {
        return false;
    }
    if (*p == '.') {
        int64_t unit = 100000000;
        const char *fraction = ++p;
        for (; *p >= '0' && *p <= '9'; p++, unit /= 10) {
            nanos += (*p - '0') * unit;
        }
        if (p == fraction || p - fraction > 9) { // finer than a Duration can say
            return false;
        }
    }
    if (strcmp(p, "s") != 0) {
        return false;
    }
    // Longer than 292 years does not fit; nobody waits for it either.
    seconds = seconds > INT64_C(9000000000) ? INT64_C(9000000000) : seconds;
    *ret_ns = (seconds * 1000000000 + nanos) * (negative ? -1 : 1);
    return true;
}

static void wrong_type(const char *expected, const struct json *node, struct shape_path *path, struct err *err) {
    err_violate(err, str_text(&path->text), "must be %s, not %s", expected, json_type_name(node->type));
}

static bool is_list(const struct json *node, const char *expected, const struct shape *s, struct shape_path *path,
                    struct err *err) {
    enum json_type type = s->kind == SHAPE_MAP ? JSON_OBJECT : JSON_ARRAY;
    size_t most = s->items != 0 ? s->items : ITEMS_DEFAULT;
    path->unfit = path->unfit || node->type != type || node->count > most;
    if (node->type != type) {
        wrong_type(expected, node, path, err);
        return false;
    }
    if (node->count > most) {
        err_violate(err, str_text(&path->text), "has %zu entries, at most %zu are allowed", node->count, most);
        return false;
    }
    return true;
}

static void check_text(const struct json *node, int64_t max, struct shape_path *path, struct err *err) {
    if (node->type != JSON_STRING) {
        wrong_type("a text", node, path, err);
    } else if (max != 0 && node->length > (size_t)max) {
        err_violate(err, str_text(&path->text), "is %zu bytes long, at most %" PRId64 " are allowed", node->length,
                    max);
    }
}

static void check_texts(const struct shape *s, const struct json *node, struct shape_path *path, struct err *err) {
    if (!is_list(node, "a list of texts", s, path, err)) {
        return;
    }
    size_t i = 0;
    JSON_EACH (child, node) {
        size_t mark = shape_enter(path, "[%zu]", i++);
        check_text(child, s->max, path, err);
        shape_leave(path, mark);
    }
}

static void check_map(const struct shape *s, const struct json *node, struct shape_path *path, struct err *err) {
    if (!is_list(node, "an object of texts", s, path, err)) {
        return;
    }
    JSON_EACH (child, node) {
        size_t mark = shape_enter(path, "[\"%.320s\"]", child->key);
        check_text(child, s->max, path, err);
        shape_leave(path, mark);
    }
}

static void check_int(const struct shape *s, const struct json *node, struct shape_path *path, struct err *err) {
    int64_t v;
    if (!shape_int(node, &v)) {
        err_violate(err, str_text(&path->text), "must be a whole number from %" PRId64 " to %" PRId64, s->min, s->max);
    } else if (v < s->min || v > s->max) {
        err_violate(err, str_text(&path->text), "is %" PRId64 ", must be from %" PRId64 " to %" PRId64, v, s->min,
                    s->max);
    }
}

static void check_quantity(const struct shape *s, const struct json *node, struct shape_path *path, struct err *err) {
    if (node->type != JSON_STRING) {
        wrong_type("a quantity in quotes, such as \"2\" or \"1.5Gi\"", node, path, err);
        return;
    }
    int64_t v;
    enum quantity_result r = s->kind == SHAPE_CPU ? quantity_milli(node->text, &v) : quantity_whole(node->text, &v);
    if (r != QUANTITY_OK) {
        err_violate(err, str_text(&path->text), "\"%.40s\" %s", node->text, quantity_advice(r));
    }
}

static void check_duration(const struct shape *s, const struct json *node, struct shape_path *path, struct err *err) {
    int64_t ns;
    if (node->type != JSON_STRING || !shape_duration(node->text, &ns)) {
        err_violate(err, str_text(&path->text), "must be a duration in seconds such as \"90s\" or \"0.5s\"");
    } else if (ns < s->min * 1000000000 || ns > s->max * 1000000000) {
        err_violate(err, str_text(&path->text), "is %.24s, must be from %" PRId64 " to %" PRId64 " seconds", node->text,
                    s->min, s->max);
    }
}

static void check_enum(const struct shape *s, const struct json *node, struct shape_path *path, struct err *err) {
    CLEANUP(str_done) struct str known = STR_INIT;
    for (size_t i = 0; s->values[i] != NULL; i++) {
        if (str_same(s->values[i], json_string(node, NULL))) {
            return;
        }
        str_printf(&known, "%s%s", i == 0 ? "" : ", ", s->values[i]);
    }
    err_violate(err, str_text(&path->text), "must be one of %s", str_text(&known));
}

static void check_list(const struct shape *s, const struct json *node, struct shape_path *path, struct err *err) {
    if (!is_list(node, "a list", s, path, err)) {
        return;
    }
    size_t i = 0;
    JSON_EACH (child, node) {
        size_t mark = shape_enter(path, "[%zu]", i++);
        if (child->type == JSON_OBJECT) {
            shape_check(s->fields, child, path, err);
        } else {
            wrong_type("an object", child, path, err);
        }
        shape_leave(path, mark);
    }
}

static void check_value(const struct shape *s, const struct json *node, struct shape_path *path, struct err *err) {
    switch (s->kind) {
    case SHAPE_TEXT:
        check_text(node, s->max, path, err);
        return;
    case SHAPE_TEXTS:
        check_texts(s, node, path, err);
        return;
    case SHAPE_MAP:
        check_map(s, node, path, err);
        return;
    case SHAPE_INT:
        check_int(s, node, path, err);
        return;
    case SHAPE_BOOL:
        if (node->type != JSON_BOOL) {
            wrong_type("true or false", node, path, err);
        }
        return;
    case SHAPE_CPU:
    case SHAPE_WHOLE:
        check_quantity(s, node, path, err);
        return;
    case SHAPE_DURATION:
        check_duration(s, node, path, err);
        return;
    case SHAPE_ENUM:
        check_enum(s, node, path, err);
        return;
    case SHAPE_LIST:
        check_list(s, node, path, err);
        return;
    case SHAPE_OBJECT:
    case SHAPE_RAW:
        if (node->type != JSON_OBJECT) {
            wrong_type("an object", node, path, err);
        } else if (s->kind == SHAPE_OBJECT) {
            shape_check(s->fields, node, path, err);
        }
        return;
    }
}

static void unknown_field(const struct shape *fields, const char *name, struct shape_path *path, struct err *err) {
    const char *names[FIELDS_MAX];
    size_t n = 0;
    for (; fields[n].name != NULL && n < FIELDS_MAX; n++) {
        names[n] = fields[n].name;
    }
    // What is not shown is not searched for: a spec may bring very many of them.
    const char *nearest = err->violation_count < ERR_VIOLATIONS_MAX ? str_nearest(name, names, n) : NULL;
    size_t mark = shape_enter(path, "%.100s", name[0] != '\0' ? name : "[\"\"]");
    if (nearest != NULL) {
        err_violate(err, str_text(&path->text), "unknown field, did you mean %s?", nearest);
    } else {
        err_violate(err, str_text(&path->text), "unknown field");
    }
    shape_leave(path, mark);
}

void shape_check(const struct shape *fields, const struct json *object, struct shape_path *path, struct err *err) {
    JSON_EACH (child, object) {
        const struct shape *s = fields;
        while (s->name != NULL && strcmp(s->name, child->key) != 0) {
            s++;
        }
        if (s->name == NULL) {
            unknown_field(fields, child->key, path, err);
            continue;
        }
        size_t mark = shape_enter(path, "%s", child->key);
        check_value(s, child, path, err);
        shape_leave(path, mark);
    }
}
