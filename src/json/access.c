// Reading a tree. Every function takes NULL and wrong types calmly, so that a chain of them needs one check at its end.
#include "json/internal.h"

#include "base/mem.h"

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
    if (node == NULL || node->type != JSON_NUMBER) {
        return false;
    }
    if (str_to_int64(node->text, INT64_MIN, INT64_MAX, ret)) {
        return true;
    }
    // 1e3 and 2.0 are whole as well, as far as a double can tell.
    double v = strtod(node->text, NULL);
    if (strpbrk(node->text, ".eE") == NULL || fabs(v) > 9007199254740991.0 || v != trunc(v)) {
        return false;
    }
    *ret = (int64_t)v;
    return true;
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

// Whole numbers by their digits, since a double cannot hold long ones; others by their value.
static bool same_number(const struct json *a, const struct json *b) {
    if (strcmp(a->text, b->text) == 0) {
        return true;
    }
    double x = strtod(a->text, NULL);
    bool whole = strpbrk(a->text, ".eE") == NULL && strpbrk(b->text, ".eE") == NULL;
    return whole ? x == 0 && strtod(b->text, NULL) == 0 : isfinite(x) && x == strtod(b->text, NULL);
}

static bool same_array(const struct json *a, const struct json *b) {
    const struct json *y = b->first;
    JSON_EACH (x, a) {
        if (!json_equal(x, y)) {
            return false;
        }
        y = y->next;
    }
    return true;
}

static int by_key(const void *a, const void *b) {
    const struct json *const *x = a;
    const struct json *const *y = b;
    int order = strcmp((*x)->key, (*y)->key);
    if (order == 0) {
        order = (*x)->line != (*y)->line ? ((*x)->line < (*y)->line ? -1 : 1) : (*x)->column < (*y)->column ? -1 : 1;
    }
    return order;
}

const struct json **json_sorted(const struct json *object) {
    const struct json **sorted = mem_realloc_array(NULL, object->count, sizeof(const struct json *));
    size_t n = 0;
    JSON_EACH (child, object) {
        sorted[n++] = child;
    }
    qsort(sorted, n, sizeof(const struct json *), by_key);
    return sorted;
}

static bool same_object(const struct json *a, const struct json *b) {
    CLEANUP(mem_free_ptr) const struct json **x = json_sorted(a);
    CLEANUP(mem_free_ptr) const struct json **y = json_sorted(b);
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(x[i]->key, y[i]->key) != 0 || !json_equal(x[i], y[i])) {
            return false;
        }
    }
    return true;
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
        return a->count == b->count && same_array(a, b);
    case JSON_OBJECT:
        return a->count == b->count && same_object(a, b);
    }
    return false;
}
