// States and reasons of a job, and which moves are legal. One table; numbers equal the proto's.
#ifndef JOB_STATE_H
#define JOB_STATE_H

#include <stdbool.h>

// clang-format off
#define JOB_STATES(X) \
    X(PENDING, 1) X(STARTING, 2) X(RUNNING, 3) X(RESTARTING, 4) X(SUSPENDED, 5) X(CANCELING, 6) \
    X(SUCCEEDED, 7) X(FAILED, 8) X(CANCELED, 9)

#define JOB_REASONS(X) \
    X(ACCEPTED, 1) X(HELD, 2) X(QUEUED, 3) X(GROUP_LIMIT, 4) X(UNSCHEDULABLE, 5) X(IMAGE_PULL, 6) \
    X(QUOTA_EXCEEDED, 7) X(OPERATOR_SILENT, 8) X(CREATE_FAILED, 9) X(INITIALIZING, 10) X(ADMISSION, 11) \
    X(BACKEND_UNAVAILABLE, 12) X(CRASH_LOOP, 13) \
    X(STARTED, 20) X(ALL_RUNNING, 21) X(DEGRADED, 22) \
    X(PROCESS_EXITED, 30) X(NODE_LOST, 31) X(EVICTED, 32) X(PREEMPTED, 33) \
    X(SUSPENDED_BY_USER, 40) X(SUSPENDED_BY_QUEUE, 41) X(SUBMITTED_SUSPENDED, 42) X(RESUMED, 43) \
    X(CANCELED_BY_USER, 50) X(EARLY_STOPPED, 51) X(DELETED_EXTERNALLY, 52) \
    X(COMPLETED, 60) \
    X(NONZERO_EXIT, 70) X(KILLED_BY_SIGNAL, 71) X(SPAWN_FAILED, 72) X(BACKOFF_LIMIT_EXCEEDED, 73) \
    X(DEADLINE_EXCEEDED, 74) X(START_DEADLINE_EXCEEDED, 75) X(OUT_OF_MEMORY, 76) X(LOST, 77) \
    X(DEPENDENCY_FAILED, 78) X(VALIDATION_FAILED, 79) X(BACKEND_ERROR, 80)
// clang-format on

enum job_state {
    JOB_STATE_NONE = 0, // before the first transition
#define X(name, number) JOB_##name = number,
    JOB_STATES(X)
#undef X
};

enum job_reason {
    REASON_NONE = 0,
#define X(name, number) REASON_##name = number,
    JOB_REASONS(X)
#undef X
};

const char *job_state_name(enum job_state state);    // "PENDING"; "STATE_UNSPECIFIED" for others
const char *job_reason_name(enum job_reason reason); // "QUEUED"; "REASON_UNSPECIFIED" for others
bool job_state_parse(const char *name, enum job_state *ret);
bool job_state_terminal(enum job_state state);
// Whether a job may go from one state to another. The same state is legal while it is not terminal (a new
// reason, message or count). Nothing leaves a terminal state.
bool job_move_legal(enum job_state from, enum job_state to);

#endif
