// The statements, and what sqlite's errors mean to those who wait.
#include "store/internal.h"

#include <errno.h>
#include <string.h>

#define TRANSITION_COLUMNS                                                                                             \
    "t.sequence, t.uid, t.kind, t.job_sequence, t.from_state, t.state, t.reason, t.attempt, t.restarts, t.message,"    \
    " t.exit, t.roles, t.observed_ns, t.happened_ns, t.started_ns, t.ended_ns, t.inferred"
#define JOB_COLUMNS                                                                                                    \
    "j.uid, j.namespace, j.name, j.runtime, j.backend, j.target, j.job_group, j.request_id, j.labels, j.warnings,"     \
    " j.spec_hash, j.created_ns, j.ordinal, j.ttl_ns, j.external"

static const char *const texts[S_COUNT] = {
    [S_BEGIN] = "BEGIN IMMEDIATE",
    [S_COMMIT] = "COMMIT",
    [S_ROLLBACK] = "ROLLBACK",
    [S_SAVE] = "SAVEPOINT batch",
    [S_RELEASE] = "RELEASE batch",
    [S_BACK] = "ROLLBACK TO batch",

    [S_ADD_JOB] = "INSERT INTO jobs (uid, namespace, name, runtime, backend, target, job_group, request_id, labels,"
                  " warnings, spec_hash, created_ns, ordinal, ttl_ns, external)"
                  " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_ADD_SPEC] = "INSERT INTO specs (job, spec) VALUES (last_insert_rowid(), ?)",
    [S_ADD_REQUEST] = "INSERT OR REPLACE INTO requests (namespace, request_id, uid, spec_hash) VALUES (?,?,?,?)",
    [S_ADD_TRANSITION] = "INSERT INTO transitions VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    // What was kept only because it was the job's newest goes when it no longer is.
    [S_DROP_SUPERSEDED] =
        "DELETE FROM transitions WHERE sequence = (SELECT last FROM jobs WHERE uid = ?1) AND sequence <= ?2",
    [S_ADVANCE_JOB] = "UPDATE jobs SET last = ?2, deleted = max(deleted, ?3) WHERE uid = ?1",
    [S_DROP_SPEC] = "DELETE FROM specs WHERE job = (SELECT id FROM jobs WHERE uid = ?1)",
    [S_REQUEST_DELETED] = "UPDATE requests SET deleted_ns = ?2 WHERE uid = ?1 AND (namespace, request_id) ="
                          " (SELECT namespace, request_id FROM jobs WHERE uid = ?1)",
    [S_SET_META] = "INSERT OR REPLACE INTO meta VALUES (?,?)",

    // 7: the first terminal state
    [S_LOAD] = "SELECT " TRANSITION_COLUMNS ", " JOB_COLUMNS ", s.spec FROM jobs j"
               " JOIN transitions t ON t.sequence = j.last LEFT JOIN specs s ON s.job = j.id AND t.state < 7"
               " WHERE NOT j.deleted ORDER BY j.ordinal",
    [S_READ_TRANSITIONS] =
        "SELECT " TRANSITION_COLUMNS ", " JOB_COLUMNS
        " FROM transitions t JOIN jobs j ON j.uid = t.uid WHERE t.sequence > ? ORDER BY t.sequence LIMIT ?",
    [S_READ_SPEC] = "SELECT s.spec FROM jobs j JOIN specs s ON s.job = j.id WHERE j.uid = ?",

    [S_TRIM_BOUND] = "SELECT count(*), max(sequence) FROM (SELECT sequence FROM transitions"
                     " WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?)",
    [S_TRIM] = "DELETE FROM transitions WHERE sequence > ? AND sequence <= ? AND NOT EXISTS (SELECT 1 FROM jobs j"
               " WHERE j.uid = transitions.uid AND j.last = transitions.sequence AND NOT j.deleted)",
    [S_TRIM_JOBS] = "DELETE FROM jobs WHERE deleted AND last <= ?",

    [S_LOAD_REQUESTS] = "SELECT namespace, request_id, uid, spec_hash FROM requests",
    [S_PURGE_REQUESTS] = "DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE deleted_ns < ?"
                         " ORDER BY deleted_ns LIMIT ?) RETURNING namespace, request_id, uid",
    [S_PAGES_USED] = "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count",
};

