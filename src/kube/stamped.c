#include "kube/stamped.h"

#include <string.h>

void stamped_reconnect(struct stamped *s) {
    s->cut = s->last_ns != 0 && (s->cut || (s->in_line && !s->skipping));
    s->stamp_len = s->skip_len = 0;
    s->in_line = s->skipping = false;
    s->seen = 0;
}

static void new_line(struct stamped *s, int64_t at) {
    s->same = at == s->last_ns ? s->same + 1 : 1;
    s->seen = s->same;
    s->last_ns = at;
    s->line_len = 0;
    s->cut = false;
}

// The stamp is complete: is the line new?
static bool begin_line(struct stamped *s) {
    int64_t at = 0;
    s->stamp[s->stamp_len] = '\0';
    s->in_line = true;
    s->skipping = false;
    s->stamp_len = s->skip_len = 0;
    if (!clock_parse(s->stamp, &at)) {
        return false;
    }
    if (at > s->last_ns || (at == s->last_ns && s->seen >= s->same)) {
        new_line(s, at);
        return true;
    }
    s->seen += at == s->last_ns;
    if (at == s->last_ns && s->seen == s->same && s->cut) {
        s->skip_len = s->line_len; // its rest is new
    } else {
        s->skipping = true;
    }
    return true;
}

// Bytes of a line, perhaps not all of it.
static void pass(struct stamped *s, const char *data, size_t n, struct str *out) {
    size_t known = n < s->skip_len ? n : s->skip_len;
    s->skip_len -= known;
    s->line_len += n - known;
    str_add_bytes(out, data + known, n - known);
    s->cut = s->cut && data[n - 1] != '\n';
}

void stamped_feed(struct stamped *s, const char *data, size_t n, struct str *out) {
    while (n > 0) {
        if (s->in_line) {
            const char *end = memchr(data, '\n', n);
            size_t here = end != NULL ? (size_t)(end - data) + 1 : n;
            if (!s->skipping) {
                pass(s, data, here, out);
            }
            s->in_line = end == NULL;
            data += here;
            n -= here;
            continue;
        }
        bool complete = *data == ' ' || *data == '\n' || s->stamp_len == sizeof s->stamp - 1;
        if (!complete) {
            s->stamp[s->stamp_len++] = *data;
        } else if (!begin_line(s)) { // no stamp: its bytes belong to the line, which is shown as it is
            str_add(out, s->stamp);
            continue;
        }
        data++;
        n--;
    }
}
