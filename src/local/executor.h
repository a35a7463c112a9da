// The daemon's side of the local backend. Private to local/.
#ifndef LOCAL_EXECUTOR_H
#define LOCAL_EXECUTOR_H

#include "base/hash.h"
#include "base/list.h"
#include "local/local.h"
#include "local/wire.h"

enum run_state {
    RUN_IDLE,     // suspended, or not known yet whether it runs already
    RUN_QUEUED,   // waits for slots
    RUN_OUT,      // its processes are with the supervisor
    RUN_STOPPING, // they are being ended; `then` says for what
    RUN_BACKOFF,  // waits before the next attempt, keeps its slots
    RUN_DONE,     // terminal; kept until the supervisor has said that all is gone
};

// What comes when the processes are gone. Later ones win: what has failed cannot be suspended any more.
enum run_then { THEN_NOTHING, THEN_RESTART, THEN_SUSPEND, THEN_SUCCEED, THEN_FAIL, THEN_CANCEL };

enum proc_state { PROC_WAITING, PROC_RUNNING, PROC_OK, PROC_FAILED, PROC_STOPPED }; // the last: by us

struct proc {
    enum proc_state state;
    int status;                   // of waitpid
    int64_t started_ns, ended_ns; // wall
    char *refused;                // why it could not be started
    int32_t *gpus;                // ids it may use, ended by -1; NULL: not given yet
};

struct run {
    struct local *local;
    struct list link;   // local.runs
    struct list queued; // local.queue
    char uid[WIRE_UID_MAX + 1];
    char *name, *namespace_;
    struct backend_plan *plan;
    const struct plan_process **by_rank; // [plan->process_count]
    struct proc *procs;                  // by rank
    enum run_state state;
    enum run_then then;
    enum job_reason fail_reason; // THEN_FAIL
    char *fail_message;
    struct job_exit exit; // of the process that ended the attempt
    char *exit_message;
    int64_t happened_ns; // when that was, or when the last process had started; 0: now
    int32_t attempt, restarts;
    int64_t started_ns; // first RUNNING, 0: not yet
    int64_t cpu_milli;
    int32_t gpus;
    int32_t *ports; // by plan->ports; NULL: none are held
    bool holds_slots;
    bool fresh;                          // nothing was decided yet: it is not known whether it runs already
    bool suspended, waiting, restarting; // what the journal says of the attempt; while fresh
    bool seen;                           // in this listing
    bool gone;                           // no process of this attempt is left
    bool settled;                        // nobody asks for it any more once it is gone
    bool running_said;
    char *stopped_why;                     // an earlier daemon's reason to stop this attempt
    int64_t said_ns, said_ahead, said_cpu; // of its place in the queue
    struct loop_timer backoff, deadline;
    struct loop_task step;
    enum run_then wanted; // what a command asked for
    int64_t wanted_grace_ms;
    bool resume_wanted;
};

struct local {
    struct backend base; // first
    struct loop *loop;
    struct local_options options;
    char *logs_dir, *work_dir;
    struct backend_sink sink;
    struct list runs, queue;
    struct hash by_uid;
    int64_t cpu_total, cpu_used;
    int32_t gpu_total, gpu_used;
    bool *gpu_taken;
    bool *port_taken; // by port - port_first
    int32_t port_next;
    // supervisor
    int fd; // -1: not connected
    struct loop_io io;
    struct str in, out;
    size_t sent; // of out
    bool ready;  // and the first listing is complete
    bool listed; // all that this supervisor holds is known
    const char *problem;
    struct loop_timer reconnect;
    struct loop_task flush, kick;
    struct loop_timer say_queue;
    int64_t queued, running;
    // logs
    int inotify;
    struct loop_io inotify_io;
    struct list log_dirs;
};

// executor.c
struct run *run_find(struct local *l, const char *uid);
void run_fact(struct run *r, enum job_state state, enum job_reason reason, const char *fmt, ...) PRINTF_LIKE(4, 5);
void run_free(struct run *r);
// run.c: what a run does next
void run_step(void *ctx);
void run_start(struct run *r); // has its slots
void run_lost(struct run *r);  // its processes are no more, and nobody knows how they ended
void run_stop(struct run *r, enum run_then then, int64_t grace_ms, const char *why);
void run_conclude(struct run *r);
void run_fail(struct run *r, enum job_reason reason, const char *message); // notes why, for THEN_FAIL
void run_arm_deadline(struct run *r);
void run_deadline_passed(void *ctx);
void run_next_attempt(void *ctx); // after the backoff
// adopt.c: what a supervisor already holds of it
bool run_is_about(struct run *r, int32_t attempt); // whether a report of this attempt is about the run's
void run_adopt(struct run *r);                     // decides for a fresh one
void run_on_listed(struct run *r);
// evaluate.c: what its processes mean for it
void run_evaluate(struct run *r); // after anything was learnt of them
void run_attempt_failed(struct run *r, bool restartable, enum job_reason reason);
void run_reset_procs(struct run *r);
void run_on_started(struct run *r, uint32_t rank, const char *note, int64_t ns);
void run_on_refused(struct run *r, uint32_t rank, const char *why, int64_t ns);
void run_on_exited(struct run *r, uint32_t rank, int status, int64_t ns);
void run_on_stopped(struct run *r, const char *why);
void run_on_gone(struct run *r); // in run.c; may free it
// slots.c
void slots_init(struct local *l);
void slots_need(const struct local *l, const struct backend_plan *plan, int64_t *ret_cpu, int32_t *ret_gpu);
bool slots_check(const struct local *l, const struct backend_plan *plan, struct err *err);
void slots_take(struct run *r); // also beyond what there is, when it runs already
void slots_release(struct run *r);
void slots_note(const struct run *r, uint32_t rank, struct str *out);
void slots_take_noted(struct run *r, uint32_t rank, const char *note);
// queue.c
void queue_add(struct run *r);
void queue_remove(struct run *r);
void queue_kick(void *ctx);
// ports.c
void ports_init(struct local *l);
bool ports_take(struct run *r);
void ports_take_noted(struct run *r, const char *note);
void ports_release(struct run *r);
void ports_note(const struct run *r, struct str *out);
// env.c
bool env_put_spawn(const struct run *r, const struct plan_process *p, struct str *out);
// client.c
bool client_connect(struct local *l, struct err *err);
void client_send(struct local *l); // what was appended to out, at the end of the turn
void client_stop(struct local *l, const char *uid, int32_t attempt, int64_t grace_ms, const char *why);
void client_forget(struct local *l, const char *uid, int32_t attempt); // and those before it
void client_close(struct local *l);
void client_ask(struct local *l); // for everything the supervisor holds
// logdir.c, logs.c
void logs_init(struct local *l);
void logs_done(struct local *l);
bool local_logs_open(struct backend *b, const struct backend_log_query *query, bool job_terminal,
                     void (*wake)(void *ctx), void *ctx, struct backend_log **ret, struct err *err);
enum backend_log_result local_logs_read(struct backend_log *log, struct backend_log_item *ret, struct err *err);
void local_logs_terminal(struct backend_log *log);
void local_logs_close(struct backend_log *log);

#endif
