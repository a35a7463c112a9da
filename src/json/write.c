// A tree to text: compact, canonical, pretty.
#include "json/internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void write_text(struct str *out, const char *p, size_t n) {
    static const char digits[] = "0123456789abcdef";
    str_add_char(out, '"');
    size_t plain = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            continue;
        }
        str_add_bytes(out, p + plain, i - plain);
        plain = i + 1;
        static const char shorts[] = "\bb\tt\nn\ff\rr\"\"\\\\";
        const char *s = c != 0 ? strchr(shorts, c) : NULL;
        while (s != NULL && (s - shorts) % 2 != 0) {
            s = strchr(s + 1, c);
        }
        if (s != NULL) {
            char escape[2] = {'\\', s[1]};
            str_add_bytes(out, escape, 2);
        } else {
            char escape[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
            str_add_bytes(out, escape, 6);
        }
    }
    str_add_bytes(out, p + plain, n - plain);
    str_add_char(out, '"');
}

struct style {
    bool sorted, pretty;
};

static void line_break(struct str *out, const struct style *style, size_t depth) {
    if (style->pretty) {
        str_add_char(out, '\n');
        for (size_t i = 0; i < depth; i++) {
            str_add(out, "  ");
        }
    }
}

static int by_key(const void *a, const void *b) {
    const struct json *const *x = a;
    const struct json *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static void write_node(struct str *out, const struct json *node, const struct style *style, size_t depth);

static void write_member(struct str *out, const struct json *child, const struct style *style, size_t depth,
                         bool first) {
    if (!first) {
        str_add_char(out, ',');
    }
    line_break(out, style, depth + 1);
    if (child->key != NULL) {
        write_text(out, child->key, strlen(child->key));
        str_add(out, style->pretty ? ": " : ":");
    }
    write_node(out, child, style, depth + 1);
}

static void write_children(struct str *out, const struct json *node, const struct style *style, size_t depth) {
    bool first = true;
    if (!style->sorted || node->type == JSON_ARRAY) {
        JSON_EACH (child, node) {
            write_member(out, child, style, depth, first);
            first = false;
        }
        return;
    }
    const struct json **sorted = mem_realloc_array(NULL, node->count, sizeof(const struct json *));
    size_t n = 0;
    JSON_EACH (child, node) {
        sorted[n++] = child;
    }
    qsort(sorted, n, sizeof(const struct json *), by_key);
    for (size_t i = 0; i < n; i++) {
        write_member(out, sorted[i], style, depth, i == 0);
    }
    mem_free(sorted);
}

static void write_node(struct str *out, const struct json *node, const struct style *style, size_t depth) {
    switch (node->type) {
    case JSON_NULL:
        str_add(out, "null");
        return;
    case JSON_BOOL:
        str_add(out, node->boolean ? "true" : "false");
        return;
    case JSON_NUMBER:
        str_add(out, node->text);
        return;
    case JSON_STRING:
        write_text(out, node->text, node->length);
        return;
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    bool object = node->type == JSON_OBJECT;
    str_add_char(out, object ? '{' : '[');
    write_children(out, node, style, depth);
    if (node->count != 0) {
        line_break(out, style, depth);
    }
    str_add_char(out, object ? '}' : ']');
}

void json_write(struct str *out, const struct json *node) {
    write_node(out, node, &(struct style){0}, 0);
}

void json_write_canonical(struct str *out, const struct json *node) {
    write_node(out, node, &(struct style){.sorted = true}, 0);
}

void json_write_pretty(struct str *out, const struct json *node) {
    write_node(out, node, &(struct style){.pretty = true}, 0);
    str_add_char(out, '\n');
}

// ---- YAML
// ---------------------------------------------------------------------------------------------------------------------

// Words and signs that another reader could take for something else than text.
static bool is_plain(const char *p, size_t n) {
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", "nan", "inf"};
    if (n == 0 || n > 60 || strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") != n) {
        return false;
    }
    if (strchr("0123456789.-+", p[0]) != NULL) {
        return p[0] == '/';
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_same_nocase(words[i], p)) {
            return false;
        }
    }
    return true;
}

static void yaml_text(struct str *out, const char *p, size_t n) {
    if (is_plain(p, n)) {
        str_add_bytes(out, p, n);
    } else {
        write_text(out, p, n); // a JSON text is a YAML one
    }
}

static void yaml_indent(struct str *out, size_t depth) {
    for (size_t i = 0; i < depth; i++) {
        str_add(out, "  ");
    }
}

static bool is_block(const struct json *node) {
    return (node->type == JSON_ARRAY || node->type == JSON_OBJECT) && node->count != 0;
}

static void yaml_leaf(struct str *out, const struct json *node) {
    if (node->type == JSON_STRING) {
        yaml_text(out, node->text, node->length);
    } else {
        json_write(out, node);
    }
    str_add_char(out, '\n');
}

// at_start: the cursor already stands where the first line of the block begins.
static void yaml_block(struct str *out, const struct json *node, size_t depth, bool at_start) {
    JSON_EACH (child, node) {
        if (!at_start) {
            yaml_indent(out, depth);
        }
        at_start = false;
        if (node->type == JSON_ARRAY) {
            str_add(out, "- ");
            if (is_block(child)) {
                yaml_block(out, child, depth + 1, true);
            } else {
                yaml_leaf(out, child);
            }
            continue;
        }
        yaml_text(out, child->key, strlen(child->key));
        str_add_char(out, ':');
        if (is_block(child)) {
            str_add_char(out, '\n');
            yaml_block(out, child, depth + 1, false);
        } else {
            str_add_char(out, ' ');
            yaml_leaf(out, child);
        }
    }
}

void json_write_yaml(struct str *out, const struct json *node) {
    if (is_block(node)) {
        yaml_block(out, node, 0, false);
    } else {
        yaml_leaf(out, node);
    }
}
