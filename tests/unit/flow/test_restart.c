// Freed and opened again on the same directory: every sequence goes on, every job is where it was.
#include "support.h"

static struct job *find(struct world *w, const char *name) {
    struct job *job = NULL;
    struct err err = ERR_INIT;
    cr_assert(flow_find(w->flow, &(struct flow_job_ref){.name = name}, &job, &err), "%s", err.message);
    return job;
}

// What the backend is given again, by the state that a job was in.
Test(restart, every_state) {
    static const struct {
        enum job_state state;
        const char *calls, *start;
    } rows[] = {
        {JOB_PENDING, "submit:a", "1 processes, attempt 0, restarts 0, waiting"},
        {JOB_STARTING, "submit:a", "1 processes, attempt 1, restarts 0"},
        {JOB_RUNNING, "submit:a", "1 processes, attempt 1, restarts 0, began"},
        {JOB_RESTARTING, "submit:a", "1 processes, attempt 1, restarts 0, restarting"},
        {JOB_SUSPENDED, "submit:a", "1 processes, attempt 1, restarts 0, suspended"},
        {JOB_CANCELING, "submit:a cancel:a/30000", "1 processes, attempt 0, restarts 0"},
        {JOB_SUCCEEDED, "", ""},
        {JOB_FAILED, "", ""},
        {JOB_CANCELED, "", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        struct answer again;
        const char *when = job_state_name(rows[i].state);
        world_new(&w);
        struct answer first;
        submit(&w, JOB("a"), "id", &first);
        bring_to(&w, first.job, rows[i].state);
        int64_t sequence = first.job->seen->sequence;
        int64_t started = first.job->seen->started_ns;
        int64_t ended = first.job->seen->ended_ns;
        char uid[33];
        memcpy(uid, first.job->uid, sizeof uid);
        answer_done(&first);
        for (int restarts = 0; restarts < 2; restarts++) {
            world_reopen(&w);
            expect_calls(&w, rows[i].calls, when);
            cr_expect_str_eq(str_text(&w.fake.start), rows[i].start, "%s: %s", when, str_text(&w.fake.start));
            cr_expect(w.fake.started, "%s", when);
            struct job *job = find(&w, "a");
            cr_expect_str_eq(job->uid, uid);
            cr_expect_eq(job->seen->state, rows[i].state, "%s", when);
            cr_expect_eq(job->seen->sequence, sequence, "%s", when);
            cr_expect(job->seen->started_ns == started && job->seen->ended_ns == ended, "%s", when);
            submit(&w, JOB("a"), "id", &again);
            cr_expect(again.duplicate && again.job == job, "%s", when);
            answer_done(&again);
            struct flow_info info;
            flow_info(w.flow, &info);
            cr_expect_eq(info.newest_sequence, sequence, "%s: a restart is no transition", when);
        }
        world_done(&w);
    }
}

Test(restart, sequences_go_on) {
    struct world w;
    struct watching v;
    char token[48];
    world_new(&w);
    submit_job(&w, JOB("a"));
    fact(&w, find(&w, "a"), JOB_RUNNING, REASON_ALL_RUNNING);
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &v);
    expect_watch(&v, "=a/2:RUNNING end@2#1");
    memcpy(token, v.token, sizeof token);
    watch_close(&v);
    char epoch[17];
    snprintf(epoch, sizeof epoch, "%s", store_epoch(w.store));
    int64_t ordinal = find(&w, "a")->ordinal;
    world_reopen(&w);
    cr_expect_str_eq(store_epoch(w.store), epoch);
    watch_open(&w, &(struct flow_watch_args){.resume_token = token}, ALL, &v);
    fact(&w, find(&w, "a"), JOB_RUNNING, REASON_ALL_RUNNING); // as a backend repeats it
    fact(&w, find(&w, "a"), JOB_SUCCEEDED, REASON_COMPLETED);
    cr_expect_gt(submit_job(&w, JOB("b"))->ordinal, ordinal);
    expect_watch(&v, "3:a/3:SUCCEEDED 4:b/1:PENDING");
    watch_close(&v);
    world_done(&w);
}

