#include "job/state.h"

#include "base/attr.h"
#include "base/str.h"

struct name {
    int number;
    const char *text;
};

#define X(name, number) {number, #name},
static const struct name states[] = {JOB_STATES(X)};
static const struct name reasons[] = {JOB_REASONS(X)};
#undef X

static const char *find(const struct name *names, size_t n, int number, const char *fallback) {
    for (size_t i = 0; i < n; i++) {
        if (names[i].number == number) {
            return names[i].text;
        }
    }
    return fallback;
}

const char *job_state_name(enum job_state state) {
    return find(states, ARRAY_LEN(states), (int)state, "STATE_UNSPECIFIED");
}

const char *job_reason_name(enum job_reason reason) {
    return find(reasons, ARRAY_LEN(reasons), (int)reason, "REASON_UNSPECIFIED");
}

bool job_state_parse(const char *name, enum job_state *ret) {
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (str_same(states[i].text, name)) {
            *ret = (enum job_state)states[i].number;
            return true;
        }
    }
    return false;
}

bool job_state_terminal(enum job_state state) {
    return state == JOB_SUCCEEDED || state == JOB_FAILED || state == JOB_CANCELED;
}

#define TO(state) (1U << JOB_##state)
#define ENDS (TO(SUCCEEDED) | TO(FAILED) | TO(CANCELED))

// From each state, where a job may go. A backend may see several steps at once (pods that are Running when they are
// first looked at), so steps may be left out, but never taken back: nothing returns from CANCELING or an end.
static const unsigned legal[] = {
    [JOB_STATE_NONE] = TO(PENDING) | TO(STARTING) | TO(RUNNING) | TO(RESTARTING) | TO(SUSPENDED) | ENDS,
    [JOB_PENDING] = TO(PENDING) | TO(STARTING) | TO(RUNNING) | TO(RESTARTING) | TO(SUSPENDED) | TO(CANCELING) | ENDS,
    [JOB_STARTING] = TO(PENDING) | TO(STARTING) | TO(RUNNING) | TO(RESTARTING) | TO(SUSPENDED) | TO(CANCELING) | ENDS,
    [JOB_RUNNING] = TO(PENDING) | TO(STARTING) | TO(RUNNING) | TO(RESTARTING) | TO(SUSPENDED) | TO(CANCELING) | ENDS,
    [JOB_RESTARTING] = TO(PENDING) | TO(STARTING) | TO(RUNNING) | TO(RESTARTING) | TO(SUSPENDED) | TO(CANCELING) | ENDS,
    [JOB_SUSPENDED] = TO(PENDING) | TO(STARTING) | TO(RUNNING) | TO(SUSPENDED) | TO(CANCELING) | ENDS,
    [JOB_CANCELING] = TO(CANCELING) | ENDS,
    [JOB_SUCCEEDED] = 0,
    [JOB_FAILED] = 0,
    [JOB_CANCELED] = 0,
};

bool job_move_legal(enum job_state from, enum job_state to) {
    return (size_t)from < ARRAY_LEN(legal) && (size_t)to < ARRAY_LEN(legal) && (legal[from] & (1U << to)) != 0;
}
