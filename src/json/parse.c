// JSON text to a tree, with yajl as the lexer.
#include "json/internal.h"

#include <assert.h>
#include <string.h>
#include <yajl/yajl_parse.h>

struct reader {
    struct json_build build;
    yajl_handle yajl;
    const char *text;
    size_t n;
    size_t at; // up to here lines were counted
    uint32_t line, column;
};

static void step(struct reader *r) {
    r->column = r->text[r->at] == '\n' ? 1 : r->column + 1;
    r->line += r->text[r->at] == '\n';
    r->at++;
}

// yajl tells where a token ends. It began behind the last one, blanks and signs between them left out.
static void locate(struct reader *r) {
    while (r->at < r->n && r->text[r->at] != '\0' && strchr(" \t\r\n,:", r->text[r->at]) != NULL) {
        step(r);
    }
    r->build.line = r->line;
    r->build.column = r->column;
    size_t end = yajl_get_bytes_consumed(r->yajl);
    while (r->at < r->n && r->at < end) {
        step(r);
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
    locate(r);
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
static void syntax_error(struct reader *r) {
    locate(r);
    unsigned char *text = yajl_get_error(r->yajl, 0, NULL, 0);
    size_t n = strcspn((const char *)text, "\n");
    json_build_fail(&r->build, "%.*s", (int)n, (const char *)text);
    yajl_free_error(r->yajl, text);
}

static bool hex4(const char *p, size_t n, unsigned *ret) {
    static const char digits[] = "0123456789abcdefABCDEF";
    *ret = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *d = i < n && p[i] != '\0' ? strchr(digits, p[i]) : NULL;
        if (d == NULL) {
            return false;
        }
        size_t v = (size_t)(d - digits);
        *ret = *ret << 4 | (unsigned)(v < 16 ? v : v - 6);
    }
    return true;
}

// yajl reads halves of surrogate pairs as some other character. text has been read: it is well-formed apart from them.
static bool check_surrogates(struct reader *r) {
    const char *end = r->text + r->n;
    for (const char *p = r->text; (p = memchr(p, '\\', (size_t)(end - p))) != NULL;) {
        unsigned high = 0;
        unsigned low = 0;
        const char *begin = p;
        bool escape = p[1] == 'u' && hex4(p + 2, (size_t)(end - p) - 2, &high);
        p += escape ? 6 : 2;
        if (!escape || high < 0xd800 || high > 0xdfff) {
            continue;
        }
        bool pair = high < 0xdc00 && p + 2 <= end && p[0] == '\\' && p[1] == 'u' &&
                    hex4(p + 2, (size_t)(end - p) - 2, &low) && low >= 0xdc00 && low <= 0xdfff;
        if (!pair) {
            json_build_locate(&r->build, r->text, (size_t)(begin - r->text));
            return json_build_fail(&r->build, "\\u%04x is half of a surrogate pair", high);
        }
        p += 6;
    }
    return true;
}

bool json_parse(struct arena *a, const char *text, size_t n, const struct json_limits *limits, const struct json **ret,
                struct err *err) {
    struct reader r = {.text = text, .n = n, .line = 1, .column = 1};
    json_build_init(&r.build, a, limits, "BAD_JSON", err);
    if (!json_build_check_source(&r.build, text, n)) {
        return false;
    }
    r.yajl = yajl_alloc(&callbacks, NULL, &r);
    yajl_config(r.yajl, yajl_dont_validate_strings, 1); // the source was checked
    yajl_status s = yajl_parse(r.yajl, (const unsigned char *)text, n);
    if (s == yajl_status_ok) {
        s = yajl_complete_parse(r.yajl);
    }
    bool ok = s == yajl_status_ok;
    if (!ok && !err_set(err)) {
        syntax_error(&r);
    }
    yajl_free(r.yajl);
    if (!ok || !check_surrogates(&r)) {
        return false;
    }
    assert(r.build.root != NULL); // no value at all is a syntax error
    *ret = r.build.root;
    return true;
}
