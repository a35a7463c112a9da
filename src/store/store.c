// Opening, loading, closing.
//
// Who may open the file is decided by flock on journal.lock, not by sqlite's own locks: those come and go with
// transactions, and their exclusive mode would lock out the sqlite3 program, with which people look at a live journal.
// The kernel drops the flock when the process dies, however it dies.
#include "store/internal.h"

#include "base/fd.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

static bool take_lock(struct store *s, const char *directory, struct err *err) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/journal.lock", directory);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_fd < 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "STATE_DIR", errno, "cannot write to state directory %s",
                              directory);
    }
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0) {
        return true;
    }
    if (errno == EWOULDBLOCK) {
        return err_fail(err, ERR_UNAVAILABLE, "JOURNAL_LOCKED",
                        "another trainerd is running with state directory %s: stop it or use another directory",
                        directory);
    }
    return err_fail_errno(err, ERR_PRECONDITION, "STATE_DIR", errno, "cannot lock %s", path);
}

static void init_queue(struct store *s) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->more, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&s->lock, NULL);
    list_init(&s->queue);
    list_init(&s->waiting);
}

bool store_open(const struct store_options *options, struct loop *loop, struct store **ret, struct err *err) {
    struct store *s = NEW(struct store);
    s->loop = loop;
    s->lock_fd = -1;
    s->max_bytes = options->max_bytes;
    s->path = mem_printf("%s/journal.db", options->directory);
    init_queue(s);
    if (!take_lock(s, options->directory, err) || !store_schema_open(s, err) || !store_used_load(s, err)) {
        store_close(s);
        return false;
    }
    *ret = s;
    return true;
}

const char *store_epoch(const struct store *s) {
    return s->epoch;
}

int64_t store_newest_sequence(const struct store *s) {
    return s->newest;
}

int64_t store_oldest_sequence(const struct store *s) {
    return s->oldest;
}

const char *store_problem(const struct store *s) {
    return s->problem;
}

bool store_full(const struct store *s) {
    return s->full;
}

void store_on_health(struct store *s, void (*fn)(void *ctx, const char *problem), void *ctx) {
    s->on_health = fn;
    s->on_health_ctx = ctx;
}

bool store_load(struct store *s,
                bool (*each)(void *ctx, const struct store_job *job, const struct store_transition *last), void *ctx,
                struct err *err) {
    assert(s->thread == NULL); // from now on the connection is the thread's
    sqlite3_stmt *st = store_sql_statement(s, S_LOAD);
    int result = SQLITE_DONE;
    bool go_on = true;
    while (go_on && (result = sqlite3_step(st)) == SQLITE_ROW) {
        struct store_transition last;
        struct store_job job;
        int column = store_row_job(st, store_row_transition(st, 0, &last), &job);
        job.spec_json = (const char *)sqlite3_column_text(st, column);
        go_on = each(ctx, &job, &last);
    }
    bool ok = !go_on || result == SQLITE_DONE || store_sql_fail(s, err, "read");
    store_sql_reset(st);
    return ok;
}

void store_close(struct store *s) {
    if (s == NULL) {
        return;
    }
    store_thread_end(s);
    for (int i = 0; i < S_COUNT; i++) {
        sqlite3_finalize(s->statements[i]);
    }
    sqlite3_close(s->db);
    fd_close(&s->lock_fd);
    store_used_done(s);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->more);
    err_done(&s->trouble);
    mem_free(s->problem);
    mem_free(s->path);
    mem_free(s);
}
