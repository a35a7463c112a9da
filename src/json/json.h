// JSON: text <-> an immutable tree in an arena, and text through a writer. YAML in, as the same tree.
// The only door to yajl and libyaml.
//
// A tree belongs to its arena; nodes are borrowed and never change after parsing. Numbers keep their text.
// Strings are valid UTF-8 without NUL. Object members keep their order; a duplicate key is an error.
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_type type;
    uint32_t line, column; // where it began in the source, from 1
    const char *key;       // in an object; otherwise NULL
    const char *text;      // STRING: the value; NUMBER: its text; otherwise NULL
    size_t length;         // of text
    bool boolean;
    size_t count;             // children
    const struct json *first; // child
    const struct json *next;  // sibling
};

struct json_limits {
    size_t max_bytes; // of text
    uint32_t max_depth;
    uint32_t max_nodes;
};
extern const struct json_limits json_limits_default; // 4 MiB, depth 64, 400,000 nodes

// Errors: ERR_INVALID "BAD_JSON"/"BAD_YAML" with "line L, column C: ..."; over a limit too.
bool json_parse(struct arena *a, const char *text, size_t n, const struct json_limits *limits, const struct json **ret,
                struct err *err) MUST_CHECK;
// YAML 1.2 core schema: plain null/true/false/numbers are typed (+1, .5 and 1. too; 0x10, .inf and the ambiguous 0644
// are strings), quoted ones are strings; anchors and aliases are
// expanded within the limits; tags other than !!str/int/float/bool/null/map/seq, and several documents, are errors.
// Empty input gives NULL type. JSON is accepted, being YAML.
bool json_parse_yaml(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                     const struct json **ret, struct err *err) MUST_CHECK;
// Several YAML documents, as a list linked by `next`.
bool json_parse_yaml_all(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                         const struct json **ret_first, size_t *ret_count, struct err *err) MUST_CHECK;

// Access. All take NULL nodes and wrong types calmly and return NULL, the fallback or false.
const struct json *json_get(const struct json *object, const char *key);
const struct json *json_at(const struct json *array, size_t index);
// "spec.containers[0].name"; a key with dots in brackets and quotes: labels["a.b/c"]; [type=Complete] picks the
// first object of an array whose member equals the text.
const struct json *json_path(const struct json *node, const char *path);
const char *json_string(const struct json *node, const char *fallback); // STRING only
bool json_int(const struct json *node, int64_t *ret);                   // NUMBER that is a whole int64
bool json_double(const struct json *node, double *ret);
bool json_bool(const struct json *node, bool fallback);
const char *json_type_name(enum json_type type);

// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared cannot be in them
#define JSON_EACH(child, node)                                                                                         \
    for (const struct json *child = (node) != NULL ? (node)->first : NULL; child != NULL; child = child->next)
// NOLINTEND(bugprone-macro-parentheses)

// Compact text of a tree; canonical: members sorted by key bytes, numbers as they were written.
void json_write(struct str *out, const struct json *node);
void json_write_canonical(struct str *out, const struct json *node);
void json_write_pretty(struct str *out, const struct json *node); // two spaces, final newline
void json_write_yaml(struct str *out, const struct json *node);   // block style; reads back to the same tree
bool json_equal(const struct json *a, const struct json *b);      // by meaning, member order aside

// Writer: builds text, commas and escapes by itself. Misuse (a value without a key in an object, unbalanced ends,
// more than 64 levels) latches `bad`; check json_writer_ok once at the end.
struct json_writer {
    struct str *out;
    uint32_t depth;
    bool bad, done;                // done: the one value at the top is there or begun
    uint64_t is_object, has_items; // a bit a level
    bool after_key;
};
void json_writer_init(struct json_writer *w, struct str *out); // appends to out
void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_add_string(struct json_writer *w, const char *text); // NULL writes null; bytes that are not UTF-8, U+FFFD
void json_add_bytes(struct json_writer *w, const char *text, size_t n);
void json_add_int(struct json_writer *w, int64_t value);
void json_add_double(struct json_writer *w, double value); // shortest that reads back; NaN/Inf as strings
void json_add_bool(struct json_writer *w, bool value);
void json_add_null(struct json_writer *w);
void json_add_node(struct json_writer *w, const struct json *node); // a copy of a tree
void json_add_raw(struct json_writer *w, const char *json);         // a complete, trusted value
bool json_writer_ok(const struct json_writer *w);                   // balanced and not bad

#endif
