// Submit: what is refused, what is the same job, and in which order a job becomes durable, visible and handed over.
#include "support.h"

Test(submit, is_durable_before_it_is_answered_and_handed_over_once) {
    struct world w;
    struct answer a;
    world_new(&w);
    submit_start(&w, JOB("a"), NULL, false, &a);
    cr_assert_eq(a.count, 0, "not before the journal has it");
    expect_calls(&w, "", "not handed over before the journal has it");
    struct job *hidden = NULL;
    struct err err = ERR_INIT;
    cr_expect_not(flow_find(w.flow, &(struct flow_job_ref){.name = "a"}, &hidden, &err));
    expect_reason(&err, ERR_NOT_FOUND, "JOB_NOT_FOUND", "not visible");
    err_done(&err);

    cr_assert(world_until(&w, is_answered, &a, WAIT_MS));
    cr_expect_eq(store_newest_sequence(w.store), 1);
    cr_expect_eq(a.job->seen->sequence, 1);
    cr_expect_eq(a.job->seen->state, JOB_PENDING);
    cr_expect_eq(a.job->seen->reason, REASON_ACCEPTED);
    cr_expect_not(a.duplicate);
    settle(&w);
    expect_calls(&w, "submit:a", "once");
    cr_expect_str_eq(str_text(&w.fake.start), "1 processes, attempt 0, restarts 0, waiting");
    answer_done(&a);
    world_done(&w);
}

Test(submit, suspended) {
    struct world w;
    world_new(&w);
    struct job *job = submit_job(&w, "{runtime: process, name: a, run_policy: {suspend: true},"
                                     " roles: [{name: worker, replicas: 3, command: [train]}]}");
    cr_expect_eq(job->seen->state, JOB_SUSPENDED);
    cr_expect_eq(job->seen->reason, REASON_SUBMITTED_SUSPENDED);
    cr_expect_str_eq(str_text(&w.fake.start), "3 processes, attempt 0, restarts 0, suspended");
    world_done(&w);
}

Test(submit, validate_only_creates_nothing) {
    static const struct {
        const char *spec, *name;
    } rows[] = {{JOB("a"), "a"}, {"{runtime: process, roles: [{name: worker, command: [train]}]}", ""}};
    struct world w;
    world_new(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer a;
        submit_start(&w, rows[i].spec, "id", true, &a);
        cr_assert_eq(a.count, 1, "at once");
        cr_expect_null(a.job);
        cr_expect_null(a.err.message, "%s", a.err.message);
        cr_expect_str_eq(a.name, rows[i].name);
        answer_done(&a);
    }
    settle(&w);
    struct flow_info info;
    flow_info(w.flow, &info);
    cr_expect_eq(info.jobs, 0);
    cr_expect_eq(info.newest_sequence, 0);
    expect_calls(&w, "", "validate_only");
    world_done(&w);
}

