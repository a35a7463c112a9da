// Opening, loading, closing; and the thread between the loop and the file.
#include "store/internal.h"

#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

// ---- Open
// ----------------------------------------------------------------------------------------------------------------------

// SQLite's own locks come and go with transactions; this one says that a trainerd lives here.
static bool take_lock(struct store *s, const char *directory, struct err *err) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/journal.lock", directory);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_fd < 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "STATE_DIR", errno, "cannot write to state directory %s",
                              directory);
    }
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        return err_fail(err, ERR_UNAVAILABLE, "JOURNAL_LOCKED", "another trainerd is running with state directory %s",
                        directory);
    }
    return true;
}

bool store_open(const struct store_options *options, struct loop *loop, struct store **ret, struct err *err) {
    struct store *s = NEW(struct store);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/journal.db", options->directory);
    s->loop = loop;
    s->lock_fd = -1;
    s->max_bytes = options->max_bytes;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->more, NULL);
    list_init(&s->queue);
    if (!take_lock(s, options->directory, err) || !store_schema_open(s, path, err) || !store_used_load(s, err)) {
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

void store_on_health(struct store *s, void (*fn)(void *ctx, const char *problem), void *ctx) {
    s->on_health = fn;
    s->on_health_ctx = ctx;
}

// ---- Load
// ----------------------------------------------------------------------------------------------------------------------

bool store_load(struct store *s,
                bool (*each)(void *ctx, const struct store_job *job, const struct store_transition *last), void *ctx,
                struct err *err) {
    static const char sql[] =
        "SELECT t.sequence, t.uid, t.kind, t.job_sequence, t.from_state, t.state, t.reason, t.attempt, t.restarts, "
        "t.message, t.exit, t.roles,"
        " t.observed_ns, t.happened_ns, t.started_ns, t.ended_ns, t.inferred, j.uid, j.namespace, j.name, j.runtime, "
        "j.backend, j.target,"
        " j.job_group, j.request_id, j.labels, j.warnings, j.spec_hash, j.created_ns, j.ordinal, j.ttl_ns, j.external,"
        " CASE WHEN t.state < 7 THEN j.spec END FROM jobs j JOIN transitions t ON t.sequence = j.last WHERE NOT "
        "j.deleted ORDER BY j.ordinal";
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK) {
        return store_sql_fail(s, err, "journal.db");
    }
    struct arena a;
    arena_init(&a, 0);
    int r;
    bool go_on = true;
    while (go_on && (r = sqlite3_step(st)) == SQLITE_ROW) {
        struct store_transition last;
        struct store_job job;
        store_read_row(st, &a, &last);
        store_read_job_row(st, 17, &a, &job);
        job.spec_json = (const char *)sqlite3_column_text(st, 32);
        go_on = each(ctx, &job, &last);
        arena_done(&a);
    }
    sqlite3_finalize(st);
    return !go_on || r == SQLITE_DONE || store_sql_fail(s, err, "journal.db");
}

// ---- The thread
// ------------------------------------------------------------------------------------------------------------------

static void take_queue(struct store *s, struct list *ret, bool *ret_closing) {
    pthread_mutex_lock(&s->lock);
    while (list_empty(&s->queue) && !s->closing) {
        pthread_cond_wait(&s->more, &s->lock);
    }
    list_splice(ret, &s->queue);
    *ret_closing = s->closing;
    pthread_mutex_unlock(&s->lock);
}

static void work(struct store *s, struct request *r) {
    switch (r->kind) {
    case REQUEST_TRANSITIONS:
        store_do_transitions(s, r);
        store_answer(r);
        return;
    case REQUEST_SPEC:
        store_do_spec(s, r);
        store_answer(r);
        return;
    case REQUEST_TRIM:
        store_do_trim(s, r);
        return;
    case REQUEST_COMMIT:
        return; // grouped
    }
}

static void work_all(struct store *s, struct list *requests) {
    struct list group = LIST_INIT(group);
    struct list *node;
    while ((node = list_pop(requests)) != NULL) {
        struct request *r = CONTAINER_OF(node, struct request, link);
        if (r->kind == REQUEST_COMMIT) {
            list_push(&group, node);
            continue;
        }
        store_write_group(s, &group);
        work(s, r);
    }
    store_write_group(s, &group);
}

