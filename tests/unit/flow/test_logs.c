// Logs: a backend's reader, its limit, and when a follower ends. And the i-th call of the backend fails, for every i.
#include "support.h"

static void on_log(void *ctx) {
    ++*(int *)ctx;
}

static bool open_logs(struct world *w, struct job *job, int *woken, struct flow_logs **ret, struct err *err) {
    return flow_logs_open(w->flow, job, &(struct backend_log_query){.index = -1, .follow = true}, on_log, woken, ret,
                          err);
}

Test(logs, a_follower_ends_with_its_job) {
    struct world w;
    struct flow_logs *l = NULL;
    struct backend_log_item item;
    struct err err = ERR_INIT;
    int woken = 0;
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    cr_assert(open_logs(&w, job, &woken, &l, &err));
    expect_calls(&w, "logs:a", "open");
    cr_expect_eq(flow_logs_next(l, &item, &err), LOG_READ_WAIT);
    w.fake.logs->text = "epoch 1\n";
    cr_assert_eq(flow_logs_next(l, &item, &err), LOG_READ_ITEM);
    cr_expect_arr_eq(item.data, "epoch 1\n", 8);
    fact(&w, job, JOB_RUNNING, REASON_ALL_RUNNING);
    cr_expect_eq(woken, 0);
    fact(&w, job, JOB_SUCCEEDED, REASON_COMPLETED);
    cr_expect_eq(woken, 1, "the reader is told");
    cr_expect_eq(flow_logs_next(l, &item, &err), LOG_READ_END);
    flow_logs_close(l);
    cr_expect_eq(w.fake.open_logs, 0);
    str_clear(&w.fake.calls);
    cr_assert(open_logs(&w, job, &woken, &l, &err));
    expect_calls(&w, "logs:a/over", "of a job that is over");
    flow_logs_close(l);
    world_done(&w);
}

// A reader outlives its job's record.
Test(logs, of_a_job_that_is_deleted) {
    struct world w;
    struct flow_logs *l[2] = {NULL};
    struct backend_log_item item;
    struct err err = ERR_INIT;
    struct answer a = {0};
    int woken = 0;
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    cr_assert(open_logs(&w, job, &woken, &l[0], &err));
    fact(&w, job, JOB_SUCCEEDED, REASON_COMPLETED);
    cr_assert(open_logs(&w, job, &woken, &l[1], &err));
    flow_delete(w.flow, job, false, on_changed, &a);
    settle(&w);
    answer_done(&a);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(flow_logs_next(l[i], &item, &err), LOG_READ_END);
        flow_logs_close(l[i]);
    }
    cr_expect_eq(w.fake.open_logs, 0);
    world_done(&w);
}

Test(logs, at_most_so_many) {
    struct world w;
    struct flow_logs *l[2] = {NULL};
    struct err err = ERR_INIT;
    int woken = 0;
    world_begin(&w);
    w.limits.max_log_streams = 1;
    world_open(&w);
    struct job *job = submit_job(&w, JOB("a"));
    for (int round = 0; round < 2; round++) { // closing makes room
        cr_assert(open_logs(&w, job, &woken, &l[0], &err));
        cr_assert_not(open_logs(&w, job, &woken, &l[1], &err));
        expect_reason(&err, ERR_EXHAUSTED, "LIMIT_REACHED", "two");
        cr_expect_str_eq(err.facts[0].value, "limits.max_log_streams");
        err_done(&err);
        flow_logs_close(l[0]);
    }
    world_done(&w);
}

// ---- The i-th call fails

// The life of a job with its log. Returns how many of its steps failed.
static int live(struct world *w, int *ret_opened) {
    int failed = 0;
    struct answer a;
    submit_start(w, JOB("a"), "id", false, &a);
    if (a.count != 0) { // check() failed
        expect_reason(&a.err, ERR_INTERNAL, "FAKE", "check");
        failed++;
        answer_done(&a);
        submit_start(w, JOB("a"), "id", false, &a);
    }
    cr_assert(world_until(w, is_answered, &a, WAIT_MS));
    settle(w);
    cr_assert_not_null(a.job, "%s", a.err.message);
    struct job *job = a.job;
    for (int i = 0; i < 2; i++) {
        struct flow_logs *l = NULL;
        struct backend_log_item item;
        struct err err = ERR_INIT;
        int woken = 0;
        if (!open_logs(w, job, &woken, &l, &err)) {
            expect_reason(&err, ERR_INTERNAL, "FAKE", "open");
            cr_expect_null(l);
            failed++;
            err_done(&err);
            continue;
        }
        ++*ret_opened;
        w->fake.logs->text = "x";
        if (flow_logs_next(l, &item, &err) == LOG_READ_FAILED) {
            expect_reason(&err, ERR_INTERNAL, "FAKE", "read");
            failed++;
        }
        err_done(&err);
        flow_logs_close(l);
    }
    fact(w, job, JOB_SUCCEEDED, REASON_COMPLETED);
    cr_expect_eq(job->seen->state, JOB_SUCCEEDED);
    cr_expect_eq(job->seen->job_sequence, 2);
    answer_done(&a);
    return failed;
}

Test(logs, every_call_that_can_fail) {
    int calls = 0;
    for (int i = 0; i <= calls; i++) {
        struct world w;
        int opened = 0;
        world_begin(&w);
        w.limits.max_log_streams = 1; // what failed holds no place
        world_open(&w);
        w.fake.fail_at = i;
        cr_expect_eq(live(&w, &opened), i != 0, "call %d", i);
        calls = i == 0 ? w.fake.can_fail : calls;
        struct flow_info info;
        flow_info(w.flow, &info);
        cr_expect(info.jobs == 1 && info.active_jobs == 0 && info.newest_sequence == 2, "call %d", i);
        cr_expect_eq(w.fake.open_logs, 0);
        world_done(&w);
    }
    cr_expect_eq(calls, 5, "check, and twice open and read");
}
