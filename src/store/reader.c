// Reads: rows are copied on the store thread and handed out on the loop thread.
#include "store/internal.h"

#include "base/mem.h"

void store_do_transitions(struct store *s, struct request *r) {
    sqlite3_stmt *st = store_sql_statement(s, S_READ_TRANSITIONS);
    size_t cap = 0;
    int result;
    sqlite3_bind_int64(st, 1, r->after);
    sqlite3_bind_int64(st, 2, (sqlite3_int64)r->limit);
    while ((result = sqlite3_step(st)) == SQLITE_ROW) {
        if (r->row_count == cap) {
            cap = cap != 0 ? cap * 2 : 16;
            r->rows = mem_realloc_array(r->rows, cap, sizeof *r->rows);
        }
        struct row *row = &r->rows[r->row_count++];
        store_row_job(st, store_row_transition(st, 0, &row->transition), &row->job);
        store_keep_transition(&row->transition, &r->arena);
        store_keep_job(&row->job, &r->arena);
    }
    if (result != SQLITE_DONE) {
        store_sql_fail(s, &r->err, "read");
    }
    store_sql_reset(st);
}

void store_do_spec(struct store *s, struct request *r) {
    sqlite3_stmt *st = store_sql_statement(s, S_READ_SPEC);
    sqlite3_bind_text(st, 1, r->uid, -1, SQLITE_STATIC);
    int result = sqlite3_step(st);
    if (result == SQLITE_ROW) {
        r->spec = arena_strdup(&r->arena, (const char *)sqlite3_column_text(st, 0));
    } else if (result == SQLITE_DONE) {
        err_fail(&r->err, ERR_NOT_FOUND, "JOB_NOT_FOUND", "there is no job with uid %s", r->uid);
    } else {
        store_sql_fail(s, &r->err, "read");
    }
    store_sql_reset(st);
}

static struct store_read *start(struct store *s, enum request_kind kind, void *ctx, const struct request *with) {
    struct store_read *read = NEW(struct store_read);
    read->request = *with;
    read->request.kind = kind;
    read->request.store = s;
    read->request.ctx = ctx;
    store_enqueue(s, &read->request);
    return read;
}

struct store_read *store_read_transitions(struct store *s, int64_t after_sequence, size_t limit,
                                          void (*each)(void *ctx, const struct store_transition *t,
                                                       const struct store_job *job),
                                          void (*done)(void *ctx, const struct err *err), void *ctx) {
    return start(s, REQUEST_TRANSITIONS, ctx,
                 &(struct request){.after = after_sequence, .limit = limit, .each = each, .done_rows = done});
}

struct store_read *store_read_spec(struct store *s, const char *uid,
                                   void (*done)(void *ctx, const char *spec_json, const struct err *err), void *ctx) {
    return start(s, REQUEST_SPEC, ctx, &(struct request){.uid = mem_strdup(uid), .done_spec = done});
}

void store_cancel(struct store_read *read) {
    read->request.canceled = true; // it is freed when it comes back
}
