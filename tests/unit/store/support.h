// A journal in a directory of its own, and ways to put things into it and wait for the answers.
#ifndef TESTS_STORE_SUPPORT_H
#define TESTS_STORE_SUPPORT_H

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/store.h"

#include <criterion/criterion.h>
#include <sqlite3.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct world {
    char directory[64];
    struct loop *loop;
    struct store *store;
    int64_t max_bytes;
    // waiting
    int answers, wanted;
    struct loop_timer guard;
    bool late;
};

// What became of one commit.
struct answer {
    struct world *world;
    int order; // 1: the first answer of this world
    int64_t first;
    struct err err;
};

UNUSED static void world_new(struct world *w) {
    *w = (struct world){.directory = "/tmp/store-test-XXXXXX"};
    cr_assert_not_null(mkdtemp(w->directory));
    w->loop = loop_new();
}

UNUSED static bool world_try_open(struct world *w, struct err *err) {
    const struct store_options options = {.directory = w->directory, .max_bytes = w->max_bytes};
    return store_open(&options, w->loop, &w->store, err);
}

UNUSED static void world_open(struct world *w) {
    struct err err = ERR_INIT;
    cr_assert(world_try_open(w, &err), "%s", err.message);
}

UNUSED static void world_close(struct world *w) {
    store_close(w->store);
    w->store = NULL;
}

UNUSED static void world_reopen(struct world *w) {
    world_close(w);
    world_open(w);
}

UNUSED static void world_done(struct world *w) {
    struct err err = ERR_INIT;
    world_close(w);
    loop_free(w->loop);
    cr_assert(fd_remove_tree(w->directory, &err), "%s", err.message);
}

static void on_late(void *ctx) {
    struct world *w = ctx;
    w->late = true;
    loop_stop(w->loop);
}

// Until that many answers have come since the world began. false: not within the time.
UNUSED static bool world_wait_for(struct world *w, int answers, int64_t ms) {
    w->wanted = answers;
    w->late = false;
    loop_timer_init(&w->guard, w->loop, "guard", on_late, w);
    loop_timer_start(&w->guard, ms);
    while (w->answers < w->wanted && !w->late) {
        loop_run(w->loop);
    }
    loop_timer_stop(&w->guard);
    return !w->late;
}

UNUSED static void world_wait(struct world *w, int answers) {
    cr_assert(world_wait_for(w, answers, 30000), "%d of %d answers", w->answers, answers);
}

static void world_answered(struct world *w) {
    if (++w->answers >= w->wanted) {
        loop_stop(w->loop);
    }
}

UNUSED static struct store_job job_row(const char *uid, int64_t ordinal) {
    return (struct store_job){.uid = uid,
                              .namespace_ = "default",
                              .name = uid,
                              .runtime = "process",
                              .backend = "local",
                              .target = "local",
                              .spec_hash = "hash",
                              .spec_json = "{}",
                              .ordinal = ordinal,
                              .ttl_ns = -1};
}

UNUSED static struct store_transition step_row(const char *uid, int64_t job_sequence, int32_t state) {
    return (struct store_transition){.uid = uid, .job_sequence = job_sequence, .state = state, .message = ""};
}

static void on_written(void *ctx, int64_t first_sequence, const struct err *err) {
    struct answer *a = ctx;
    a->first = first_sequence;
    a->order = a->world->answers + 1;
    if (err != NULL) {
        err_copy(&a->err, err);
    }
    world_answered(a->world);
}

UNUSED static void commit(struct world *w, struct store_batch *take_batch, bool may_fail, struct answer *a) {
    *a = (struct answer){.world = w};
    store_commit(w->store, take_batch, may_fail, on_written, a);
}

UNUSED static void commit_job(struct world *w, const char *uid, int64_t ordinal, struct answer *a) {
    struct store_batch *b = store_batch_new();
    struct store_job job = job_row(uid, ordinal);
    struct store_transition first = step_row(uid, 1, 1);
    store_batch_add_job(b, &job);
    store_batch_add_transition(b, &first);
    commit(w, b, true, a);
}

UNUSED static void commit_step(struct world *w, const char *uid, int64_t job_sequence, int32_t state,
                               struct answer *a) {
    struct store_batch *b = store_batch_new();
    struct store_transition t = step_row(uid, job_sequence, state);
    store_batch_add_transition(b, &t);
    commit(w, b, false, a);
}

UNUSED static void commit_deleted(struct world *w, const char *uid, int64_t job_sequence, int64_t observed_ns,
                                  struct answer *a) {
    struct store_batch *b = store_batch_new();
    struct store_transition t = step_row(uid, job_sequence, 7);
    t.kind = STORE_DELETED;
    t.observed_ns = observed_ns;
    store_batch_add_transition(b, &t);
    commit(w, b, false, a);
}

// Reads into one line: "sequence:uid/job_sequence ..."
struct reading {
    struct world *world;
    struct str text;
    struct err err;
    int order;
    struct store_read *read;
};

static void on_row(void *ctx, const struct store_transition *t, const struct store_job *job) {
    struct reading *r = ctx;
    cr_assert_str_eq(t->uid, job->uid);
    cr_assert_null(job->spec_json);
    str_printf(&r->text, "%s%lld:%s/%lld%s", r->text.len != 0 ? " " : "", (long long)t->sequence, t->uid,
               (long long)t->job_sequence, t->kind == STORE_DELETED ? "x" : "");
}

static void on_rows_done(void *ctx, const struct err *err) {
    struct reading *r = ctx;
    r->order = r->world->answers + 1;
    if (err != NULL) {
        err_copy(&r->err, err);
    }
    world_answered(r->world);
}

UNUSED static void reading_start(struct world *w, int64_t after, size_t limit, struct reading *r) {
    *r = (struct reading){.world = w};
    r->read = store_read_transitions(w->store, after, limit, on_row, on_rows_done, r);
}

UNUSED static void expect_transitions(struct world *w, int64_t after, size_t limit, const char *right) {
    struct reading r;
    reading_start(w, after, limit, &r);
    while (r.order == 0) {
        world_wait(w, w->answers + 1);
    }
    cr_expect(!err_set(&r.err));
    cr_expect_str_eq(str_text(&r.text), right);
    str_done(&r.text);
    err_done(&r.err);
}

static bool on_load(void *ctx, const struct store_job *job, const struct store_transition *last) {
    struct str *text = ctx;
    str_printf(text, "%s%lld:%s/%lld=%d%s", text->len != 0 ? " " : "", (long long)last->sequence, job->uid,
               (long long)last->job_sequence, last->state, job->spec_json != NULL ? job->spec_json : "");
    return true;
}

UNUSED static void expect_load(struct world *w, const char *right) {
    struct str text = STR_INIT;
    struct err err = ERR_INIT;
    cr_assert(store_load(w->store, on_load, &text, &err), "%s", err.message);
    cr_expect_str_eq(str_text(&text), right);
    str_done(&text);
}

// The file itself, while no store has it.
UNUSED static void world_sql(struct world *w, const char *sql) {
    char path[96];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/journal.db", w->directory);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

// The first value of a query, also while a store has the file.
UNUSED static int64_t world_ask(struct world *w, const char *sql) {
    char path[96];
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    snprintf(path, sizeof path, "%s/journal.db", w->directory);
    cr_assert_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return v;
}

#endif
