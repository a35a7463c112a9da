// What a plain YAML scalar means: the core schema, as far as JSON can say it. Not numbers here: 0x10 and 0o17, .inf and
// .nan, which JSON does not have, and 0644, which YAML 1.1 reads as octal and 1.2 as decimal. Those stay texts.
#include "json/internal.h"

#include <string.h>

static size_t digits(const char *p, size_t n, size_t i) {
    while (i < n && p[i] >= '0' && p[i] <= '9') {
        i++;
    }
    return i;
}

// The grammar of JSON.
static bool is_number(const char *p, size_t n) {
    size_t i = n > 0 && p[0] == '-' ? 1 : 0;
    size_t start = i;
    i = digits(p, n, i);
    if (i == start || (p[start] == '0' && i > start + 1)) {
        return false;
    }
    if (i < n && p[i] == '.') {
        start = ++i;
        i = digits(p, n, i);
        if (i == start) {
            return false;
        }
    }
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        if (i < n && (p[i] == '+' || p[i] == '-')) {
            i++;
        }
        start = i;
        i = digits(p, n, i);
        if (i == start) {
            return false;
        }
    }
    return i == n;
}

static bool is_digit(const char *text, size_t n, size_t at) {
    return at < n && text[at] >= '0' && text[at] <= '9';
}

// +1, .5 and 1. in the JSON grammar.
static bool number(struct json_plain *p, const char *text, size_t n) {
    if (is_number(text, n)) {
        p->text = text;
        p->n = n;
        return true;
    }
    if (n > sizeof p->space / 3 || strspn(text, "+-.0123456789eE") != n) {
        return false;
    }
    size_t m = 0;
    for (size_t i = text[0] == '+'; i < n; i++) {
        bool before = i > 0 && is_digit(text, n, i - 1);
        bool after = is_digit(text, n, i + 1);
        if (text[i] == '.' && !before) {
            if (!after) {
                return false;
            }
            p->space[m++] = '0';
        }
        p->space[m++] = text[i];
        if (text[i] == '.' && !after) {
            p->space[m++] = '0';
        }
    }
    p->text = p->space;
    p->n = m;
    return is_number(p->space, m);
}

void json_plain(struct json_plain *ret, const char *text, size_t n) {
    static const struct {
        const char *word;
        enum json_type type;
        bool boolean;
    } words[] = {
        {"", JSON_NULL, false},      {"~", JSON_NULL, false},     {"null", JSON_NULL, false},
        {"Null", JSON_NULL, false},  {"NULL", JSON_NULL, false},  {"true", JSON_BOOL, true},
        {"True", JSON_BOOL, true},   {"TRUE", JSON_BOOL, true},   {"false", JSON_BOOL, false},
        {"False", JSON_BOOL, false}, {"FALSE", JSON_BOOL, false},
    };
    ret->boolean = false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strlen(words[i].word) == n && memcmp(words[i].word, text, n) == 0) {
            ret->type = words[i].type;
            ret->boolean = words[i].boolean;
            ret->text = text;
            ret->n = n;
            return;
        }
    }
    if (number(ret, text, n)) {
        ret->type = JSON_NUMBER;
        return;
    }
    ret->type = JSON_STRING;
    ret->text = text;
    ret->n = n;
}
