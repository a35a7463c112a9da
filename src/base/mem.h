// Memory. Small allocations never fail: running out of memory aborts with one line. Sizes that come from
// outside are bounded by the caller before they get here.
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/attr.h"

#include <stddef.h>

void *mem_alloc(size_t size);                              // uninitialised; size 0 gives a valid pointer
void *mem_zalloc(size_t size);                             // zeroed
void *mem_realloc_array(void *old, size_t n, size_t size); // aborts on overflow of n * size
void *mem_dup(const void *src, size_t size);
char *mem_strdup(const char *s);              // NULL gives NULL
char *mem_strndup(const char *s, size_t max); // at most max bytes, always NUL-terminated
char *mem_printf(const char *fmt, ...) PRINTF_LIKE(1, 2);
void mem_free(void *p); // NULL is fine

// For CLEANUP(): frees the pointer that the argument points to.
void mem_free_ptr(void *pp);

#define NEW(type) ((type *)mem_zalloc(sizeof(type)))
// Reads a pointer and clears its place, so that a move is visible: `return TAKE(job);`
#define TAKE(p) mem_take((void **)(void *)&(p))
void *mem_take(void **p);

#endif
