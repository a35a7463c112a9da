// The file: how it comes to be, and whether it can be trusted.
#include "store/internal.h"

#include "base/fd.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA_VERSION = 1, APPLICATION_ID = 0x7472646a /* "trdj" */ };

// A job's row is rewritten with every transition (last), so the spec, which can be long, is elsewhere.
static const char schema[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE jobs (id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, namespace TEXT NOT NULL, name TEXT NOT NULL,"
    " runtime TEXT NOT NULL, backend TEXT NOT NULL, target TEXT NOT NULL, job_group TEXT, request_id TEXT,"
    " labels TEXT, warnings TEXT, spec_hash TEXT NOT NULL, created_ns INTEGER NOT NULL, ordinal INTEGER NOT NULL,"
    " ttl_ns INTEGER NOT NULL, external INTEGER NOT NULL, last INTEGER NOT NULL DEFAULT 0,"
    " deleted INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX jobs_ordinal ON jobs (ordinal) WHERE NOT deleted;"
    "CREATE INDEX jobs_deleted ON jobs (last) WHERE deleted;"
    "CREATE TABLE specs (job INTEGER PRIMARY KEY, spec TEXT NOT NULL);"
    "CREATE TABLE transitions (sequence INTEGER PRIMARY KEY, uid TEXT NOT NULL, kind INTEGER NOT NULL,"
    " job_sequence INTEGER NOT NULL, from_state INTEGER NOT NULL, state INTEGER NOT NULL, reason INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, restarts INTEGER NOT NULL, message TEXT NOT NULL, exit TEXT, roles TEXT,"
    " observed_ns INTEGER NOT NULL, happened_ns INTEGER NOT NULL, started_ns INTEGER NOT NULL,"
    " ended_ns INTEGER NOT NULL, inferred INTEGER NOT NULL);"
    "CREATE TABLE requests (id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, request_id TEXT NOT NULL,"
    " uid TEXT NOT NULL, spec_hash TEXT NOT NULL, deleted_ns INTEGER, UNIQUE (namespace, request_id));"
    "CREATE INDEX requests_deleted ON requests (deleted_ns) WHERE deleted_ns IS NOT NULL;";

static bool run(struct store *s, const char *sql, struct err *err) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || store_sql_fail(s, err, "open");
}

static bool connect_to(struct store *s, const char *path, struct err *err) {
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        return store_sql_fail(s, err, "open");
    }
    if (sqlite3_db_readonly(s->db, "main") == 1) { // sqlite falls back to that without a word
        return err_fail(err, ERR_PRECONDITION, "STATE_DIR",
                        "cannot write to %s: trainerd must own it and be able to write to it", path);
    }
    return true;
}

// ---- A new file ---------------------------------------------------------------------------------------------------

static bool fill(struct store *s, const char *path, struct err *err) {
    char more[256];
    char epoch[17];
    uint8_t bytes[8];
    id_random(bytes, sizeof bytes);
    id_hex(bytes, sizeof bytes, epoch);
    snprintf(more, sizeof more,
             "INSERT INTO meta VALUES ('epoch', '%s'), ('newest', 0), ('trimmed', 0);"
             "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             epoch, APPLICATION_ID, SCHEMA_VERSION);
    bool ok = connect_to(s, path, err) && run(s, "PRAGMA synchronous = FULL; BEGIN", err) && run(s, schema, err) &&
              run(s, more, err);
    sqlite3_close(s->db);
    s->db = NULL;
    return ok;
}

static bool sync_directory(const char *directory, struct err *err) {
    CLEANUP(fd_close) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        return err_fail_errno(err, ERR_UNAVAILABLE, "JOURNAL_IO", errno, "cannot sync %s", directory);
    }
    return true;
}

// Made under another name, so that a journal.db without its tables is always a damaged one, never a young one.
// Mode 0600: specs hold what users put into the environment of their jobs.
static bool create(struct store *s, const char *directory, struct err *err) {
    CLEANUP(mem_free_ptr) char *young = mem_printf("%s.new", s->path);
    if (unlink(young) != 0 && errno != ENOENT) {
        return err_fail_errno(err, ERR_PRECONDITION, "STATE_DIR", errno, "cannot remove %s", young);
    }
    CLEANUP(fd_close) int fd = open(young, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "STATE_DIR", errno, "cannot create %s", young);
    }
    if (!fill(s, young, err)) {
        return false;
    }
    if (rename(young, s->path) != 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "STATE_DIR", errno, "cannot create %s", s->path);
    }
    return sync_directory(directory, err);
}

