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

enum run_then { THEN_NOTHING, THEN_RESTART, THEN_SUCCEED, THEN_FAIL, THEN_SUSPEND, THEN_CANCEL }; // later ones win

enum proc_state { PROC_WAITING, PROC_RUNNING, PROC_OK, PROC_FAILED };

struct proc {
    enum proc_state state;
    int status; // of waitpid
    char *refused;
    int32_t *gpus; // ids it may use
};

struct run {
    struct local *local;
    struct list link;   // local.runs
    struct list queued; // local.queue
    char uid[33];
    char *name, *namespace_;
    struct backend_plan *plan;
    enum run_state state;
    enum run_then then;
    enum job_reason fail_reason; // THEN_FAIL
    char *fail_message;
    struct proc *procs; // by rank
    bool decided;       // the first failure was seen; it is `exit`
    struct job_exit exit;
    char *exit_message;
    int32_t attempt, restarts, restarts_counted; // counted: how many the journal knows
    int64_t grace_ms;
    int64_t started_ns; // first RUNNING, 0: not yet
    int64_t cpu_milli;
    int32_t gpus;
    bool holds_slots, has_records, gone, lost, suspended_start, started_said, running_said, stop_sent, waiting_said;
    int64_t last_said_ns;
    int32_t *ports; // by plan->ports
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
    int fd;
    struct loop_io io;
    struct str in, out;
    bool listed, stopped;
    const char *problem;
    struct loop_timer reconnect;
    struct loop_task kick;
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
void run_start(struct run *r);    // has its slots
void run_evaluate(struct run *r); // after anything was learnt of its processes
void run_lost(struct run *r);
void run_conclude(struct run *r);
void run_on_started(struct run *r, uint32_t rank, const char *note);
void run_on_refused(struct run *r, uint32_t rank, const char *why);
void run_on_exited(struct run *r, uint32_t rank, int status, int64_t ns);
void run_on_gone(struct run *r);
void run_reset_procs(struct run *r);
// slots.c
void slots_init(struct local *l);
void slots_need(const struct local *l, const struct backend_plan *plan, int64_t *ret_cpu, int32_t *ret_gpu);
bool slots_check(const struct local *l, const struct backend_plan *plan, struct err *err);
void slots_take(struct run *r); // also beyond what there is, when it runs already
void slots_release(struct run *r);
void queue_add(struct run *r);
void queue_remove(struct run *r);
void queue_kick(void *ctx);
// ports.c
bool ports_take(struct run *r);
void ports_take_noted(struct run *r, const char *note);
void ports_release(struct run *r);
void ports_note(const struct run *r, struct str *out);
// env.c
void env_put_spawn(const struct run *r, const struct plan_process *p, const char *note, struct str *out);
// client.c
bool client_connect(struct local *l, struct err *err);
void client_send(struct local *l); // what was appended to out
void client_stop_attempt(struct local *l, const struct run *r, int64_t grace_ms);
void client_stop(struct local *l, const char *uid, int32_t attempt, int64_t grace_ms);
void client_forget(struct local *l, const char *uid);
void client_close(struct local *l);
void client_ask(struct local *l); // for everything the supervisor holds
// logs.c
void logs_init(struct local *l);
void logs_done(struct local *l);
bool local_logs_open(struct backend *b, const struct backend_log_query *query, bool job_terminal,
                     void (*wake)(void *ctx), void *ctx, struct backend_log **ret, struct err *err);
enum backend_log_result local_logs_read(struct backend_log *log, struct backend_log_item *ret, struct err *err);
void local_logs_terminal(struct backend_log *log);
void local_logs_close(struct backend_log *log);

#endif
