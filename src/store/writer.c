// Group commit: all batches that wait become one transaction and one fsync. A batch that may fail has a savepoint of
// its own.
#include "store/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>

// ---- Batches, on the loop thread
// -------------------------------------------------------------------------------------------

struct store_batch *store_batch_new(void) {
    struct store_batch *b = NEW(struct store_batch);
    arena_init(&b->arena, 0);
    return b;
}

void store_batch_free(struct store_batch *b) {
    if (b == NULL) {
        return;
    }
    arena_done(&b->arena);
    mem_free(b->jobs);
    mem_free(b->transitions);
    mem_free(b);
}

static void *grow(void *array, size_t count, size_t *cap, size_t size) {
    if (count == *cap) {
        *cap = *cap != 0 ? *cap * 2 : 1;
        array = mem_realloc_array(array, *cap, size);
    }
    return array;
}

void store_batch_add_job(struct store_batch *b, const struct store_job *job) {
    b->jobs = grow(b->jobs, b->job_count, &b->job_cap, sizeof *b->jobs);
    struct store_job *j = &b->jobs[b->job_count++];
    *j = *job;
    const char **const texts[] = {&j->uid,         &j->namespace_,    &j->name,      &j->runtime,
                                  &j->backend,     &j->target,        &j->group,     &j->request_id,
                                  &j->labels_json, &j->warnings_json, &j->spec_hash, &j->spec_json};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        *texts[i] = arena_strdup(&b->arena, *texts[i]);
    }
}

void store_batch_add_transition(struct store_batch *b, const struct store_transition *t) {
    b->transitions = grow(b->transitions, b->transition_count, &b->transition_cap, sizeof *b->transitions);
    struct store_transition *copy = &b->transitions[b->transition_count++];
    *copy = *t;
    copy->uid = arena_strdup(&b->arena, t->uid);
    copy->message = arena_strdup(&b->arena, t->message);
    copy->exit_json = arena_strdup(&b->arena, t->exit_json);
    copy->roles_json = arena_strdup(&b->arena, t->roles_json);
}

size_t store_batch_count(const struct store_batch *b) {
    return b->transition_count;
}

// ---- Writing, on the store thread
// ------------------------------------------------------------------------------------------

static bool add_job(struct store *s, const struct store_job *j) {
    store_bind_job(store_statement(s, S_ADD_JOB), j);
    if (store_step(s, S_ADD_JOB) != SQLITE_DONE) {
        return false;
    }
    if (j->request_id == NULL) {
        return true;
    }
    sqlite3_stmt *st = store_statement(s, S_ADD_REQUEST);
    const char *const texts[] = {j->namespace_, j->request_id, j->uid, j->spec_hash};
    for (int i = 0; i < 4; i++) {
        sqlite3_bind_text(st, i + 1, texts[i], -1, SQLITE_STATIC);
    }
    return store_step(s, S_ADD_REQUEST) == SQLITE_DONE;
}

static bool add_transition(struct store *s, const struct store_transition *t, int64_t sequence) {
    store_bind_transition(store_statement(s, S_ADD_TRANSITION), t, sequence);
    if (store_step(s, S_ADD_TRANSITION) != SQLITE_DONE) {
        return false;
    }
    sqlite3_stmt *st = store_statement(s, S_MARK_DELETED);
    sqlite3_bind_text(st, 1, t->uid, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, sequence);
    sqlite3_bind_int(st, 3, t->kind == STORE_DELETED);
    if (store_step(s, S_MARK_DELETED) != SQLITE_DONE) {
        return false;
    }
    if (t->kind != STORE_DELETED) {
        return true;
    }
    st = store_statement(s, S_REQUEST_DELETED);
    sqlite3_bind_text(st, 1, t->uid, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, t->observed_ns);
    return store_step(s, S_REQUEST_DELETED) == SQLITE_DONE;
}

