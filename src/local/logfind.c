// Which logs of a job there are, and a cursor for each that a reader wants.
#include "local/logs.h"

#include "base/mem.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { CURSORS_MAX = 20000 };

struct found {
    uint32_t attempt, rank;
};

static int by_place(const void *a, const void *b) {
    const struct found *x = a;
    const struct found *y = b;
    if (x->attempt != y->attempt) {
        return x->attempt < y->attempt ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

// Every ATTEMPT.RANK.idx, in order.
static struct found *list_logs(const char *path, size_t *ret_count) {
    DIR *dir = opendir(path);
    struct found *out = NULL;
    size_t n = 0;
    size_t cap = 0;
    const struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        struct found f;
        int end = 0;
        if (sscanf(e->d_name, "%u.%u.idx%n", &f.attempt, &f.rank, &end) != 2 || end == 0 || e->d_name[end] != '\0') {
            continue;
        }
        if (n == cap) {
            cap = cap * 2 + 16;
            out = mem_realloc_array(out, cap, sizeof *out);
        }
        out[n++] = f;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (n != 0) {
        qsort(out, n, sizeof *out, by_place);
    }
    *ret_count = n;
    return out;
}

uint32_t logs_newest_attempt(const char *path) {
    size_t n = 0;
    CLEANUP(mem_free_ptr) struct found *found = list_logs(path, &n);
    return n != 0 ? found[n - 1].attempt : 0;
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
    if (!log_view_open(&c->view, r->path, f->attempt, f->rank, c->role, &c->index) || !wanted(r, c)) {
        free_cursor(c);
        return;
    }
    log_view_refresh(&c->view, true);
    place_cursor(r, c);
    r->cursors = mem_realloc_array(r->cursors, r->count + 1, sizeof(struct cursor *));
    for (size_t i = r->count; i > at; i--) {
        r->cursors[i] = r->cursors[i - 1];
    }
    r->cursors[at] = c;
    r->count++;
}

static void add_new_logs(struct backend_log *r) {
    size_t n = 0;
    size_t at = 0;
    CLEANUP(mem_free_ptr) struct found *found = list_logs(r->path, &n);
    for (size_t i = 0; i < n && r->count < CURSORS_MAX; i++) {
        if (found[i].attempt < r->attempt_from || found[i].attempt > r->attempt_to) {
            continue;
        }
        struct found have = {0};
        while (at < r->count) {
            have = (struct found){r->cursors[at]->attempt, r->cursors[at]->rank};
            if (by_place(&have, &found[i]) >= 0) {
                break;
            }
            at++;
        }
        if (at == r->count || by_place(&have, &found[i]) != 0) {
            add_cursor(r, at, &found[i]);
        }
    }
    // An attempt begins when the one before it is over: that one's files say so now.
    bool later = r->count != 0 && r->cursors[0]->attempt != r->cursors[r->count - 1]->attempt;
    for (size_t i = 0; later && i < r->count; i++) {
        r->cursors[i]->stale = r->cursors[i]->stale_segments = true;
    }
}

void logs_refresh(struct backend_log *r) {
    if (r->new_logs) {
        r->new_logs = false;
        add_new_logs(r);
    }
    for (size_t i = 0; i < r->count; i++) {
        struct cursor *c = r->cursors[i];
        if (c->stale || r->terminal) {
            log_view_refresh(&c->view, c->stale_segments || r->terminal);
            c->stale = c->stale_segments = c->held = false;
        }
    }
}