// Decided, and not yet written when the server was told to stop.
Test(restart, the_last_words_are_written) {
    struct world w;
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    w.fake.sink.fact(w.fake.sink.ctx, &(struct backend_fact){.uid = job->uid, .state = JOB_RUNNING, .attempt = 1});
    w.fake.sink.fact(w.fake.sink.ctx, &(struct backend_fact){.uid = job->uid, .state = JOB_SUCCEEDED, .attempt = 1});
    world_reopen(&w);
    cr_expect_eq(find(&w, "a")->seen->state, JOB_SUCCEEDED);
    cr_expect_eq(find(&w, "a")->seen->sequence, 3);
    expect_calls(&w, "", "nothing runs again");
    world_done(&w);
}

// The queue's order is the order of submission.
Test(restart, oldest_first) {
    struct world w;
    world_new(&w);
    submit_job(&w, JOB("c"));
    submit_job(&w, JOB("a"));
    submit_job(&w, JOB("b"));
    world_reopen(&w);
    expect_calls(&w, "submit:c submit:a submit:b", "restart");
    world_done(&w);
}

static bool is_failed(void *ctx) {
    const struct job *job = ctx;
    return job->seen->state == JOB_FAILED;
}

// Its backend, or its runtime, is not there any more: it ends, and says why.
Test(restart, what_cannot_go_on) {
    for (int without_runtime = 0; without_runtime < 2; without_runtime++) {
        struct world w;
        struct answer a = {0};
        world_new(&w);
        log_set_level(LOG_ERROR);
        submit_job(&w, JOB("a"));
        world_close(&w);
        fake_done(&w.fake);
        fake_init(&w.fake);
        if (without_runtime != 0) {
            plugins_free(w.plugins);
            w.plugins = plugins_new();
        } else {
            w.fake.backend.name = "another";
        }
        world_open(&w);
        struct job *job = find(&w, "a");
        cr_assert(world_until(&w, is_failed, job, WAIT_MS));
        settle(&w);
        cr_expect_eq(job->seen->reason, REASON_BACKEND_ERROR);
        cr_expect_not_null(strstr(job->seen->message, "not configured"), "%s", job->seen->message);
        expect_calls(&w, "", "nobody is told of a job that it does not know");
        flow_delete(w.flow, job, false, on_changed, &a);
        settle(&w);
        cr_expect_eq(a.count, 1, "and it can be deleted");
        answer_done(&a);
        world_done(&w);
    }
}

// The spec of an ended job is in the journal only.
struct spec_answer {
    int count;
    char *json;
};

static void on_spec(void *ctx, const char *json, const struct err *err) {
    struct spec_answer *a = ctx;
    cr_expect_null(err);
    a->json = mem_strdup(json);
    a->count++;
}

static bool has_spec(void *ctx) {
    return ((const struct spec_answer *)ctx)->count != 0;
}

Test(restart, specs) {
    struct world w;
    struct spec_answer first = {0};
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    cr_expect_null(flow_spec(w.flow, job, on_spec, &first), "at once, while it may run");
    cr_assert_eq(first.count, 1);
    fact(&w, job, JOB_SUCCEEDED, REASON_COMPLETED);
    for (int restarted = 0; restarted < 2; restarted++) {
        struct spec_answer later = {0};
        cr_expect_not_null(flow_spec(w.flow, find(&w, "a"), on_spec, &later));
        cr_assert(world_until(&w, has_spec, &later, WAIT_MS));
        cr_expect_str_eq(later.json, first.json);
        mem_free(later.json);
        struct spec_answer never_called = {0};
        flow_op_cancel(flow_spec(w.flow, find(&w, "a"), on_spec, &never_called));
        let_pass(&w, 20);
        cr_expect_eq(never_called.count, 0);
        world_reopen(&w);
    }
    mem_free(first.json);
    world_done(&w);
}