static bool create_if_missing(struct store *s, struct err *err) {
    struct stat st;
    if (stat(s->path, &st) == 0) {
        return true;
    }
    if (errno != ENOENT) {
        return err_fail_errno(err, ERR_PRECONDITION, "STATE_DIR", errno, "cannot open %s", s->path);
    }
    CLEANUP(mem_free_ptr) char *wal = mem_printf("%s-wal", s->path);
    if (stat(wal, &st) == 0) { // sqlite would play it into the new file
        return err_fail(err, ERR_DATA_LOSS, "JOURNAL_CORRUPT",
                        "%s is missing but %s is there: bring it back, or move that away too to start empty", s->path,
                        wal);
    }
    CLEANUP(mem_free_ptr) char *directory = mem_strndup(s->path, (size_t)(strrchr(s->path, '/') - s->path));
    return create(s, directory, err);
}

// ---- A file that is there -----------------------------------------------------------------------------------------

// The first value of a query as text. false: *err says why.
static bool ask(struct store *s, const char *sql, struct str *ret, struct err *err) {
    sqlite3_stmt *st = NULL;
    bool ok = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW;
    str_clear(ret);
    if (ok) {
        const char *text = (const char *)sqlite3_column_text(st, 0);
        str_add(ret, text != NULL ? text : "");
    } else {
        store_sql_fail(s, err, "open");
    }
    sqlite3_finalize(st);
    return ok;
}

static bool damaged(const struct store *s, const char *how, struct err *err) {
    return err_fail(err, ERR_DATA_LOSS, "JOURNAL_CORRUPT",
                    "%s is damaged (%s): keep a copy of it and of its -wal file, then restore a backup or move both "
                    "away to start empty",
                    s->path, how);
}

static bool ask_number(struct store *s, const char *sql, int64_t *ret, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    return ask(s, sql, &text, err) &&
           (str_to_int64(str_text(&text), INT64_MIN, INT64_MAX, ret) || damaged(s, sql, err));
}

static bool check(struct store *s, struct err *err) {
    int64_t id = 0;
    int64_t version = 0;
    CLEANUP(str_done) struct str verdict = STR_INIT;
    if (!ask_number(s, "PRAGMA application_id", &id, err) || !ask_number(s, "PRAGMA user_version", &version, err)) {
        return false;
    }
    if (id == 0 && version == 0) {
        return damaged(s, "it is empty or was cut off", err);
    }
    if (id != APPLICATION_ID) {
        return err_fail(err, ERR_DATA_LOSS, "JOURNAL_CORRUPT",
                        "%s is a database of another program: move it away or use another state directory", s->path);
    }
    if (version > SCHEMA_VERSION) {
        return err_fail(err, ERR_PRECONDITION, "JOURNAL_NEWER",
                        "%s has version %lld and this trainerd reads up to %d: use the newer trainerd that wrote it",
                        s->path, (long long)version, SCHEMA_VERSION);
    }
    return ask(s, "PRAGMA quick_check(1)", &verdict, err) &&
           (str_same(str_text(&verdict), "ok") || damaged(s, str_text(&verdict), err));
}

static bool read_meta(struct store *s, struct err *err) {
    CLEANUP(str_done) struct str epoch = STR_INIT;
    if (!ask(s, "SELECT value FROM meta WHERE key = 'epoch'", &epoch, err) ||
        !ask_number(s, "SELECT value FROM meta WHERE key = 'newest'", &s->newest, err) ||
        !ask_number(s, "SELECT value FROM meta WHERE key = 'trimmed'", &s->trimmed, err) ||
        !ask_number(s, "PRAGMA page_size", &s->page_size, err)) {
        return false;
    }
    snprintf(s->epoch, sizeof s->epoch, "%s", str_text(&epoch));
    s->oldest = s->trimmed + 1;
    s->next_sequence = s->newest + 1;
    return true;
}

bool store_schema_open(struct store *s, struct err *err) {
    if (!create_if_missing(s, err) || !connect_to(s, s->path, err)) {
        return false;
    }
    // What turns out to be damaged is left as it is: no checkpoint when it is closed again.
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_busy_timeout(s->db, 2000); // somebody looks at it with the sqlite3 program
    if (!check(s, err) ||
        !run(s,
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000;"
             "PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;"
             "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF",
             err) ||
        !read_meta(s, err) || !store_sql_prepare(s, err)) {
        return false;
    }
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return true;
}
