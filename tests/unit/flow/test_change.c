// Cancel, Suspend, Resume, Delete: what each does in every state.
#include "support.h"

static const enum job_state states[] = {JOB_PENDING,   JOB_STARTING,  JOB_RUNNING, JOB_RESTARTING, JOB_SUSPENDED,
                                        JOB_CANCELING, JOB_SUCCEEDED, JOB_FAILED,  JOB_CANCELED};
enum { STATES = 9 };

enum command { CANCEL, SUSPEND, RESUME, DELETE, FORCE };

static struct flow_op *run(struct world *w, enum command command, struct job *job, struct answer *a) {
    switch (command) {
    case CANCEL:
        return flow_cancel(w->flow, job, "not needed", 7, false, on_changed, a);
    case SUSPEND:
        return flow_suspend(w->flow, job, "", on_changed, a);
    case RESUME:
        return flow_resume(w->flow, job, on_changed, a);
    case DELETE:
        return flow_delete(w->flow, job, false, on_changed, a);
    default:
        return flow_delete(w->flow, job, true, on_changed, a);
    }
}

// What is seen once the journal has what the command decided, before the backend says anything.
struct outcome {
    const char *refused;  // reason; NULL: not
    bool answered;        // the others wait for the backend
    enum job_state state; // NONE: as it was
    const char *calls;
};

static void check(enum command command, const struct outcome expected[STATES]) {
    for (size_t i = 0; i < STATES; i++) {
        const struct outcome *right = &expected[i];
        const char *when = job_state_name(states[i]);
        struct world w;
        struct answer a = {0};
        world_new(&w);
        struct job *job = job_ref(submit_job(&w, JOB("a")));
        bring_to(&w, job, states[i]);
        int64_t before = job->seen->job_sequence;
        struct flow_op *op = run(&w, command, job, &a);
        cr_expect_eq(op == NULL, a.count == 1, "%s: NULL exactly when it answered at once", when);
        settle(&w);
        cr_expect_eq(a.count, right->answered || right->refused != NULL, "%s: %d answers", when, a.count);
        expect_calls(&w, right->calls, when);
        if (right->refused != NULL) {
            expect_reason(&a.err, ERR_PRECONDITION, right->refused, when);
            cr_expect_eq(job->seen->job_sequence, before, "%s: refused, and moved", when);
        } else if (a.count != 0) {
            cr_expect_eq(a.job, job, "%s", when);
        }
        enum job_state now = right->state != JOB_STATE_NONE ? right->state : states[i];
        if (job->seen != NULL) {
            cr_expect_eq(job->seen->state, now, "%s: %s", when, job_state_name(job->seen->state));
        }
        cr_expect_eq(job->deleted, command >= DELETE && job_state_terminal(states[i]), "%s", when);
        if (op != NULL && a.count == 0) {
            flow_op_cancel(op);
        }
        answer_done(&a);
        job_unref(job);
        world_done(&w);
    }
}

Test(change, cancel) {
    check(CANCEL, (const struct outcome[STATES]){{NULL, true, JOB_CANCELING, "cancel:a/7000"},
                                                 {NULL, true, JOB_CANCELING, "cancel:a/7000"},
                                                 {NULL, true, JOB_CANCELING, "cancel:a/7000"},
                                                 {NULL, true, JOB_CANCELING, "cancel:a/7000"},
                                                 {NULL, true, JOB_CANCELING, "cancel:a/7000"},
                                                 {NULL, true, JOB_CANCELING, "cancel:a/7000"}, // less patience
                                                 {NULL, true, JOB_STATE_NONE, ""},
                                                 {NULL, true, JOB_STATE_NONE, ""},
                                                 {NULL, true, JOB_STATE_NONE, ""}});
}

Test(change, suspend) {
    check(SUSPEND, (const struct outcome[STATES]){{NULL, false, JOB_STATE_NONE, "suspend:a"},
                                                  {NULL, false, JOB_STATE_NONE, "suspend:a"},
                                                  {NULL, false, JOB_STATE_NONE, "suspend:a"},
                                                  {NULL, false, JOB_STATE_NONE, "suspend:a"},
                                                  {NULL, true, JOB_STATE_NONE, ""},
                                                  {"NOT_SUSPENDABLE", true, JOB_STATE_NONE, ""},
                                                  {"NOT_SUSPENDABLE", true, JOB_STATE_NONE, ""},
                                                  {"NOT_SUSPENDABLE", true, JOB_STATE_NONE, ""},
                                                  {"NOT_SUSPENDABLE", true, JOB_STATE_NONE, ""}});
}

