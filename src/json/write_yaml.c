// A tree to YAML in block style.
#include "json/internal.h"

#include <string.h>

// Words and signs that another reader could take for something else than text.
static bool is_plain(const char *p, size_t n) {
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"};
    if (n == 0 || n > 60 || strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") != n) {
        return false;
    }
    if (strchr("0123456789.-", p[0]) != NULL) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_same_nocase(words[i], p)) {
            return false;
        }
    }
    return true;
}

static void put_text(struct str *out, const char *p, size_t n) {
    if (is_plain(p, n)) {
        str_add_bytes(out, p, n);
    } else {
        json_write_text(out, p, n); // a JSON text is a YAML one
    }
}

static void put_indent(struct str *out, size_t depth) {
    for (size_t i = 0; i < depth; i++) {
        str_add(out, "  ");
    }
}

// A reader gives up on a key that has no colon within 1024 characters; one that may be that long is announced.
static void put_key(struct str *out, const char *key, size_t depth) {
    size_t n = strlen(key);
    bool announced = n > 1000 / 6; // an escape takes six
    str_add(out, announced ? "? " : "");
    put_text(out, key, n);
    if (announced) {
        str_add_char(out, '\n');
        put_indent(out, depth);
    }
    str_add_char(out, ':');
}

static bool is_block(const struct json *node) {
    return (node->type == JSON_ARRAY || node->type == JSON_OBJECT) && node->count != 0;
}

static void put_leaf(struct str *out, const struct json *node) {
    if (node->type == JSON_STRING) {
        put_text(out, node->text, node->length);
    } else {
        json_write(out, node);
    }
    str_add_char(out, '\n');
}

// at_start: the cursor already stands where the first line of the block begins.
static void put_block(struct str *out, const struct json *node, size_t depth, bool at_start) {
    JSON_EACH (child, node) {
        if (!at_start) {
            put_indent(out, depth);
        }
        at_start = false;
        if (node->type == JSON_ARRAY) {
            str_add(out, "- ");
            if (is_block(child)) {
                put_block(out, child, depth + 1, true);
            } else {
                put_leaf(out, child);
            }
            continue;
        }
        put_key(out, child->key, depth);
        if (is_block(child)) {
            str_add_char(out, '\n');
            put_block(out, child, depth + 1, false);
        } else {
            str_add_char(out, ' ');
            put_leaf(out, child);
        }
    }
}

void json_write_yaml(struct str *out, const struct json *node) {
    if (is_block(node)) {
        put_block(out, node, 0, false);
    } else {
        put_leaf(out, node);
    }
}
