// Which request ids were used, in memory: also by jobs that have been deleted within a day.
#include "store/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>

static struct used_request *find(const struct store *s, const char *namespace_, const char *request_id) {
    CLEANUP(mem_free_ptr) char *key = mem_printf("%s\n%s", namespace_, request_id);
    return hash_get(&s->used, key);
}

void store_used_add(struct store *s, const char *namespace_, const char *request_id, const char *uid,
                    const char *spec_hash) {
    struct used_request *u = find(s, namespace_, request_id);
    if (u == NULL) {
        u = NEW(struct used_request);
        u->key = mem_printf("%s\n%s", namespace_, request_id);
        hash_put(&s->used, u->key, u);
    }
    snprintf(u->uid, sizeof u->uid, "%s", uid);
    snprintf(u->spec_hash, sizeof u->spec_hash, "%s", spec_hash);
}

bool store_used_load(struct store *s, struct err *err) {
    sqlite3_stmt *st = store_statement(s, S_PURGE_REQUESTS);
    sqlite3_bind_int64(st, 1, clock_wall() - 24 * 3600 * CLOCK_SECOND);
    if (store_step(s, S_PURGE_REQUESTS) != SQLITE_DONE ||
        sqlite3_prepare_v2(s->db, "SELECT namespace, request_id, uid, spec_hash FROM requests", -1, &st, NULL) !=
            SQLITE_OK) {
        return store_sql_fail(s, err, "journal.db");
    }
    int r;
    while ((r = sqlite3_step(st)) == SQLITE_ROW) {
        store_used_add(s, (const char *)sqlite3_column_text(st, 0), (const char *)sqlite3_column_text(st, 1),
                       (const char *)sqlite3_column_text(st, 2), (const char *)sqlite3_column_text(st, 3));
    }
    sqlite3_finalize(st);
    return r == SQLITE_DONE || store_sql_fail(s, err, "journal.db");
}

const char *store_request_uid(const struct store *s, const char *namespace_, const char *request_id,
                              const char **ret_spec_hash) {
    const struct used_request *u = find(s, namespace_, request_id);
    if (u == NULL) {
        return NULL;
    }
    *ret_spec_hash = u->spec_hash;
    return u->uid;
}

void store_used_done(struct store *s) {
    struct used_request *u;
    for (size_t at = 0; (u = hash_next(&s->used, &at)) != NULL;) {
        mem_free(u->key);
        mem_free(u);
    }
    hash_done(&s->used);
}
