// JSON text to a tree, with yajl as the lexer.
#include "json/internal.h"

#include "base/mem.h"

#include <string.h>
#include <yajl/yajl_parse.h>

struct reader {
    struct json_build build;
    yajl_handle yajl;
    const char *text;
    size_t n, counted; // up to where lines were counted
};

// yajl says how many bytes it has consumed; lines are counted only as far as it has come.
static void locate(struct reader *r) {
    size_t at = yajl_get_bytes_consumed(r->yajl);
    if (at > r->n) {
        at = r->n;
    }
    for (; r->counted < at; r->counted++) {
        if (r->text[r->counted] == '\n') {
            r->build.line++;
            r->build.column = 1;
        } else {
            r->build.column++;
        }
    }
}

static int on_null(void *ctx) {
    struct reader *r = ctx;
    locate(r);
    return json_build_scalar(&r->build, JSON_NULL, NULL, 0, false);
}

static int on_boolean(void *ctx, int value) {
    struct reader *r = ctx;
    locate(r);
    return json_build_scalar(&r->build, JSON_BOOL, NULL, 0, value != 0);
}

static int on_number(void *ctx, const char *text, size_t n) {
    struct reader *r = ctx;
    locate(r);
    return json_build_scalar(&r->build, JSON_NUMBER, text, n, false);
}

static int on_string(void *ctx, const unsigned char *text, size_t n) {
    struct reader *r = ctx;
    locate(r);
    return json_build_scalar(&r->build, JSON_STRING, (const char *)text, n, false);
}

static int on_begin_object(void *ctx) {
    struct reader *r = ctx;
    locate(r);
    return json_build_begin(&r->build, JSON_OBJECT);
}

static int on_key(void *ctx, const unsigned char *text, size_t n) {
    struct reader *r = ctx;
    locate(r);
    return json_build_key(&r->build, (const char *)text, n);
}

static int on_begin_array(void *ctx) {
    struct reader *r = ctx;
    locate(r);
    return json_build_begin(&r->build, JSON_ARRAY);
}

static int on_end(void *ctx) {
    struct reader *r = ctx;
    return json_build_end(&r->build);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_begin_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_begin_array,
    .yajl_end_array = on_end,
};

// yajl's own sentence for a syntax error, without its line end.
static bool syntax_error(struct reader *r, struct err *err) {
    locate(r);
    unsigned char *text = yajl_get_error(r->yajl, 0, NULL, 0);
    size_t n = strcspn((const char *)text, "\n");
    json_build_fail(&r->build, "%.*s", (int)n, (const char *)text);
    yajl_free_error(r->yajl, text);
    return !err_set(err);
}

bool json_parse(struct arena *a, const char *text, size_t n, const struct json_limits *limits, const struct json **ret,
                struct err *err) {
    struct reader r = {.text = text, .n = n};
    json_build_init(&r.build, a, limits, "BAD_JSON", err);
    if (n > limits->max_bytes) {
        return json_build_fail(&r.build, "%zu bytes, more than %zu", n, limits->max_bytes);
    }
    r.yajl = yajl_alloc(&callbacks, NULL, &r);
    yajl_config(r.yajl, yajl_dont_validate_strings, 1); // json_build does, with NUL
    yajl_status s = yajl_parse(r.yajl, (const unsigned char *)text, n);
    if (s == yajl_status_ok) {
        s = yajl_complete_parse(r.yajl);
    }
    bool ok = s == yajl_status_ok;
    if (!ok && !err_set(err)) {
        syntax_error(&r, err);
    }
    yajl_free(r.yajl);
    if (ok && r.build.root == NULL) {
        ok = json_build_fail(&r.build, "there is no value");
    }
    if (ok) {
        *ret = r.build.root;
    }
    return ok;
}
