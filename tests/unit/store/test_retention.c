#include "support.h"

#define REQUESTS_AGE(hours) ((hours)*3600 * CLOCK_SECOND)

struct trimming {
    struct world *world;
    int64_t removed;
    int order;
};

static void on_trimmed(void *ctx, int64_t removed) {
    struct trimming *t = ctx;
    t->removed = removed;
    t->order = t->world->answers + 1;
    world_answered(t->world);
}

static int64_t trim(struct world *w, int64_t up_to) {
    struct trimming t = {.world = w};
    store_trim(w->store, up_to, on_trimmed, &t);
    while (t.order == 0) {
        world_wait(w, w->answers + 1);
    }
    return t.removed;
}

Test(retention, keeps_the_newest_of_each_job) {
    struct world w;
    struct answer a[7];
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);     // 1
    commit_job(&w, "b", 2, &a[1]);     // 2
    commit_step(&w, "a", 2, 2, &a[2]); // 3
    commit_step(&w, "a", 3, 3, &a[3]); // 4
    commit_step(&w, "b", 2, 7, &a[4]); // 5
    commit_step(&w, "a", 4, 7, &a[5]); // 6
    world_wait(&w, 6);
    cr_expect_eq(trim(&w, 5), 4);
    cr_expect_eq(store_oldest_sequence(w.store), 6);
    expect_transitions(&w, 0, 10, "5:b/2 6:a/4");
    world_reopen(&w);
    cr_expect_eq(store_oldest_sequence(w.store), 6);
    cr_expect_eq(store_newest_sequence(w.store), 6);
    expect_load(&w, "6:a/4=7 5:b/2=7");
    cr_expect_eq(trim(&w, 5), 0, "nothing twice");
    // What was kept as b's newest goes with b's next.
    commit_deleted(&w, "b", 3, clock_wall(), &a[6]); // 7
    expect_transitions(&w, 0, 10, "6:a/4 7:b/3x");
    world_done(&w);
}

Test(retention, oldest_never_goes_back_nor_beyond_the_newest) {
    struct world w;
    struct answer a;
    world_new(&w);
    world_open(&w);
    cr_expect_eq(trim(&w, 100), 0);
    cr_expect_eq(store_oldest_sequence(w.store), 1);
    commit_job(&w, "a", 1, &a);
    for (int i = 2; i <= 10; i++) {
        commit_step(&w, "a", i, 3, &a);
    }
    world_wait(&w, w.answers + 10);
    cr_expect_eq(trim(&w, 6), 6);
    cr_expect_eq(trim(&w, 3), 0);
    cr_expect_eq(trim(&w, -1), 0);
    cr_expect_eq(store_oldest_sequence(w.store), 7);
    world_reopen(&w);
    cr_expect_eq(store_oldest_sequence(w.store), 7);
    cr_expect_eq(trim(&w, INT64_MAX), 3); // 7, 8, 9: 10 is a's newest
    cr_expect_eq(store_oldest_sequence(w.store), 11);
    world_done(&w);
}

Test(retention, a_deleted_job_goes_with_its_last_transition) {
    struct world w;
    struct answer a[4];
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);                   // 1
    commit_deleted(&w, "a", 2, clock_wall(), &a[1]); // 2
    commit_job(&w, "b", 2, &a[2]);                   // 3
    world_wait(&w, 3);
    cr_expect_eq(trim(&w, 1), 1);
    expect_transitions(&w, 0, 10, "2:a/2x 3:b/1");
    cr_expect_eq(world_ask(&w, "SELECT count(*) FROM jobs"), 2);
    cr_expect_eq(trim(&w, 2), 1);
    cr_expect_eq(world_ask(&w, "SELECT count(*) FROM jobs"), 1);
    cr_expect_eq(world_ask(&w, "SELECT count(*) FROM specs"), 1);
    expect_transitions(&w, 0, 10, "3:b/1");
    world_done(&w);
}

Test(retention, no_sequence_comes_again_when_the_newest_are_gone) {
    struct world w;
    struct answer a;
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a);
    commit_deleted(&w, "a", 2, clock_wall(), &a);
    world_wait(&w, 2);
    cr_expect_eq(trim(&w, 2), 2);
    cr_expect_eq(world_ask(&w, "SELECT count(*) FROM transitions"), 0);
    world_reopen(&w);
    cr_expect_eq(store_newest_sequence(w.store), 2);
    cr_expect_eq(store_oldest_sequence(w.store), 3);
    commit_job(&w, "b", 1, &a);
    world_wait(&w, w.answers + 1);
    cr_expect_eq(a.first, 3);
    world_done(&w);
}

