// JSON: whatever is read is valid, within its limits, and reads back as the same tree from each way of writing it.
#include "json/json.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_limits limits = {.max_bytes = 65536, .max_depth = 32, .max_nodes = 2000};
// What is written may be longer than what was read: an escape takes up to six bytes, an indented line 64 blanks.
static const struct json_limits wide = {.max_bytes = 64 * 65536, .max_depth = 32, .max_nodes = 2000};

typedef bool reader(struct arena *, const char *, size_t, const struct json_limits *, const struct json **,
                    struct err *);
typedef void writer(struct str *, const struct json *);

static size_t check_node(const struct json *node, size_t depth) {
    assert(depth <= 32 && node->line >= 1 && node->column >= 1);
    assert(node->key == NULL || str_utf8_valid(node->key, strlen(node->key)) == strlen(node->key));
    if (node->text != NULL) {
        assert(strlen(node->text) == node->length && str_utf8_valid(node->text, node->length) == node->length);
    }
    assert((node->text != NULL) == (node->type == JSON_STRING || node->type == JSON_NUMBER));
    size_t nodes = 1;
    size_t children = 0;
    JSON_EACH (child, node) {
        assert((child->key != NULL) == (node->type == JSON_OBJECT));
        nodes += check_node(child, depth + (child->type >= JSON_ARRAY));
        children++;
    }
    assert(children == node->count);
    return nodes;
}

static void check_way_back(struct arena *a, const struct json *tree, writer *write, reader *read) {
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *back = NULL;
    write(&text, tree);
    bool ok = read(a, str_text(&text), text.len, &wide, &back, &err);
    assert(ok && json_equal(tree, back) && json_equal(back, tree));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    if (json_parse(&a, (const char *)data, size, &limits, &tree, &err)) {
        assert(check_node(tree, tree->type >= JSON_ARRAY) <= limits.max_nodes);
        check_way_back(&a, tree, json_write, json_parse);
        check_way_back(&a, tree, json_write_canonical, json_parse);
        check_way_back(&a, tree, json_write_pretty, json_parse);
        check_way_back(&a, tree, json_write_yaml, json_parse_yaml);
    } else {
        assert(tree == NULL && err.code == ERR_INVALID && str_starts(err.message, "line "));
        assert(str_utf8_valid(err.message, strlen(err.message)) == strlen(err.message));
    }
    arena_done(&a);
    return 0;
}
