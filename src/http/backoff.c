#include "http/backoff.h"

#include "base/id.h"

int64_t http_backoff_next(struct http_backoff *backoff) {
    int64_t wait = backoff->base_ms;
    for (unsigned i = 0; i < backoff->attempt && wait < backoff->cap_ms; i++) {
        wait = wait > backoff->cap_ms / 2 ? backoff->cap_ms : wait * 2;
    }
    wait = wait < backoff->cap_ms ? wait : backoff->cap_ms;
    if (wait < backoff->cap_ms) {
        backoff->attempt++;
    }
    uint64_t random;
    id_random(&random, sizeof random);
    int64_t half = wait / 2;
    return half + (int64_t)(random % (uint64_t)(wait - half + 1));
}

void http_backoff_reset(struct http_backoff *backoff) {
    backoff->attempt = 0;
}
