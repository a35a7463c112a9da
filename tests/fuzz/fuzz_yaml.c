// YAML: whatever is read, in one document or many, is valid, within its limits, and reads back as the same tree.
#include "json/json.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_limits limits = {.max_bytes = 65536, .max_depth = 32, .max_nodes = 2000};
// What is written may be longer than what was read: an escape takes up to six bytes, an indented line 64 blanks.
static const struct json_limits wide = {.max_bytes = 64 * 65536, .max_depth = 32, .max_nodes = 2000};

static size_t check_node(const struct json *node) {
    assert(node->key == NULL || str_utf8_valid(node->key, strlen(node->key)) == strlen(node->key));
    if (node->text != NULL) {
        assert(strlen(node->text) == node->length && str_utf8_valid(node->text, node->length) == node->length);
    }
    size_t nodes = 1;
    JSON_EACH (child, node) {
        nodes += check_node(child);
    }
    return nodes;
}

static void check_document(struct arena *a, const struct json *tree) {
    CLEANUP(str_done) struct str yaml = STR_INIT;
    CLEANUP(str_done) struct str json = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *back = NULL;
    json_write(&json, tree);
    json_write_yaml(&yaml, tree);
    bool ok = json_parse(a, str_text(&json), json.len, &wide, &back, &err);
    assert(ok && json_equal(tree, back));
    ok = json_parse_yaml(a, str_text(&yaml), yaml.len, &wide, &back, &err);
    assert(ok && json_equal(tree, back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *first = NULL;
    size_t count = 0;
    if (json_parse_yaml_all(&a, (const char *)data, size, &limits, &first, &count, &err)) {
        size_t nodes = 0;
        for (const struct json *tree = first; tree != NULL; tree = tree->next, count--) {
            nodes += check_node(tree);
        }
        assert(count == 0 && nodes <= limits.max_nodes);
        // A root is written alone: what is linked behind it is the next document.
        for (const struct json *tree = first; tree != NULL; tree = tree->next) {
            check_document(&a, tree);
        }
    } else {
        assert(first == NULL && err.code == ERR_INVALID && str_starts(err.message, "line "));
        assert(str_utf8_valid(err.message, strlen(err.message)) == strlen(err.message));
    }
    arena_done(&a);
    return 0;
}
