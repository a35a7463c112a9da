// Facts: what a backend sees, and what a job becomes by it.
#include "support.h"

// From each state, every fact: it moves where the table of moves allows, and nowhere else.
Test(observe, every_fact_in_every_state) {
    static const enum job_state all[] = {JOB_PENDING,   JOB_STARTING,  JOB_RUNNING, JOB_RESTARTING, JOB_SUSPENDED,
                                         JOB_CANCELING, JOB_SUCCEEDED, JOB_FAILED,  JOB_CANCELED};
    struct world w;
    world_new(&w);
    for (size_t from = 0; from < ARRAY_LEN(all); from++) {
        for (size_t to = 0; to < ARRAY_LEN(all); to++) {
            CLEANUP(mem_free_ptr) char *spec = mem_printf(JOB("j%zux%zu"), from, to);
            struct job *job = submit_job(&w, spec);
            bring_to(&w, job, all[from]);
            int64_t before = job->seen->job_sequence;
            bool moves = job_move_legal(all[from], all[to]);
            // Nothing is taken back while it is being canceled, and nothing is said of it either.
            bool stays = all[from] == JOB_CANCELING && !job_state_terminal(all[to]);
            fact_with(&w, &(struct backend_fact){.uid = job->uid,
                                                 .state = all[to],
                                                 .reason = REASON_INITIALIZING,
                                                 .message = "news",
                                                 .restarts = 2,
                                                 .attempt = 3});
            cr_expect_eq(job->seen->state, moves && !stays ? all[to] : all[from], "%s, then %s: %s",
                         job_state_name(all[from]), job_state_name(all[to]), job_state_name(job->seen->state));
            cr_expect_eq(job->seen->job_sequence, before + (moves || stays), "%s, then %s", job_state_name(all[from]),
                         job_state_name(all[to]));
        }
    }
    world_done(&w);
}

Test(observe, an_end_is_latched_before_it_is_written) {
    struct world w;
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    const struct backend_fact facts[] = {
        {.uid = job->uid, .state = JOB_RUNNING, .reason = REASON_ALL_RUNNING, .attempt = 1},
        {.uid = job->uid, .state = JOB_SUCCEEDED, .reason = REASON_COMPLETED, .attempt = 1},
        {.uid = job->uid, .state = JOB_FAILED, .reason = REASON_LOST, .attempt = 1},
        {.uid = job->uid, .state = JOB_RUNNING, .reason = REASON_ALL_RUNNING, .attempt = 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) { // in one turn: one batch
        w.fake.sink.fact(w.fake.sink.ctx, &facts[i]);
    }
    cr_expect_eq(job->seen->state, JOB_PENDING, "not seen before it is written");
    expect_calls(&w, "", "nor settled");
    settle(&w);
    cr_expect_eq(job->seen->state, JOB_SUCCEEDED);
    cr_expect_eq(job->seen->attempt, 1);
    cr_expect_eq(job->seen->job_sequence, 3);
    expect_calls(&w, "settled:a", "once");
    cr_expect_null(job->spec, "what is over needs no spec in memory");
    world_done(&w);
}

Test(observe, what_is_repeated_says_nothing) {
    struct world w;
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    struct job_role_count role = {.name = "worker", .desired = 1, .running = 1};
    struct backend_fact f = {.uid = job->uid,
                             .state = JOB_RUNNING,
                             .reason = REASON_ALL_RUNNING,
                             .message = "runs",
                             .attempt = 1,
                             .roles = &role,
                             .role_count = 1};
    fact_with(&w, &f);
    cr_expect_eq(job->seen->job_sequence, 2);
    fact_with(&w, &f);
    cr_expect_eq(job->seen->job_sequence, 2, "again the same");
    f.message = "runs on";
    fact_with(&w, &f);
    cr_expect_eq(job->seen->job_sequence, 3, "another text");
    role.running = 0;
    role.failed = 1;
    fact_with(&w, &f);
    cr_expect_eq(job->seen->job_sequence, 4, "another count");
    cr_expect_eq(job->seen->roles[0].failed, 1);
    world_done(&w);
}

Test(observe, all_of_a_fact_arrives) {
    struct world w;
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    const struct job_exit x = {.present = true,
                               .index = 1,
                               .rank = 2,
                               .exit_code = 3,
                               .signal = 9,
                               .attempt = 4,
                               .role = "worker",
                               .node = "n",
                               .message = "m"};
    const struct job_role_count roles[] = {{"worker", 5, 1, 1, 1, 2}};
    fact_with(&w, &(struct backend_fact){.uid = job->uid, .state = JOB_RUNNING, .attempt = 4, .happened_ns = 1000});
    fact_with(&w, &(struct backend_fact){.uid = job->uid,
                                         .state = JOB_FAILED,
                                         .reason = REASON_KILLED_BY_SIGNAL,
                                         .message = "why",
                                         .attempt = 4,
                                         .restarts = 3,
                                         .exit = &x,
                                         .roles = roles,
                                         .role_count = 1,
                                         .happened_ns = 2000});
    for (int restarted = 0; restarted < 2; restarted++) { // and so does all of it from the journal
        struct job *found = NULL;
        struct err err = ERR_INIT;
        cr_assert(flow_find(w.flow, &(struct flow_job_ref){.name = "a"}, &found, &err));
        const struct job_event *e = found->seen;
        cr_expect_eq(e->state, JOB_FAILED);
        cr_expect_eq(e->reason, REASON_KILLED_BY_SIGNAL);
        cr_expect_str_eq(e->message, "why");
        cr_expect(e->attempt == 4 && e->restarts == 3 && e->sequence == 3 && e->job_sequence == 3);
        cr_expect(e->happened_ns == 2000 && e->started_ns == 1000 && e->ended_ns == 2000);
        cr_expect(e->exit.present && e->exit.index == 1 && e->exit.rank == 2 && e->exit.exit_code == 3);
        cr_expect(e->exit.signal == 9 && e->exit.attempt == 4);
        cr_expect(str_same(e->exit.role, "worker") && str_same(e->exit.node, "n") && str_same(e->exit.message, "m"));
        cr_assert_eq(e->role_count, 1);
        cr_expect_str_eq(e->roles[0].name, "worker");
        cr_expect(e->roles[0].desired == 5 && e->roles[0].pending == 1 && e->roles[0].running == 1);
        cr_expect(e->roles[0].succeeded == 1 && e->roles[0].failed == 2);
        world_reopen(&w);
    }
    world_done(&w);
}

Test(observe, an_unknown_job) {
    struct world w;
    world_new(&w);
    struct job *job = job_ref(submit_job(&w, JOB("a")));
    fact_with(&w, &(struct backend_fact){.uid = "no such", .state = JOB_RUNNING});
    fact(&w, job, JOB_SUCCEEDED, REASON_COMPLETED);
    struct answer a = {0};
    flow_delete(w.flow, job, false, on_changed, &a);
    fact(&w, job, JOB_FAILED, REASON_LOST); // while the deletion is written
    fact(&w, job, JOB_FAILED, REASON_LOST); // and after it
    struct flow_info info;
    flow_info(w.flow, &info);
    cr_expect_eq(info.newest_sequence, 3);
    cr_expect_eq(info.jobs, 0);
    answer_done(&a);
    job_unref(job);
    world_done(&w);
}
