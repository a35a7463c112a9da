// Rows <-> structs. The order of columns is that of the statements in schema.c.
#include "store/internal.h"

#include <stdio.h>
#include <string.h>

static void text(sqlite3_stmt *st, int i, const char *value) {
    sqlite3_bind_text(st, i, value, -1, SQLITE_STATIC); // NULL binds NULL; the batch outlives the step
}

int store_bind_job(sqlite3_stmt *st, const struct store_job *j) {
    const char *const texts[] = {j->uid,   j->namespace_, j->name,        j->runtime,       j->backend,   j->target,
                                 j->group, j->request_id, j->labels_json, j->warnings_json, j->spec_hash, j->spec_json};
    const int64_t numbers[] = {j->created_ns, j->ordinal, j->ttl_ns, j->external};
    int at = 1;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        text(st, at++, texts[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        sqlite3_bind_int64(st, at++, numbers[i]);
    }
    return at;
}

int store_bind_transition(sqlite3_stmt *st, const struct store_transition *t, int64_t sequence) {
    int at = 1;
    sqlite3_bind_int64(st, at++, sequence);
    text(st, at++, t->uid);
    const int64_t first[] = {t->kind, t->job_sequence, t->from, t->state, t->reason, t->attempt, t->restarts};
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        sqlite3_bind_int64(st, at++, first[i]);
    }
    text(st, at++, t->message);
    text(st, at++, t->exit_json);
    text(st, at++, t->roles_json);
    const int64_t last[] = {t->observed_ns, t->happened_ns, t->started_ns, t->ended_ns, t->inferred};
    for (size_t i = 0; i < ARRAY_LEN(last); i++) {
        sqlite3_bind_int64(st, at++, last[i]);
    }
    return at;
}

static const char *column(sqlite3_stmt *st, int i, struct arena *a) {
    return arena_strdup(a, (const char *)sqlite3_column_text(st, i));
}

static const char *column_never_null(sqlite3_stmt *st, int i, struct arena *a) {
    const char *t = column(st, i, a);
    return t != NULL ? t : "";
}

void store_read_row(sqlite3_stmt *st, struct arena *a, struct store_transition *t) {
    *t = (struct store_transition){
        .sequence = sqlite3_column_int64(st, 0),
        .uid = column_never_null(st, 1, a),
        .kind = (enum store_kind)sqlite3_column_int(st, 2),
        .job_sequence = sqlite3_column_int64(st, 3),
        .from = sqlite3_column_int(st, 4),
        .state = sqlite3_column_int(st, 5),
        .reason = sqlite3_column_int(st, 6),
        .attempt = sqlite3_column_int(st, 7),
        .restarts = sqlite3_column_int(st, 8),
        .message = column_never_null(st, 9, a),
        .exit_json = column(st, 10, a),
        .roles_json = column(st, 11, a),
        .observed_ns = sqlite3_column_int64(st, 12),
        .happened_ns = sqlite3_column_int64(st, 13),
        .started_ns = sqlite3_column_int64(st, 14),
        .ended_ns = sqlite3_column_int64(st, 15),
        .inferred = sqlite3_column_int(st, 16) != 0,
    };
}

void store_read_job_row(sqlite3_stmt *st, int at, struct arena *a, struct store_job *j) {
    *j = (struct store_job){
        .uid = column_never_null(st, at, a),
        .namespace_ = column_never_null(st, at + 1, a),
        .name = column_never_null(st, at + 2, a),
        .runtime = column_never_null(st, at + 3, a),
        .backend = column_never_null(st, at + 4, a),
        .target = column_never_null(st, at + 5, a),
        .group = column(st, at + 6, a),
        .request_id = column(st, at + 7, a),
        .labels_json = column(st, at + 8, a),
        .warnings_json = column(st, at + 9, a),
        .spec_hash = column_never_null(st, at + 10, a),
        .created_ns = sqlite3_column_int64(st, at + 11),
        .ordinal = sqlite3_column_int64(st, at + 12),
        .ttl_ns = sqlite3_column_int64(st, at + 13),
        .external = sqlite3_column_int(st, at + 14) != 0,
    };
}