bool store_sql_prepare(struct store *s, struct err *err) {
    for (int i = 0; i < S_COUNT; i++) {
        if (sqlite3_prepare_v3(s->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &s->statements[i], NULL) != SQLITE_OK) {
            return store_sql_fail(s, err, "open");
        }
    }
    return true;
}

sqlite3_stmt *store_sql_statement(struct store *s, enum statement which) {
    return s->statements[which];
}

void store_sql_reset(sqlite3_stmt *st) {
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
}

bool store_sql_step(struct store *s, enum statement which) {
    sqlite3_stmt *st = s->statements[which];
    int result = sqlite3_step(st);
    store_sql_reset(st);
    return result == SQLITE_DONE;
}

bool store_sql_meta_set(struct store *s, const char *key, int64_t value) {
    sqlite3_stmt *st = store_sql_statement(s, S_SET_META);
    sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, value);
    return store_sql_step(s, S_SET_META);
}

void store_sql_rollback(struct store *s) {
    if (sqlite3_get_autocommit(s->db) == 0) { // sqlite itself rolls back on some errors
        (void)store_sql_step(s, S_ROLLBACK);
    }
}

static int errno_of(sqlite3_file *file) {
    int number = 0;
    if (file != NULL && file->pMethods != NULL) {
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number);
    }
    return number;
}

// The errno behind an I/O error. sqlite3_system_errno does not know those of a commit; the files do.
static int io_errno(sqlite3 *db) {
    sqlite3_file *file = NULL;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    int number = errno_of(file);
    if (number == 0) {
        sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
        number = errno_of(file);
    }
    return number != 0 ? number : sqlite3_system_errno(db);
}

// A file size limit and a quota are full disks under another name; sqlite knows only ENOSPC.
static bool no_space(int code, int number) {
    return code == SQLITE_FULL || (code == SQLITE_IOERR && (number == ENOSPC || number == EDQUOT || number == EFBIG));
}

bool store_sql_fail(const struct store *s, struct err *err, const char *doing) {
    if (s->db == NULL) {
        return err_fail(err, ERR_UNAVAILABLE, "JOURNAL_UNAVAILABLE", "cannot %s %s: out of memory", doing, s->path);
    }
    int code = sqlite3_errcode(s->db) & 0xff;
    int number = code == SQLITE_IOERR ? io_errno(s->db) : sqlite3_system_errno(s->db);
    const char *text = sqlite3_errmsg(s->db);
    if (no_space(code, number)) {
        return err_fail(err, ERR_EXHAUSTED, "JOURNAL_FULL", "cannot %s %s: no space left on its disk; make room there",
                        doing, s->path);
    }
    switch (code) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: // a table that is not there
        return err_fail(err, ERR_DATA_LOSS, "JOURNAL_CORRUPT",
                        "%s is damaged (%s): stop trainerd, keep a copy of it and of its -wal file, then restore a "
                        "backup or move both away to start empty",
                        s->path, text);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return err_fail(err, ERR_PRECONDITION, "STATE_DIR",
                        "cannot %s %s: %s; trainerd must own it and be able to write to it", doing, s->path,
                        number != 0 ? strerror(number) : text);
    case SQLITE_IOERR:
        return err_fail(err, ERR_UNAVAILABLE, "JOURNAL_IO", "cannot %s %s: %s (%s)", doing, s->path, text,
                        strerror(number));
    case SQLITE_CONSTRAINT:
        return err_fail(err, ERR_INTERNAL, "JOURNAL_CONFLICT", "cannot %s %s: %s", doing, s->path, text);
    default:
        return err_fail(err, ERR_UNAVAILABLE, "JOURNAL_UNAVAILABLE", "cannot %s %s: %s", doing, s->path, text);
    }
}
