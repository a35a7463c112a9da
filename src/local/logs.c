// Reading logs: a cursor for each process and attempt, merged by the time at which things were written.
#include "local/executor.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/mem.h"
#include "local/logfile.h"
#include "local/logview.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK_MAX = 64 * 1024,
    LINE_MAX_BYTES = 32 * 1024,
    TOKEN_CURSORS_MAX = 250,
    CURSORS_MAX = 20000,
    EVENTS_BYTES = 4096
};

struct cursor {
    struct log_view view;
    uint32_t attempt, rank;
    char role[56];
    uint32_t index;
    uint64_t offset;
    bool announced;
};

struct backend_log {
    struct list link; // log_dir.readers
    struct log_dir *dir;
    struct local *local;
    struct backend_log_query query;
    char *uid, *role, *path;
    uint32_t attempt_from, attempt_to;
    bool terminal, role_known, index_known;
    bool stale; // files may have grown since they were looked at
    struct cursor **cursors;
    size_t count;
    struct resume_point *resume;
    size_t resume_count;
    void (*wake)(void *ctx);
    void *ctx;
    struct str buffer, token;
};

// One inotify watch a directory, for all who read there.
struct log_dir {
    struct list link; // local.log_dirs
    struct list readers;
    int watch;
    char *path;
    uint32_t refs;
};

struct resume_point {
    uint32_t attempt, rank;
    uint64_t offset;
    bool announced;
};

// ---- Being woken
// -------------------------------------------------------------------------------------------------------------------

static void on_inotify(void *ctx, int events UNUSED) {
    struct local *l = ctx;
    char buffer[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;
    while ((n = read(l->inotify, buffer, sizeof buffer)) > 0) {
        for (char *p = buffer; p < buffer + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(void *)p;
            LIST_EACH (node, &l->log_dirs) {
                struct log_dir *d = CONTAINER_OF(node, struct log_dir, link);
                if (d->watch != e->wd && (e->mask & IN_Q_OVERFLOW) == 0) {
                    continue;
                }
                LIST_EACH (inner, &d->readers) {
                    struct backend_log *r = CONTAINER_OF(inner, struct backend_log, link);
                    r->stale = true;
                    r->wake(r->ctx);
                }
            }
            p += sizeof *e + e->len;
        }
    }
}

void logs_init(struct local *l) {
    list_init(&l->log_dirs);
    l->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    loop_io_init(&l->inotify_io, l->loop, "log files", on_inotify, l);
    if (l->inotify >= 0) {
        loop_io_start(&l->inotify_io, l->inotify, LOOP_READ);
    }
}

void logs_done(struct local *l) {
    loop_io_stop(&l->inotify_io);
    fd_close(&l->inotify);
}

static struct log_dir *dir_ref(struct local *l, const char *path) {
    LIST_EACH (node, &l->log_dirs) {
        struct log_dir *d = CONTAINER_OF(node, struct log_dir, link);
        if (strcmp(d->path, path) == 0) {
            d->refs++;
            return d;
        }
    }
    struct log_dir *d = NEW(struct log_dir);
    (void)mkdir(path, 0700); // of a job that has not started: so that there is something to watch
    d->path = mem_strdup(path);
    d->refs = 1;
    d->watch = inotify_add_watch(l->inotify, path, IN_MODIFY | IN_CREATE | IN_DELETE);
    list_init(&d->readers);
    list_push(&l->log_dirs, &d->link);
    return d;
}

static void dir_unref(struct local *l, struct log_dir *d) {
    if (d == NULL || --d->refs != 0) {
        return;
    }
    if (d->watch >= 0 && l->inotify >= 0) {
        (void)inotify_rm_watch(l->inotify, d->watch);
    }
    list_remove(&d->link);
    mem_free(d->path);
    mem_free(d);
}

// ---- Which logs there are
// -----------------------------------------------------------------------------------------------------------

static struct cursor *find_cursor(const struct backend_log *r, uint32_t attempt, uint32_t rank) {
    for (size_t i = 0; i < r->count; i++) {
        if (r->cursors[i]->attempt == attempt && r->cursors[i]->rank == rank) {
            return r->cursors[i];
        }
    }
    return NULL;
}

static void place_cursor(struct backend_log *r, struct cursor *c) {
    for (size_t i = 0; i < r->resume_count; i++) {
        if (r->resume[i].attempt == c->attempt && r->resume[i].rank == c->rank) {
            c->offset = r->resume[i].offset;
            c->announced = r->resume[i].announced;
            return;
        }
    }
    if (r->query.since_ns != 0) {
        c->offset = log_view_offset_at(&c->view, r->query.since_ns);
    }
    if (r->query.tail_lines >= 0) {
        uint64_t at = log_view_tail(&c->view, r->query.tail_lines);
        c->offset = at > c->offset ? at : c->offset;
    }
}

static void add_cursor(struct backend_log *r, uint32_t attempt, uint32_t rank) {
    struct cursor *c = NEW(struct cursor);
    c->attempt = attempt;
    c->rank = rank;
    if (r->count == CURSORS_MAX ||
        !log_view_open(&c->view, r->path, attempt, rank, c->role, sizeof c->role, &c->index)) {
        mem_free(c);
        return;
    }
    bool wanted = (r->role == NULL || str_same_nocase(r->role, c->role));
    r->role_known = r->role_known || wanted;
    wanted = wanted && (r->query.index < 0 || (uint32_t)r->query.index == c->index);
    r->index_known = r->index_known || wanted;
    if (!wanted) {
        log_view_close(&c->view);
        mem_free(c);
        return;
    }
    log_view_refresh(&c->view);
    place_cursor(r, c);
    r->cursors = mem_realloc_array(r->cursors, r->count + 1, sizeof(struct cursor *));
    r->cursors[r->count++] = c;
}

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

static void refresh(struct backend_log *r) {
    size_t n = 0;
    CLEANUP(mem_free_ptr) struct found *found = list_logs(r->path, &n);
    for (size_t i = 0; i < n; i++) {
        if (found[i].attempt >= r->attempt_from && found[i].attempt <= r->attempt_to &&
            find_cursor(r, found[i].attempt, found[i].rank) == NULL) {
            add_cursor(r, found[i].attempt, found[i].rank);
        }
    }
    for (size_t i = 0; i < r->count; i++) {
        log_view_refresh(&r->cursors[i]->view);
    }
}

// ---- Resume tokens: version, count, then attempt, rank, offset (top bit: announced) of each cursor
// ---------------------------------

static void put(struct str *out, uint64_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        str_add_char(out, (char)(v >> (8 * i)));
    }
}

