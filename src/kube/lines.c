#include "kube/lines.h"

#include <string.h>

void lines_init(struct lines *l, size_t max) {
    *l = (struct lines){.max = max};
}

void lines_done(struct lines *l) {
    str_done(&l->rest);
}

void lines_reset(struct lines *l) {
    if (l->rest.cap > 64 * 1024) {
        str_done(&l->rest); // one large object must not hold its memory for good
    }
    str_clear(&l->rest);
}

static size_t trimmed(const char *line, size_t n) {
    return n > 0 && line[n - 1] == '\r' ? n - 1 : n;
}

bool lines_feed(struct lines *l, const char *data, size_t n, bool (*each)(void *ctx, const char *line, size_t n),
                void *ctx) {
    while (n > 0) {
        const char *end = memchr(data, '\n', n);
        size_t here = end != NULL ? (size_t)(end - data) : n;
        if (l->rest.len + here > l->max) {
            return false;
        }
        const char *line = data;
        size_t length = here;
        if (end == NULL || l->rest.len != 0) {
            str_add_bytes(&l->rest, data, here);
            line = str_text(&l->rest);
            length = l->rest.len;
        }
        if (end == NULL) {
            return true;
        }
        data += here + 1;
        n -= here + 1;
        length = trimmed(line, length);
        bool go_on = length == 0 || each(ctx, line, length);
        lines_reset(l);
        if (!go_on) {
            return false;
        }
    }
    return true;
}
