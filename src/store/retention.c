// Retention: old transitions go in small transactions, so that what is queued behind never waits long.
#include "store/internal.h"

#include "base/clock.h"
#include "base/mem.h"

enum { TRIM_ROWS = 1000 };
#define REQUESTS_KEPT_NS (24 * 3600 * CLOCK_SECOND)

static bool trim_step(struct store *s, int64_t up_to, int *ret_rows) {
    sqlite3_stmt *st = store_statement(s, S_TRIM);
    sqlite3_bind_int64(st, 1, 0);
    sqlite3_bind_int64(st, 2, up_to);
    sqlite3_bind_int64(st, 3, TRIM_ROWS);
    if (store_step(s, S_TRIM) != SQLITE_DONE) {
        return false;
    }
    *ret_rows = sqlite3_changes(s->db);
    return true;
}

static bool finish(struct store *s, int64_t up_to) {
    sqlite3_stmt *st = store_statement(s, S_TRIM_JOBS);
    sqlite3_bind_int64(st, 1, up_to);
    if (store_step(s, S_TRIM_JOBS) != SQLITE_DONE) {
        return false;
    }
    st = store_statement(s, S_PURGE_REQUESTS);
    sqlite3_bind_int64(st, 1, clock_wall() - REQUESTS_KEPT_NS);
    return store_step(s, S_PURGE_REQUESTS) == SQLITE_DONE;
}

// One transaction; what is left is queued again behind whatever has come meanwhile.
void store_do_trim(struct store *s, struct request *r) {
    int rows = 0;
    // The mark goes up first: a reader is told that these are gone before the first of them is.
    bool ok = store_step(s, S_BEGIN) == SQLITE_DONE && store_meta_set(s, "oldest", r->after + 1) &&
              trim_step(s, r->after, &rows) && (rows == TRIM_ROWS || finish(s, r->after)) &&
              store_step(s, S_COMMIT) == SQLITE_DONE;
    if (!ok && sqlite3_get_autocommit(s->db) == 0) {
        (void)store_step(s, S_ROLLBACK);
    }
    if (ok) {
        r->removed += rows;
        s->trimmed_up_to = r->after;
        if (rows == TRIM_ROWS) {
            store_enqueue(s, r);
            return;
        }
    }
    store_answer(r);
}

void store_trim(struct store *s, int64_t up_to_sequence, void (*done)(void *ctx, int64_t removed), void *ctx) {
    struct request *r = NEW(struct request);
    *r = (struct request){.store = s, .kind = REQUEST_TRIM, .ctx = ctx, .after = up_to_sequence, .done_trim = done};
    s->oldest = up_to_sequence + 1 > s->oldest ? up_to_sequence + 1 : s->oldest;
    store_enqueue(s, r);
}
