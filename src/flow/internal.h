// What the files of flow/ share. Nobody outside includes this.
#ifndef FLOW_INTERNAL_H
#define FLOW_INTERNAL_H

#include "flow/flow.h"

// What the runtime read in a job's object of a cluster, last.
struct flow_observed {
    enum job_state state; // JOB_STATE_NONE: nothing yet
    enum job_reason reason;
    char *message;
    int64_t happened_ns;
};

// What flow keeps of a job that is not terminal, or that something still waits for: job->flow.
struct flow_job {
    struct list link; // flow.jobs
    struct flow *flow;
    struct job *job; // borrowed: the table holds it longer, or the event of its deletion
    struct backend *backend;
    struct backend_plan *plan;
    struct list waiters; // flow_op.link
    struct list logs;    // flow_logs.link
    struct loop_timer start_deadline;
    struct flow_observed observed;
    struct loop_timer explain; // a failure waits a moment for the pod that says why
    bool explained;            // it has waited
    bool handed_over;          // the backend has it
    bool delete_forced;        // delete as soon as it is terminal
};

// A request that waits for a commit.
struct flow_op {
    struct list link; // in flow_job.waiters
    struct flow_job *owner;
    bool (*ready)(const struct flow_op *op); // looks at job->seen
    void (*answer)(struct flow_op *op, const struct err *err);
    void (*cancel)(struct flow_op *op); // frees; NULL: the usual way
    void *fn_ctx;
    union {
        flow_job_fn *job;
        flow_submit_fn *submit;
    } fn;
    int64_t want; // job sequence
    bool duplicate;
};

struct flow {
    struct loop *loop;
    struct store *store;
    struct plugins *plugins;
    struct backend *const *backends;
    size_t backend_count;
    struct flow_limits limits;
    struct job_feed *feed;
    struct job_table *table;
    struct loop_task flush; // writes the outbox to the journal
    struct loop_timer retention;
    struct list ended; // terminal jobs, by end: job.owner
    struct hash ttl;   // flow_ttl by uid
    size_t ended_count;
    struct list specs;    // flow_spec reads and flow_events questions under way
    struct list commits;  // on their way to the journal
    struct list promises; // asked of a cluster, not answered
    struct list jobs;     // flow_job.link
    int64_t started_ns, watchers, log_streams;
    bool draining, trimming;
    struct flow_sink *sinks;
    struct job **page; // of flow_list
    size_t page_cap;
};

// flow.c
void flow_on_outbox(void *ctx);
struct flow_job *flow_job_of(struct flow *f, struct job *job);       // makes it when there is none
void flow_job_drop(struct job *job);                                 // when nothing needs it any more
struct backend *flow_backend_find(struct flow *f, const char *name); // NULL or "": the default

// plan.c
bool flow_plan_make(const struct runtime *r, const struct job_spec *spec, const struct json *tree,
                    struct backend_plan **ret, struct err *err) MUST_CHECK;
// The objects of a cluster's target under this name: plan->tree, and nothing else of the plan.
bool flow_plan_render(const struct runtime *r, const struct json *tree, const char *target, const char *name,
                      struct backend_plan **ret, struct err *err) MUST_CHECK;

// choose.c: which runtime, backend and target a spec gets
struct flow_choice {
    const struct runtime *runtime;
    struct backend *backend;
    const char *target, *kind;
};
bool flow_choose(struct flow *f, const struct job_spec *spec, struct flow_choice *ret, struct err *err) MUST_CHECK;
bool flow_backend_serves(struct backend *b, const struct trainer_target *target);

// ignored.c: what a target does not do
void flow_refuse_unsupported(const struct job_spec *spec, const struct flow_choice *choice, struct err *err);
void flow_warn_ignored(const struct job_spec *spec, void (*warn)(void *ctx, const char *text), void *ctx);

// journal.c
void flow_journal_flush(void *ctx);
void flow_journal_leave(struct flow *f);
void flow_waiters_run(struct flow_job *fj);
void flow_waiters_fail(struct flow_job *fj, const struct err *err);
void flow_move(struct flow *f, struct job *job,
               struct job_change *change); // legal by the caller's knowledge; logs otherwise

// submit.c
void flow_accept(struct flow *f, struct job *job);    // its first state: from here on it is journaled
void flow_hand_over(struct flow *f, struct job *job); // gives a committed job to its backend

// observe.c
struct flow_sink *flow_sinks_new(struct flow *f);
void flow_sinks_start(struct flow *f);
void flow_sinks_free(struct flow_sink *sinks);

// create.c
// Has the backend make the objects. done or, when flow ends before the answer, drop is called, exactly once.
void flow_create(struct flow *f, struct backend *b, const struct backend_create *job,
                 void (*done)(void *ctx, const struct err *err), void (*drop)(void *ctx), void *ctx);
// The same for another number of replicas.
void flow_resize(struct flow *f, struct backend *b, const char *uid, int32_t replicas,
                 void (*done)(void *ctx, const struct err *err), void (*drop)(void *ctx), void *ctx);
void flow_promises_leave(struct flow *f);

// adopt.c: a job that the cluster has and the journal has not
void flow_adopt(struct flow *f, struct backend *b, const struct backend_found *found);

// cluster.c
void flow_explain_init(struct flow_job *fj);
void flow_on_object(struct flow *f, const struct backend_object *o,
                    void (*fact_fn)(void *ctx, const struct backend_fact *fact), void *ctx);

// command.c
void flow_delete_now(struct flow *f, struct job *job);

// retention.c
void flow_retention_start(struct flow *f);
void flow_retention_stop(struct flow *f);
void flow_retention_add(struct flow *f, struct job *job, int64_t ttl_ns); // the job has become terminal
void flow_retention_remove(struct flow *f, struct job *job);

// logs.c
void flow_logs_terminal(struct flow_job *fj);

// event.c
struct job_event *flow_event_from_row(struct flow *f, const struct store_transition *row,
                                      const struct store_job *job_row);
void flow_job_from_row(const struct store_job *row, struct job_new *ret);
void flow_change_from_row(const struct store_transition *row, struct arena *a, struct job_change *ret);
void flow_row_from_event(const struct job_event *e, struct arena *a, struct store_transition *ret);
void flow_row_from_job(const struct job *job, struct store_job *ret);

// token.c
struct flow_token {
    int64_t sequence;
    bool in_snapshot;
};
void flow_token_write(const char *epoch, int64_t sequence, bool in_snapshot, char out[48]);
bool flow_token_read(const char *text, const char *epoch, struct flow_token *ret, bool *ret_other_epoch);

#endif
