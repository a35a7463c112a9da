// Group commit: all batches that wait become one transaction and one fsync. A batch that may fail has a savepoint of
// its own, so that a conflict in it spoils no other.
//
// Trouble: a transaction that could not be written leaves the store in trouble. Then what may fail is refused at once,
// what must be written waits in order, reads are answered from what is committed, and the thread tries again from time
// to time, even with nothing to write: so that the end of the trouble is noticed.
#include "store/internal.h"

#include "base/clock.h"

enum { RETRY_MIN_MS = 100, RETRY_MAX_MS = 5000 };

// ---- Rows ---------------------------------------------------------------------------------------------------------

static bool add_request(struct store *s, const struct store_job *j) {
    const char *const texts[] = {j->namespace_, j->request_id, j->uid, j->spec_hash};
    sqlite3_stmt *st = store_sql_statement(s, S_ADD_REQUEST);
    for (int i = 0; i < (int)ARRAY_LEN(texts); i++) {
        sqlite3_bind_text(st, i + 1, texts[i], -1, SQLITE_STATIC);
    }
    return store_sql_step(s, S_ADD_REQUEST);
}

static bool add_job(struct store *s, const struct store_job *j) {
    store_bind_job(store_sql_statement(s, S_ADD_JOB), j);
    if (!store_sql_step(s, S_ADD_JOB)) {
        return false;
    }
    sqlite3_bind_text(store_sql_statement(s, S_ADD_SPEC), 1, j->spec_json, -1, SQLITE_STATIC);
    return store_sql_step(s, S_ADD_SPEC) && (j->request_id == NULL || add_request(s, j));
}

static bool step_uid(struct store *s, enum statement which, const char *uid, int64_t value) {
    sqlite3_stmt *st = store_sql_statement(s, which);
    sqlite3_bind_text(st, 1, uid, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, value); // S_DROP_SPEC has no second: no harm
    return store_sql_step(s, which);
}

static bool advance_job(struct store *s, const struct store_transition *t, int64_t sequence) {
    if (s->trimmed > 0 && !step_uid(s, S_DROP_SUPERSEDED, t->uid, s->trimmed)) {
        return false;
    }
    sqlite3_bind_int(store_sql_statement(s, S_ADVANCE_JOB), 3, t->kind == STORE_DELETED);
    return step_uid(s, S_ADVANCE_JOB, t->uid, sequence);
}

static bool add_transition(struct store *s, const struct store_transition *t, int64_t sequence) {
    store_bind_transition(store_sql_statement(s, S_ADD_TRANSITION), t, sequence);
    if (!store_sql_step(s, S_ADD_TRANSITION) || !advance_job(s, t, sequence)) {
        return false;
    }
    return t->kind != STORE_DELETED ||
           (step_uid(s, S_DROP_SPEC, t->uid, 0) && step_uid(s, S_REQUEST_DELETED, t->uid, t->observed_ns));
}

// ---- Batches ------------------------------------------------------------------------------------------------------

static bool write_batch(struct store *s, struct request *r, int64_t *next) {
    const struct store_batch *b = r->batch;
    r->first_sequence = *next;
    for (size_t i = 0; i < b->job_count; i++) {
        if (!add_job(s, &b->jobs[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < b->transition_count; i++) {
        if (!add_transition(s, &b->transitions[i], (*next)++)) {
            return false;
        }
    }
    return true;
}

// Whether new jobs are to be refused for size. Pages that retention has freed are room.
static bool over_size(struct store *s) {
    if (s->max_bytes == 0) {
        return false;
    }
    sqlite3_stmt *st = store_sql_statement(s, S_PAGES_USED);
    int64_t pages = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    store_sql_reset(st);
    return pages * s->page_size >= s->max_bytes;
}

// A batch that may fail, within the transaction. false: the transaction is lost with it.
static bool write_optional(struct store *s, struct request *r, int64_t *next) {
    int64_t before = *next;
    if (!store_sql_step(s, S_SAVE)) {
        return false;
    }
    if (write_batch(s, r, next)) {
        return store_sql_step(s, S_RELEASE);
    }
    if ((sqlite3_errcode(s->db) & 0xff) != SQLITE_CONSTRAINT) {
        return false; // not its fault: the others would meet the same
    }
    store_sql_fail(s, &r->err, "write to");
    *next = before;
    return store_sql_step(s, S_BACK) && store_sql_step(s, S_RELEASE);
}

static bool write_each(struct store *s, struct list *requests, int64_t *next) {
    bool refuse = over_size(s);
    LIST_EACH (node, requests) {
        struct request *r = CONTAINER_OF(node, struct request, link);
        if (!r->may_fail) {
            if (!write_batch(s, r, next)) {
                return false;
            }
        } else if (refuse && r->batch->job_count != 0) {
            err_fail(&r->err, ERR_EXHAUSTED, "JOURNAL_FULL",
                     "the journal has reached journal.max_size: delete jobs that have ended, or raise it");
        } else if (!write_optional(s, r, next)) {
            return false;
        }
    }
    return true;
}

// One transaction with all of them. false: nothing of it was written, *err says why.
static bool write_all(struct store *s, struct list *requests, struct err *err) {
    int64_t next = s->next_sequence;
    bool ok = store_sql_step(s, S_BEGIN) && write_each(s, requests, &next) &&
              store_sql_meta_set(s, "newest", next - 1) && store_sql_step(s, S_COMMIT);
    if (!ok) {
        store_sql_fail(s, err, "write to");
        store_sql_rollback(s);
        return false;
    }
    s->next_sequence = next;
    return true;
}

// ---- Groups, and trouble ------------------------------------------------------------------------------------------

static void answer_all(struct list *requests) {
    struct list *node;
    while ((node = list_pop(requests)) != NULL) {
        store_answer(CONTAINER_OF(node, struct request, link));
    }
}

// In trouble: refuses what may fail, lets the rest wait.
static void put_off(struct store *s, struct list *requests) {
    struct list *node;
    while ((node = list_pop(requests)) != NULL) {
        struct request *r = CONTAINER_OF(node, struct request, link);
        if (!r->may_fail) {
            list_push(&s->waiting, node);
            continue;
        }
        err_done(&r->err);
        err_copy(&r->err, &s->trouble);
        store_answer(r);
    }
}

void store_write_failed(struct store *s, struct err *take_err) {
    bool first = !err_set(&s->trouble);
    s->retry_step_ms = first ? RETRY_MIN_MS : s->retry_step_ms * 2;
    s->retry_step_ms = s->retry_step_ms > RETRY_MAX_MS ? RETRY_MAX_MS : s->retry_step_ms;
    s->retry_ns = clock_mono() + s->retry_step_ms * CLOCK_MS;
    err_done(&s->trouble);
    err_move(&s->trouble, take_err);
    store_say_health(s, &s->trouble);
}

void store_write_group(struct store *s, struct list *take_requests) {
    if (list_empty(take_requests)) {
        return;
    }
    struct err err = ERR_INIT;
    if (!err_set(&s->trouble)) {
        if (write_all(s, take_requests, &err)) {
            answer_all(take_requests);
            return;
        }
        store_write_failed(s, &err);
    }
    put_off(s, take_requests);
}

void store_write_again(struct store *s) {
    struct err err = ERR_INIT;
    if (!write_all(s, &s->waiting, &err)) {
        store_write_failed(s, &err);
        return;
    }
    err_done(&s->trouble);
    store_say_health(s, NULL);
    answer_all(&s->waiting);
}
