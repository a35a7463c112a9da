#include "base/arena.h"

#include "base/mem.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BLOCK = 1024, LARGEST_BLOCK = 64 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    alignas(max_align_t) char data[];
};

void arena_init(struct arena *a, size_t limit) {
    *a = (struct arena){.limit = limit};
}

void arena_done(struct arena *a) {
    for (struct arena_block *b = a->head; b != NULL;) {
        struct arena_block *next = b->next;
        mem_free(b);
        b = next;
    }
    *a = (struct arena){.limit = a->limit};
}

static struct arena_block *add_block(struct arena *a, size_t need) {
    size_t size = a->head == NULL ? FIRST_BLOCK : a->head->size * 2;
    if (size > LARGEST_BLOCK) {
        size = LARGEST_BLOCK;
    }
    if (size < need) {
        size = need;
    }
    struct arena_block *b = mem_alloc(sizeof *b + size);
    b->size = size;
    b->used = 0;
    b->next = a->head;
    a->head = b;
    return b;
}

void *arena_try_alloc(struct arena *a, size_t size) {
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size_t need = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (a->limit != 0 && (need > a->limit || a->used > a->limit - need)) {
        return NULL;
    }
    struct arena_block *b = a->head;
    if (b == NULL || b->size - b->used < need) {
        b = add_block(a, need);
    }
    void *p = b->data + b->used;
    b->used += need;
    a->used += need;
    memset(p, 0, need);
    return p;
}

void *arena_alloc(struct arena *a, size_t size) {
    void *p = arena_try_alloc(a, size);
    assert(p != NULL);
    return p;
}

char *arena_strdup(struct arena *a, const char *s) {
    return s != NULL ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t n) {
    char *p = arena_alloc(a, n + 1);
    if (n != 0) {
        memcpy(p, s, n);
    }
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
    va_list ap;
    va_list again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
