// Log lines with the API server's time stamps: strips the stamps, knows where it is, and leaves out what a reconnect
// sends again. Pure.
#ifndef KUBE_STAMPED_H
#define KUBE_STAMPED_H

#include "base/clock.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stamped {
    char stamp[CLOCK_TEXT_MAX]; // of the line that has begun
    size_t stamp_len;
    bool in_line, skipping;
    int64_t last_ns; // time of the newest line that was let through; 0: none
    int64_t same;    // lines with exactly that time
    int64_t seen;    // of these, how many this connection has shown again
    size_t line_len; // bytes of the newest line that were let through
    size_t skip_len; // bytes of this line that are left out: they were let through before the cut
    bool cut;        // the newest line was not complete when the connection went
};

// A new connection from `last_ns` on: what was let through before is left out.
void stamped_reconnect(struct stamped *s);
// Appends the bytes without stamps. Nothing else is changed: no line is joined, cut or checked.
void stamped_feed(struct stamped *s, const char *data, size_t n, struct str *out);

#endif
