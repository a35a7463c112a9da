// A backend executes jobs: the vtable that every executor implements, the plan it is given, the facts it reports.
// No code of its own. Loop thread only.
//
// Commands go down and return at once; what came of them comes back as facts, in order per job. A backend never
// calls up in any other way, and never from within a command: facts are delivered from the loop.
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "base/arena.h"
#include "base/err.h"
#include "job/spec.h"
#include "job/state.h"
#include "job/table.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- The local plan: what a runtime's plan_local becomes ---------------------------------------------------------

struct plan_env {
    const char *name;
    const char *value;
    bool is_template; // ${host} and ${port.NAME} are replaced when the ports are known
};

struct plan_process {
    const char *role;        // canonical
    int32_t index;           // in the role
    int32_t rank;            // in the job, 0..
    const char *const *argv; // NULL-terminated; argv[0] is looked up in the job's PATH
    size_t argc;
    bool argv_is_template;      // as for env; set only for argv that the runtime wrote itself
    const struct plan_env *env; // the runtime's, then the user's; names are unique
    size_t env_count;
    const char *working_dir;     // absolute or NULL
    enum restart_policy restart; // never RESTART_DEFAULT
    int64_t cpu_milli;           // 0: not given
    int64_t memory_bytes;
    int32_t gpu;
    // The job succeeds when all processes with `decides` have exited 0; others are then stopped by clean_pods.
    bool decides;
};

struct backend_plan {
    uint32_t refs;
    struct arena arena;      // everything lives here
    const struct json *tree; // as the runtime wrote it; what Render shows
    const char *json;
    const struct plan_process *processes;
    size_t process_count;
    const char *const *ports; // names of the free ports that the plan needs
    size_t port_count;
    int32_t backoff_limit;
    enum clean_pods clean_pods;
    int64_t active_deadline_ns; // 0: none
};

void backend_plan_unref(struct backend_plan *plan); // NULL is fine
struct backend_plan *backend_plan_ref(struct backend_plan *plan);

// ---- Facts
// -----------------------------------------------------------------------------------------------------------

// What a backend knows of a job now. A fact is a value; its pointers are valid during the call. The state is what the
// backend sees; flow decides whether the job moves there. Repeating a fact is harmless.
struct backend_fact {
    const char *uid;
    enum job_state state;
    enum job_reason reason;
    const char *message; // NULL: none
    int32_t attempt;     // 0: none yet
    int32_t restarts;
    const struct job_exit *exit;        // NULL: none
    const struct job_role_count *roles; // NULL: unknown
    size_t role_count;
    int64_t happened_ns; // wall; 0: now
};

// What a cluster says of a job: its object, which the runtime knows how to read, and what surrounds it. A value, like
// a fact; flow makes one fact of the two. Repeating it is harmless.
struct backend_object {
    const char *uid;                    // the job's
    const char *target;                 // whose object it is
    const struct json *object;          // NULL: as it was at the last report
    bool gone;                          // it is no longer there
    bool asked_suspended;               // its spec says so, whatever the operator has made of it yet
    enum job_reason reason;             // what its pods wait for or suffer from; REASON_NONE: nothing
    const char *message;                // belongs to reason; NULL: none
    const struct job_exit *exit;        // first failure of a container, or NULL
    const struct job_role_count *roles; // by the pods; `desired` is not known here
    size_t role_count;
    const char *scaled_role; // that can be given another number; NULL: none
    int32_t scaled;          // how many of it the object asks for; 0: unknown
    int32_t pods, active;    // pods that exist, that may still use resources
    int32_t restarts;        // of containers
};

// A job that the cluster has and nobody here has asked about: made by a daemon that went before it could write so, or
// by another one. Texts are valid during the call.
struct backend_found {
    const char *uid, *name, *namespace_, *target;
    const char *request_id; // NULL: none
    const char *spec_json;  // NULL: it is not on the object
    int64_t created_ns;
};

struct backend_sink {
    void (*found)(void *ctx, const struct backend_found *found);
    void (*fact)(void *ctx, const struct backend_fact *fact);
    void (*object)(void *ctx, const struct backend_object *object);
    // After start(): everything that was running is known; jobs that were expected and not reported are lost.
    void (*ready)(void *ctx);
    // The backend cannot be reached (problem) or can again (NULL).
    void (*health)(void *ctx, const char *problem);
    void *ctx;
};

// ---- Logs
// ------------------------------------------------------------------------------------------------------------

struct backend_log_query {
    const char *uid;
    const char *role; // NULL: all
    int32_t index;    // -1: all
    int32_t attempt;  // 0: newest, and with follow every later one; -1: the one before the newest
    bool follow;
    int64_t tail_lines;    // -1: all
    int64_t since_ns;      // 0: all
    const char *container; // NULL or ""
    const char *resume;    // from an earlier item, or NULL
};

enum backend_log_kind { LOG_ITEM_CHUNK, LOG_ITEM_ATTEMPT, LOG_ITEM_GAP };

struct backend_log_item { // valid until the next call on the reader
    enum backend_log_kind kind;
    const char *role;
    int32_t index, rank, attempt;
    const char *container; // "" local
    const void *data;      // CHUNK, at most 64 KiB
    size_t length;
    int64_t offset, to_offset; // CHUNK: offset of data; GAP: from, to
    int64_t time_ns;           // 0: unknown
    const char *message;       // GAP
    const char *resume;        // continues after this item
};

enum backend_log_result { LOG_READ_ITEM, LOG_READ_WAIT, LOG_READ_END, LOG_READ_FAILED };

