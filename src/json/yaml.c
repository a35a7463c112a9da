// YAML to the same tree, with libyaml's events. Core schema; aliases are expanded by replaying what was built, within
// the limits.
#include "json/internal.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>
#include <yaml.h>

struct reader {
    struct json_build build;
    yaml_parser_t parser;
    struct hash anchors; // name -> node
    bool expect_key[JSON_DEPTH_MAX + 1];
    const char *pending_anchor; // of the collection that is about to begin
};

// ---- Plain scalars by the core schema
// ------------------------------------------------------------------------------------

static bool one_of(const char *text, const char *const *words) {
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum json_type plain_type(const char *text, size_t n, bool *ret_boolean) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    *ret_boolean = one_of(text, trues);
    if (one_of(text, nulls)) {
        return JSON_NULL;
    }
    if (*ret_boolean || one_of(text, falses)) {
        return JSON_BOOL;
    }
    return json_number_valid(text, n) ? JSON_NUMBER : JSON_STRING;
}

static bool scalar_type(struct reader *r, const yaml_event_t *e, enum json_type *ret, bool *ret_boolean) {
    const char *text = (const char *)e->data.scalar.value;
    const char *tag = (const char *)e->data.scalar.tag;
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    *ret_boolean = false;
    *ret = JSON_STRING;
    if (tag == NULL) {
        if (plain) {
            *ret = plain_type(text, e->data.scalar.length, ret_boolean);
        }
        return true;
    }
    if (strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0) {
        return true;
    }
    static const struct {
        const char *tag;
        enum json_type type;
    } tags[] = {{YAML_NULL_TAG, JSON_NULL},
                {YAML_BOOL_TAG, JSON_BOOL},
                {YAML_INT_TAG, JSON_NUMBER},
                {YAML_FLOAT_TAG, JSON_NUMBER}};
    enum json_type is = plain_type(text, e->data.scalar.length, ret_boolean);
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        if (strcmp(tag, tags[i].tag) == 0) {
            *ret = tags[i].type;
            return is == tags[i].type || json_build_fail(&r->build, "\"%.60s\" is not what its tag says", text);
        }
    }
    return json_build_fail(&r->build, "tag %.60s is not supported", tag);
}

// ---- Anchors and aliases
// -------------------------------------------------------------------------------------------------------

static bool replay(struct json_build *b, const struct json *node) {
    if (node->type != JSON_ARRAY && node->type != JSON_OBJECT) {
        return json_build_scalar(b, node->type, node->text, node->length, node->boolean);
    }
    if (!json_build_begin(b, node->type)) {
        return false;
    }
    JSON_EACH (child, node) {
        if ((node->type == JSON_OBJECT && !json_build_key(b, child->key, strlen(child->key))) || !replay(b, child)) {
            return false;
        }
    }
    return json_build_end(b);
}

static void remember(struct reader *r, const char *anchor, struct json *node) {
    if (anchor != NULL && node != NULL) {
        hash_put(&r->anchors, arena_strdup(r->build.arena, anchor), node);
    }
}

static struct json *newest(const struct json_build *b) {
    return b->depth == 0 ? b->root : b->open[b->depth - 1].last;
}

static bool is_open(const struct json_build *b, const struct json *node) {
    for (uint32_t i = 0; i < b->depth; i++) {
        if (b->open[i].node == node) {
            return true;
        }
    }
    return false;
}

// ---- Events
// ----------------------------------------------------------------------------------------------------------------------

// In a mapping keys and values take turns. true: the next thing is a key.
static bool *turn(struct reader *r) {
    return &r->expect_key[r->build.depth];
}

static bool in_mapping(const struct reader *r) {
    return r->build.depth > 0 && r->build.open[r->build.depth - 1].node->type == JSON_OBJECT;
}

static bool value_done(struct reader *r) {
    *turn(r) = true;
    return true;
}

static bool on_scalar(struct reader *r, const yaml_event_t *e) {
    const char *text = (const char *)e->data.scalar.value;
    size_t n = e->data.scalar.length;
    if (in_mapping(r) && *turn(r)) {
        if (strcmp(text, "<<") == 0 && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
            return json_build_fail(&r->build, "merge keys (<<) are not supported");
        }
        *turn(r) = false;
        return json_build_key(&r->build, text, n);
    }
    enum json_type type;
    bool boolean;
    if (!scalar_type(r, e, &type, &boolean) || !json_build_scalar(&r->build, type, text, n, boolean)) {
        return false;
    }
    remember(r, (const char *)e->data.scalar.anchor, newest(&r->build));
    return value_done(r);
}

