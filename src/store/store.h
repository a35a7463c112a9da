// The journal: SQLite (WAL, synchronous=FULL) in the state directory, on a thread of its own with group commit.
// The only door to sqlite3. It knows rows, not jobs.
//
// It gives every transition its sequence, inside the transaction that makes it durable: sequences have no holes
// and are never used twice. Callbacks run on the loop thread, in the order of the calls. All other functions are for
// the loop thread.
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/err.h"
#include "base/list.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store_job { // fixed for a job's life. Texts may be NULL unless said otherwise
    const char *uid, *namespace_, *name, *runtime, *backend, *target; // never NULL
    const char *group, *request_id, *labels_json, *warnings_json;
    const char *spec_hash, *spec_json; // never NULL
    int64_t created_ns, ordinal;
    int64_t ttl_ns; // run_policy.ttl_after_finished, -1: none. Kept in a column of its own: wanted at load of terminal
                    // jobs too
    bool external;
};

enum store_kind { STORE_TRANSITION = 0, STORE_DELETED = 1 };

struct store_transition {
    int64_t sequence; // output of reads and commits; ignored on write
    const char *uid;  // never NULL
    enum store_kind kind;
    int64_t job_sequence;
    int32_t from, state, reason, attempt, restarts;
    const char *message;    // never NULL
    const char *exit_json;  // NULL: none
    const char *roles_json; // NULL: none
    int64_t observed_ns, happened_ns, started_ns, ended_ns;
    bool inferred;
};

struct store_options {
    const char *directory; // the state directory; exists
    int64_t max_bytes;     // of the journal file; 0: none. Over it new jobs are refused
};

// Opens or creates, checks integrity (quick_check), migrates. Blocking; before the loop runs.
// ERR_DATA_LOSS "JOURNAL_CORRUPT" names the file and what to do; ERR_PRECONDITION "JOURNAL_NEWER" for a file of a newer
// version; ERR_UNAVAILABLE "JOURNAL_LOCKED" when another process has it; ERR_PRECONDITION "STATE_DIR" when it cannot be
// read or written; ERR_EXHAUSTED "JOURNAL_FULL" when there is no space to create it.
bool store_open(const struct store_options *options, struct loop *loop, struct store **ret, struct err *err) MUST_CHECK;
// Writes everything that is queued, then closes. Blocking; callbacks of queued calls are not run. While nothing can be
// written, one last try is made; what is dropped then is all that waited, not a part of it.
void store_close(struct store *s);

const char *store_epoch(const struct store *s);       // 16 hex digits, made with the file
int64_t store_newest_sequence(const struct store *s); // as of open, then the newest that done() was told
int64_t store_oldest_sequence(const struct store *s); // 1 + up to where retention has removed; kept up to date
// NULL while the last write succeeded; otherwise why not. on_health is called when that changes.
const char *store_problem(const struct store *s);
bool store_full(const struct store *s); // there is a problem, and it is that there is no space
void store_on_health(struct store *s, void (*fn)(void *ctx, const char *problem), void *ctx);

// On start, blocking: every job with its newest transition, by ordinal. spec_json is given for jobs whose state is
// not terminal (state < 7), NULL for the others. Rows are borrowed for the call.
bool store_load(struct store *s,
                bool (*each)(void *ctx, const struct store_job *job, const struct store_transition *last), void *ctx,
                struct err *err) MUST_CHECK;

// A write: rows are copied. Everything in one batch is committed together or not at all.
struct store_batch;
struct store_batch *store_batch_new(void);
void store_batch_free(struct store_batch *b); // only when it was not committed
void store_batch_add_job(struct store_batch *b, const struct store_job *job);
void store_batch_add_transition(struct store_batch *b, const struct store_transition *t);
size_t store_batch_count(const struct store_batch *b); // transitions

// Queues and takes the batch. done(ctx, first_sequence, NULL): its transitions have first_sequence, +1, ...
// may_fail: a batch that cannot be written is given up and done(ctx, 0, err) is called (new jobs). Otherwise it is
// tried again (backoff 100 ms .. 5 s) until it is written, and the others of its kind behind it wait (transitions).
// While nothing can be written: batches that may fail are refused at once, with the reason; reads see what is
// committed; and the journal is tried from time to time even when nothing waits, so that store_problem ends by itself.
void store_commit(struct store *s, struct store_batch *take_batch, bool may_fail,
                  void (*done)(void *ctx, int64_t first_sequence, const struct err *err), void *ctx);

// Reads, answered in order behind queued writes. Rows are borrowed for the callback. `each` may be called many times,
// then done once (err NULL when all is well). To give up: store_cancel.
struct store_read;
// Each transition comes with its job's row (spec_json NULL), also when the job has been deleted: the row of a deleted
// job stays in the file, marked, until retention has removed its last transition (store_load does not report it).
struct store_read *store_read_transitions(struct store *s, int64_t after_sequence, size_t limit,
                                          void (*each)(void *ctx, const struct store_transition *t,
                                                       const struct store_job *job),
                                          void (*done)(void *ctx, const struct err *err), void *ctx);
// done(spec_json NULL, err) when the uid is unknown.
struct store_read *store_read_spec(struct store *s, const char *uid,
                                   void (*done)(void *ctx, const char *spec_json, const struct err *err), void *ctx);
void store_cancel(struct store_read *read); // no callback follows

// Retention, in the background, in small transactions: removes transitions with sequence <= up_to, except each
// existing job's newest (which goes when the job moves on). Jobs are removed by STORE_DELETED transitions, which also
// mark the job's row; its transitions stay until retention takes them. done may be NULL.
void store_trim(struct store *s, int64_t up_to_sequence, void (*done)(void *ctx, int64_t removed), void *ctx);
// request ids outlive deleted jobs for 24 h: the uid that used it, or NULL. Answered from memory.
const char *store_request_uid(const struct store *s, const char *namespace_, const char *request_id,
                              const char **ret_spec_hash);

#endif
