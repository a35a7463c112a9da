// What the readers of json/ share: building a tree, with all limits in one place.
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
bool json_build_key(struct json_build *b, const char *text, size_t n);
bool json_build_scalar(struct json_build *b, enum json_type type, const char *text, size_t n, bool boolean);
bool json_build_begin(struct json_build *b, enum json_type type);
bool json_build_end(struct json_build *b);
bool json_build_fail(struct json_build *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

bool json_number_valid(const char *text, size_t n); // the JSON grammar

#endif
