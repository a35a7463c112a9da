// Readers are woken when something in the directory of their job's logs changes: inotify.
#include "local/logs.h"

#include "base/fd.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { EVENTS_BYTES = 16 * 1024 };

// The name says which log it is: ATTEMPT.RANK.something.
static void mark(struct backend_log *r, const struct inotify_event *e) {
    uint32_t attempt;
    uint32_t rank;
    bool all = e->len == 0 || sscanf(e->name, "%u.%u.", &attempt, &rank) != 2;
    bool files = (e->mask & (IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_Q_OVERFLOW)) != 0;
    for (size_t i = 0; i < r->count; i++) {
        struct cursor *c = r->cursors[i];
        if (all || (c->attempt == attempt && c->rank == rank)) {
            c->stale = true;
            c->stale_segments = c->stale_segments || files;
        }
    }
    r->stale = true;
    r->new_logs = r->new_logs || files;
    loop_defer(r->local->loop, &r->wake_task);
}

static void mark_readers(struct local *l, const struct inotify_event *e) {
    LIST_EACH (node, &l->log_dirs) {
        struct log_dir *d = CONTAINER_OF(node, struct log_dir, link);
        if (d->watch != e->wd && (e->mask & IN_Q_OVERFLOW) == 0) {
            continue;
        }
        LIST_EACH (inner, &d->readers) {
            mark(CONTAINER_OF(inner, struct backend_log, link), e);
        }
    }
}

static void on_inotify(void *ctx, int events UNUSED) {
    struct local *l = ctx;
    char buffer[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n = read(l->inotify, buffer, sizeof buffer);
    for (char *p = buffer; n > 0 && p < buffer + n;) {
        const struct inotify_event *e = (const struct inotify_event *)(void *)p;
        mark_readers(l, e);
        p += sizeof *e + e->len;
    }
}

void logs_init(struct local *l) {
    list_init(&l->log_dirs);
    loop_io_init(&l->inotify_io, l->loop, "log files", on_inotify, l);
    l->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (l->inotify >= 0) {
        loop_io_start(&l->inotify_io, l->inotify, LOOP_READ);
    }
}

void logs_done(struct local *l) {
    loop_io_stop(&l->inotify_io);
    fd_close(&l->inotify);
}

struct log_dir *log_dir_ref(struct local *l, const char *path) {
    LIST_EACH (node, &l->log_dirs) {
        struct log_dir *d = CONTAINER_OF(node, struct log_dir, link);
        if (strcmp(d->path, path) == 0) {
            d->refs++;
            return d;
        }
    }
    int watch = inotify_add_watch(l->inotify, path, IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR);
    if (watch < 0) {
        return NULL;
    }
    struct log_dir *d = NEW(struct log_dir);
    d->path = mem_strdup(path);
    d->refs = 1;
    d->watch = watch;
    list_init(&d->readers);
    list_push(&l->log_dirs, &d->link);
    return d;
}

void log_dir_unref(struct local *l, struct log_dir *d) {
    if (d == NULL || --d->refs != 0) {
        return;
    }
    if (l->inotify >= 0) {
        (void)inotify_rm_watch(l->inotify, d->watch);
    }
    list_remove(&d->link);
    mem_free(d->path);
    mem_free(d);
}