// 20,000 transitions are twenty steps; a commit that comes meanwhile does not wait for the last of them.
Test(retention, goes_in_steps_and_lets_others_in_between) {
    struct world w;
    struct answer a;
    struct answer between[3];
    struct trimming t = {.world = &w};
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a);
    struct store_batch *b = store_batch_new();
    for (int i = 2; i <= 20000; i++) {
        struct store_transition step = step_row("a", i, 3);
        store_batch_add_transition(b, &step);
    }
    commit(&w, b, false, &a);
    world_wait(&w, 2);
    store_trim(w.store, 20000, on_trimmed, &t);
    for (int i = 0; i < 3; i++) {
        commit_step(&w, "a", 20001 + i, 3, &between[i]);
    }
    world_wait(&w, 6);
    cr_expect_eq(t.order, 6);
    cr_expect_eq(between[2].first, 20003);
    // 20,000 was a's newest until the commits moved it on, whichever came first: it is gone in both cases.
    expect_transitions(&w, 0, 10, "20001:a/20001 20002:a/20002 20003:a/20003");
    world_done(&w);
}

Test(retention, an_interrupted_trim_goes_on_where_it_was) {
    struct world w;
    struct answer a;
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a);
    struct store_batch *b = store_batch_new();
    for (int i = 2; i <= 5000; i++) {
        struct store_transition step = step_row("a", i, 3);
        store_batch_add_transition(b, &step);
    }
    commit(&w, b, false, &a);
    world_wait(&w, 2);
    store_trim(w.store, 4000, NULL, NULL);
    world_reopen(&w); // closed in the middle, or before, or behind
    int64_t oldest = store_oldest_sequence(w.store);
    cr_expect(oldest >= 1 && oldest <= 4001 && oldest % 1000 == 1, "%lld", (long long)oldest);
    cr_expect_eq(world_ask(&w, "SELECT min(sequence) FROM transitions"), oldest);
    cr_expect_eq(trim(&w, 4000), 4001 - oldest);
    cr_expect_eq(world_ask(&w, "SELECT min(sequence) FROM transitions"), 4001);
    world_done(&w);
}

// Of a job whose own batch was refused: it has its sequence like any other, nobody reads it, and it does not stay.
Test(retention, a_transition_of_no_job) {
    struct world w;
    struct answer a[2];
    world_new(&w);
    world_open(&w);
    commit_step(&w, "nobody", 2, 7, &a[0]);
    commit_job(&w, "a", 1, &a[1]);
    world_wait(&w, 2);
    cr_expect_eq(a[0].first, 1);
    cr_expect_eq(a[1].first, 2);
    expect_transitions(&w, 0, 10, "2:a/1");
    cr_expect_eq(trim(&w, 2), 1);
    cr_expect_eq(world_ask(&w, "SELECT min(sequence) FROM transitions"), 2);
    world_done(&w);
}

// ---- Request ids --------------------------------------------------------------------------------------------------

static void commit_keyed(struct world *w, const char *uid, int64_t ordinal, const char *request_id, const char *hash,
                         struct answer *a) {
    struct store_batch *b = store_batch_new();
    struct store_job job = job_row(uid, ordinal);
    struct store_transition first = step_row(uid, 1, 1);
    job.request_id = request_id;
    job.spec_hash = hash;
    store_batch_add_job(b, &job);
    store_batch_add_transition(b, &first);
    commit(w, b, true, a);
}

static void expect_used(struct world *w, const char *namespace_, const char *request_id, const char *uid,
                        const char *hash) {
    const char *got_hash = NULL;
    const char *got = store_request_uid(w->store, namespace_, request_id, &got_hash);
    cr_expect(str_same(got, uid), "%s: %s, not %s", request_id, got != NULL ? got : "none", uid != NULL ? uid : "none");
    cr_expect(str_same(got_hash, hash), "%s: %s, not %s", request_id, got_hash != NULL ? got_hash : "none",
              hash != NULL ? hash : "none");
}