Test(change, resume) {
    check(RESUME, (const struct outcome[STATES]){{"NOT_SUSPENDED", true, JOB_STATE_NONE, ""},
                                                 {"NOT_SUSPENDED", true, JOB_STATE_NONE, ""},
                                                 {"NOT_SUSPENDED", true, JOB_STATE_NONE, ""},
                                                 {"NOT_SUSPENDED", true, JOB_STATE_NONE, ""},
                                                 {NULL, true, JOB_PENDING, "resume:a"},
                                                 {"NOT_SUSPENDED", true, JOB_STATE_NONE, ""},
                                                 {"NOT_SUSPENDED", true, JOB_STATE_NONE, ""},
                                                 {"NOT_SUSPENDED", true, JOB_STATE_NONE, ""},
                                                 {"NOT_SUSPENDED", true, JOB_STATE_NONE, ""}});
}

Test(change, delete) {
    check(DELETE, (const struct outcome[STATES]){{"JOB_ACTIVE", true, JOB_STATE_NONE, ""},
                                                 {"JOB_ACTIVE", true, JOB_STATE_NONE, ""},
                                                 {"JOB_ACTIVE", true, JOB_STATE_NONE, ""},
                                                 {"JOB_ACTIVE", true, JOB_STATE_NONE, ""},
                                                 {"JOB_ACTIVE", true, JOB_STATE_NONE, ""},
                                                 {"JOB_ACTIVE", true, JOB_STATE_NONE, ""},
                                                 {NULL, true, JOB_STATE_NONE, "remove:a"},
                                                 {NULL, true, JOB_STATE_NONE, "remove:a"},
                                                 {NULL, true, JOB_STATE_NONE, "remove:a"}});
}

Test(change, delete_with_force) {
    check(FORCE, (const struct outcome[STATES]){{NULL, false, JOB_CANCELING, "cancel:a/0"},
                                                {NULL, false, JOB_CANCELING, "cancel:a/0"},
                                                {NULL, false, JOB_CANCELING, "cancel:a/0"},
                                                {NULL, false, JOB_CANCELING, "cancel:a/0"},
                                                {NULL, false, JOB_CANCELING, "cancel:a/0"},
                                                {NULL, false, JOB_CANCELING, "cancel:a/0"},
                                                {NULL, true, JOB_STATE_NONE, "remove:a"},
                                                {NULL, true, JOB_STATE_NONE, "remove:a"},
                                                {NULL, true, JOB_STATE_NONE, "remove:a"}});
}

// ---- What is said of a cancel

Test(change, why_it_was_canceled_stays_to_the_end) {
    static const struct {
        const char *reason;
        bool early;
        const char *message;
        enum job_reason code;
    } rows[] = {{"bad loss", false, "bad loss", REASON_CANCELED_BY_USER},
                {NULL, false, "canceled by request", REASON_CANCELED_BY_USER},
                {"", true, "canceled by request", REASON_EARLY_STOPPED}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        struct answer a = {0};
        world_new(&w);
        struct job *job = submit_job(&w, JOB("a"));
        flow_cancel(w.flow, job, rows[i].reason, -1, rows[i].early, on_changed, &a);
        cr_expect_eq(a.count, 0, "not before the journal has it");
        expect_calls(&w, "cancel:a/30000", "the default");
        settle(&w);
        cr_expect_eq(a.count, 1);
        for (int ended = 0; ended < 2; ended++) {
            cr_expect_eq(job->seen->state, ended != 0 ? JOB_CANCELED : JOB_CANCELING);
            cr_expect_eq(job->seen->reason, rows[i].code);
            cr_expect_str_eq(job->seen->message, rows[i].message);
            fact_with(&w, &(struct backend_fact){
                              .uid = job->uid, .state = JOB_CANCELED, .reason = REASON_PROCESS_EXITED, .message = "x"});
        }
        answer_done(&a);
        world_done(&w);
    }
}