static uint64_t get(const uint8_t *p, size_t bytes) {
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++) {
        v |= (uint64_t)p[i] << (8 * i);
    }
    return v;
}

static const char *make_token(struct backend_log *r) {
    CLEANUP(str_done) struct str raw = STR_INIT;
    str_clear(&r->token);
    if (r->count > TOKEN_CURSORS_MAX) {
        return ""; // it would be larger than what it resumes
    }
    put(&raw, 1, 1);
    put(&raw, r->attempt_from, 4);
    for (size_t i = 0; i < r->count; i++) {
        const struct cursor *c = r->cursors[i];
        put(&raw, c->attempt, 4);
        put(&raw, c->rank, 4);
        put(&raw, c->offset | (c->announced ? LOG_END_BIT : 0), 8);
    }
    put(&raw, hash_bytes(raw.data, raw.len), 4);
    str_reserve(&r->token, raw.len * 4 / 3 + 4);
    id_base64url(raw.data, raw.len, r->token.data);
    return r->token.data;
}

static bool read_token(struct backend_log *r, const char *text, struct err *err) {
    uint8_t raw[9 + 16 * TOKEN_CURSORS_MAX];
    long n = id_base64url_decode(text, raw, sizeof raw);
    if (n < 9 || (n - 9) % 16 != 0 || raw[0] != 1 ||
        (uint32_t)get(raw + n - 4, 4) != (uint32_t)hash_bytes(raw, (size_t)n - 4)) {
        return err_violate(err, "resume_token", "is no token of Logs");
    }
    r->attempt_from = (uint32_t)get(raw + 1, 4);
    r->resume_count = (size_t)(n - 9) / 16;
    r->resume = mem_zalloc((r->resume_count + 1) * sizeof *r->resume);
    for (size_t i = 0; i < r->resume_count; i++) {
        const uint8_t *p = raw + 5 + 16 * i;
        uint64_t offset = get(p + 8, 8);
        r->resume[i] = (struct resume_point){.attempt = (uint32_t)get(p, 4),
                                             .rank = (uint32_t)get(p + 4, 4),
                                             .offset = offset & ~LOG_END_BIT,
                                             .announced = (offset & LOG_END_BIT) != 0};
    }
    return true;
}

