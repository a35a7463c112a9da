// YAML to the same tree, with libyaml's events. Core schema; aliases are expanded by building again, within the limits.
#include "json/internal.h"

#include "base/hash.h"

#include <string.h>
#include <yaml.h>

struct reader {
    struct json_build build;
    yaml_parser_t parser;
    struct hash anchors; // name -> node
    bool expect_key[JSON_DEPTH_MAX + 1];
};

static bool resolve(struct reader *r, const yaml_event_t *e, struct json_plain *ret) {
    static const struct {
        const char *tag;
        enum json_type type;
    } tags[] = {{YAML_NULL_TAG, JSON_NULL},
                {YAML_BOOL_TAG, JSON_BOOL},
                {YAML_INT_TAG, JSON_NUMBER},
                {YAML_FLOAT_TAG, JSON_NUMBER}};
    const char *text = (const char *)e->data.scalar.value;
    const char *tag = (const char *)e->data.scalar.tag;
    size_t n = e->data.scalar.length;
    bool plain = tag == NULL && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    json_plain(ret, text, n);
    if (plain) {
        return true;
    }
    for (size_t i = 0; tag != NULL && i < ARRAY_LEN(tags); i++) {
        if (strcmp(tag, tags[i].tag) == 0) {
            return ret->type == tags[i].type ||
                   json_build_fail(&r->build, "\"%.*s\" is not what its tag says", json_clip(text, 60), text);
        }
    }
    ret->type = JSON_STRING;
    ret->text = text;
    ret->n = n;
    ret->boolean = false;
    return tag == NULL || strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0 ||
           json_build_fail(&r->build, "tag %.*s is not supported", json_clip(tag, 60), tag);
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
    struct json_plain is;
    if (!resolve(r, e, &is) || !json_build_scalar(&r->build, is.type, is.text, is.n, is.boolean)) {
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
    return json_build_copy(&r->build, node) && value_done(r);
}

static bool on_begin(struct reader *r, enum json_type type, const char *anchor, const char *tag,
                     const char *expected_tag) {
    if (in_mapping(r) && *turn(r)) {
        return json_build_fail(&r->build, "a key must be plain text");
    }
    if (tag != NULL && strcmp(tag, expected_tag) != 0 && strcmp(tag, "!") != 0) {
        return json_build_fail(&r->build, "tag %.*s is not supported", json_clip(tag, 60), tag);
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

static bool parser_error(struct reader *r, const char *text) {
    if (r->parser.error == YAML_READER_ERROR) { // has an offset only
        json_build_locate(&r->build, text, r->parser.problem_offset);
    } else {
        r->build.line = (uint32_t)r->parser.problem_mark.line + 1;
        r->build.column = (uint32_t)r->parser.problem_mark.column + 1;
    }
    return json_build_fail(&r->build, "%s%s%s", r->parser.context != NULL ? r->parser.context : "",
                           r->parser.context != NULL ? ", " : "",
                           r->parser.problem != NULL ? r->parser.problem : "cannot be read");
}

// Reads up to the end of a document. *ret_end: the stream has ended.
static bool read_document(struct reader *r, const char *text, bool *ret_end) {
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e)) {
            return parser_error(r, text);
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

// YAML readers trip over what JSON writers like: surrogate pairs, tabs, keys longer than a line. So what looks like
// JSON is tried as JSON; what it then turns out not to be, YAML's reader judges.
static bool is_json(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                    const struct json **ret) {
    size_t i = 0;
    while (i < n && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t')) {
        i++;
    }
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    return i < n && (text[i] == '{' || text[i] == '[') && json_parse(a, text, n, limits, ret, &ignored);
}

static bool read_all(struct reader *r, const char *text, size_t n, const struct json **ret_first, size_t *ret_count) {
    struct json *last = NULL;
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)(n != 0 ? text : ""), n);
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    for (bool end = false; !end;) {
        r->build.root = NULL;
        hash_done(&r->anchors);
        if (!read_document(r, text, &end)) {
            return false;
        }
        struct json *root = r->build.root;
        if (root == NULL) {
            continue;
        }
        if (last == NULL) {
            *ret_first = root;
        } else {
            last->next = root;
        }
        last = root;
        ++*ret_count;
    }
    return true;
}

bool json_parse_yaml_all(struct arena *a, const char *text, size_t n, const struct json_limits *limits,
                         const struct json **ret_first, size_t *ret_count, struct err *err) {
    struct reader r = {0};
    const struct json *first = NULL;
    size_t count = 0;
    json_build_init(&r.build, a, limits, "BAD_YAML", err);
    if (!json_build_check_source(&r.build, text, n)) {
        return false;
    }
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { // a byte order mark
        text += 3;
        n -= 3;
    }
    bool ok = is_json(a, text, n, limits, &first);
    if (ok) {
        count = 1;
    } else if (!yaml_parser_initialize(&r.parser)) {
        ok = json_build_fail(&r.build, "no memory for the parser");
    } else {
        ok = read_all(&r, text, n, &first, &count);
        hash_done(&r.anchors);
        yaml_parser_delete(&r.parser);
    }
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
