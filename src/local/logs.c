// Opening and reading logs: a cursor for each process, merged by the time at which things were written, one attempt
// after the other.
#include "local/logs.h"

#include "base/mem.h"

#include <string.h>
#include <sys/stat.h>

enum { CHUNK_MAX = 64 * 1024, LINE_MAX_BYTES = 32 * 1024 };

// ---- Open

// The attempts that are asked for.
static bool choose_attempts(struct backend_log *r, struct err *err) {
    const struct run *run = run_find(r->local, r->uid);
    uint32_t newest = logs_newest_attempt(r->path);
    newest = run != NULL && (uint32_t)run->attempt > newest ? (uint32_t)run->attempt : newest;
    int32_t asked = r->query.attempt;
    if (newest == 0 && !r->query.follow) {
        return run != NULL
                   ? err_fail(err, ERR_PRECONDITION, "NOT_STARTED",
                              "the job has not started a process yet; follow waits for it")
                   : err_fail(err, ERR_NOT_FOUND, "NO_LOGS",
                              "the job has no logs: it ended before it started a process, or they were removed");
    }
    if (asked < 0 && newest < 2) {
        return err_fail(err, ERR_PRECONDITION, "NO_PREVIOUS", "there was no attempt before the newest one");
    }
    if (asked > 0 && (uint32_t)asked > newest) {
        return err_fail(err, ERR_NOT_FOUND, "NO_SUCH_ATTEMPT", "there is no attempt %d; the newest is %u", asked,
                        newest);
    }
    uint32_t from = asked < 0 ? newest - 1 : asked > 0 ? (uint32_t)asked : newest;
    r->attempt_to = asked == 0 && r->query.follow ? UINT32_MAX : from;
    r->attempt_from = r->resume.attempt != 0 ? r->resume.attempt : from;
    r->attempt_to = r->attempt_to < r->attempt_from ? r->attempt_from : r->attempt_to;
    return true;
}

static bool check_role(const struct backend_log *r, struct err *err) {
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
    return index ||
           err_violate(err, "index", "role %s has no index %d", r->role != NULL ? r->role : "", r->query.index);
}

static bool watch(struct backend_log *r, struct err *err) {
    if (!r->query.follow || r->terminal) {
        return true;
    }
    (void)mkdir(r->path, 0700); // of a job that has not started: so that there is something to watch
    r->dir = log_dir_ref(r->local, r->path);
    if (r->dir == NULL) {
        return err_fail(err, ERR_EXHAUSTED, "NO_WATCH",
                        "the system allows no more file watches (fs.inotify.max_user_watches or max_user_instances)");
    }
    list_push(&r->dir->readers, &r->link);
    return true;
}

static void run_wake(void *ctx) {
    struct backend_log *r = ctx;
    r->wake(r->ctx);
}

static bool begin(struct backend_log *r, struct err *err) {
    const struct log_scope scope = {.uid = r->uid, .role = r->role, .index = r->query.index};
    if (!str_is_empty(r->query.container)) {
        return err_violate(err, "container", "the local backend has no containers");
    }
    if ((r->query.resume != NULL && !log_token_read(r->query.resume, &scope, &r->resume, err)) ||
        !choose_attempts(r, err) || !watch(r, err)) {
        return false;
    }
    r->new_logs = true;
    logs_refresh(r); // after the watch: nothing is missed in between
    r->opened = true;
    return check_role(r, err);
}

bool local_logs_open(struct backend *b, const struct backend_log_query *query, bool job_terminal,
                     void (*wake)(void *ctx), void *ctx, struct backend_log **ret, struct err *err) {
    struct local *l = CONTAINER_OF(b, struct local, base);
    struct backend_log *r = NEW(struct backend_log);
    *r = (struct backend_log){.local = l,
                              .query = *query,
                              .uid = mem_strdup(query->uid),
                              .role = str_is_empty(query->role) ? NULL : mem_strdup(query->role),
                              .path = mem_printf("%s/%s", l->logs_dir, query->uid),
                              .terminal = job_terminal,
                              .wake = wake,
                              .ctx = ctx};
    list_init(&r->link);
    loop_task_init(&r->wake_task, run_wake, r);
    if (!begin(r, err)) {
        local_logs_close(r);
        return false;
    }
    r->query.resume = NULL; // the caller's
    *ret = r;
    return true;
}

// ---- What can be given

// Nothing more will be written to it, or nobody waits for that.
static bool complete(const struct backend_log *r, const struct cursor *c) {
    return c->view.ended || r->terminal || !r->query.follow || c->attempt < r->cursors[r->count - 1]->attempt;
}

// How many bytes of this cursor can be given now: whole lines, or a piece of a long one, or the rest.
static size_t ready(struct backend_log *r, struct cursor *c) {
    uint64_t next;
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
    return complete(r, c) || log_view_gap(&c->view, c->offset + n, &next) ? n : 0;
}

// Cuts what is ready where another process wrote something in between.
static size_t until(const struct backend_log *r, const struct cursor *c, size_t n, int64_t other_ns) {
    uint64_t next = log_view_next_after(&c->view, c->offset, other_ns);
    if (next <= c->offset || next - c->offset >= n) {
        return n;
    }
    size_t from = (size_t)(next - c->offset) - 1;
    const char *line = memchr(r->buffer.data + from, '\n', n - from);
    return line != NULL ? (size_t)(line - r->buffer.data) + 1 : n;
}

