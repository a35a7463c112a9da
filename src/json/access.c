// Reading a tree. Every function takes NULL and wrong types calmly, so that a chain of them needs one check at its end.
#include "json/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *json_type_name(enum json_type type) {
    static const char *const names[] = {"null", "a boolean", "a number", "a text", "a list", "an object"};
    return names[type];
}

static const struct json *get_n(const struct json *object, const char *key, size_t n) {
    if (object == NULL || object->type != JSON_OBJECT) {
        return NULL;
    }
    JSON_EACH (child, object) {
        if (strncmp(child->key, key, n) == 0 && child->key[n] == '\0') {
            return child;
        }
    }
    return NULL;
}

const struct json *json_get(const struct json *object, const char *key) {
    return get_n(object, key, strlen(key));
}

const struct json *json_at(const struct json *array, size_t index) {
    if (array == NULL || array->type != JSON_ARRAY) {
        return NULL;
    }
    JSON_EACH (child, array) {
        if (index-- == 0) {
            return child;
        }
    }
    return NULL;
}

static const struct json *find_by_member(const struct json *array, const char *key, size_t key_n, const char *text,
                                         size_t text_n) {
    if (array == NULL || array->type != JSON_ARRAY) {
        return NULL;
    }
    JSON_EACH (child, array) {
        const char *value = json_string(get_n(child, key, key_n), NULL);
        if (value != NULL && strlen(value) == text_n && memcmp(value, text, text_n) == 0) {
            return child;
        }
    }
    return NULL;
}

// One [...]: an index, a quoted key, or member=text. *p stands behind the bracket and is moved behind the closing one.
static const struct json *bracket(const struct json *node, const char **p) {
    const char *begin = *p;
    if (*begin == '"') {
        const char *end = strchr(begin + 1, '"');
        if (end == NULL || end[1] != ']') {
            return NULL;
        }
        *p = end + 2;
        return get_n(node, begin + 1, (size_t)(end - begin - 1));
    }
    const char *end = strchr(begin, ']');
    if (end == NULL) {
        return NULL;
    }
    *p = end + 1;
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    if (equals != NULL) {
        return find_by_member(node, begin, (size_t)(equals - begin), equals + 1, (size_t)(end - equals - 1));
    }
    char *stop = NULL;
    unsigned long index = strtoul(begin, &stop, 10);
    return stop == end && begin != end ? json_at(node, index) : NULL;
}

const struct json *json_path(const struct json *node, const char *path) {
    const char *p = path;
    while (node != NULL && *p != '\0') {
        if (*p == '[') {
            p++;
            node = bracket(node, &p);
            continue;
        }
        p += *p == '.' && p != path;
        size_t n = strcspn(p, ".[");
        node = n != 0 ? get_n(node, p, n) : NULL;
        p += n;
    }
    return node;
}

const char *json_string(const struct json *node, const char *fallback) {
    return node != NULL && node->type == JSON_STRING ? node->text : fallback;
}

bool json_int(const struct json *node, int64_t *ret) {
    return node != NULL && node->type == JSON_NUMBER && str_to_int64(node->text, INT64_MIN, INT64_MAX, ret);
}

bool json_double(const struct json *node, double *ret) {
    if (node == NULL || node->type != JSON_NUMBER) {
        return false;
    }
    double v = strtod(node->text, NULL);
    if (!isfinite(v)) {
        return false;
    }
    *ret = v;
    return true;
}

bool json_bool(const struct json *node, bool fallback) {
    return node != NULL && node->type == JSON_BOOL ? node->boolean : fallback;
}

static bool same_number(const struct json *a, const struct json *b) {
    return strcmp(a->text, b->text) == 0 || strtod(a->text, NULL) == strtod(b->text, NULL);
}

static bool same_array(const struct json *a, const struct json *b) {
    const struct json *y = b->first;
    JSON_EACH (x, a) {
        if (y == NULL || !json_equal(x, y)) {
            return false;
        }
        y = y->next;
    }
    return y == NULL;
}

static bool same_object(const struct json *a, const struct json *b) {
    JSON_EACH (x, a) {
        if (!json_equal(x, json_get(b, x->key))) {
            return false;
        }
    }
    return a->count == b->count;
}

bool json_equal(const struct json *a, const struct json *b) {
    if (a == NULL || b == NULL || a->type != b->type) {
        return a == b;
    }
    switch (a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->boolean == b->boolean;
    case JSON_NUMBER:
        return same_number(a, b);
    case JSON_STRING:
        return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
    case JSON_ARRAY:
        return same_array(a, b);
    case JSON_OBJECT:
        return same_object(a, b);
    }
    return false;
}
