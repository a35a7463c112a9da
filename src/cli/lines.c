#include "cli/lines.h"

#include "base/attr.h"
#include "base/mem.h"
#include "cli/internal.h"
#include "cli/text.h"

#include <inttypes.h>
#include <string.h>

enum { PARTIAL_MAX = 64 * 1024 };

struct lines_process {
    char *name; // "worker-0"
    int64_t rank;
    struct str partial;
};

void lines_init(struct lines *l, bool colours, bool terminal) {
    *l = (struct lines){.colours = colours, .terminal = terminal};
}

void lines_done(struct lines *l) {
    for (size_t i = 0; i < l->count; i++) {
        mem_free(l->processes[i].name);
        str_done(&l->processes[i].partial);
    }
    mem_free(l->processes);
    *l = (struct lines){0};
}

static struct lines_process *find(struct lines *l, const struct json *chunk) {
    CLEANUP(str_done) struct str raw = STR_INIT;
    struct str name = STR_INIT;
    str_printf(&raw, "%s-%" PRId64, json_string(json_get(chunk, "role"), "?"), call_int(json_get(chunk, "index")));
    text_safe(&name, str_text(&raw));
    for (size_t i = 0; i < l->count; i++) {
        if (str_same(l->processes[i].name, str_text(&name))) {
            str_done(&name);
            return &l->processes[i];
        }
    }
    size_t width = text_width(str_text(&name));
    l->name_width = width > l->name_width ? width : l->name_width;
    l->processes = mem_realloc_array(l->processes, l->count + 1, sizeof *l->processes);
    struct lines_process *p = &l->processes[l->count++];
    *p = (struct lines_process){.name = str_take(&name), .rank = call_int(json_get(chunk, "rank"))};
    return p;
}

static void add_line(const struct lines *l, const struct lines_process *p, const char *line, size_t n,
                     struct str *out) {
    CLEANUP(str_done) struct str prefix = STR_INIT;
    str_printf(&prefix, "%-*s |", (int)l->name_width, p->name);
    text_colour(out, l->colours, text_rank_colour(p->rank), str_text(&prefix));
    str_add_char(out, ' ');
    if (l->terminal) {
        n -= n > 0 && line[n - 1] == '\r';
        const char *over = memrchr(line, '\r', n);
        if (over != NULL) {
            n -= (size_t)(over + 1 - line);
            line = over + 1;
        }
    }
    str_add_bytes(out, line, n);
    str_add_char(out, '\n');
}

static void split(const struct lines *l, struct lines_process *p, struct str *out) {
    const char *at = str_text(&p->partial);
    const char *end = at + p->partial.len;
    for (const char *newline; (newline = memchr(at, '\n', (size_t)(end - at))) != NULL; at = newline + 1) {
        add_line(l, p, at, (size_t)(newline - at), out);
    }
    struct str rest = STR_INIT;
    if (end - at > PARTIAL_MAX) {
        add_line(l, p, at, (size_t)(end - at), out);
    } else {
        str_add_bytes(&rest, at, (size_t)(end - at));
    }
    str_done(&p->partial);
    p->partial = rest;
}

void lines_add_chunk(struct lines *l, const struct json *chunk, struct str *out) {
    struct lines_process *p = find(l, chunk);
    (void)text_base64(json_string(json_get(chunk, "data"), ""), &p->partial); // made by our own JSON mapping
    split(l, p, out);
}

void lines_flush(struct lines *l, struct str *out) {
    for (size_t i = 0; i < l->count; i++) {
        struct lines_process *p = &l->processes[i];
        if (p->partial.len > 0) {
            add_line(l, p, p->partial.data, p->partial.len, out);
            str_clear(&p->partial);
        }
    }
}
