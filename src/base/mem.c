#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static NORETURN void out_of_memory(size_t size) {
    fprintf(stderr, "trainerd: out of memory (%zu bytes)\n", size);
    abort();
}

void *mem_alloc(size_t size) {
    void *p = malloc(size != 0 ? size : 1);
    if (p == NULL) {
        out_of_memory(size);
    }
    return p;
}

void *mem_zalloc(size_t size) {
    void *p = calloc(1, size != 0 ? size : 1);
    if (p == NULL) {
        out_of_memory(size);
    }
    return p;
}

void *mem_realloc_array(void *old, size_t n, size_t size) {
    if (size != 0 && n > SIZE_MAX / size) {
        out_of_memory(SIZE_MAX);
    }
    size_t bytes = n * size;
    void *p = realloc(old, bytes != 0 ? bytes : 1);
    if (p == NULL) {
        out_of_memory(bytes);
    }
    return p;
}

void *mem_dup(const void *src, size_t size) {
    void *p = mem_alloc(size);
    if (size != 0) {
        memcpy(p, src, size);
    }
    return p;
}

char *mem_strdup(const char *s) {
    return s != NULL ? mem_dup(s, strlen(s) + 1) : NULL;
}

char *mem_strndup(const char *s, size_t max) {
    size_t n = strnlen(s, max);
    char *p = mem_alloc(n + 1);
    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *mem_printf(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *out = NULL;
    int n = vasprintf(&out, fmt, ap);
    va_end(ap);
    if (n < 0) {
        out_of_memory(0);
    }
    return out;
}

void mem_free(void *p) {
    free(p);
}

void mem_free_ptr(void *pp) {
    void *p;
    memcpy(&p, pp, sizeof p);
    free(p);
}

void *mem_take(void **p) {
    void *value = *p;
    *p = NULL;
    return value;
}
