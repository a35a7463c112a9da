// Log bytes of several processes as whole lines, each with the name of its process before it.
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

struct lines {
    struct lines_process *processes;
    size_t count;
    size_t name_width;
    bool colours;
    bool terminal; // what a progress bar wrote over itself is left out
};

void lines_init(struct lines *l, bool colours, bool terminal);
void lines_done(struct lines *l);
// Appends the complete lines of a LogChunk tree to out.
void lines_add_chunk(struct lines *l, const struct json *chunk, struct str *out);
// Appends what did not end with a newline.
void lines_flush(struct lines *l, struct str *out);

#endif
