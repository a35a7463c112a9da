// Rows <-> structs. The order of columns is that of the statements in sql.c.
#include "store/internal.h"

static void text(sqlite3_stmt *st, int i, const char *value) {
    sqlite3_bind_text(st, i, value, -1, SQLITE_STATIC); // NULL binds NULL; the batch outlives the step
}

static int numbers(sqlite3_stmt *st, int at, const int64_t *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        sqlite3_bind_int64(st, at++, values[i]);
    }
    return at;
}

void store_bind_job(sqlite3_stmt *st, const struct store_job *j) {
    const char *const texts[] = {j->uid,   j->namespace_, j->name,        j->runtime,       j->backend,  j->target,
                                 j->group, j->request_id, j->labels_json, j->warnings_json, j->spec_hash};
    const int64_t rest[] = {j->created_ns, j->ordinal, j->ttl_ns, j->external};
    int at = 1;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        text(st, at++, texts[i]);
    }
    numbers(st, at, rest, ARRAY_LEN(rest));
}

void store_bind_transition(sqlite3_stmt *st, const struct store_transition *t, int64_t sequence) {
    const int64_t first[] = {t->kind, t->job_sequence, t->from, t->state, t->reason, t->attempt, t->restarts};
    const int64_t last[] = {t->observed_ns, t->happened_ns, t->started_ns, t->ended_ns, t->inferred};
    int at = 1;
    sqlite3_bind_int64(st, at++, sequence);
    text(st, at++, t->uid);
    at = numbers(st, at, first, ARRAY_LEN(first));
    text(st, at++, t->message);
    text(st, at++, t->exit_json);
    text(st, at++, t->roles_json);
    numbers(st, at, last, ARRAY_LEN(last));
}

static const char *column(sqlite3_stmt *st, int i) {
    return (const char *)sqlite3_column_text(st, i);
}

static const char *column_never_null(sqlite3_stmt *st, int i) {
    const char *t = column(st, i);
    return t != NULL ? t : ""; // only in a file that was tampered with
}

int store_row_transition(sqlite3_stmt *st, int at, struct store_transition *ret) {
    *ret = (struct store_transition){
        .sequence = sqlite3_column_int64(st, at),
        .uid = column_never_null(st, at + 1),
        .kind = (enum store_kind)sqlite3_column_int(st, at + 2),
        .job_sequence = sqlite3_column_int64(st, at + 3),
        .from = sqlite3_column_int(st, at + 4),
        .state = sqlite3_column_int(st, at + 5),
        .reason = sqlite3_column_int(st, at + 6),
        .attempt = sqlite3_column_int(st, at + 7),
        .restarts = sqlite3_column_int(st, at + 8),
        .message = column_never_null(st, at + 9),
        .exit_json = column(st, at + 10),
        .roles_json = column(st, at + 11),
        .observed_ns = sqlite3_column_int64(st, at + 12),
        .happened_ns = sqlite3_column_int64(st, at + 13),
        .started_ns = sqlite3_column_int64(st, at + 14),
        .ended_ns = sqlite3_column_int64(st, at + 15),
        .inferred = sqlite3_column_int(st, at + 16) != 0,
    };
    return at + 17;
}

int store_row_job(sqlite3_stmt *st, int at, struct store_job *ret) {
    *ret = (struct store_job){
        .uid = column_never_null(st, at),
        .namespace_ = column_never_null(st, at + 1),
        .name = column_never_null(st, at + 2),
        .runtime = column_never_null(st, at + 3),
        .backend = column_never_null(st, at + 4),
        .target = column_never_null(st, at + 5),
        .group = column(st, at + 6),
        .request_id = column(st, at + 7),
        .labels_json = column(st, at + 8),
        .warnings_json = column(st, at + 9),
        .spec_hash = column_never_null(st, at + 10),
        .created_ns = sqlite3_column_int64(st, at + 11),
        .ordinal = sqlite3_column_int64(st, at + 12),
        .ttl_ns = sqlite3_column_int64(st, at + 13),
        .external = sqlite3_column_int(st, at + 14) != 0,
    };
    return at + 15;
}

void store_keep_transition(struct store_transition *t, struct arena *a) {
    const char **const texts[] = {&t->uid, &t->message, &t->exit_json, &t->roles_json};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        *texts[i] = arena_strdup(a, *texts[i]);
    }
}

void store_keep_job(struct store_job *j, struct arena *a) {
    const char **const texts[] = {&j->uid,         &j->namespace_,    &j->name,      &j->runtime,
                                  &j->backend,     &j->target,        &j->group,     &j->request_id,
                                  &j->labels_json, &j->warnings_json, &j->spec_hash, &j->spec_json};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        *texts[i] = arena_strdup(a, *texts[i]);
    }
}
