// A stream of bytes, in chunks of any size, into lines. For watches: one JSON object a line. Pure.
#ifndef KUBE_LINES_H
#define KUBE_LINES_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct lines {
    struct str rest; // the beginning of a line whose end has not come
    size_t max;      // longest line, bytes
};

void lines_init(struct lines *l, size_t max);
void lines_done(struct lines *l);
void lines_reset(struct lines *l); // forgets a line that was begun
// Calls each for every line that is complete now, without its end; an empty one is left out. each returns false to
// stop, and the rest of the chunk is dropped. Returns false when a line is longer than max, or when each stopped.
bool lines_feed(struct lines *l, const char *data, size_t n, bool (*each)(void *ctx, const char *line, size_t n),
                void *ctx);

#endif
