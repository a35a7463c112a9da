// A tree to text: compact, canonical, pretty.
#include "json/internal.h"

#include "base/mem.h"

#include <string.h>

// The length of the character at p if it is a control or a line break to anyone (C0, DEL, C1, the separators U+2028 and
// U+2029, the byte order mark, non-characters), otherwise 0. A YAML reader would refuse or fold it when written raw.
static size_t special(const unsigned char *p, size_t left, unsigned *ret_code) {
    if (p[0] < 0x20 || p[0] == 0x7f) {
        *ret_code = p[0];
        return 1;
    }
    if (p[0] == 0xc2 && left >= 2 && p[1] < 0xa0) {
        *ret_code = p[1];
        return 2;
    }
    if ((p[0] == 0xe2 || p[0] == 0xef) && left >= 3) {
        unsigned code = (p[0] & 15U) << 12 | (p[1] & 63U) << 6 | (p[2] & 63U);
        *ret_code = code;
        return (code & ~1U) == 0x2028 || code == 0xfeff || code >= 0xfffe ? 3 : 0;
    }
    return 0;
}

static void write_escape(struct str *out, unsigned code) {
    static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (code < sizeof letters && letters[code] != 0) {
        str_add_char(out, '\\');
        str_add_char(out, letters[code]);
    } else {
        str_printf(out, "\\u%04x", code);
    }
}

void json_write_text(struct str *out, const char *text, size_t n) {
    const unsigned char *p = (const unsigned char *)text;
    size_t plain = 0; // from here on nothing was written yet
    str_add_char(out, '"');
    for (size_t i = 0; i < n;) {
        unsigned code = 0;
        size_t length = special(p + i, n - i, &code);
        if (length != 0) {
            str_add_bytes(out, p + plain, i - plain);
            write_escape(out, code);
            plain = i += length;
            continue;
        }
        if (p[i] == '"' || p[i] == '\\') {
            str_add_bytes(out, p + plain, i - plain);
            str_add_char(out, '\\');
            plain = i;
        }
        i++;
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

static void write_node(struct str *out, const struct json *node, const struct style *style, size_t depth);

static void write_member(struct str *out, const struct json *child, const struct style *style, size_t depth,
                         bool first) {
    if (!first) {
        str_add_char(out, ',');
    }
    line_break(out, style, depth + 1);
    if (child->key != NULL) {
        json_write_text(out, child->key, strlen(child->key));
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
    CLEANUP(mem_free_ptr) const struct json **sorted = json_sorted(node);
    for (size_t i = 0; i < node->count; i++) {
        write_member(out, sorted[i], style, depth, i == 0);
    }
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
        json_write_text(out, node->text, node->length);
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
