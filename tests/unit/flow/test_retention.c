// What is kept and for how long: a job's own ttl, age, number; transitions.
#include "support.h"

static size_t count(struct world *w) {
    struct flow_info info;
    flow_info(w->flow, &info);
    return (size_t)info.jobs;
}

static bool exists(struct world *w, const char *name) {
    struct job *job = NULL;
    struct err err = ERR_INIT;
    bool found = flow_find(w->flow, &(struct flow_job_ref){.name = name}, &job, &err);
    err_done(&err);
    return found;
}

static bool is_gone(void *ctx) {
    return !exists(ctx, "short");
}

static void one_ended(struct world *w, const char *name, const char *ttl) {
    CLEANUP(mem_free_ptr)
    char *spec = mem_printf("{runtime: process, name: %s, run_policy: {%s%s},"
                            " roles: [{name: worker, command: [x]}]}",
                            name, ttl != NULL ? "ttl_after_finished: " : "", ttl != NULL ? ttl : "");
    fact(w, submit_job(w, spec), JOB_SUCCEEDED, REASON_COMPLETED);
}

Test(retention, a_ttl_of_its_own) {
    struct world w;
    world_new(&w);
    one_ended(&w, "at-once", "0s");
    settle(&w);
    let_pass(&w, 50);
    settle(&w);
    cr_expect_not(exists(&w, "at-once"));
    expect_calls(&w, "settled:at-once remove:at-once", "ttl 0");
    int64_t begin = clock_mono();
    one_ended(&w, "short", "1s");
    one_ended(&w, "long", "1000s");
    one_ended(&w, "none", NULL);
    cr_expect_eq(count(&w), 3);
    cr_assert(world_until(&w, is_gone, &w, WAIT_MS));
    cr_expect_geq(clock_mono() - begin, CLOCK_SECOND);
    settle(&w);
    expect_calls(&w, "settled:none remove:short", "ttl 1");
    cr_expect(exists(&w, "long") && exists(&w, "none"));
    world_done(&w);
}

// It counts from the end, also across a restart; and only an ended job has it.
Test(retention, a_ttl_across_a_restart) {
    struct world w;
    world_new(&w);
    submit_job(&w, "{runtime: process, name: active, run_policy: {ttl_after_finished: 0s},"
                   " roles: [{name: worker, command: [x]}]}");
    one_ended(&w, "short", "2s");
    int64_t ended = clock_mono();
    world_close(&w);
    usleep(1500000);
    fake_done(&w.fake);
    fake_init(&w.fake);
    world_open(&w);
    cr_expect(exists(&w, "short"));
    cr_assert(world_until(&w, is_gone, &w, WAIT_MS));
    cr_expect_leq(clock_mono() - ended, 3200 * CLOCK_MS, "not from the restart");
    cr_expect(exists(&w, "active"));
    world_done(&w);
}

Test(retention, a_ttl_of_a_job_that_is_deleted_before) {
    struct world w;
    struct answer a = {0};
    world_new(&w);
    one_ended(&w, "short", "1s");
    struct job *job = NULL;
    struct err err = ERR_INIT;
    cr_assert(flow_find(w.flow, &(struct flow_job_ref){.name = "short"}, &job, &err));
    flow_delete(w.flow, job, false, on_changed, &a);
    settle(&w);
    one_ended(&w, "short", NULL); // the name is another job's now
    let_pass(&w, 1300);
    settle(&w);
    cr_expect(exists(&w, "short"));
    answer_done(&a);
    world_done(&w);
}

static bool two_left(void *ctx) {
    return count(ctx) == 2;
}

// The oldest ends go first; an active job is not counted. The first look is within seconds.
Test(retention, at_most_so_many) {
    struct world w;
    world_begin(&w);
    w.limits.retention_jobs = 1;
    world_open(&w);
    struct job *late = submit_job(&w, JOB("late"));
    submit_job(&w, JOB("active"));
    one_ended(&w, "b", NULL);
    one_ended(&w, "c", NULL);
    fact(&w, late, JOB_FAILED, REASON_NONZERO_EXIT); // the first to be made, the last to end
    cr_assert(world_until(&w, two_left, &w, WAIT_MS));
    settle(&w);
    cr_expect(exists(&w, "late") && exists(&w, "active"));
    struct flow_info info;
    flow_info(w.flow, &info);
    cr_expect_eq(info.newest_sequence, 9, "7 of their lives, 2 deletions");
    world_done(&w);
}

Test(retention, by_age_and_transitions) {
    struct world w;
    world_begin(&w);
    w.limits.retention_age_ns = CLOCK_SECOND;
    w.limits.retention_transitions = 1;
    world_open(&w);
    submit_job(&w, JOB("a"));
    submit_job(&w, JOB("b"));
    one_ended(&w, "short", NULL);
    cr_assert(world_until(&w, is_gone, &w, WAIT_MS));
    let_pass(&w, 5300); // the next look sees the deletion
    settle(&w);
    cr_expect_eq(count(&w), 2, "what is active has no age");
    cr_expect_eq(store_oldest_sequence(w.store), 5);
    cr_expect_eq(store_newest_sequence(w.store), 5);
    world_reopen(&w);
    cr_expect(exists(&w, "a") && exists(&w, "b") && !exists(&w, "short"), "their newest transitions stay");
    cr_expect_eq(store_newest_sequence(w.store), 5);
    world_done(&w);
}