struct backend_log; // a reader; the backend defines it

// ---- Events
// ----------------------------------------------------------------------------------------------------------

// What a cluster said of a job, or of something that was made for it. Texts are valid during the call, never NULL.
struct backend_event {
    int64_t first_ns, last_ns; // wall
    int32_t count;             // 1..
    const char *type, *reason, *message, *object, *source;
};

struct backend_events_query {
    const char *uid, *name, *namespace_; // of the job
    int64_t created_ns;                  // wall; what was said before is of another job of that name
    size_t limit;                        // the newest are kept
};

typedef void backend_events_fn(void *ctx, const struct backend_event *events, size_t n, const struct err *err);
struct backend_asking; // a question under way; the backend defines it

// ---- The vtable
// ------------------------------------------------------------------------------------------------------

struct backend_info { // for GetServerInfo
    bool healthy;
    const char *message; // "" when healthy
    int64_t cpu_slots_milli, cpu_slots_used_milli;
    int32_t gpu_slots, gpu_slots_used;
    int64_t queued_jobs, running_jobs;
};

struct backend {
    const char *name; // from the config
    const struct backend_ops *ops;
};

struct backend_start {
    const char *uid, *name, *namespace_;
    struct backend_plan *plan; // referenced by the backend while it needs it
    bool suspended;            // start nothing yet
    bool waiting;              // it waits for its turn (PENDING): nothing of `attempt` runs or is of interest
    int32_t attempt;           // the newest that is known to have begun; 0 for a new job
    int32_t restarts;
    bool restarting;          // the failure of this attempt is counted in restarts already
    int64_t deadline_from_ns; // wall time of the first start, 0: not yet; the active deadline counts from it
    const struct job_spec *spec;
};

// A job whose objects are about to be made in a cluster.
struct backend_create {
    const char *uid, *name, *namespace_, *target;
    const struct json *objects; // as rendered: one object, or an array in the order of creation
    const char *request_id;     // NULL: none
    const char *spec_hash, *spec_json;
    bool dry_run; // everything is checked by the cluster, nothing is made
};

struct backend_ops {
    const char *kind;           // "local"
    const char *const *targets; // NULL-terminated names that plugins use, e.g. {"local", NULL}
    // Whether it can run this at present. NULL: every target of the list. why: a sentence when not; borrowed.
    bool (*serves)(struct backend *b, const char *target, const char *kind, const char **ret_why);
    // A backend where a job is durable as soon as its objects are made: makes them before the journal is told, and
    // says so. done is called once, from the loop; never after stop(). NULL: the journal comes first.
    void (*create)(struct backend *b, const struct backend_create *job, void (*done)(void *ctx, const struct err *err),
                   void *ctx);
    // Begins to work and to report. What was running before a restart is adopted: for jobs given by submit() before
    // ready() fires, processes that already exist are taken over, never started twice.
    void (*start)(struct backend *b, const struct backend_sink *sink);
    // Whether this plan could ever run here (more CPUs than the machine has, program missing). Adds warnings
    // (NULL-terminated arena texts are not needed: each is one call of warn).
    bool (*check)(struct backend *b, const struct backend_plan *plan, void (*warn)(void *ctx, const char *text),
                  void *ctx, struct err *err);
    // With create(): from now on facts about it are wanted; plan is NULL.
    void (*submit)(struct backend *b, const struct backend_start *start);
    // Ends a job for good: TERM, then KILL after grace_ms. The fact CANCELED follows. Idempotent.
    void (*cancel)(struct backend *b, const char *uid, int64_t grace_ms);
    // Ends it because of a deadline; the fact is FAILED with this reason.
    void (*fail)(struct backend *b, const char *uid, enum job_reason reason, const char *message);
    void (*suspend)(struct backend *b, const char *uid); // fact SUSPENDED follows
    void (*resume)(struct backend *b, const char *uid);  // facts PENDING ... follow, as a new attempt
    // The role of an object of this kind that can be given another number of replicas; NULL: none. NULL: of no object.
    const char *(*scales)(struct backend *b, const char *target, const char *kind);
    // Asks for so many of that role. done is called once, from the loop; never after stop().
    void (*scale)(struct backend *b, const char *uid, int32_t replicas, void (*done)(void *ctx, const struct err *err),
                  void *ctx);
    // The terminal transition is durable: the backend may drop what it kept for a restart (exit records).
    void (*settled)(struct backend *b, const char *uid);
    // Removes logs and everything else. Only for jobs that are terminal and settled.
    void (*remove)(struct backend *b, const char *uid);
    bool (*logs_open)(struct backend *b, const struct backend_log_query *query, bool job_terminal,
                      void (*wake)(void *ctx), void *ctx, struct backend_log **ret, struct err *err);
    enum backend_log_result (*logs_read)(struct backend_log *log, struct backend_log_item *ret, struct err *err);
    // The job has become terminal: a follower may end once it has read everything.
    void (*logs_terminal)(struct backend_log *log);
    void (*logs_close)(struct backend_log *log);
    // Asks the cluster; fn is called once, from the loop, newest last, and never after events_cancel() or stop(). NULL:
    // there is no cluster that says anything.
    struct backend_asking *(*events)(struct backend *b, const struct backend_events_query *query, backend_events_fn *fn,
                                     void *ctx);
    void (*events_cancel)(struct backend_asking *asking); // also after stop()
    void (*info)(struct backend *b, struct backend_info *ret);
    // Lets go of everything without stopping jobs. Blocking, short.
    void (*stop)(struct backend *b);
    void (*free)(struct backend *b);
};

#endif
