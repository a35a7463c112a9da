// Which logs of a job there are, and a cursor for each that a reader wants.
#include "local/logs.h"

#include "base/mem.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CURSORS_MAX = 20000 };

struct found {
    uint32_t attempt, rank;
    bool is_segment; // else the index
    uint64_t start;  // of the segment
};

struct listing {
    struct found *items;
    size_t count, cap;
};

static int compare_logs(const struct found *x, const struct found *y) {
    if (x->attempt != y->attempt) {
        return x->attempt < y->attempt ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_place(const void *a, const void *b) {
    const struct found *x = a;
    const struct found *y = b;
    int order = compare_logs(x, y);
    if (order != 0 || x->is_segment != y->is_segment) {
        return order != 0 ? order : x->is_segment ? 1 : -1;
    }
    return x->start < y->start ? -1 : x->start > y->start;
}

static bool read_name(const char *name, struct found *ret) {
    int end = 0;
    *ret = (struct found){0};
    if (sscanf(name, "%u.%u.idx%n", &ret->attempt, &ret->rank, &end) == 2 && end != 0) {
        return name[end] == '\0';
    }
    ret->is_segment = true;
    return sscanf(name, "%u.%u.%20" SCNu64 ".log%n", &ret->attempt, &ret->rank, &ret->start, &end) == 3 && end != 0 &&
           name[end] == '\0';
}

// Every file of every log, in order.
static void list_files(const char *path, struct listing *ret) {
    DIR *dir = opendir(path);
    const struct dirent *e;
    struct found f;
    *ret = (struct listing){0};
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (!read_name(e->d_name, &f)) {
            continue;
        }
        if (ret->count == ret->cap) {
            ret->cap = ret->cap * 2 + 16;
            ret->items = mem_realloc_array(ret->items, ret->cap, sizeof *ret->items);
        }
        ret->items[ret->count++] = f;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (ret->count != 0) {
        qsort(ret->items, ret->count, sizeof *ret->items, by_place);
    }
}

uint32_t logs_newest_attempt(const char *path) {
    struct listing all;
    list_files(path, &all);
    uint32_t newest = all.count != 0 ? all.items[all.count - 1].attempt : 0;
    mem_free(all.items);
    return newest;
}

// Where a reader begins in a log that was there when it came.
static void place_cursor(const struct backend_log *r, struct cursor *c) {
    for (size_t i = 0; r->resume.attempt == c->attempt && i < r->resume.count; i++) {
        if (r->resume.places[i].rank == c->rank) {
            c->offset = r->resume.places[i].offset;
            c->announced = r->resume.places[i].announced;
        }
    }
    if (r->resume.attempt != 0 || r->opened) {
        return; // all of it: nobody has seen its beginning
    }
    if (r->query.since_ns != 0) {
        c->offset = log_view_offset_at(&c->view, r->query.since_ns);
    }
    if (r->query.tail_lines >= 0) {
        uint64_t at = log_view_tail(&c->view, r->query.tail_lines);
        c->offset = at > c->offset ? at : c->offset;
    }
}

static void free_cursor(struct cursor *c) {
    log_view_close(&c->view);
    mem_free(c);
}

void logs_drop_cursor(struct backend_log *r, size_t at) {
    free_cursor(r->cursors[at]);
    r->count--;
    for (size_t i = at; i < r->count; i++) {
        r->cursors[i] = r->cursors[i + 1];
    }
}

static bool wanted(struct backend_log *r, const struct cursor *c) {
    bool role = r->role == NULL || str_same_nocase(r->role, c->role);
    bool index = r->query.index < 0 || (uint32_t)r->query.index == c->index;
    r->role_known = r->role_known || role;
    r->index_known = r->index_known || (role && index);
    return role && index;
}

static void add_cursor(struct backend_log *r, size_t at, const struct found *f) {
    struct cursor *c = NEW(struct cursor);
    c->attempt = f->attempt;
    c->rank = f->rank;
    c->stale = c->stale_segments = true;
    if (!log_view_open(&c->view, r->path, f->attempt, f->rank, c->role, &c->index) || !wanted(r, c)) {
        free_cursor(c);
        return;
    }
    r->cursors = mem_realloc_array(r->cursors, r->count + 1, sizeof(struct cursor *));
    for (size_t i = r->count; i > at; i--) {
        r->cursors[i] = r->cursors[i - 1];
    }
    r->cursors[at] = c;
    r->count++;
}

static void add_new_logs(struct backend_log *r) {
    struct listing all;
    size_t at = 0;
    list_files(r->path, &all);
    for (size_t i = 0; i < all.count && r->count < CURSORS_MAX; i++) {
        const struct found *f = &all.items[i];
        int order = 1;
        if (f->is_segment || f->attempt < r->attempt_from || f->attempt > r->attempt_to) {
            continue;
        }
        while (at < r->count) {
            const struct found have = {.attempt = r->cursors[at]->attempt, .rank = r->cursors[at]->rank};
            order = compare_logs(&have, f);
            if (order >= 0) {
                break;
            }
            at++;
        }
        if (at == r->count || order != 0) {
            add_cursor(r, at, f);
        }
    }
    mem_free(all.items);
    // An attempt begins when the one before it is over: that one's files say so now.
    bool later = r->count != 0 && r->cursors[0]->attempt != r->cursors[r->count - 1]->attempt;
    for (size_t i = 0; later && i < r->count; i++) {
        r->cursors[i]->stale = r->cursors[i]->stale_segments = true;
    }
}

// ---- What was written since

// The indexes first, then one look at the directory for all, then the sizes: see logview.h.
static bool read_indexes(const struct backend_log *r) {
    bool list = false;
    for (size_t i = 0; i < r->count; i++) {
        struct cursor *c = r->cursors[i];
        c->stale = c->stale || r->terminal;
        bool ended = c->stale && log_view_read_index(&c->view);
        c->stale_segments = c->stale_segments || ended || r->terminal;
        list = list || c->stale_segments;
    }
    return list;
}

// The segments of one log; *at moves on in the listing, as the cursors do.
static void give_segments(struct cursor *c, const struct listing *all, size_t *at) {
    uint64_t starts[LOG_SEGMENTS_MAX * 2];
    size_t n = 0;
    const struct found key = {.attempt = c->attempt, .rank = c->rank};
    while (*at < all->count && compare_logs(&all->items[*at], &key) < 0) {
        (*at)++;
    }
    for (size_t i = *at; i < all->count && compare_logs(&all->items[i], &key) == 0; i++) {
        if (all->items[i].is_segment && n < ARRAY_LEN(starts)) {
            starts[n++] = all->items[i].start;
        }
    }
    log_view_set_segments(&c->view, starts, n);
}

void logs_refresh(struct backend_log *r) {
    struct listing all = {0};
    size_t at = 0;
    if (r->new_logs) {
        r->new_logs = false;
        add_new_logs(r);
    }
    if (read_indexes(r)) {
        list_files(r->path, &all);
    }
    for (size_t i = 0; i < r->count; i++) {
        struct cursor *c = r->cursors[i];
        if (c->stale_segments) {
            give_segments(c, &all, &at);
        } else if (c->stale) {
            log_view_measure(&c->view);
        }
        if (!c->placed) {
            c->placed = true;
            place_cursor(r, c);
        }
        c->held = c->held && !c->stale;
        c->stale = c->stale_segments = false;
    }
    mem_free(all.items);
}
