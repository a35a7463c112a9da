// Growing text or bytes on the heap. Always NUL-terminated behind its length; may hold NUL bytes.
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    char *data; // never NULL after the first append; use str_text() to read
    size_t len, cap;
};

#define STR_INIT                                                                                                       \
    { 0 }

void str_done(struct str *s);  // frees the content
void str_clear(struct str *s); // keeps the memory
void str_reserve(struct str *s, size_t more);
void str_add(struct str *s, const char *text);
void str_add_bytes(struct str *s, const void *data, size_t n);
void str_add_char(struct str *s, char c);
void str_printf(struct str *s, const char *fmt, ...) PRINTF_LIKE(2, 3); // appends
const char *str_text(const struct str *s);                              // "" when empty, never NULL
char *str_take(struct str *s); // the caller frees with mem_free; s is empty afterwards

// Text helpers without a home of their own.
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
bool str_same(const char *a, const char *b);        // NULL equals only NULL
bool str_same_nocase(const char *a, const char *b); // ASCII
bool str_is_empty(const char *s);                   // NULL or ""
// Whole text as a decimal integer in [min, max]; false leaves *ret alone.
bool str_to_int64(const char *s, int64_t min, int64_t max, int64_t *ret);

// UTF-8 by RFC 3629. Returns the offset of the first bad byte, or n when all is well.
size_t str_utf8_valid(const char *s, size_t n);
// In place: each run of bytes that are no UTF-8 becomes one '?'. For texts that were cut, or came from outside.
void str_utf8_mend(char *s);

// The nearest of names to `wrong` by edit distance, or NULL when none is near. For "did you mean".
const char *str_nearest(const char *wrong, const char *const *names, size_t n);

#endif
