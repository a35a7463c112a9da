// Which processes belong to an attempt. A rank's own descendants are easy; what has lost its parents is this process's
// child, and says by its environment, or else by its session, where it came from.
#include "local/supervisor.h"

#include "base/mem.h"
#include "local/tree.h"

#include <stdlib.h>

struct question {
    const struct supervisor *supervisor;
    const struct attempt *asked;
    bool alone; // no other attempt could be meant
};

static const struct attempt *of_session(const struct supervisor *s, pid_t session) {
    LIST_EACH (node, &s->attempts) {
        const struct attempt *a = CONTAINER_OF(node, struct attempt, link);
        for (uint32_t i = 0; !a->gone && i < a->total; i++) {
            if (a->ranks[i] != NULL && a->ranks[i]->pid == session) {
                return a;
            }
        }
    }
    return NULL;
}

// A child of this process: a rank, or something left behind. What nobody claims goes with whoever asks when that is of
// a job that is over, and with the last attempt when it does not even say so much.
static const void *owner(void *ctx, pid_t child, pid_t session) {
    const struct question *q = ctx;
    char uid[WIRE_UID_MAX + 1];
    LIST_EACH (node, &q->supervisor->live) {
        const struct rank *r = CONTAINER_OF(node, struct rank, live);
        if (r->pid == child) {
            return r->attempt;
        }
    }
    if (tree_env(child, "TRAINERD_JOB_UID", uid, sizeof uid)) {
        const struct attempt *newest = hash_get(&q->supervisor->by_uid, uid);
        return newest != NULL && !newest->gone ? newest : q->asked;
    }
    const struct attempt *a = of_session(q->supervisor, session);
    return a != NULL ? a : q->alone ? q->asked : NULL;
}

size_t reach_signal(const struct attempt *a, int signal) {
    struct question q = {.supervisor = a->supervisor, .asked = a, .alone = true};
    LIST_EACH (node, &a->supervisor->attempts) {
        const struct attempt *other = CONTAINER_OF(node, struct attempt, link);
        q.alone = q.alone && (other == a || other->gone);
    }
    return tree_signal(owner, &q, a, signal);
}

static int by_number(const void *a, const void *b) {
    pid_t x = *(const pid_t *)a;
    pid_t y = *(const pid_t *)b;
    return x < y ? -1 : x > y;
}

bool reach_strangers(const struct supervisor *s) {
    CLEANUP(mem_free_ptr) pid_t *pids = mem_realloc_array(NULL, s->live_count + 1, sizeof *pids);
    size_t n = 0;
    LIST_EACH (node, &s->live) {
        pids[n++] = CONTAINER_OF(node, struct rank, live)->pid;
    }
    qsort(pids, n, sizeof *pids, by_number);
    return tree_has_strangers(pids, n);
}