Test(submit, request_id) {
    struct world w;
    struct answer first;
    struct answer again;
    world_new(&w);
    submit_start(&w, JOB("a"), "id", false, &first);
    submit_start(&w, JOB("a"), "id", false, &again); // while the journal writes the first
    cr_expect_eq(again.count, 0, "a job that is not durable is no answer");
    cr_assert(world_until(&w, is_answered, &again, WAIT_MS));
    cr_assert_eq(first.count, 1);
    cr_expect_eq(first.job, again.job);
    cr_expect(!first.duplicate && again.duplicate);
    answer_done(&again);

    submit_start(&w, JOB("a"), "id", false, &again);
    cr_assert_eq(again.count, 1, "at once: it is durable");
    cr_expect(again.duplicate && again.job == first.job);
    answer_done(&again);

    submit_start(&w, JOB("b"), "id", false, &again);
    expect_reason(&again.err, ERR_EXISTS, "REQUEST_ID_REUSED", "another spec");
    cr_expect_str_eq(again.err.resource_name, first.job->uid);
    answer_done(&again);

    submit(&w, "{runtime: process, namespace: other, name: a, roles: [{name: worker, command: [train]}]}", "id",
           &again);
    cr_expect(!again.duplicate && again.job != first.job, "an id is of its namespace");
    answer_done(&again);
    settle(&w);
    expect_calls(&w, "submit:a submit:a", "one each");

    fact(&w, first.job, JOB_SUCCEEDED, REASON_COMPLETED);
    flow_delete(w.flow, first.job, false, on_changed, &again);
    settle(&w);
    answer_done(&again);
    for (int restarted = 0; restarted < 2; restarted++) {
        submit_start(&w, JOB("a"), "id", false, &again);
        expect_reason(&again.err, ERR_EXISTS, "REQUEST_ID_DELETED", "deleted");
        answer_done(&again);
        submit_start(&w, JOB("b"), "id", false, &again);
        expect_reason(&again.err, ERR_EXISTS, "REQUEST_ID_REUSED", "deleted and another spec");
        answer_done(&again);
        answer_done(&first);
        world_reopen(&w);
    }
    world_done(&w);
}

Test(submit, what_is_refused) {
    static const struct {
        const char *spec;
        enum err_code code;
        const char *reason, *fields; // fields: of all violations
    } rows[] = {
        {"{runtime: proces, backend: nowhere, name: b, roles: [{name: worker, command: [x]}]}", ERR_INVALID,
         "INVALID_SPEC", "runtime backend"},
        {"{runtime: process, target: moon, name: b, roles: [{name: worker, command: [x]}]}", ERR_INVALID,
         "INVALID_SPEC", "target"},
        {"{runtime: process, name: b, roles: [{name: chef, command: [x]}]}", ERR_INVALID, "INVALID_SPEC",
         "roles[0].name roles"},
        {"{runtime: process, name: b, depends_on: [{job: a}], elastic: {min: 1, max: 2}, metrics: {names: [loss]},"
         " roles: [{name: worker, command: [x]}]}",
         ERR_INVALID, "INVALID_SPEC", "depends_on elastic metrics"},
        {"{runtime: process, name: b, roles: [{name: worker}]}", ERR_INVALID, "INVALID_SPEC", "roles[0].command"},
        {"{runtime: process, name: b, roles: [{name: worker, command: [x], env: [{name: RANK, value: '1'},"
         " {name: WORLD_SIZE, value: '1'}]}]}",
         ERR_INVALID, "INVALID_SPEC", "roles[0].env[0].name roles[0].env[1].name"},
        {"{manifest: 'kind: PyTorchJob', name: b}", ERR_PRECONDITION, "NO_CLUSTER", ""},
        {JOB("taken"), ERR_EXISTS, "NAME_TAKEN", ""},
    };
    struct world w;
    world_new(&w);
    submit_job(&w, JOB("taken"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int validate_only = 0; validate_only < 2; validate_only++) {
            struct answer a;
            CLEANUP(str_done) struct str fields = STR_INIT;
            submit_start(&w, rows[i].spec, NULL, validate_only != 0, &a);
            cr_assert_eq(a.count, 1, "%s", rows[i].spec);
            expect_reason(&a.err, rows[i].code, rows[i].reason, rows[i].spec);
            for (size_t k = 0; k < a.err.violation_count; k++) {
                str_printf(&fields, "%s%s", k != 0 ? " " : "", a.err.violations[k].field);
            }
            cr_expect_str_eq(str_text(&fields), rows[i].fields, "%s: %s", rows[i].spec, str_text(&fields));
            answer_done(&a);
        }
    }
    struct flow_info info;
    flow_info(w.flow, &info);
    cr_expect_eq(info.jobs, 1);
    expect_calls(&w, "", "nothing refused gets to the backend");
    world_done(&w);
}