static bool write_batch(struct store *s, struct request *r) {
    const struct store_batch *b = r->batch;
    r->first_sequence = s->next_sequence;
    for (size_t i = 0; i < b->job_count; i++) {
        if (!add_job(s, &b->jobs[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < b->transition_count; i++) {
        if (!add_transition(s, &b->transitions[i], s->next_sequence)) {
            return false;
        }
        s->next_sequence++;
    }
    return true;
}

static bool is_full(struct store *s) {
    if (s->max_bytes == 0) {
        return false;
    }
    sqlite3_stmt *st = store_statement(s, S_PAGE_COUNT);
    int64_t pages = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    return pages * s->page_size >= s->max_bytes;
}

static void refuse(struct store *s, struct request *r) {
    if (!err_set(&r->err)) {
        store_sql_fail(s, &r->err, "the job was not accepted");
    }
}

// A batch that may fail, within the transaction. false: the transaction itself is gone.
static bool write_optional(struct store *s, struct request *r, bool full) {
    int64_t before = s->next_sequence;
    if (full) {
        err_fail(&r->err, ERR_EXHAUSTED, "JOURNAL_FULL",
                 "the journal has reached journal.max_size; delete ended jobs or raise it");
        return true;
    }
    if (store_step(s, S_SAVE) != SQLITE_DONE) {
        return false;
    }
    if (write_batch(s, r)) {
        return store_step(s, S_RELEASE) == SQLITE_DONE;
    }
    refuse(s, r);
    s->next_sequence = before;
    return store_step(s, S_BACK) == SQLITE_DONE && store_step(s, S_RELEASE) == SQLITE_DONE;
}

// One transaction with all of them. false: nothing of it was written, *err says why.
static bool write_all(struct store *s, struct list *requests, struct err *err) {
    int64_t before = s->next_sequence;
    bool full = is_full(s);
    bool ok = store_step(s, S_BEGIN) == SQLITE_DONE;
    LIST_EACH (node, requests) {
        struct request *r = CONTAINER_OF(node, struct request, link);
        if (ok) {
            ok = r->may_fail ? write_optional(s, r, full) : write_batch(s, r);
        }
    }
    ok = ok && (s->next_sequence == before || store_meta_set(s, "newest", s->next_sequence - 1)) &&
         store_step(s, S_COMMIT) == SQLITE_DONE;
    if (!ok) {
        store_sql_fail(s, err, "the journal cannot be written");
        if (sqlite3_get_autocommit(s->db) == 0) {
            (void)store_step(s, S_ROLLBACK);
        }
        s->next_sequence = before;
    }
    return ok;
}

static void answer_all(struct list *requests, bool optional_only, const struct err *err) {
    LIST_EACH (node, requests) {
        struct request *r = CONTAINER_OF(node, struct request, link);
        if (optional_only && !r->may_fail) {
            continue;
        }
        list_remove(node);
        if (err != NULL) {
            err_done(&r->err);
            err_copy(&r->err, err);
        }
        store_answer(r);
    }
}

// Waits for the next try; false when the store is being closed.
static bool pause_for(struct store *s, int64_t ms) {
    struct timespec until;
    int64_t at = clock_wall() + ms * CLOCK_MS;
    until.tv_sec = at / CLOCK_SECOND;
    until.tv_nsec = at % CLOCK_SECOND;
    pthread_mutex_lock(&s->lock);
    if (!s->closing) {
        pthread_cond_timedwait(&s->more, &s->lock, &until);
    }
    bool go_on = !s->closing;
    pthread_mutex_unlock(&s->lock);
    return go_on;
}

void store_write_group(struct store *s, struct list *requests) {
    int64_t backoff_ms = 100;
    while (!list_empty(requests)) {
        struct err err = ERR_INIT;
        if (write_all(s, requests, &err)) {
            store_say_health(s, NULL);
            answer_all(requests, false, NULL);
            return;
        }
        store_say_health(s, err.message);
        answer_all(requests, true, &err);
        err_done(&err);
        if (list_empty(requests) || !pause_for(s, backoff_ms)) {
            break;
        }
        backoff_ms = backoff_ms * 2 > 5000 ? 5000 : backoff_ms * 2;
    }
    struct list *node;
    while ((node = list_pop(requests)) != NULL) { // closing, and it still cannot be written
        store_request_free(CONTAINER_OF(node, struct request, link));
    }
}