Test(retention, request_ids_outlive_their_job) {
    struct world w;
    struct answer a[5];
    int64_t now = clock_wall();
    world_new(&w);
    world_open(&w);
    commit_keyed(&w, "a", 1, "key-a", "hash-a", &a[0]);
    commit_keyed(&w, "b", 2, "key-b", "hash-b", &a[1]);
    commit_job(&w, "c", 3, &a[2]);
    expect_used(&w, "default", "key-a", NULL, NULL); // not before it is written
    world_wait(&w, 3);
    expect_used(&w, "default", "key-a", "a", "hash-a");
    expect_used(&w, "default", "key-b", "b", "hash-b");
    expect_used(&w, "default", "key-c", NULL, NULL);
    expect_used(&w, "other", "key-a", NULL, NULL);
    commit_deleted(&w, "a", 2, now - REQUESTS_AGE(23), &a[3]);
    commit_deleted(&w, "b", 2, now - REQUESTS_AGE(25), &a[4]);
    world_wait(&w, 5);
    expect_used(&w, "default", "key-a", "a", "hash-a");
    expect_used(&w, "default", "key-b", "b", "hash-b"); // until somebody cleans up
    trim(&w, 1);
    expect_used(&w, "default", "key-a", "a", "hash-a");
    expect_used(&w, "default", "key-b", NULL, NULL);
    trim(&w, 5); // a's row goes, its key stays
    cr_expect_eq(world_ask(&w, "SELECT count(*) FROM jobs"), 1);
    world_reopen(&w);
    expect_used(&w, "default", "key-a", "a", "hash-a");
    expect_used(&w, "default", "key-b", NULL, NULL);
    world_close(&w);
    world_sql(&w, "UPDATE requests SET deleted_ns = deleted_ns - 7200000000000");
    world_open(&w);
    expect_used(&w, "default", "key-a", NULL, NULL);
    cr_expect_eq(world_ask(&w, "SELECT count(*) FROM requests"), 0);
    world_done(&w);
}

Test(retention, a_refused_job_uses_no_key) {
    struct world w;
    struct answer a[2];
    world_new(&w);
    world_open(&w);
    commit_keyed(&w, "a", 1, "one", "h1", &a[0]);
    commit_keyed(&w, "a", 2, "two", "h2", &a[1]); // conflicts: the same uid
    world_wait(&w, 2);
    cr_expect_eq(a[1].err.code, ERR_INTERNAL);
    expect_used(&w, "default", "one", "a", "h1");
    expect_used(&w, "default", "two", NULL, NULL);
    world_reopen(&w);
    expect_used(&w, "default", "two", NULL, NULL);
    err_done(&a[1].err);
    world_done(&w);
}

Test(retention, thousands_of_old_keys_go_in_steps) {
    struct world w;
    struct answer a;
    char uid[16];
    int64_t old = clock_wall() - REQUESTS_AGE(25);
    world_new(&w);
    world_open(&w);
    struct store_batch *b = store_batch_new();
    for (int i = 0; i < 2500; i++) {
        snprintf(uid, sizeof uid, "j%d", i);
        struct store_job job = job_row(uid, i);
        struct store_transition gone = step_row(uid, 1, 7);
        job.request_id = uid;
        gone.kind = STORE_DELETED;
        gone.observed_ns = i == 7 ? clock_wall() : old;
        store_batch_add_job(b, &job);
        store_batch_add_transition(b, &gone);
    }
    commit(&w, b, true, &a);
    world_wait(&w, 1);
    cr_expect_eq(a.first, 1);
    expect_used(&w, "default", "j2499", "j2499", "hash");
    cr_expect_eq(trim(&w, 2500), 2500);
    expect_used(&w, "default", "j2499", NULL, NULL);
    expect_used(&w, "default", "j7", "j7", "hash");
    cr_expect_eq(world_ask(&w, "SELECT count(*) FROM requests"), 1);
    world_done(&w);
}

// A key that was freed in the first step is used by a new job before the last: the new job's stays.
Test(retention, a_key_used_again_while_others_are_purged) {
    struct world w;
    struct answer a[2];
    struct trimming t = {.world = &w};
    char uid[16];
    world_new(&w);
    world_open(&w);
    struct store_batch *b = store_batch_new();
    for (int i = 0; i < 1500; i++) {
        snprintf(uid, sizeof uid, "j%d", i);
        struct store_job job = job_row(uid, i);
        struct store_transition gone = step_row(uid, 1, 7);
        job.request_id = uid;
        gone.kind = STORE_DELETED;
        gone.observed_ns = 1000 + i;
        store_batch_add_job(b, &job);
        store_batch_add_transition(b, &gone);
    }
    commit(&w, b, true, &a[0]);
    store_trim(w.store, 0, on_trimmed, &t);
    commit_keyed(&w, "fresh", 2000, "j0", "other", &a[1]);
    world_wait(&w, 3);
    expect_used(&w, "default", "j0", "fresh", "other");
    expect_used(&w, "default", "j1", NULL, NULL);
    expect_used(&w, "default", "j1499", NULL, NULL);
    world_reopen(&w);
    expect_used(&w, "default", "j0", "fresh", "other");
    world_done(&w);
}
