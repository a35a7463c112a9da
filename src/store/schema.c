// The file: its tables, its statements, and whether it can be trusted.
#include "store/internal.h"

#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, APPLICATION_ID = 0x7472646a /* "trdj" */ };

static const char schema[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE jobs (uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL, runtime TEXT NOT NULL,"
    " backend TEXT NOT NULL, target TEXT NOT NULL, job_group TEXT, request_id TEXT, labels TEXT, warnings TEXT,"
    " spec_hash TEXT NOT NULL, spec TEXT NOT NULL, created_ns INTEGER NOT NULL, ordinal INTEGER NOT NULL UNIQUE,"
    " ttl_ns INTEGER NOT NULL, external INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL "
    "DEFAULT 0) WITHOUT ROWID;"
    "CREATE TABLE transitions (sequence INTEGER PRIMARY KEY, uid TEXT NOT NULL, kind INTEGER NOT NULL,"
    " job_sequence INTEGER NOT NULL, from_state INTEGER NOT NULL, state INTEGER NOT NULL, reason INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, restarts INTEGER NOT NULL, message TEXT NOT NULL, exit TEXT, roles TEXT,"
    " observed_ns INTEGER NOT NULL, happened_ns INTEGER NOT NULL, started_ns INTEGER NOT NULL, ended_ns INTEGER NOT "
    "NULL,"
    " inferred INTEGER NOT NULL);"
    "CREATE TABLE requests (namespace TEXT NOT NULL, request_id TEXT NOT NULL, uid TEXT NOT NULL, spec_hash TEXT NOT "
    "NULL,"
    " deleted_ns INTEGER, PRIMARY KEY (namespace, request_id)) WITHOUT ROWID;"
    "CREATE INDEX requests_uid ON requests (uid);";

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
    [S_ADD_JOB] = "INSERT INTO jobs (uid, namespace, name, runtime, backend, target, job_group, request_id, labels, "
                  "warnings, spec_hash, spec,"
                  " created_ns, ordinal, ttl_ns, external) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_ADD_REQUEST] = "INSERT OR REPLACE INTO requests (namespace, request_id, uid, spec_hash) VALUES (?,?,?,?)",
    [S_ADD_TRANSITION] = "INSERT INTO transitions VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [S_MARK_DELETED] = "UPDATE jobs SET last = ?2, deleted = deleted OR ?3, spec = iif(?3, '', spec) WHERE uid = ?1",
    [S_REQUEST_DELETED] = "UPDATE requests SET deleted_ns = ?2 WHERE uid = ?1",
    [S_SET_META] = "INSERT OR REPLACE INTO meta VALUES (?,?)",
    [S_READ_TRANSITIONS] =
        "SELECT " TRANSITION_COLUMNS ", " JOB_COLUMNS
        " FROM transitions t JOIN jobs j ON j.uid = t.uid WHERE t.sequence > ? ORDER BY t.sequence LIMIT ?",
    [S_READ_SPEC] = "SELECT spec FROM jobs WHERE uid = ? AND NOT deleted",
    [S_TRIM] =
        "DELETE FROM transitions WHERE sequence IN (SELECT t.sequence FROM transitions t JOIN jobs j ON j.uid = t.uid"
        " WHERE t.sequence > ? AND t.sequence <= ? AND (j.deleted OR j.last <> t.sequence) ORDER BY t.sequence LIMIT "
        "?)",
    [S_TRIM_JOBS] = "DELETE FROM jobs WHERE deleted AND last <= ?",
    [S_PURGE_REQUESTS] = "DELETE FROM requests WHERE deleted_ns < ?",
    [S_PAGE_COUNT] = "PRAGMA page_count",
};

bool store_sql_fail(struct store *s, struct err *err, const char *what) {
    int code = s->db != NULL ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
    const char *text = s->db != NULL ? sqlite3_errmsg(s->db) : "out of memory";
    switch (code & 0xff) {
    case SQLITE_FULL:
        return err_fail(err, ERR_EXHAUSTED, "JOURNAL_FULL", "%s: the journal's disk is full", what);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_fail(err, ERR_DATA_LOSS, "JOURNAL_CORRUPT",
                        "%s: the journal is damaged (%s); stop trainerd, keep a copy of journal.db and its -wal file, "
                        "then restore a backup or move them away to start empty",
                        what, text);
    case SQLITE_IOERR:
        return err_fail(err, ERR_UNAVAILABLE, "JOURNAL_IO", "%s: %s (%s)", what, text,
                        strerror(sqlite3_system_errno(s->db)));
    default:
        return err_fail(err, ERR_UNAVAILABLE, "JOURNAL_UNAVAILABLE", "%s: %s", what, text);
    }
}

sqlite3_stmt *store_statement(struct store *s, enum statement which) {
    return s->statements[which];
}

int store_step(struct store *s, enum statement which) {
    sqlite3_stmt *st = s->statements[which];
    int r = sqlite3_step(st);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return r;
}

bool store_meta_set(struct store *s, const char *key, int64_t value) {
    sqlite3_stmt *st = store_statement(s, S_SET_META);
    sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, value);
    return store_step(s, S_SET_META) == SQLITE_DONE;
}

