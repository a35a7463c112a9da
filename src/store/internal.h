// What the files of store/ share. The connection and its statements belong to the store thread once that runs.
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include "base/arena.h"
#include "base/hash.h"
#include "store/store.h"

#include <pthread.h>
#include <sqlite3.h>

enum statement {
    S_BEGIN,
    S_COMMIT,
    S_ROLLBACK,
    S_SAVE,
    S_RELEASE,
    S_BACK,
    S_ADD_JOB,
    S_ADD_REQUEST,
    S_ADD_TRANSITION,
    S_MARK_DELETED,
    S_REQUEST_DELETED,
    S_SET_META,
    S_READ_TRANSITIONS,
    S_READ_SPEC,
    S_TRIM,
    S_TRIM_JOBS,
    S_PURGE_REQUESTS,
    S_PAGE_COUNT,
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

// One call, on its way to the store thread and back.
struct request {
    struct list link;
    struct loop_message message;
    struct store *store;
    enum request_kind kind;
    struct err err; // the outcome
    void *ctx;
    bool canceled; // set and read on the loop thread
    // commit
    struct store_batch *batch;
    bool may_fail;
    int64_t first_sequence;
    void (*done_commit)(void *ctx, int64_t first_sequence, const struct err *err);
    // reads
    struct arena arena;
    int64_t after;
    size_t limit;
    struct row *rows;
    size_t row_count;
    char uid[33];
    const char *spec;
    void (*each)(void *ctx, const struct store_transition *t, const struct store_job *job);
    void (*done_rows)(void *ctx, const struct err *err);
    void (*done_spec)(void *ctx, const char *spec_json, const struct err *err);
    // trim
    int64_t removed;
    void (*done_trim)(void *ctx, int64_t removed);
};

struct store_read {
    struct request request; // first: they are the same block
};

struct used_request {
    char *key; // namespace\nrequest_id
    char uid[33], spec_hash[65];
};

struct store {
    struct loop *loop;
    sqlite3 *db;
    sqlite3_stmt *statements[S_COUNT];
    int lock_fd;
    int64_t max_bytes, page_size;
    char epoch[17];
    // loop thread
    int64_t newest, oldest;
    char *problem;
    void (*on_health)(void *ctx, const char *problem);
    void *on_health_ctx;
    struct hash used; // used_request by key
    // between the threads
    struct loop_thread *thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct list queue;
    bool closing;
    // store thread
    int64_t next_sequence, trimmed_up_to;
    bool unwell;
};

// schema.c
bool store_schema_open(struct store *s, const char *path, struct err *err);
bool store_sql_fail(struct store *s, struct err *err, const char *what); // from sqlite's last error
int store_step(struct store *s, enum statement which);                   // for statements without rows; resets
sqlite3_stmt *store_statement(struct store *s, enum statement which);
bool store_meta_set(struct store *s, const char *key, int64_t value);

// writer.c
void store_write_group(struct store *s, struct list *requests);
// rows.c
int store_bind_job(sqlite3_stmt *st, const struct store_job *job);
int store_bind_transition(sqlite3_stmt *st, const struct store_transition *t, int64_t sequence);
void store_read_row(sqlite3_stmt *st, struct arena *a, struct store_transition *t);
void store_read_job_row(sqlite3_stmt *st, int column, struct arena *a, struct store_job *job);
// reader.c, retention.c
void store_do_transitions(struct store *s, struct request *r);
void store_do_spec(struct store *s, struct request *r);
void store_do_trim(struct store *s, struct request *r);
// thread.c
void store_enqueue(struct store *s, struct request *take_request);
void store_answer(struct request *take_request);
void store_say_health(struct store *s, const char *problem); // from the store thread
void store_request_free(struct request *r);
// requests.c
bool store_used_load(struct store *s, struct err *err);
void store_used_add(struct store *s, const char *namespace_, const char *request_id, const char *uid,
                    const char *spec_hash);
void store_used_done(struct store *s);

#endif