// ---- Open
// --------------------------------------------------------------------------------------------------------------------------

static bool choose_attempts(struct backend_log *r, struct err *err) {
    size_t n = 0;
    CLEANUP(mem_free_ptr) struct found *found = list_logs(r->path, &n);
    uint32_t newest = n != 0 ? found[n - 1].attempt : 0;
    const struct run *run = run_find(r->local, r->uid);
    uint32_t begun = run != NULL && (uint32_t)run->attempt > newest ? (uint32_t)run->attempt : newest;
    int32_t wanted = r->query.attempt;
    r->attempt_to = UINT32_MAX;
    if (wanted == -1) {
        if (newest < 2) {
            return err_fail(err, ERR_PRECONDITION, "NO_PREVIOUS", "there was no attempt before the newest one");
        }
        r->attempt_from = r->attempt_to = newest - 1;
    } else if (wanted > 0) {
        if ((uint32_t)wanted > begun) {
            return err_fail(err, ERR_NOT_FOUND, "NO_SUCH_ATTEMPT", "there is no attempt %d; the newest is %u", wanted,
                            begun);
        }
        r->attempt_from = r->attempt_to = (uint32_t)wanted;
    } else if (r->resume == NULL) {
        r->attempt_from = newest;
        r->attempt_to = r->query.follow ? UINT32_MAX : newest;
    } else {
        r->attempt_to = r->query.follow ? UINT32_MAX : newest;
    }
    return true;
}

static bool check_role(struct backend_log *r, struct err *err) {
    const struct run *run = run_find(r->local, r->uid);
    bool role = r->role == NULL || r->role_known;
    bool index = r->query.index < 0 || r->index_known;
    for (size_t i = 0; run != NULL && i < run->plan->process_count; i++) { // also what has not started yet
        const struct plan_process *p = &run->plan->processes[i];
        bool same = r->role == NULL || str_same_nocase(r->role, p->role);
        role = role || same;
        index = index || (same && p->index == r->query.index);
    }
    if (!role) {
        return err_violate(err, "role", "the job has no role \"%.63s\"", r->role);
    }
    return index || err_violate(err, "index", "role %s has no index %d", r->role, r->query.index);
}

bool local_logs_open(struct backend *b, const struct backend_log_query *query, bool job_terminal,
                     void (*wake)(void *ctx), void *ctx, struct backend_log **ret, struct err *err) {
    struct local *l = CONTAINER_OF(b, struct local, base);
    struct backend_log *r = NEW(struct backend_log);
    *r = (struct backend_log){.local = l,
                              .query = *query,
                              .uid = mem_strdup(query->uid),
                              .role = mem_strdup(query->role),
                              .path = mem_printf("%s/%s", l->logs_dir, query->uid),
                              .terminal = job_terminal,
                              .wake = wake,
                              .ctx = ctx};
    list_init(&r->link);
    bool ok = str_is_empty(query->container) || err_violate(err, "container", "the local backend has no containers");
    ok = ok && (query->resume == NULL || read_token(r, query->resume, err)) && choose_attempts(r, err);
    if (ok) {
        r->dir = dir_ref(l, r->path);
        list_push(&r->dir->readers, &r->link);
        refresh(r);
        ok = check_role(r, err);
    }
    if (!ok) {
        local_logs_close(r);
        return false;
    }
    *ret = r;
    return true;
}

// ---- Read
// --------------------------------------------------------------------------------------------------------------------------

static void fill(const struct cursor *c, enum backend_log_kind kind, struct backend_log_item *item) {
    *item = (struct backend_log_item){.kind = kind,
                                      .role = c->role,
                                      .index = (int32_t)c->index,
                                      .rank = (int32_t)c->rank,
                                      .attempt = (int32_t)c->attempt,
                                      .container = ""};
}

// Nothing more will be written to it, or nobody waits for that.
static bool complete(const struct backend_log *r, const struct cursor *c) {
    return c->view.ended || r->terminal || !r->query.follow;
}

// How many bytes of this cursor can be given now: whole lines, or a long piece, or the rest.
static size_t ready(struct backend_log *r, struct cursor *c) {
    str_clear(&r->buffer);
    str_reserve(&r->buffer, CHUNK_MAX);
    size_t n = log_view_read(&c->view, c->offset, r->buffer.data, CHUNK_MAX);
    const char *newline = n != 0 ? memrchr(r->buffer.data, '\n', n) : NULL;
    if (newline != NULL) {
        return (size_t)(newline - r->buffer.data) + 1;
    }
    if (n >= LINE_MAX_BYTES) {
        return LINE_MAX_BYTES;
    }
    return complete(r, c) ? n : 0;
}

