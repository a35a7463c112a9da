#include "base/str.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void str_done(struct str *s) {
    mem_free(s->data);
    *s = (struct str){0};
}

void str_clear(struct str *s) {
    s->len = 0;
    if (s->data != NULL) {
        s->data[0] = '\0';
    }
}

void str_reserve(struct str *s, size_t more) {
    size_t need = s->len + more + 1;
    if (need <= s->cap) {
        return;
    }
    size_t cap = s->cap < 64 ? 64 : s->cap;
    while (cap < need) {
        cap += cap / 2;
    }
    s->data = mem_realloc_array(s->data, cap, 1);
    s->cap = cap;
}

void str_add_bytes(struct str *s, const void *data, size_t n) {
    str_reserve(s, n);
    if (n != 0) {
        memcpy(s->data + s->len, data, n);
    }
    s->len += n;
    s->data[s->len] = '\0';
}

void str_add(struct str *s, const char *text) {
    str_add_bytes(s, text, strlen(text));
}

void str_add_char(struct str *s, char c) {
    str_add_bytes(s, &c, 1);
}

void str_printf(struct str *s, const char *fmt, ...) {
    va_list ap;
    va_list again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    str_reserve(s, (size_t)n);
    vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
    va_end(again);
    s->len += (size_t)n;
}

const char *str_text(const struct str *s) {
    return s->data != NULL ? s->data : "";
}

char *str_take(struct str *s) {
    char *p = s->data != NULL ? s->data : mem_strdup("");
    *s = (struct str){0};
    return p;
}

bool str_starts(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix) {
    size_t n = strlen(s);
    size_t m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

bool str_same(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool str_same_nocase(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcasecmp(a, b) == 0);
}

bool str_is_empty(const char *s) {
    return s == NULL || s[0] == '\0';
}

bool str_to_int64(const char *s, int64_t min, int64_t max, int64_t *ret) {
    if (s == NULL || !(s[0] == '-' || (s[0] >= '0' && s[0] <= '9'))) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno != 0 || end == s || *end != '\0' || v < min || v > max) {
        return false;
    }
    *ret = v;
    return true;
}

size_t str_utf8_valid(const char *s, size_t n) {
    const unsigned char *p = (const unsigned char *)s;
    size_t i = 0;
    while (i < n) {
        unsigned char c = p[i];
        size_t more;
        uint32_t value;
        uint32_t least;
        if (c < 0x80) {
            i++;
            continue;
        }
        if (c >= 0xc2 && c <= 0xdf) {
            more = 1, value = c & 0x1fU, least = 0x80;
        } else if (c >= 0xe0 && c <= 0xef) {
            more = 2, value = c & 0x0fU, least = 0x800;
        } else if (c >= 0xf0 && c <= 0xf4) {
            more = 3, value = c & 0x07U, least = 0x10000;
        } else {
            return i;
        }
        if (n - i <= more) {
            return i;
        }
        for (size_t k = 1; k <= more; k++) {
            if ((p[i + k] & 0xc0U) != 0x80) {
                return i;
            }
            value = value << 6 | (p[i + k] & 0x3fU);
        }
        if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
            return i;
        }
        i += more + 1;
    }
    return n;
}

void str_utf8_mend(char *s) {
    size_t n = strlen(s);
    size_t in = str_utf8_valid(s, n);
    size_t out = in;
    bool run = false;
    while (in < n) {
        size_t good = str_utf8_valid(s + in, n - in);
        if (good == 0) {
            if (!run) {
                s[out++] = '?';
            }
            run = true;
            in++;
            continue;
        }
        memmove(s + out, s + in, good);
        out += good;
        in += good;
        run = false;
    }
    s[out] = '\0';
}

enum { NEAR_MAX = 64 };

static size_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a);
    size_t m = strlen(b);
    size_t row[NEAR_MAX + 1];
    if (n > NEAR_MAX || m > NEAR_MAX) {
        return NEAR_MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) {
                best = row[j] + 1;
            }
            if (row[j - 1] + 1 < best) {
                best = row[j - 1] + 1;
            }
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *str_nearest(const char *wrong, const char *const *names, size_t n) {
    const char *best = NULL;
    size_t best_distance = strlen(wrong) / 2 + 1;
    for (size_t i = 0; i < n; i++) {
        size_t d = str_same_nocase(wrong, names[i]) ? 0 : edit_distance(wrong, names[i]);
        if (d < best_distance) {
            best = names[i];
            best_distance = d;
        }
    }
    return best;
}
