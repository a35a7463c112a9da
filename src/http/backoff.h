// Growing, jittered waits between attempts.
#ifndef HTTP_BACKOFF_H
#define HTTP_BACKOFF_H

#include <stdint.h>

struct http_backoff {
    int64_t base_ms, cap_ms; // both > 0
    unsigned attempt;        // 0 at first
};

// The wait before the next attempt: between half and all of base_ms * 2^attempt, or of cap_ms when that is less.
int64_t http_backoff_next(struct http_backoff *backoff);
void http_backoff_reset(struct http_backoff *backoff); // after a success

#endif