// Cuts what is ready where another process wrote something in between.
static size_t until(const struct backend_log *r, const struct cursor *c, size_t n, int64_t other_ns) {
    if (other_ns == INT64_MAX) {
        return n;
    }
    uint64_t end = log_view_offset_after(&c->view, other_ns);
    if (end <= c->offset || end - c->offset >= n) {
        return n;
    }
    const char *line = memchr(r->buffer.data + (end - c->offset) - 1, '\n', n - (size_t)(end - c->offset) + 1);
    return line != NULL ? (size_t)(line - r->buffer.data) + 1 : n;
}

static enum backend_log_result give_chunk(struct backend_log *r, struct cursor *c, int64_t other_ns,
                                          struct backend_log_item *item) {
    size_t n = until(r, c, ready(r, c), other_ns);
    fill(c, LOG_ITEM_CHUNK, item);
    item->time_ns = log_view_time(&c->view, c->offset);
    item->data = r->buffer.data;
    item->length = n;
    item->offset = (int64_t)c->offset;
    c->offset += n;
    item->resume = make_token(r);
    return LOG_READ_ITEM;
}

static bool give_mark(struct backend_log *r, struct cursor *c, struct backend_log_item *item) {
    uint64_t next;
    if (!c->announced) {
        c->announced = true;
        fill(c, LOG_ITEM_ATTEMPT, item);
        item->resume = make_token(r);
        return true;
    }
    if (log_view_gap(&c->view, c->offset, &next)) {
        fill(c, LOG_ITEM_GAP, item);
        item->offset = (int64_t)c->offset;
        item->to_offset = (int64_t)next;
        item->message = "not kept: over the size of a log (local.log_size), or the disk was full";
        c->offset = next;
        item->resume = make_token(r);
        return true;
    }
    return false;
}

// The cursor whose next bytes are the oldest; *ret_other is the time of the next oldest.
static struct cursor *oldest(struct backend_log *r, int64_t *ret_other) {
    struct cursor *best = NULL;
    int64_t best_ns = INT64_MAX;
    *ret_other = INT64_MAX;
    for (size_t i = 0; i < r->count; i++) {
        struct cursor *c = r->cursors[i];
        if (ready(r, c) == 0) {
            continue;
        }
        int64_t t = log_view_time(&c->view, c->offset);
        if (best == NULL || t < best_ns) {
            *ret_other = best != NULL && best_ns < *ret_other ? best_ns : *ret_other;
            best = c;
            best_ns = t;
        } else if (t < *ret_other) {
            *ret_other = t;
        }
    }
    return best;
}

static bool all_read(const struct backend_log *r) {
    for (size_t i = 0; i < r->count; i++) {
        if (!r->terminal && r->query.follow && !r->cursors[i]->view.ended) {
            return false;
        }
    }
    return true;
}

enum backend_log_result local_logs_read(struct backend_log *r, struct backend_log_item *item, struct err *err UNUSED) {
    if (r->stale) {
        r->stale = false;
        refresh(r);
    }
    for (size_t i = 0; i < r->count; i++) {
        if (give_mark(r, r->cursors[i], item)) {
            return LOG_READ_ITEM;
        }
    }
    int64_t other;
    struct cursor *c = oldest(r, &other);
    if (c != NULL) {
        return give_chunk(r, c, other, item);
    }
    bool one_attempt = r->attempt_from == r->attempt_to && r->count != 0 && all_read(r);
    return !r->query.follow || r->terminal || one_attempt ? LOG_READ_END : LOG_READ_WAIT;
}

void local_logs_terminal(struct backend_log *r) {
    r->terminal = r->stale = true;
    r->wake(r->ctx);
}

void local_logs_close(struct backend_log *r) {
    list_remove(&r->link);
    dir_unref(r->local, r->dir);
    for (size_t i = 0; i < r->count; i++) {
        log_view_close(&r->cursors[i]->view);
        mem_free(r->cursors[i]);
    }
    mem_free(r->cursors);
    mem_free(r->resume);
    mem_free(r->uid);
    mem_free(r->role);
    mem_free(r->path);
    str_done(&r->buffer);
    str_done(&r->token);
    mem_free(r);
}
