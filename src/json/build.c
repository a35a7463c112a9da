// Builds a tree while a reader reads: every limit holds before memory is taken.
#include "json/internal.h"

#include "base/mem.h"

#include <assert.h>
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

int json_clip(const char *text, size_t max) {
    return (int)str_utf8_valid(text, strnlen(text, max));
}

void json_build_locate(struct json_build *b, const char *text, size_t offset) {
    b->line = b->column = 1;
    for (size_t i = 0; i < offset; i++) {
        b->column = text[i] == '\n' ? 1 : b->column + 1;
        b->line += text[i] == '\n';
    }
}

bool json_build_check_source(struct json_build *b, const char *text, size_t n) {
    if (n > b->limits->max_bytes) {
        return json_build_fail(b, "%zu bytes, more than %zu", n, b->limits->max_bytes);
    }
    size_t bad = str_utf8_valid(text, n);
    if (bad != n) {
        json_build_locate(b, text, bad);
        return json_build_fail(b, "not valid UTF-8");
    }
    return true;
}

// The source is UTF-8; what its escapes can still bring in is NUL.
static bool check_text(struct json_build *b, const char *text, size_t n) {
    if (n != 0 && memchr(text, '\0', n) != NULL) {
        return json_build_fail(b, "a text contains NUL");
    }
    if (n > b->limits->max_bytes - b->bytes) {
        return json_build_fail(b, "more than %zu bytes of text", b->limits->max_bytes);
    }
    b->bytes += n;
    return true;
}

bool json_build_key(struct json_build *b, const char *text, size_t n) {
    if (!check_text(b, text, n)) {
        return false;
    }
    b->key = arena_strndup(b->arena, text, n);
    return true;
}

static struct json *add(struct json_build *b, enum json_type type) {
    assert(b->depth != 0 || b->root == NULL);
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
    struct json *last = b->open[b->depth - 1].last;
    if (last == NULL) {
        parent->first = node;
    } else {
        last->next = node;
    }
    b->open[b->depth - 1].last = node;
    parent->count++;
    return node;
}

static bool has_text(enum json_type type) {
    return type == JSON_STRING || type == JSON_NUMBER;
}

bool json_build_scalar(struct json_build *b, enum json_type type, const char *text, size_t n, bool boolean) {
    if (has_text(type) && !check_text(b, text, n)) {
        return false;
    }
    struct json *node = add(b, type);
    if (node == NULL) {
        return false;
    }
    node->boolean = boolean;
    if (has_text(type)) {
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

static bool keys_differ(struct json_build *b, const struct json *object) {
    if (object->count < 2) {
        return true;
    }
    CLEANUP(mem_free_ptr) const struct json **sorted = json_sorted(object);
    for (size_t i = 1; i < object->count; i++) {
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0) {
            b->line = sorted[i]->line;
            b->column = sorted[i]->column;
            return json_build_fail(b, "duplicate key \"%.*s\"", json_clip(sorted[i]->key, 80), sorted[i]->key);
        }
    }
    return true;
}

bool json_build_end(struct json_build *b) {
    const struct json *node = b->open[--b->depth].node;
    return node->type != JSON_OBJECT || keys_differ(b, node);
}

bool json_build_copy(struct json_build *b, const struct json *node) {
    b->bytes += node->length;
    if (b->bytes > b->limits->max_bytes) {
        return json_build_fail(b, "more than %zu bytes of text", b->limits->max_bytes);
    }
    if (node->type != JSON_ARRAY && node->type != JSON_OBJECT) {
        struct json *copy = add(b, node->type);
        if (copy == NULL) {
            return false;
        }
        copy->text = node->text;
        copy->length = node->length;
        copy->boolean = node->boolean;
        return true;
    }
    if (!json_build_begin(b, node->type)) {
        return false;
    }
    JSON_EACH (child, node) {
        b->key = child->key;
        b->bytes += child->key != NULL ? strlen(child->key) : 0;
        if (!json_build_copy(b, child)) {
            return false;
        }
    }
    b->depth--; // its keys differ: they were checked when it was built
    return true;
}
