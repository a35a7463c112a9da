// What the daemon does: one function a use case. The only room that knows job, plugin, backend and store together.
//
// Commands come from rpc (and web), go to a plugin, the job table, the journal and a backend. Facts come from a
// backend, move the job, are journaled, and only then are seen by Get and Watch. Loop thread only.
//
// Every request function answers exactly once through its callback, from the loop or at once; the callback's
// pointers are valid during the call. A request whose client has gone is simply not interested: pass an op and
// flow_op_cancel it.
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include "backend/backend.h"
#include "base/err.h"
#include "job/feed.h"
#include "job/selector.h"
#include "job/spec.h"
#include "job/table.h"
#include "loop/loop.h"
#include "plugin/plugin.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow;

struct flow_limits {  // all from the config, shown by GetServerInfo
    int64_t max_jobs; // records, terminal ones included
    int64_t max_active_jobs;
    int64_t max_watchers;
    int64_t max_log_streams;
    int64_t max_spec_bytes;
    int64_t retention_age_ns;      // of terminal jobs; 0: for ever
    int64_t retention_jobs;        // terminal jobs kept at most
    int64_t retention_transitions; // transitions kept in the journal at most
    int64_t feed_events;
    int32_t cancel_grace_s;
};

struct flow_options {
    struct loop *loop;
    struct store *store;
    struct plugins *plugins;
    struct backend *const *backends; // the first is the default
    size_t backend_count;
    struct flow_limits limits;
};

// Loads the journal, hands active jobs to their backends and starts these. Blocking, before the loop runs.
bool flow_new(const struct flow_options *options, struct flow **ret, struct err *err) MUST_CHECK;
void flow_drain(struct flow *f); // refuse new work with UNAVAILABLE from now on
void flow_free(struct flow *f);

// ---- Submit, Render
// ------------------------------------------------------------------------------------------------------

struct flow_submitted {
    struct job *job;             // NULL with validate_only
    const struct job_spec *spec; // as normalised
    const char *name;            // also with validate_only ("" when a prefix would be completed)
    const char *backend, *target;
    bool duplicate;
    const char *const *warnings;
    size_t warning_count;
};

struct flow_op; // a request under way

typedef void flow_submit_fn(void *ctx, const struct flow_submitted *result, const struct err *err);
// spec is referenced. Returns NULL when it answered at once.
struct flow_op *flow_submit(struct flow *f, struct job_spec *spec, const char *request_id, bool validate_only,
                            flow_submit_fn *fn, void *ctx);
void flow_op_cancel(struct flow_op *op); // no callback follows; the work itself goes on

struct flow_rendered {
    const char *target, *kind, *json, *error; // json "" when error is set
    bool chosen;
};
// Pure and immediate. each is called once a target.
bool flow_render(struct flow *f, const struct job_spec *spec, const char *target,
                 void (*each)(void *ctx, const struct flow_rendered *r), void (*warn)(void *ctx, const char *text),
                 void *ctx, struct err *err) MUST_CHECK;

// ---- Reading
// ---------------------------------------------------------------------------------------------------------------

struct flow_job_ref {
    const char *uid, *namespace_, *name; // uid, or name with namespace ("" is "default")
};
// Finds a job that clients may see. ERR_NOT_FOUND names it.
bool flow_find(struct flow *f, const struct flow_job_ref *ref, struct job **ret, struct err *err) MUST_CHECK;
// The spec's canonical text, from memory or the journal.
typedef void flow_spec_fn(void *ctx, const char *spec_json, const struct err *err);
struct flow_op *flow_spec(struct flow *f, struct job *job, flow_spec_fn *fn, void *ctx);

struct flow_page {
    struct job *const *jobs; // newest first
    size_t count;
    int64_t next; // ordinal to continue below; 0: the end
    int64_t total;
    int64_t sequence;
};
// before 0: from the newest. Immediate. The page is valid until the next call.
void flow_list(struct flow *f, const struct job_selector *selector, int64_t before, size_t page_size,
               struct flow_page *ret);