static void thread_main(void *ctx) {
    struct store *s = ctx;
    bool closing = false;
    do {
        struct list batch = LIST_INIT(batch);
        take_queue(s, &batch, &closing);
        if (closing && list_empty(&batch)) {
            break;
        }
        work_all(s, &batch);
    } while (true);
}

void store_enqueue(struct store *s, struct request *take_request) {
    if (s->thread == NULL) { // not before the file was loaded by the loop thread
        s->thread = loop_thread_new("journal", thread_main, s);
    }
    pthread_mutex_lock(&s->lock);
    list_push(&s->queue, &take_request->link);
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
}

void store_request_free(struct request *r) {
    store_batch_free(r->batch);
    err_done(&r->err);
    arena_done(&r->arena);
    mem_free(r->rows);
    mem_free(r);
}

// ---- Back on the loop
// ------------------------------------------------------------------------------------------------------------

static void note_requests(struct request *r) {
    for (size_t i = 0; i < r->batch->job_count; i++) {
        const struct store_job *j = &r->batch->jobs[i];
        if (j->request_id != NULL) {
            store_used_add(r->store, j->namespace_, j->request_id, j->uid, j->spec_hash);
        }
    }
}

static void on_answer(struct loop_message *message) {
    struct request *r = CONTAINER_OF(message, struct request, message);
    const struct err *err = err_set(&r->err) ? &r->err : NULL;
    struct store *s = r->store;
    if (s->closing || r->canceled) {
        store_request_free(r);
        return;
    }
    switch (r->kind) {
    case REQUEST_COMMIT:
        if (err == NULL) {
            note_requests(r);
        }
        r->done_commit(r->ctx, err != NULL ? 0 : r->first_sequence, err);
        break;
    case REQUEST_TRANSITIONS:
        for (size_t i = 0; i < r->row_count && !r->canceled; i++) {
            r->each(r->ctx, &r->rows[i].transition, &r->rows[i].job);
        }
        if (!r->canceled) {
            r->done_rows(r->ctx, err);
        }
        break;
    case REQUEST_SPEC:
        r->done_spec(r->ctx, r->spec, err);
        break;
    case REQUEST_TRIM:
        if (r->done_trim != NULL) {
            r->done_trim(r->ctx, r->removed);
        }
        break;
    }
    store_request_free(r);
}

void store_answer(struct request *take_request) {
    take_request->message.fn = on_answer;
    loop_post(take_request->store->loop, &take_request->message);
}

struct health {
    struct loop_message message;
    struct store *store;
    char *problem;
};

static void on_health(struct loop_message *message) {
    struct health *h = CONTAINER_OF(message, struct health, message);
    struct store *s = h->store;
    if (!s->closing) {
        mem_free(s->problem);
        s->problem = TAKE(h->problem);
        if (s->on_health != NULL) {
            s->on_health(s->on_health_ctx, s->problem);
        }
    }
    mem_free(h->problem);
    mem_free(h);
}

void store_say_health(struct store *s, const char *problem) {
    if (s->unwell == (problem != NULL)) {
        return;
    }
    s->unwell = problem != NULL;
    struct health *h = NEW(struct health);
    h->store = s;
    h->problem = mem_strdup(problem);
    h->message.fn = on_health;
    loop_post(s->loop, &h->message);
}

void store_commit(struct store *s, struct store_batch *take_batch, bool may_fail,
                  void (*done)(void *ctx, int64_t first_sequence, const struct err *err), void *ctx) {
    struct request *r = NEW(struct request);
    *r = (struct request){
        .store = s, .kind = REQUEST_COMMIT, .ctx = ctx, .batch = take_batch, .may_fail = may_fail, .done_commit = done};
    store_enqueue(s, r);
}

// ---- Close
// -----------------------------------------------------------------------------------------------------------------------

void store_close(struct store *s) {
    if (s == NULL) {
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    if (s->thread != NULL) {
        loop_thread_join(s->thread);
        loop_deliver(s->loop); // what it posted last is freed here, while the store is still there
    }
    for (int i = 0; i < S_COUNT; i++) {
        sqlite3_finalize(s->statements[i]);
    }
    sqlite3_close(s->db);
    store_used_done(s);
    mem_free(s->problem);
    fd_close(&s->lock_fd);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->more);
    mem_free(s);
}
