// Builds a tree while a reader reads: every limit holds before memory is taken.
#include "json/internal.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct json_limits json_limits_default = {
    .max_bytes = 4 * 1024 * 1024, .max_depth = JSON_DEPTH_MAX, .max_nodes = 400000};

void json_build_init(struct json_build *b, struct arena *a, const struct json_limits *limits, const char *code,
                     struct err *err) {
    *b = (struct json_build){.arena = a, .limits = limits, .err = err, .code = code, .line = 1, .column = 1};
}

bool json_build_fail(struct json_build *b, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_fail(b->err, ERR_INVALID, b->code, "line %u, column %u: %s", b->line, b->column, text);
}

static bool check_text(struct json_build *b, const char *text, size_t n) {
    if (memchr(text, '\0', n) != NULL) {
        return json_build_fail(b, "a text contains NUL");
    }
    if (str_utf8_valid(text, n) != n) {
        return json_build_fail(b, "a text is not valid UTF-8");
    }
    return true;
}

// Objects of a request are small; a big one is checked by the limit on nodes before this becomes slow.
static bool key_is_new(struct json_build *b, const char *text, size_t n) {
    JSON_EACH (child, b->open[b->depth - 1].node) {
        if (strlen(child->key) == n && memcmp(child->key, text, n) == 0) {
            return json_build_fail(b, "duplicate key \"%.80s\"", child->key);
        }
    }
    return true;
}

bool json_build_key(struct json_build *b, const char *text, size_t n) {
    if (b->open[b->depth - 1].node->count >= 20000) {
        return json_build_fail(b, "an object has more than 20000 members");
    }
    if (!check_text(b, text, n) || !key_is_new(b, text, n)) {
        return false;
    }
    b->key = arena_strndup(b->arena, text, n);
    return true;
}

static struct json *add(struct json_build *b, enum json_type type) {
    if (b->depth == 0 && b->root != NULL) {
        json_build_fail(b, "there is something after the value");
        return NULL;
    }
    if (++b->nodes > b->limits->max_nodes) {
        json_build_fail(b, "more than %u values", b->limits->max_nodes);
        return NULL;
    }
    struct json *node = ARENA_NEW(b->arena, struct json);
    node->type = type;
    node->line = b->line;
    node->column = b->column;
    if (b->depth == 0) {
        b->root = node;
        return node;
    }
    struct json *parent = b->open[b->depth - 1].node;
    if (parent->type == JSON_OBJECT) {
        node->key = b->key;
        b->key = NULL;
    }
    if (parent->first == NULL) {
        parent->first = node;
    } else {
        b->open[b->depth - 1].last->next = node;
    }
    b->open[b->depth - 1].last = node;
    parent->count++;
    return node;
}

bool json_build_scalar(struct json_build *b, enum json_type type, const char *text, size_t n, bool boolean) {
    if (type == JSON_STRING && !check_text(b, text, n)) {
        return false;
    }
    struct json *node = add(b, type);
    if (node == NULL) {
        return false;
    }
    node->boolean = boolean;
    if (type == JSON_STRING || type == JSON_NUMBER) {
        node->text = arena_strndup(b->arena, text, n);
        node->length = n;
    }
    return true;
}

bool json_build_begin(struct json_build *b, enum json_type type) {
    if (b->depth >= b->limits->max_depth || b->depth >= JSON_DEPTH_MAX) {
        return json_build_fail(b, "nested deeper than %u",
                               b->limits->max_depth < JSON_DEPTH_MAX ? b->limits->max_depth : JSON_DEPTH_MAX);
    }
    struct json *node = add(b, type);
    if (node == NULL) {
        return false;
    }
    b->open[b->depth].node = node;
    b->open[b->depth].last = NULL;
    b->depth++;
    return true;
}

bool json_build_end(struct json_build *b) {
    b->depth--;
    return true;
}

static size_t digits(const char *p, size_t n, size_t i) {
    while (i < n && p[i] >= '0' && p[i] <= '9') {
        i++;
    }
    return i;
}

bool json_number_valid(const char *p, size_t n) {
    size_t i = n > 0 && p[0] == '-' ? 1 : 0;
    size_t start = i;
    i = digits(p, n, i);
    if (i == start || (p[start] == '0' && i > start + 1)) {
        return false;
    }
    if (i < n && p[i] == '.') {
        start = ++i;
        i = digits(p, n, i);
        if (i == start) {
            return false;
        }
    }
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        if (i < n && (p[i] == '+' || p[i] == '-')) {
            i++;
        }
        start = i;
        i = digits(p, n, i);
        if (i == start) {
            return false;
        }
    }
    return i == n;
}
