#include "job/internal.h"
#include "support.h"

static const struct job_role_count counts[] = {{.name = "master", .desired = 1, .running = 1},
                                               {.name = "worker", .desired = 3, .pending = 1, .running = 2}};
static const struct job_exit exit_3 = {.present = true,
                                       .rank = 2,
                                       .index = 1,
                                       .exit_code = 3,
                                       .attempt = 1,
                                       .role = "worker",
                                       .node = "n1",
                                       .message = "x"};

// A running job about which all is said.
static struct job *said(struct bench *b) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct job *job = bench_add(b, "u", "n", NULL);
    const struct job_change change = {.to = JOB_RUNNING,
                                      .reason = REASON_DEGRADED,
                                      .message = "one is down",
                                      .attempt = 2,
                                      .restarts = 1,
                                      .exit = &exit_3,
                                      .roles = counts,
                                      .role_count = ARRAY_LEN(counts),
                                      .observed_ns = 100,
                                      .happened_ns = 90,
                                      .inferred = true};
    cr_assert(job_move(b->table, job, &change, &err));
    return job;
}

static bool change(struct bench *b, struct job *job, const struct job_change *change) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    return job_move(b->table, job, change, &err);
}

Test(event, says_what_the_change_says) {
    struct bench b = bench_new(4);
    struct job *job = said(&b);
    const struct job_event *e = job->head;
    cr_expect_eq((int)e->state, (int)JOB_RUNNING);
    cr_expect_eq((int)e->reason, (int)REASON_DEGRADED);
    cr_expect_str_eq(e->message, "one is down");
    cr_expect(e->attempt == 2 && e->restarts == 1 && e->inferred);
    cr_expect(e->observed_ns == 100 && e->happened_ns == 90 && e->started_ns == 90 && e->ended_ns == 0);
    cr_assert_eq(e->role_count, 2);
    cr_expect_str_eq(e->roles[1].name, "worker");
    cr_expect(e->roles[1].desired == 3 && e->roles[1].pending == 1 && e->roles[1].running == 2);
    cr_expect(e->exit.present && e->exit.rank == 2 && e->exit.exit_code == 3);
    cr_expect_str_eq(e->exit.role, "worker");
    cr_expect_str_eq(e->exit.node, "n1");
    cr_expect_str_eq(e->exit.message, "x");
    cr_expect(e->exit.role != exit_3.role && e->roles != counts); // copies
    bench_done(&b);
}

Test(event, what_is_not_set_carries_over) {
    struct bench b = bench_new(4);
    struct job *job = said(&b);
    cr_expect(
        change(&b, job, &(struct job_change){.to = JOB_FAILED, .reason = REASON_NONZERO_EXIT, .observed_ns = 200}));
    const struct job_event *e = job->head;
    cr_expect_eq((int)e->from, (int)JOB_RUNNING);
    cr_expect_str_eq(e->message, ""); // a message is of its moment
    cr_expect(e->attempt == 2 && e->restarts == 1 && !e->inferred);
    cr_expect(e->observed_ns == 200 && e->happened_ns == 200 && e->started_ns == 90 && e->ended_ns == 200);
    cr_expect_eq(e->role_count, 2);
    cr_expect_str_eq(e->roles[0].name, "master");
    cr_expect_str_eq(e->exit.message, "x");
    bench_done(&b);
}

Test(event, times_of_start_and_end_are_the_first) {
    struct bench b = bench_new(16);
    struct job *job = bench_add(&b, "u", "n", NULL);
    static const struct {
        enum job_state to;
        int64_t at, started, ended;
    } steps[] = {
        {JOB_PENDING, 1, 0, 0}, {JOB_STARTING, 2, 0, 0},  {JOB_RUNNING, 3, 3, 0},   {JOB_RESTARTING, 4, 3, 0},
        {JOB_RUNNING, 5, 3, 0}, {JOB_SUSPENDED, 6, 3, 0}, {JOB_CANCELING, 7, 3, 0}, {JOB_CANCELED, 8, 3, 8},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        cr_expect(change(&b, job, &(struct job_change){.to = steps[i].to, .observed_ns = steps[i].at}));
        cr_expect_eq(job->head->started_ns, steps[i].started, "step %zu", i);
        cr_expect_eq(job->head->ended_ns, steps[i].ended, "step %zu", i);
        cr_expect_eq(job->head->job_sequence, (int64_t)i + 1);
    }
    bench_done(&b);
}

