// The local backend: jobs as processes of this machine. The only door to posix_spawn.
//
// The daemon side (executor) holds slots, the FIFO queue and each job's run state. A small supervisor process, which
// outlives the daemon, holds the processes, their log files and their exit codes; a restarted daemon finds everything
// there again. Nothing here needs root.
#ifndef LOCAL_LOCAL_H
#define LOCAL_LOCAL_H

#include "backend/backend.h"
#include "loop/loop.h"

struct local_options {
    const char *name;              // of the backend
    const char *state_dir;         // logs and the supervisor's socket live below it
    const char *supervisor_path;   // the program; absolute
    int64_t cpu_slots_milli;       // 0: the machine's CPUs
    int32_t gpu_slots;             // -1: count what the machine has
    int64_t log_cap_bytes;         // per process and attempt; the oldest are dropped beyond it
    int32_t port_first, port_last; // range for rendezvous ports
    int64_t grace_ms;              // TERM to KILL when nothing else is said (restart, clean-up, suspend)
    int64_t backoff_ms;            // before the first restart, doubled for each further one; 0: a second
};

// Connects to the supervisor, starting it when it is not there. Blocking, before the loop runs.
bool local_backend_new(const struct local_options *options, struct loop *loop, struct backend **ret,
                       struct err *err) MUST_CHECK;

// The supervisor's main function: `trainerd-supervisor STATE_DIR`. Returns the exit status.
int local_supervisor_main(int argc, char **argv);

#endif
