// What the files of store/ share. The connection and its statements belong to the store thread once that runs.
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "store/store.h"

#include <pthread.h>
#include <sqlite3.h>

#define REQUESTS_KEPT_NS (24 * 3600 * CLOCK_SECOND) // behind the deletion of their job

enum statement {
    S_BEGIN,
    S_COMMIT,
    S_ROLLBACK,
    S_SAVE,
    S_RELEASE,
    S_BACK,
    S_ADD_JOB,
    S_ADD_SPEC,
    S_ADD_REQUEST,
    S_ADD_TRANSITION,
    S_DROP_SUPERSEDED,
    S_ADVANCE_JOB,
    S_DROP_SPEC,
    S_REQUEST_DELETED,
    S_SET_META,
    S_LOAD,
    S_READ_TRANSITIONS,
    S_READ_SPEC,
    S_TRIM_BOUND,
    S_TRIM,
    S_TRIM_JOBS,
    S_LOAD_REQUESTS,
    S_PURGE_REQUESTS,
    S_PAGES_USED,
    S_COUNT
};

enum request_kind { REQUEST_COMMIT, REQUEST_TRANSITIONS, REQUEST_SPEC, REQUEST_TRIM };

struct store_batch {
    struct arena arena;
    struct store_job *jobs;
    struct store_transition *transitions;
    size_t job_count, job_cap, transition_count, transition_cap;
};

// A row as it was read, with its job.
struct row {
    struct store_transition transition;
    struct store_job job;
};

// A request id that may be used again.
struct purged {
    const char *namespace_, *request_id, *uid;
};

// One call, on its way to the store thread and back.
struct request {
    struct list link;
    struct loop_message message;
    struct store *store;
    enum request_kind kind;
    struct err err; // the outcome
    void *ctx;
    bool canceled;      // set and read on the loop thread
    struct arena arena; // of what was read
    // commit
    struct store_batch *batch;
    bool may_fail;
    int64_t first_sequence;
    void (*done_commit)(void *ctx, int64_t first_sequence, const struct err *err);
    // reads
    int64_t after;
    size_t limit;
    struct row *rows;
    size_t row_count;
    char *uid;
    const char *spec;
    void (*each)(void *ctx, const struct store_transition *t, const struct store_job *job);
    void (*done_rows)(void *ctx, const struct err *err);
    void (*done_spec)(void *ctx, const char *spec_json, const struct err *err);
    // trim
    int64_t up_to, removed;
    struct purged *purged;
    size_t purged_count;
    void (*done_trim)(void *ctx, int64_t removed);
};

struct store_read {
    struct request request; // first: they are the same block
};

struct store {
    struct loop *loop;
    sqlite3 *db;
    sqlite3_stmt *statements[S_COUNT];
    char *path; // of journal.db
    int lock_fd;
    int64_t max_bytes, page_size;
    char epoch[17];
    // loop thread
    int64_t newest, oldest;
    char *problem;
    bool full; // problem is that there is no space
    void (*on_health)(void *ctx, const char *problem);
    void *on_health_ctx;
    struct hash used; // request ids, see requests.c
    // between the threads
    struct loop_thread *thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct list queue;
    bool closing;
    // store thread
    int64_t next_sequence;
    int64_t trimmed;     // all up to here is gone, except each existing job's newest
    struct err trouble;  // why the last write failed; empty: it did not
    struct list waiting; // batches that must be written and could not be, in order
    int64_t retry_ns;    // mono, when there is trouble
    int64_t retry_step_ms;
};

// schema.c: the file
bool store_schema_open(struct store *s, struct err *err);

// sql.c: statements and errors
bool store_sql_prepare(struct store *s, struct err *err);
bool store_sql_fail(const struct store *s, struct err *err, const char *doing); // from sqlite's last error
bool store_sql_step(struct store *s, enum statement which);                     // without rows; then resets
sqlite3_stmt *store_sql_statement(struct store *s, enum statement which);
void store_sql_reset(sqlite3_stmt *st);
bool store_sql_meta_set(struct store *s, const char *key, int64_t value);
void store_sql_rollback(struct store *s); // when a transaction is still open

// rows.c
void store_bind_job(sqlite3_stmt *st, const struct store_job *job);
void store_bind_transition(sqlite3_stmt *st, const struct store_transition *t, int64_t sequence);
// Both return the column behind their last. The texts are sqlite's: until the next step, or reset.
int store_row_transition(sqlite3_stmt *st, int column, struct store_transition *ret);
int store_row_job(sqlite3_stmt *st, int column, struct store_job *ret);
// Replaces the texts by copies in the arena.
void store_keep_transition(struct store_transition *t, struct arena *a);
void store_keep_job(struct store_job *job, struct arena *a);

// writer.c, reader.c, retention.c: on the store thread
void store_write_group(struct store *s, struct list *take_requests);
void store_write_again(struct store *s); // what waits, or a probe when nothing does
void store_write_failed(struct store *s, struct err *take_err);
void store_do_transitions(struct store *s, struct request *r);
void store_do_spec(struct store *s, struct request *r);
bool store_do_trim(struct store *s, struct request *r); // one small transaction; true: come again

// thread.c
void store_enqueue(struct store *s, struct request *take_request);
void store_answer(struct request *take_request);
void store_say_health(struct store *s, const struct err *trouble); // from the store thread; NULL: none
void store_request_free(struct request *r);
void store_thread_end(struct store *s); // joins; frees what was not answered

// requests.c: on the loop thread
bool store_used_load(struct store *s, struct err *err);
void store_used_add(struct store *s, const struct store_job *job);
void store_used_purge(struct store *s, const struct purged *p);
void store_used_done(struct store *s);

#endif
