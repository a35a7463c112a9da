// Jobs, events and selectors for the tests of job/, with what matters named and the rest filled in.
#ifndef TESTS_JOB_SUPPORT_H
#define TESTS_JOB_SUPPORT_H

#include "base/mem.h"
#include "base/str.h"
#include "job/feed.h"
#include "job/table.h"

#include <criterion/criterion.h>
#include <string.h>

struct bench {
    struct job_feed *feed;
    struct job_table *table;
    int64_t sequence;
};

static inline struct bench bench_new(size_t feed_events) {
    struct bench b = {.feed = job_feed_new(feed_events, 0)};
    b.table = job_table_new(b.feed);
    return b;
}

static inline void bench_done(struct bench *b) {
    job_table_free(b->table);
    job_feed_free(b->feed);
}

static inline struct job *bench_add(struct bench *b, const char *uid, const char *name, const char *request_id) {
    return job_table_add(b->table, &(struct job_new){.uid = uid,
                                                     .name = name,
                                                     .namespace_ = "default",
                                                     .runtime = "process",
                                                     .backend = "local",
                                                     .target = "local",
                                                     .request_id = request_id,
                                                     .created_ns = 1});
}

// Moves, and says whether that was allowed.
static inline bool bench_move(struct bench *b, struct job *job, enum job_state to, enum job_reason reason) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct job_change change = {.to = to, .reason = reason, .observed_ns = 1000};
    bool ok = job_move(b->table, job, &change, &err);
    cr_expect_eq(ok, !err_set(&err));
    cr_expect(ok || str_same(err.reason, "ILLEGAL_MOVE"));
    return ok;
}

// Commits all of the outbox; returns how many there were.
static inline size_t bench_commit(struct bench *b) {
    size_t n = 0;
    struct job_event *e;
    while ((e = job_table_outbox_pop(b->table)) != NULL) {
        job_table_commit(b->table, e, ++b->sequence);
        job_event_unref(e);
        n++;
    }
    return n;
}

#endif
