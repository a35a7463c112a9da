// The job table: every job the server knows, and the one function that moves a job. Pure: no I/O, no clock.
//
// A job's state is an immutable, shared event. `head` is the newest decided one, `seen` the newest committed
// one; they differ only while the journal writes. Decisions look at head; what clients are told is seen.
// job_move -> outbox -> (flow journals it) -> job_table_commit gives it its sequence and publishes it in the feed.
// Loop thread only.
#ifndef JOB_TABLE_H
#define JOB_TABLE_H

#include "base/err.h"
#include "base/hash.h"
#include "base/list.h"
#include "job/spec.h"
#include "job/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_exit {
    bool present;
    int32_t index, rank, exit_code, signal, attempt;
    const char *role, *node, *message; // NULL when unknown; owned by the event
};

struct job_role_count {
    const char *name; // owned by the event
    int32_t desired, pending, running, succeeded, failed;
};

enum job_event_kind { JOB_EVENT_TRANSITION, JOB_EVENT_DELETED };

// One transition with everything known then. Immutable once made, except sequence (set once, at commit) and the
// wire cache. Reference counted; lives as long as the feed, a job or a watcher holds it.
struct job_event {
    uint32_t refs;
    enum job_event_kind kind;
    struct job *job; // a reference
    int64_t sequence, job_sequence;
    enum job_state from, state;
    enum job_reason reason;
    const char *message; // never NULL
    int32_t attempt, restarts;
    struct job_exit exit;
    const struct job_role_count *roles;
    size_t role_count;
    int64_t observed_ns, happened_ns; // wall
    int64_t started_ns, ended_ns;     // 0: not yet
    bool inferred;
    // Encoded once, shared by all streams. Owner: whoever set it; freed with wire_free.
    void *wire;
    void (*wire_free)(void *wire);
    struct list outbox; // while not committed
};

struct job_event *job_event_ref(struct job_event *event);
void job_event_unref(struct job_event *event);

// What is fixed for a job's life. Reference counted: an event or a watcher may outlive the table's entry.
struct job {
    uint32_t refs;
    struct list link; // for the table: while its deletion is not committed
    char uid[33];
    const char *name, *namespace_, *runtime, *backend, *target, *group; // group NULL when none; backend etc. interned
    const struct json *labels;                                          // object or NULL
    const char *labels_json;                                            // NULL when none
    const char *request_id;                                             // NULL when none
    char spec_hash[65];
    const char *warnings_json; // JSON array text or NULL
    int64_t created_ns;
    int64_t ordinal; // place in creation order, unique, never reused; page tokens name it
    bool external, deleted;
    struct job_event *head; // never NULL after the first move
    struct job_event *seen; // NULL until the first commit
    struct job_spec *spec;  // while it may still be needed to run; NULL for terminal jobs
    struct list owner;      // for the flow room
    void *flow;             // for the flow room
};

struct job *job_ref(struct job *job);
void job_unref(struct job *job);

struct job_table;
struct job_feed;

struct job_table *job_table_new(struct job_feed *feed);
void job_table_free(struct job_table *t);

// What a new job is made of; all texts are copied, spec is referenced.
struct job_new {
    const char *uid, *name, *namespace_, *runtime, *backend, *target, *group, *labels_json, *request_id, *spec_hash,
        *warnings_json;
    int64_t created_ns, ordinal; // ordinal 0: the next
    bool external;
    struct job_spec *spec;
};
// Adds a job without state; the caller moves it next. uid and (namespace, name) must be free.
struct job *job_table_add(struct job_table *t, const struct job_new *args);
struct job *job_table_by_uid(const struct job_table *t, const char *uid);
struct job *job_table_by_name(const struct job_table *t, const char *namespace_, const char *name);
struct job *job_table_by_request(const struct job_table *t, const char *namespace_, const char *request_id);
size_t job_table_count(const struct job_table *t);        // jobs that are not deleted
size_t job_table_active_count(const struct job_table *t); // not terminal
// Newest first. before: the ordinal to continue below, 0 for the newest. NULL at the end.
struct job *job_table_next_older(const struct job_table *t, int64_t before);

// The change that a move makes. Zero-initialise and set what changes; what is not set carries over from head.
struct job_change {
    enum job_state to;
    enum job_reason reason;
    const char *message;                // NULL: ""
    int32_t attempt;                    // 0: unchanged
    int32_t restarts;                   // -1 or 0: unchanged
    const struct job_exit *exit;        // NULL: unchanged
    const struct job_role_count *roles; // NULL: unchanged
    size_t role_count;
    int64_t observed_ns, happened_ns; // happened 0: observed
    bool inferred;
};
// The only writer. An illegal move is refused (ERR_PRECONDITION "ILLEGAL_MOVE") and counted. A change that says
// nothing new (same state, reason, message, attempt, counts) returns true and makes no event.
bool job_move(struct job_table *t, struct job *job, const struct job_change *change, struct err *err) MUST_CHECK;
// Marks the record as deleted: makes a DELETED event and frees the names at once.
void job_table_delete(struct job_table *t, struct job *job, int64_t now_ns);
// Takes back a job whose first event could not be journaled: as if it had never been.
void job_table_forget(struct job_table *t, struct job *job);
uint64_t job_table_illegal_moves(const struct job_table *t);

// Events decided and not yet handed out, in order; NULL when none. The caller gets the outbox's reference.
struct job_event *job_table_outbox_pop(struct job_table *t);
// Called whenever the outbox becomes non-empty.
void job_table_on_outbox(struct job_table *t, void (*fn)(void *ctx), void *ctx);
// The journal has it: sets the sequence, makes it `seen`, appends it to the feed. In order of sequence.
void job_table_commit(struct job_table *t, struct job_event *event, int64_t sequence);
// On start: gives a job its journaled state without an event in the outbox or the feed.
void job_table_restore(struct job_table *t, struct job *job, const struct job_change *change, int64_t sequence,
                       int64_t job_sequence, int64_t started_ns, int64_t ended_ns);

// For readers of the journal: a committed event that the feed does not hold any more, and a job that is not in the
// table any more (deleted). Neither touches the table's entries. The caller owns the one reference.
struct job_event *job_event_restored(struct job *job, enum job_event_kind kind, enum job_state from,
                                     const struct job_change *change, int64_t sequence, int64_t job_sequence,
                                     int64_t started_ns, int64_t ended_ns);
struct job *job_table_detached(struct job_table *t, const struct job_new *args);

#endif