Test(submit, names_from_a_prefix) {
    struct world w;
    world_new(&w);
    struct job *a = submit_job(&w, "{runtime: process, name_prefix: p, roles: [{name: worker, command: [x]}]}");
    struct job *b = submit_job(&w, "{runtime: process, name_prefix: p, roles: [{name: worker, command: [x]}]}");
    cr_expect(str_starts(a->name, "p-") && strlen(a->name) == 10 && str_starts(b->name, "p-"));
    cr_expect_str_neq(a->name, b->name);
    world_done(&w);
}

Test(submit, limits_and_drain) {
    struct world w;
    struct answer a;
    world_begin(&w);
    w.limits.max_active_jobs = 1;
    w.limits.max_jobs = 2;
    world_open(&w);
    struct job *first = submit_job(&w, JOB("a"));
    submit_start(&w, JOB("b"), NULL, false, &a);
    expect_reason(&a.err, ERR_EXHAUSTED, "LIMIT_REACHED", "active");
    cr_expect_str_eq(a.err.facts[0].value, "limits.max_active_jobs");
    cr_expect_gt(a.err.retry_after_ms, 0);
    answer_done(&a);
    fact(&w, first, JOB_FAILED, REASON_NONZERO_EXIT);
    struct job *second = submit_job(&w, JOB("b"));
    fact(&w, second, JOB_FAILED, REASON_NONZERO_EXIT);
    submit_start(&w, JOB("c"), NULL, false, &a);
    expect_reason(&a.err, ERR_EXHAUSTED, "LIMIT_REACHED", "records");
    cr_expect_str_eq(a.err.facts[0].value, "limits.max_jobs");
    answer_done(&a);
    flow_drain(w.flow);
    submit_start(&w, JOB("c"), NULL, false, &a);
    expect_reason(&a.err, ERR_UNAVAILABLE, "SHUTTING_DOWN", "draining");
    answer_done(&a);
    world_done(&w);
}

Test(submit, the_backend_refuses) {
    struct world w;
    struct answer a;
    world_new(&w);
    w.fake.fail_at = 1;
    submit_start(&w, JOB("a"), "id", false, &a);
    expect_reason(&a.err, ERR_INTERNAL, "FAKE", "check");
    answer_done(&a);
    submit(&w, JOB("a"), "id", &a); // nothing of it is left
    cr_expect(a.job != NULL && !a.duplicate);
    answer_done(&a);
    world_done(&w);
}

Test(submit, a_client_that_is_gone) {
    struct world w;
    struct answer a;
    world_new(&w);
    submit_start(&w, JOB("a"), NULL, false, &a);
    flow_op_cancel(a.op);
    settle(&w);
    cr_expect_eq(a.count, 0, "nobody is called");
    expect_calls(&w, "submit:a", "the job runs all the same");
    world_done(&w);
}

Test(submit, shutting_down_answers_who_waits) {
    struct world w;
    struct answer a;
    world_new(&w);
    submit_start(&w, JOB("a"), NULL, false, &a);
    world_reopen(&w);
    cr_assert_eq(a.count, 1);
    expect_reason(&a.err, ERR_UNAVAILABLE, "SHUTTING_DOWN", "waiting");
    answer_done(&a);
    expect_calls(&w, "submit:a", "and nothing that was begun is lost");
    world_done(&w);
}

Test(submit, a_start_deadline) {
    struct world w;
    world_new(&w);
    struct job *late = submit_job(&w, "{runtime: process, name: late, run_policy: {start_deadline: 1s},"
                                      " roles: [{name: worker, command: [x]}]}");
    struct job *begun = submit_job(&w, "{runtime: process, name: begun, run_policy: {start_deadline: 1s},"
                                       " roles: [{name: worker, command: [x]}]}");
    fact(&w, begun, JOB_RUNNING, REASON_ALL_RUNNING);
    cr_expect_eq(late->seen->state, JOB_PENDING);
    let_pass(&w, 1300);
    expect_calls(&w, "fail:late/START_DEADLINE_EXCEEDED", "only who still waits");
    world_done(&w);
}