// Number of cursors of the attempt that is being read.
static size_t group(const struct backend_log *r) {
    size_t n = 0;
    while (n < r->count && r->cursors[n]->attempt == r->cursors[0]->attempt) {
        n++;
    }
    return n;
}

// The cursor whose next bytes are the oldest; *ret_other is the time of the next oldest.
static struct cursor *oldest(const struct backend_log *r, size_t n, int64_t *ret_other) {
    struct cursor *best = NULL;
    int64_t best_ns = INT64_MAX;
    *ret_other = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        struct cursor *c = r->cursors[i];
        if (c->held || c->offset >= c->view.end) {
            continue;
        }
        int64_t t = log_view_time(&c->view, c->offset);
        if (best == NULL || t < best_ns) {
            *ret_other = best_ns;
            best = c;
            best_ns = t;
        } else if (t < *ret_other) {
            *ret_other = t;
        }
    }
    return best;
}

// ---- Give

static const char *make_token(struct backend_log *r) {
    const struct log_scope scope = {.uid = r->uid, .role = r->role, .index = r->query.index};
    size_t n = group(r);
    r->places = mem_realloc_array(r->places, n + 1, sizeof *r->places);
    for (size_t i = 0; i < n; i++) {
        const struct cursor *c = r->cursors[i];
        r->places[i] = (struct log_place){.rank = c->rank, .offset = c->offset, .announced = c->announced};
    }
    const struct log_token token = {.attempt = r->cursors[0]->attempt, .places = r->places, .count = n};
    log_token_write(&token, &scope, &r->token);
    return str_text(&r->token);
}

static void fill(const struct cursor *c, enum backend_log_kind kind, struct backend_log_item *item) {
    *item = (struct backend_log_item){.kind = kind,
                                      .role = c->role,
                                      .index = (int32_t)c->index,
                                      .rank = (int32_t)c->rank,
                                      .attempt = (int32_t)c->attempt,
                                      .container = ""};
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
        item->message = "not kept: beyond the size of a log (local.log_size), or the disk was full";
        c->offset = next;
        item->resume = make_token(r);
        return true;
    }
    return false;
}

static bool give_chunk(struct backend_log *r, size_t n, struct backend_log_item *item) {
    int64_t other;
    struct cursor *c;
    while ((c = oldest(r, n, &other)) != NULL) {
        size_t length = ready(r, c);
        if (length == 0) {
            c->held = true;
            continue;
        }
        length = until(r, c, length, other);
        fill(c, LOG_ITEM_CHUNK, item);
        item->time_ns = log_view_time(&c->view, c->offset);
        item->data = r->buffer.data;
        item->length = length;
        item->offset = (int64_t)c->offset;
        c->offset += length;
        item->resume = make_token(r);
        return true;
    }
    return false;
}

static bool give(struct backend_log *r, size_t n, struct backend_log_item *item) {
    for (size_t i = 0; i < n; i++) {
        if (give_mark(r, r->cursors[i], item)) {
            return true;
        }
    }
    return give_chunk(r, n, item);
}

// Only one attempt was asked for, and it is over.
static bool attempt_is_over(const struct backend_log *r) {
    const struct run *run = run_find(r->local, r->uid);
    if (r->attempt_from != r->attempt_to || r->count == 0) {
        return false;
    }
    for (size_t i = 0; i < r->count; i++) {
        if (!r->cursors[i]->view.ended) {
            return false;
        }
    }
    for (size_t i = 0; run != NULL && (uint32_t)run->attempt == r->attempt_to && i < run->plan->process_count; i++) {
        if (run->procs[i].state <= PROC_RUNNING) {
            return false;
        }
    }
    return true;
}

enum backend_log_result local_logs_read(struct backend_log *r, struct backend_log_item *item, struct err *err UNUSED) {
    for (;;) {
        if (r->stale) {
            r->stale = false;
            logs_refresh(r);
        }
        size_t n = group(r);
        if (give(r, n, item)) {
            return LOG_READ_ITEM;
        }
        if (n == r->count) {
            return !r->query.follow || r->terminal || attempt_is_over(r) ? LOG_READ_END : LOG_READ_WAIT;
        }
        while (n-- > 0) { // all of this attempt was read: on to the next
            logs_drop_cursor(r, 0);
        }
        r->attempt_from = r->cursors[0]->attempt;
    }
}

void local_logs_terminal(struct backend_log *r) {
    r->terminal = r->stale = r->new_logs = true;
    loop_defer(r->local->loop, &r->wake_task);
}

void local_logs_close(struct backend_log *r) {
    list_remove(&r->link);
    loop_task_cancel(&r->wake_task);
    log_dir_unref(r->local, r->dir);
    while (r->count > 0) {
        logs_drop_cursor(r, r->count - 1);
    }
    mem_free(r->cursors);
    log_token_done(&r->resume);
    mem_free(r->places);
    mem_free(r->uid);
    mem_free(r->role);
    mem_free(r->path);
    str_done(&r->buffer);
    str_done(&r->token);
    mem_free(r);
}