static bool run(struct store *s, const char *sql, struct err *err) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || store_sql_fail(s, err, "journal.db");
}

// One value of a query as text; false when there is none.
static bool ask(struct store *s, const char *sql, char *out, size_t size) {
    sqlite3_stmt *st = NULL;
    bool ok = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW;
    if (ok) {
        const char *t = (const char *)sqlite3_column_text(st, 0);
        snprintf(out, size, "%s", t != NULL ? t : "");
    }
    sqlite3_finalize(st);
    return ok;
}

static int64_t ask_int(struct store *s, const char *sql) {
    char text[64] = "";
    int64_t v = 0;
    return ask(s, sql, text, sizeof text) && str_to_int64(text, INT64_MIN, INT64_MAX, &v) ? v : 0;
}

static bool create(struct store *s, struct err *err) {
    char more[256];
    uint8_t bytes[8];
    id_random(bytes, sizeof bytes);
    id_hex(bytes, sizeof bytes, s->epoch);
    snprintf(more, sizeof more,
             "INSERT INTO meta VALUES ('epoch', '%s'), ('newest', 0), ('oldest', 1); PRAGMA application_id = %d; "
             "PRAGMA user_version = %d;",
             s->epoch, APPLICATION_ID, SCHEMA_VERSION);
    return run(s, "BEGIN", err) && run(s, schema, err) && run(s, more, err) && run(s, "COMMIT", err);
}

static bool check_version(struct store *s, bool *ret_is_new, struct err *err) {
    char word[128] = "";
    if (!ask(s, "PRAGMA schema_version", word, sizeof word)) {
        return store_sql_fail(s, err, "journal.db");
    }
    *ret_is_new = str_same(word, "0");
    if (*ret_is_new) {
        return true;
    }
    if (ask_int(s, "PRAGMA application_id") != APPLICATION_ID) {
        return err_fail(err, ERR_DATA_LOSS, "JOURNAL_CORRUPT",
                        "journal.db is a database of another program; move it away or use another state directory");
    }
    int64_t version = ask_int(s, "PRAGMA user_version");
    if (version > SCHEMA_VERSION) {
        return err_fail(
            err, ERR_PRECONDITION, "JOURNAL_NEWER",
            "journal.db has version %lld, this program reads up to %d: use the newer trainerd that wrote it",
            (long long)version, SCHEMA_VERSION);
    }
    if (!ask(s, "PRAGMA quick_check(1)", word, sizeof word)) {
        return store_sql_fail(s, err, "journal.db");
    }
    if (!str_same(word, "ok")) {
        return err_fail(err, ERR_DATA_LOSS, "JOURNAL_CORRUPT",
                        "journal.db is damaged (%s): keep a copy, then restore a backup or move it away to start empty",
                        word);
    }
    return true;
}

static bool prepare(struct store *s, struct err *err) {
    for (int i = 0; i < S_COUNT; i++) {
        if (sqlite3_prepare_v3(s->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &s->statements[i], NULL) != SQLITE_OK) {
            return store_sql_fail(s, err, "journal.db");
        }
    }
    return true;
}

bool store_schema_open(struct store *s, const char *path, struct err *err) {
    bool is_new = false;
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) {
        return store_sql_fail(s, err, path);
    }
    sqlite3_busy_timeout(s->db, 2000); // somebody looks at it with the sqlite3 program
    if (!check_version(s, &is_new, err)) {
        return false;
    }
    if (!run(s, "PRAGMA journal_mode = WAL", err) || !run(s, "PRAGMA synchronous = FULL", err) ||
        !run(s, "PRAGMA wal_autocheckpoint = 2000", err) || (is_new && !create(s, err)) || !prepare(s, err)) {
        return false;
    }
    ask(s, "SELECT value FROM meta WHERE key = 'epoch'", s->epoch, sizeof s->epoch);
    s->newest = ask_int(s, "SELECT value FROM meta WHERE key = 'newest'");
    s->oldest = ask_int(s, "SELECT value FROM meta WHERE key = 'oldest'");
    s->page_size = ask_int(s, "PRAGMA page_size");
    s->next_sequence = s->newest + 1;
    s->trimmed_up_to = s->oldest - 1;
    return true;
}