static bool on_alias(struct reader *r, const yaml_event_t *e) {
    const char *name = (const char *)e->data.alias.anchor;
    const struct json *node = hash_get(&r->anchors, name);
    if (in_mapping(r) && *turn(r)) {
        return json_build_fail(&r->build, "a key must be plain text");
    }
    if (node == NULL) {
        return json_build_fail(&r->build, "unknown alias *%.60s", name);
    }
    if (is_open(&r->build, node)) {
        return json_build_fail(&r->build, "alias *%.60s contains itself", name);
    }
    return replay(&r->build, node) && value_done(r);
}

static bool on_begin(struct reader *r, enum json_type type, const char *anchor, const char *tag,
                     const char *expected_tag) {
    if (in_mapping(r) && *turn(r)) {
        return json_build_fail(&r->build, "a key must be plain text");
    }
    if (tag != NULL && strcmp(tag, expected_tag) != 0 && strcmp(tag, "!") != 0) {
        return json_build_fail(&r->build, "tag %.60s is not supported", tag);
    }
    if (!json_build_begin(&r->build, type)) {
        return false;
    }
    remember(r, anchor, r->build.open[r->build.depth - 1].node);
    *turn(r) = true;
    return true;
}

static bool on_event(struct reader *r, const yaml_event_t *e) {
    r->build.line = (uint32_t)e->start_mark.line + 1;
    r->build.column = (uint32_t)e->start_mark.column + 1;
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_ALIAS_EVENT:
        return on_alias(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_begin(r, JSON_ARRAY, (const char *)e->data.sequence_start.anchor,
                        (const char *)e->data.sequence_start.tag, YAML_SEQ_TAG);
    case YAML_MAPPING_START_EVENT:
        return on_begin(r, JSON_OBJECT, (const char *)e->data.mapping_start.anchor,
                        (const char *)e->data.mapping_start.tag, YAML_MAP_TAG);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return json_build_end(&r->build) && value_done(r);
    default:
        return true; // stream and document marks
    }
}

static bool parser_error(struct reader *r) {
    r->build.line = (uint32_t)r->parser.problem_mark.line + 1;
    r->build.column = (uint32_t)r->parser.problem_mark.column + 1;
    return json_build_fail(&r->build, "%s%s%s", r->parser.context != NULL ? r->parser.context : "",
                           r->parser.context != NULL ? ", " : "",
                           r->parser.problem != NULL ? r->parser.problem : "cannot be read");
}

// Reads up to the end of a document. *ret_end: the stream has ended.
static bool read_document(struct reader *r, bool *ret_end) {
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e)) {
            return parser_error(r);
        }
        yaml_event_type_t type = e.type;
        bool ok = on_event(r, &e);
        yaml_event_delete(&e);
        if (!ok) {
            return false;
        }
        if (type == YAML_DOCUMENT_END_EVENT || type == YAML_STREAM_END_EVENT) {
            *ret_end = type == YAML_STREAM_END_EVENT;
            return true;
        }
    }
}

bool json_parse_yaml_all(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                         const struct json **ret_first, size_t *ret_count, struct err *err) {
    struct reader r = {0};
    struct json *first = NULL;
    struct json *last = NULL;
    size_t count = 0;
    json_build_init(&r.build, a, limits, "BAD_YAML", err);
    if (n > limits->max_bytes) {
        return json_build_fail(&r.build, "%zu bytes, more than %zu", n, limits->max_bytes);
    }
    if (!yaml_parser_initialize(&r.parser)) {
        return json_build_fail(&r.build, "no memory for the parser");
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    bool ok = true;
    for (bool end = false; ok && !end;) {
        r.build.root = NULL;
        hash_done(&r.anchors);
        ok = read_document(&r, &end);
        if (ok && r.build.root != NULL) {
            if (last != NULL) {
                last->next = r.build.root;
            } else {
                first = r.build.root;
            }
            last = r.build.root;
            count++;
        }
    }
    hash_done(&r.anchors);
    yaml_parser_delete(&r.parser);
    if (ok) {
        *ret_first = first;
        *ret_count = count;
    }
    return ok;
}

bool json_parse_yaml(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                     const struct json **ret, struct err *err) {
    const struct json *first = NULL;
    size_t count = 0;
    if (!json_parse_yaml_all(a, text, n, limits, &first, &count, err)) {
        return false;
    }
    if (count > 1) {
        return err_fail(err, ERR_INVALID, "BAD_YAML", "line %u, column %u: a second document; one is expected here",
                        first->next->line, first->next->column);
    }
    if (first == NULL) {
        struct json *empty = ARENA_NEW(a, struct json);
        empty->line = empty->column = 1;
        first = empty;
    }
    *ret = first;
    return true;
}
