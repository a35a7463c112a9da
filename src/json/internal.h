// What the files of json/ share: building a tree, with all limits in one place.
#ifndef JSON_INTERNAL_H
#define JSON_INTERNAL_H

#include "json/json.h"

enum { JSON_DEPTH_MAX = 64 };

struct json_build {
    struct arena *arena;
    const struct json_limits *limits;
    struct err *err;
    const char *code; // "BAD_JSON" or "BAD_YAML"
    uint32_t nodes, depth;
    size_t bytes; // of text in the tree; aliases count each time
    struct json *root;
    const char *key; // of the next value in an object
    struct {
        struct json *node;
        struct json *last;
    } open[JSON_DEPTH_MAX];
    uint32_t line, column; // of what is being read
};

void json_build_init(struct json_build *b, struct arena *a, const struct json_limits *limits, const char *code,
                     struct err *err);
// Each returns false when a limit or a rule is broken; err is set then.
bool json_build_check_source(struct json_build *b, const char *text, size_t n); // size and UTF-8
bool json_build_key(struct json_build *b, const char *text, size_t n);
bool json_build_scalar(struct json_build *b, enum json_type type, const char *text, size_t n, bool boolean);
bool json_build_begin(struct json_build *b, enum json_type type);
bool json_build_end(struct json_build *b);
bool json_build_copy(struct json_build *b, const struct json *node); // again what was built before; texts are shared
bool json_build_fail(struct json_build *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
// Sets line and column to those of an offset in the source.
void json_build_locate(struct json_build *b, const char *text, size_t offset);

// For "%.*s" in messages: at most max bytes, and no half character.
int json_clip(const char *text, size_t max);

struct json_plain {
    enum json_type type;
    bool boolean;
    const char *text; // of a number, in the JSON grammar; it is in `space` or the text that was given
    size_t n;
    char space[200];
};
// What a plain YAML scalar means in the core schema.
void json_plain(struct json_plain *ret, const char *text, size_t n);

// The members of an object by their keys; equal keys in their order. The caller frees.
const struct json **json_sorted(const struct json *object);

void json_write_text(struct str *out, const char *p, size_t n); // quoted; good for JSON and YAML

#endif