// A program that ends by itself while it is being canceled has ended so.
Test(change, an_end_of_its_own_while_canceling) {
    static const enum job_state ends[] = {JOB_SUCCEEDED, JOB_FAILED};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct world w;
        world_new(&w);
        struct job *job = submit_job(&w, JOB("a"));
        bring_to(&w, job, JOB_CANCELING);
        fact(&w, job, JOB_RUNNING, REASON_ALL_RUNNING);
        cr_expect_eq(job->seen->state, JOB_CANCELING, "nothing returns from there");
        cr_expect_eq(job->seen->reason, REASON_CANCELED_BY_USER);
        fact(&w, job, ends[i], REASON_PROCESS_EXITED);
        cr_expect_eq(job->seen->state, ends[i]);
        cr_expect_eq(job->seen->reason, REASON_PROCESS_EXITED);
        world_done(&w);
    }
}

// ---- Those that wait for the backend

Test(change, suspend_and_resume) {
    struct world w;
    struct answer a = {0};
    struct answer b = {0};
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    bring_to(&w, job, JOB_RUNNING);
    flow_suspend(w.flow, job, "", on_changed, &a);
    fact(&w, job, JOB_RUNNING, REASON_DEGRADED);
    cr_expect_eq(a.count, 0, "it is not suspended yet");
    fact(&w, job, JOB_SUSPENDED, REASON_SUSPENDED_BY_USER);
    cr_expect_eq(a.count, 1);
    answer_done(&a);

    flow_resume(w.flow, job, on_changed, &a);
    flow_suspend(w.flow, job, "", on_changed, &b); // before the first is written
    settle(&w);
    cr_expect_eq(a.count, 1);
    cr_expect_eq(b.count, 0);
    cr_expect_eq(job->seen->state, JOB_PENDING);
    cr_expect_eq(job->seen->reason, REASON_RESUMED);
    expect_calls(&w, "suspend:a resume:a suspend:a", "in order");
    fact(&w, job, JOB_FAILED, REASON_SPAWN_FAILED);
    cr_expect_eq(b.count, 1, "it is over: nothing more can come");
    answer_done(&a);
    answer_done(&b);
    world_done(&w);
}

Test(change, delete_with_force_to_the_end) {
    struct world w;
    struct answer a = {0};
    struct answer b = {0};
    world_new(&w);
    struct job *job = job_ref(submit_job(&w, JOB("a")));
    bring_to(&w, job, JOB_RUNNING);
    flow_delete(w.flow, job, true, on_changed, &a);
    flow_delete(w.flow, job, true, on_changed, &b); // again: both are answered
    settle(&w);
    cr_expect_eq(a.count + b.count, 0);
    cr_expect_str_eq(job->seen->message, "deleted with force");
    str_clear(&w.fake.calls);
    fact(&w, job, JOB_CANCELED, REASON_CANCELED_BY_USER);
    cr_expect_eq(a.count, 1);
    cr_expect_eq(b.count, 1);
    cr_expect_str_eq(a.job->uid, job->uid);
    expect_calls(&w, "settled:a remove:a", "in order");
    struct job *gone = NULL;
    struct err err = ERR_INIT;
    cr_expect_not(flow_find(w.flow, &(struct flow_job_ref){.uid = job->uid}, &gone, &err));
    err_done(&err);
    cr_expect_neq(submit_job(&w, JOB("a")), job, "the name is free");
    answer_done(&a);
    answer_done(&b);
    job_unref(job);
    world_done(&w);
}

Test(change, shutting_down_answers_who_waits) {
    struct world w;
    struct answer suspend = {0};
    struct answer delete = {0};
    world_new(&w);
    struct job *running = submit_job(&w, JOB("a"));
    struct job *over = submit_job(&w, JOB("b"));
    bring_to(&w, running, JOB_RUNNING);
    bring_to(&w, over, JOB_FAILED);
    flow_suspend(w.flow, running, "", on_changed, &suspend);
    flow_delete(w.flow, over, false, on_changed, &delete);
    world_reopen(&w);
    cr_expect_eq(suspend.count, 1);
    cr_expect_eq(delete.count, 1);
    expect_reason(&suspend.err, ERR_UNAVAILABLE, "SHUTTING_DOWN", "suspend");
    expect_reason(&delete.err, ERR_UNAVAILABLE, "SHUTTING_DOWN", "delete");
    struct flow_info info;
    flow_info(w.flow, &info);
    cr_expect_eq(info.jobs, 1, "it is deleted all the same");
    answer_done(&suspend);
    answer_done(&delete);
    world_done(&w);
}
