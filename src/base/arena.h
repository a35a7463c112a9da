// A bump allocator: many small allocations that die together. One owner, one thread, no single frees.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/attr.h"

#include <stddef.h>

struct arena {
    struct arena_block *head;
    size_t used;  // bytes handed out
    size_t limit; // 0: none
};

// limit: most bytes to hand out; 0 for none. The struct is the caller's.
void arena_init(struct arena *a, size_t limit);
void arena_done(struct arena *a); // frees everything; the arena can be used again

// Zeroed, aligned for any type. NULL only when the limit would be passed.
void *arena_try_alloc(struct arena *a, size_t size);
// The same for arenas without a limit; passing a limit here aborts.
void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);            // NULL gives NULL
char *arena_strndup(struct arena *a, const char *s, size_t n); // n bytes, which may include NUL; terminated
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_NEW_ARRAY(a, type, n) ((type *)arena_alloc((a), (n) * sizeof(type)))

#endif