// What the job's cluster said of it, newest last, at most limit; nothing where there is no cluster.
struct flow_op *flow_events(struct flow *f, struct job *job, size_t limit, backend_events_fn *fn, void *ctx);

// ---- Changing
// --------------------------------------------------------------------------------------------------------------

typedef void flow_job_fn(void *ctx, struct job *job, const struct err *err);
// grace_s < 0: the default. Answers when the CANCELING (or terminal) state is committed.
struct flow_op *flow_cancel(struct flow *f, struct job *job, const char *reason, int32_t grace_s, bool early_stopped,
                            flow_job_fn *fn, void *ctx);
struct flow_op *flow_delete(struct flow *f, struct job *job, bool force, flow_job_fn *fn, void *ctx);
struct flow_op *flow_suspend(struct flow *f, struct job *job, const char *reason, flow_job_fn *fn, void *ctx);
struct flow_op *flow_resume(struct flow *f, struct job *job, flow_job_fn *fn, void *ctx);

// Answers when the cluster has taken the number. role "": the one that can be scaled.
struct flow_op *flow_scale(struct flow *f, struct job *job, const char *role, int32_t replicas, flow_job_fn *fn,
                           void *ctx);

// ---- Watch
// -----------------------------------------------------------------------------------------------------------------

enum flow_watch_kind {
    WATCH_WAIT,         // nothing now; wake() will be called
    WATCH_SNAPSHOT,     // item.event: the job as it is
    WATCH_SNAPSHOT_END, // item.sequence, item.jobs
    WATCH_TRANSITION,   // item.event
    WATCH_DELETED,      // item.event
    WATCH_HEARTBEAT,    // item.sequence: position
    WATCH_RESYNC,       // item.message, item.sequence: oldest
    WATCH_END,          // until_terminal is fulfilled
    WATCH_FAILED,       // err is set
};

struct flow_watch_item { // event is borrowed until the next call
    struct job_event *event;
    int64_t sequence, jobs;
    const char *message;
    char token[48]; // resume token after this item
};

struct flow_watch_args {
    struct job_selector *take_selector;
    const char *resume_token; // NULL or "": none
    bool resync, until_terminal, skip_snapshot;
    int32_t heartbeat_s; // 1..60
};

struct flow_watch;
// A reader that is pulled: next() when there is room to send, wake() when there may be something after WAIT.
bool flow_watch_open(struct flow *f, const struct flow_watch_args *args, void (*wake)(void *ctx), void *ctx,
                     struct flow_watch **ret, struct err *err) MUST_CHECK;
enum flow_watch_kind flow_watch_next(struct flow_watch *w, struct flow_watch_item *item, struct err *err);
void flow_watch_close(struct flow_watch *w);

// ---- Logs
// ------------------------------------------------------------------------------------------------------------------

struct flow_logs;
bool flow_logs_open(struct flow *f, struct job *job, const struct backend_log_query *query, void (*wake)(void *ctx),
                    void *ctx, struct flow_logs **ret, struct err *err) MUST_CHECK;
enum backend_log_result flow_logs_next(struct flow_logs *l, struct backend_log_item *item, struct err *err);
void flow_logs_close(struct flow_logs *l);

// ---- About
// -----------------------------------------------------------------------------------------------------------------

struct flow_info {
    const char *epoch;
    int64_t oldest_sequence, newest_sequence, started_ns, jobs, active_jobs, watchers;
    const char *journal_problem; // NULL: healthy
    const struct flow_limits *limits;
};
void flow_info(struct flow *f, struct flow_info *ret);
size_t flow_backends(struct flow *f, struct backend *const **ret);
struct plugins *flow_plugins(struct flow *f);
// Whether a backend serves this target of a runtime; names of those that do are passed to each.
bool flow_target_served(struct flow *f, const struct trainer_target *target,
                        void (*each)(void *ctx, const char *backend), void *ctx);

#endif
