// Retention: old transitions go in small transactions, so that what is queued behind never waits long.
//
// Invariant: of what is at or below `trimmed`, only each existing job's newest transition is left. A trim works upwards
// from there and never looks below; writer.c removes such a left row when its job moves on.
#include "store/internal.h"

#include "base/clock.h"
#include "base/mem.h"

enum { STEP_ROWS = 1000 };

// How far the next step goes: STEP_ROWS further, or to the end.
static bool find_bound(struct store *s, int64_t up_to, int64_t *ret) {
    sqlite3_stmt *st = store_sql_statement(s, S_TRIM_BOUND);
    sqlite3_bind_int64(st, 1, s->trimmed);
    sqlite3_bind_int64(st, 2, up_to);
    sqlite3_bind_int64(st, 3, STEP_ROWS);
    bool ok = sqlite3_step(st) == SQLITE_ROW;
    if (ok) {
        *ret = sqlite3_column_int64(st, 0) < STEP_ROWS ? up_to : sqlite3_column_int64(st, 1);
    }
    store_sql_reset(st);
    return ok;
}

static bool remove_rows(struct store *s, int64_t bound, int64_t *ret_removed) {
    sqlite3_stmt *st = store_sql_statement(s, S_TRIM);
    sqlite3_bind_int64(st, 1, s->trimmed);
    sqlite3_bind_int64(st, 2, bound);
    if (!store_sql_step(s, S_TRIM)) {
        return false;
    }
    *ret_removed = sqlite3_changes(s->db);
    sqlite3_bind_int64(store_sql_statement(s, S_TRIM_JOBS), 1, bound);
    return store_sql_step(s, S_TRIM_JOBS);
}

static bool trim_step(struct store *s, struct request *r) {
    int64_t bound = 0;
    int64_t removed = 0;
    if (!store_sql_step(s, S_BEGIN) || !find_bound(s, r->up_to, &bound) || !remove_rows(s, bound, &removed) ||
        !store_sql_meta_set(s, "trimmed", bound) || !store_sql_step(s, S_COMMIT)) {
        return false;
    }
    s->trimmed = bound;
    r->removed += removed;
    return true;
}

static void note_purged(struct request *r, sqlite3_stmt *st) {
    if (r->purged_count % STEP_ROWS == 0) {
        r->purged = mem_realloc_array(r->purged, r->purged_count + STEP_ROWS, sizeof *r->purged);
    }
    const char *texts[3];
    for (int i = 0; i < 3; i++) {
        texts[i] = arena_strdup(&r->arena, (const char *)sqlite3_column_text(st, i));
    }
    r->purged[r->purged_count++] = (struct purged){texts[0], texts[1], texts[2]};
}

static bool purge_step(struct store *s, struct request *r, bool *ret_more) {
    sqlite3_stmt *st = store_sql_statement(s, S_PURGE_REQUESTS);
    size_t before = r->purged_count;
    int result;
    sqlite3_bind_int64(st, 1, clock_wall() - REQUESTS_KEPT_NS);
    sqlite3_bind_int64(st, 2, STEP_ROWS);
    while ((result = sqlite3_step(st)) == SQLITE_ROW) {
        note_purged(r, st);
    }
    store_sql_reset(st);
    *ret_more = r->purged_count - before == STEP_ROWS;
    return result == SQLITE_DONE;
}

bool store_do_trim(struct store *s, struct request *r) {
    bool more = true;
    bool ok = s->trimmed < r->up_to ? trim_step(s, r) : purge_step(s, r, &more);
    if (!ok) {
        struct err err = ERR_INIT;
        store_sql_fail(s, &err, "write to");
        store_sql_rollback(s);
        store_write_failed(s, &err);
    }
    return ok && more;
}

void store_trim(struct store *s, int64_t up_to_sequence, void (*done)(void *ctx, int64_t removed), void *ctx) {
    struct request *r = NEW(struct request);
    int64_t up_to = up_to_sequence < s->newest ? up_to_sequence : s->newest;
    *r = (struct request){.store = s, .kind = REQUEST_TRIM, .ctx = ctx, .up_to = up_to, .done_trim = done};
    // Known before the first row goes: a reader from below is told, and does not find a gap.
    s->oldest = up_to + 1 > s->oldest ? up_to + 1 : s->oldest;
    store_enqueue(s, r);
}