// Each row alone: does it make an event after said()?
Test(event, only_news_makes_an_event) {
    static const struct job_role_count other_name[] = {{.name = "chief", .desired = 1, .running = 1},
                                                       {.name = "worker", .desired = 3, .pending = 1, .running = 2}};
    static const struct job_role_count other_count[] = {{.name = "master", .desired = 1, .running = 1},
                                                        {.name = "worker", .desired = 3, .running = 3}};
    static const struct job_exit exit_4 = {.present = true, .rank = 2, .exit_code = 4, .attempt = 1, .role = "worker"};
    static const struct job_exit killed = {.present = true, .rank = 2, .exit_code = 3, .signal = 9, .attempt = 1};
    static const struct job_exit again = {.present = true, .rank = 2, .exit_code = 3, .attempt = 2, .role = "worker"};
    static const struct job_exit rank = {.present = true, .rank = 0, .exit_code = 3, .attempt = 1, .role = "worker"};
#define SAME .to = JOB_RUNNING, .reason = REASON_DEGRADED, .message = "one is down", .observed_ns = 200
    static const struct {
        struct job_change change;
        bool news;
    } table[] = {
        {{SAME}, false},
        {{SAME, .attempt = 2, .restarts = 1, .exit = &exit_3, .roles = counts, .role_count = 2}, false},
        {{SAME, .restarts = -1}, false},
        {{SAME, .inferred = true, .happened_ns = 150}, false}, // when it was seen again is no news
        {{.to = JOB_RUNNING, .reason = REASON_DEGRADED, .message = "two are down"}, true},
        {{.to = JOB_RUNNING, .reason = REASON_DEGRADED}, true},
        {{.to = JOB_RUNNING, .reason = REASON_ALL_RUNNING, .message = "one is down"}, true},
        {{.to = JOB_RESTARTING, .reason = REASON_DEGRADED, .message = "one is down"}, true},
        {{SAME, .attempt = 3}, true},
        {{SAME, .restarts = 2}, true},
        {{SAME, .roles = other_name, .role_count = 2}, true},
        {{SAME, .roles = other_count, .role_count = 2}, true},
        {{SAME, .roles = counts, .role_count = 1}, true},
        {{SAME, .exit = &exit_4}, true},
        {{SAME, .exit = &killed}, true},
        {{SAME, .exit = &again}, true},
        {{SAME, .exit = &rank}, true},
    };
#undef SAME
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct bench b = bench_new(4);
        struct job *job = said(&b);
        cr_expect_eq(bench_commit(&b), 1);
        cr_expect(change(&b, job, &table[i].change));
        cr_expect_eq(bench_commit(&b), table[i].news, "row %zu", i);
        cr_expect_eq(job->head->job_sequence, table[i].news ? 2 : 1, "row %zu", i);
        bench_done(&b);
    }
}

static void *freed;

static void wire_free(void *wire) {
    freed = wire;
}

// The encoded form belongs to its event: it goes with it, and the next event does not inherit it.
Test(event, wire_goes_with_its_event) {
    struct bench b = bench_new(1);
    struct job *job = said(&b);
    int wire = 0;
    job->head->wire = &wire;
    job->head->wire_free = wire_free;
    struct job_event *old = job_event_ref(job->head);
    cr_expect(change(&b, job, &(struct job_change){.to = JOB_SUCCEEDED, .observed_ns = 200}));
    cr_expect_null(job->head->wire);
    cr_expect_eq(bench_commit(&b), 2);
    cr_expect_null(freed);
    cr_expect_eq(old->refs, 1);
    job_event_unref(old);
    cr_expect_eq(freed, &wire);
    job_event_unref(NULL);
    bench_done(&b);
}
