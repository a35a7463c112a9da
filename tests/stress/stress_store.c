// The store under the thread sanitizer: commits, reads, cancels, trims and request ids at once, closed in the middle.
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, IN_FLIGHT = 64, OPS = 1000, DELETE_AT = 12 };

struct stress {
    struct loop *loop;
    struct store *store;
    int jobs, started, answered;
    int64_t newest; // that was told
    bool wrong;
};

// One job at a time, from its creation to its deletion; then the next.
struct lane {
    struct stress *stress;
    char uid[24];
    int64_t step;
    struct store_read *read;
};

static void fail(struct stress *s, const char *what) {
    printf("wrong: %s\n", what);
    s->wrong = true;
}

static void next(struct lane *lane);

static void on_row(void *ctx, const struct store_transition *t, const struct store_job *job) {
    struct lane *lane = ctx;
    if (t->sequence > lane->stress->newest + IN_FLIGHT || strcmp(t->uid, job->uid) != 0) {
        fail(lane->stress, "a row");
    }
}

static void on_rows(void *ctx, const struct err *err) {
    struct lane *lane = ctx;
    lane->read = NULL;
    if (err != NULL) {
        fail(lane->stress, err->message);
    }
}

static void on_commit(void *ctx, int64_t first_sequence, const struct err *err) {
    struct lane *lane = ctx;
    struct stress *s = lane->stress;
    const char *hash = NULL;
    if (err != NULL) {
        fail(s, err->message);
    } else if (first_sequence != s->newest + 1 || store_newest_sequence(s->store) != first_sequence) {
        fail(s, "a sequence");
    } else if (store_request_uid(s->store, "default", lane->uid, &hash) == NULL) {
        fail(s, "a request id");
    }
    s->newest = first_sequence;
    if (++s->answered >= OPS || s->wrong) {
        loop_stop(s->loop);
        return;
    }
    next(lane);
}

static void look_around(struct lane *lane) {
    struct stress *s = lane->stress;
    if (s->started % 7 == 0) {
        if (lane->read != NULL) {
            store_cancel(lane->read);
        }
        lane->read = store_read_transitions(s->store, s->newest - 50, 100, on_row, on_rows, lane);
    }
    if (s->started % 101 == 0) {
        store_trim(s->store, s->newest - 200, NULL, NULL);
    }
}

static void next(struct lane *lane) {
    struct stress *s = lane->stress;
    struct store_batch *b = store_batch_new();
    bool fresh = lane->step % DELETE_AT == 0;
    if (fresh) {
        snprintf(lane->uid, sizeof lane->uid, "job-%d", s->jobs++);
        store_batch_add_job(b, &(struct store_job){.uid = lane->uid,
                                                   .namespace_ = "default",
                                                   .name = lane->uid,
                                                   .runtime = "process",
                                                   .backend = "local",
                                                   .target = "local",
                                                   .request_id = lane->uid,
                                                   .spec_hash = "hash",
                                                   .spec_json = "{}",
                                                   .ordinal = s->jobs});
    }
    lane->step++;
    store_batch_add_transition(
        b, &(struct store_transition){.uid = lane->uid,
                                      .kind = lane->step % DELETE_AT == 0 ? STORE_DELETED : STORE_TRANSITION,
                                      .job_sequence = lane->step,
                                      .state = 3,
                                      .message = "",
                                      .observed_ns = clock_wall()});
    s->started++;
    store_commit(s->store, b, fresh, on_commit, lane);
    look_around(lane);
}

static bool count_job(void *ctx, const struct store_job *job, const struct store_transition *last) {
    ++*(int *)ctx;
    return job->uid != NULL && last->kind == STORE_TRANSITION;
}

static bool one_round(const char *directory, struct stress *s) {
    struct lane lanes[IN_FLIGHT];
    struct err err = ERR_INIT;
    int jobs = 0;
    memset(lanes, 0, sizeof lanes);
    s->loop = loop_new();
    s->answered = 0;
    if (!store_open(&(struct store_options){.directory = directory}, s->loop, &s->store, &err) ||
        !store_load(s->store, count_job, &jobs, &err)) {
        fail(s, err.message);
        return false;
    }
    s->newest = store_newest_sequence(s->store);
    for (int i = 0; i < IN_FLIGHT; i++) {
        lanes[i].stress = s;
        next(&lanes[i]);
    }
    loop_run(s->loop);
    store_close(s->store); // with most lanes still under way
    loop_free(s->loop);
    return !s->wrong;
}

int main(void) {
    char directory[] = "/tmp/stress-store-XXXXXX";
    struct stress s = {0};
    struct err err = ERR_INIT;
    bool ok = mkdtemp(directory) != NULL;
    for (int i = 0; i < ROUNDS && ok; i++) {
        ok = one_round(directory, &s);
    }
    printf("%d commits in %d rounds\n", s.started, ROUNDS);
    if (!fd_remove_tree(directory, &err)) {
        ok = false;
    }
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
