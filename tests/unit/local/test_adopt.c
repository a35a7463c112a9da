// The daemon goes and comes back, or its supervisor is lost: nothing runs twice, nothing that ended is forgotten.
#include "support.h"

// What the journal knew of a job when the daemon went.
static void submit_again(struct driver *d, int n, struct backend_plan *plan, struct backend_start journal) {
    journal.uid = uid_of(n);
    journal.name = "job";
    journal.namespace_ = "default";
    journal.plan = plan;
    d->backend->ops->submit(d->backend, &journal);
}

static char *starts_of(struct driver *d, int n) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/work/%s/starts", d->dir, uid_of(n));
    return file_text(path);
}

static bool has_started(struct driver *d, const void *ctx) {
    CLEANUP(mem_free_ptr) char *text = starts_of(d, *(const int *)ctx);
    return text[0] != '\0';
}

static void wait_started(struct driver *d, int n) {
    cr_assert(driver_until(d, has_started, &n, WAIT_MS));
}

#define RUNNING_ONCE ((struct backend_start){.attempt = 1})

Test(adopt, running_jobs_go_on_and_ended_ones_are_reported) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *go = path_in(&d, "go");
    CLEANUP(mem_free_ptr)
    char *script = mem_printf("echo x >> starts; while [ ! -e %s ]; do sleep 0.02; done; exit 5", go);
    struct backend_plan *plan[] = {plan_of(script, 1), plan_of("echo x >> starts; sleep 0.3; exit 4", 1),
                                   plan_of("echo x >> starts; sleep 0.3", 3)};
    for (int i = 0; i < 3; i++) {
        submit(&d, i, backend_plan_ref(plan[i]));
        wait_state(&d, i, JOB_RUNNING, 1);
        wait_started(&d, i);
    }
    driver_detach(&d);
    driver_pass(&d, 700);
    driver_attach(&d);
    for (int i = 0; i < 3; i++) {
        submit_again(&d, i, plan[i], RUNNING_ONCE);
    }
    driver_begin(&d);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_FAILED);
    cr_assert_eq(f->exit.exit_code, 4);
    cr_assert_eq(f->attempt, 1);
    cr_assert_lt(f->happened_ns, clock_wall() - 100 * CLOCK_MS, "it says when it happened, not when it was seen");
    f = wait_end(&d, 2);
    cr_assert_eq(f->state, JOB_SUCCEEDED);
    cr_assert_eq(f->roles[0].succeeded, 3);
    f = wait_state(&d, 0, JOB_RUNNING, 1);
    cr_assert_eq(count_facts(&d, 0, JOB_STARTING), 0, "it does not start again");
    touch(go);
    f = wait_end(&d, 0);
    cr_assert_eq(f->exit.exit_code, 5);
    for (int i = 0; i < 3; i++) {
        CLEANUP(mem_free_ptr) char *starts = starts_of(&d, i);
        cr_assert_str_eq(starts, i == 2 ? "x\nx\nx\n" : "x\n");
        settle(&d, i);
        backend_plan_unref(plan[i]);
    }
    driver_close(&d);
}

Test(adopt, the_journal_had_not_heard_of_the_start) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *plan = plan_of("echo x >> starts; sleep 0.3", 2);
    submit(&d, 1, backend_plan_ref(plan));
    wait_started(&d, 1);
    driver_detach(&d);
    driver_attach(&d);
    submit_again(&d, 1, plan, (struct backend_start){.waiting = true});
    driver_begin(&d);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_SUCCEEDED);
    cr_assert_eq(f->attempt, 1);
    cr_assert_eq(f->restarts, 0);
    CLEANUP(mem_free_ptr) char *starts = starts_of(&d, 1);
    cr_assert_str_eq(starts, "x\nx\n");
    backend_plan_unref(plan);
    driver_close(&d);
}

Test(adopt, what_never_started_waits_in_its_order) {
    struct driver d;
    driver_prepare(&d);
    d.options.cpu_slots_milli = 1000;
    driver_attach(&d);
    driver_begin(&d);
    CLEANUP(mem_free_ptr) char *order = path_in(&d, "order");
    struct backend_plan *plan[4];
    for (int i = 0; i < 4; i++) {
        CLEANUP(mem_free_ptr) char *script = mem_printf("echo %d >> %s; sleep 0.3", i, order);
        plan[i] = plan_of(script, 1);
        submit(&d, i, backend_plan_ref(plan[i]));
    }
    wait_state(&d, 0, JOB_RUNNING, 1);
    driver_detach(&d);
    driver_attach(&d);
    for (int i = 0; i < 4; i++) {
        submit_again(&d, i, plan[i], (struct backend_start){.waiting = i != 0, .attempt = i == 0});
    }
    driver_begin(&d);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(wait_end(&d, i)->state, JOB_SUCCEEDED);
        backend_plan_unref(plan[i]);
    }
    CLEANUP(mem_free_ptr) char *text = file_text(order);
    cr_assert_str_eq(text, "0\n1\n2\n3\n");
    driver_close(&d);
}

Test(adopt, the_earliest_failure_is_the_one) {
    struct driver d;
    driver_open(&d);
    // Rank 1 fails first; nobody is there to stop rank 0, which fails later of the loss of its peer.
    struct backend_plan *plan =
        plan_of("echo x >> starts; sleep 0.$((5 - 3 * TRAINERD_RANK)); exit $((TRAINERD_RANK + 6))", 2);
    submit(&d, 1, backend_plan_ref(plan));
    wait_state(&d, 1, JOB_RUNNING, 1);
    driver_detach(&d);
    driver_pass(&d, 900);
    driver_attach(&d);
    submit_again(&d, 1, plan, RUNNING_ONCE);
    driver_begin(&d);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->exit.rank, 1);
    cr_assert_eq(f->exit.exit_code, 7);
    backend_plan_unref(plan);
    driver_close(&d);
}

Test(adopt, a_restart_is_counted_once) {
    struct driver d;
    driver_prepare(&d);
    d.options.backoff_ms = 400;
    driver_attach(&d);
    driver_begin(&d);
    struct backend_plan *plan = plan_of("echo x >> starts; test $(wc -l < starts) -ge 3", 1);
    plan_restart(plan, RESTART_ON_FAILURE, 2);
    submit(&d, 1, backend_plan_ref(plan));
    const struct seen_fact *f = wait_state(&d, 1, JOB_RESTARTING, 1);
    cr_assert_eq(f->restarts, 1);
    driver_pass(&d, 50);
    driver_detach(&d); // while it backs off
    driver_attach(&d);
    submit_again(&d, 1, plan, (struct backend_start){.attempt = 1, .restarts = 1, .restarting = true});
    driver_begin(&d);
    f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_SUCCEEDED, "%s", f->message);
    cr_assert_eq(f->attempt, 3);
    cr_assert_eq(f->restarts, 2);
    backend_plan_unref(plan);
    driver_close(&d);
}

Test(adopt, restarts_that_the_journal_missed_are_counted) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *go = path_in(&d, "go");
    CLEANUP(mem_free_ptr)
    char *script = mem_printf("echo x >> starts; test $(wc -l < starts) -ge 3 || exit 1;"
                              "while [ ! -e %s ]; do sleep 0.02; done; exit 1",
                              go);
    struct backend_plan *plan = plan_of(script, 1);
    plan_restart(plan, RESTART_ON_FAILURE, 2);
    submit(&d, 1, backend_plan_ref(plan));
    wait_state(&d, 1, JOB_RUNNING, 3);
    driver_detach(&d);
    driver_attach(&d);
    submit_again(&d, 1, plan, RUNNING_ONCE); // as if only the first RUNNING had been written
    driver_begin(&d);
    const struct seen_fact *f = wait_state(&d, 1, JOB_RUNNING, 3);
    cr_assert_eq(f->restarts, 2);
    touch(go);
    f = wait_end(&d, 1);
    cr_assert_eq(f->reason, REASON_BACKOFF_LIMIT_EXCEEDED);
    backend_plan_unref(plan);
    driver_close(&d);
}

Test(adopt, a_job_that_nobody_knows_is_ended) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("sleep @@11", 2));
    wait_state(&d, 1, JOB_RUNNING, 1);
    driver_detach(&d);
    driver_attach(&d);
    driver_begin(&d);
    for (int i = 0; i < 200 && count_processes("@@11") != 0; i++) {
        driver_pass(&d, 10);
    }
    cr_assert_eq(count_processes("@@11"), 0);
    cr_assert_eq(d.fact_count, 0);
    driver_close(&d);
}

Test(adopt, a_cancel_goes_on) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *plan = plan_of("trap '' TERM; echo x >> starts; sleep @@12; sleep @@12", 1);
    submit(&d, 1, backend_plan_ref(plan));
    wait_started(&d, 1);
    cancel(&d, 1, 500);
    driver_pass(&d, 50);
    driver_detach(&d);
    driver_attach(&d);
    submit_again(&d, 1, plan, RUNNING_ONCE); // the journal has not even heard of the cancel
    driver_begin(&d);
    cr_assert_eq(wait_end(&d, 1)->state, JOB_CANCELED);
    cr_assert_eq(count_processes("@@12"), 0);
    // And when the journal has it, and all is over already.
    submit(&d, 2, backend_plan_ref(plan));
    wait_state(&d, 2, JOB_RUNNING, 1);
    cancel(&d, 2, 0);
    driver_pass(&d, 30);
    driver_detach(&d);
    driver_pass(&d, 200);
    driver_attach(&d);
    submit_again(&d, 2, plan, RUNNING_ONCE);
    cancel(&d, 2, 1000);
    driver_begin(&d);
    cr_assert_eq(wait_end(&d, 2)->state, JOB_CANCELED);
    backend_plan_unref(plan);
    driver_close(&d);
}

Test(adopt, a_suspend_goes_on_and_a_resumed_job_waits) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *plan = plan_of("echo x >> starts; sleep @@13", 1);
    submit(&d, 1, backend_plan_ref(plan));
    wait_started(&d, 1);
    d.backend->ops->suspend(d.backend, uid_of(1));
    driver_pass(&d, 30);
    driver_detach(&d);
    driver_pass(&d, 100);
    driver_attach(&d);
    submit_again(&d, 1, plan, RUNNING_ONCE);
    driver_begin(&d);
    wait_state(&d, 1, JOB_SUSPENDED, 1);
    cr_assert_eq(count_facts(&d, 1, JOB_FAILED), 0);
    driver_detach(&d); // once more, now it is written down
    driver_attach(&d);
    submit_again(&d, 1, plan, (struct backend_start){.attempt = 1, .suspended = true});
    driver_begin(&d);
    driver_pass(&d, 100);
    cr_assert_eq(d.fact_count, 0);
    driver_detach(&d); // and resumed, but not started yet
    driver_attach(&d);
    submit_again(&d, 1, plan, (struct backend_start){.attempt = 1, .waiting = true});
    driver_begin(&d);
    const struct seen_fact *f = wait_state(&d, 1, JOB_RUNNING, 2);
    cr_assert_eq(f->restarts, 0);
    cancel(&d, 1, 1000);
    wait_state(&d, 1, JOB_CANCELED, 2);
    backend_plan_unref(plan);
    driver_close(&d);
}

Test(adopt, a_deadline_that_was_being_executed_stays_the_reason) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *plan = plan_of("echo x >> starts; sleep 600", 1);
    submit(&d, 1, backend_plan_ref(plan));
    wait_started(&d, 1);
    d.backend->ops->fail(d.backend, uid_of(1), REASON_DEADLINE_EXCEEDED, "too long, it was");
    driver_pass(&d, 30);
    driver_detach(&d);
    driver_pass(&d, 100);
    driver_attach(&d);
    submit_again(&d, 1, plan, RUNNING_ONCE);
    driver_begin(&d);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->reason, REASON_DEADLINE_EXCEEDED);
    cr_assert_str_eq(f->message, "too long, it was");
    backend_plan_unref(plan);
    driver_close(&d);
}

Test(adopt, ports_and_gpus_stay_taken) {
    static const char *const names[] = {"p"};
    struct driver d;
    driver_prepare(&d);
    d.options.gpu_slots = 2;
    d.options.port_first = 21700;
    d.options.port_last = 21701;
    driver_attach(&d);
    driver_begin(&d);
    struct backend_plan *plan[2];
    for (int i = 0; i < 2; i++) {
        plan[i] = plan_of("echo $P $CUDA_VISIBLE_DEVICES >> starts; sleep 600", 1);
        plan[i]->ports = names;
        plan[i]->port_count = 1;
        plan_env(plan[i], 0, "P", "${port.p}", true);
        plan_process_at(plan[i], 0)->gpu = 1;
    }
    submit(&d, 1, backend_plan_ref(plan[0]));
    wait_started(&d, 1);
    CLEANUP(mem_free_ptr) char *first = starts_of(&d, 1);
    driver_detach(&d);
    driver_attach(&d);
    submit_again(&d, 1, plan[0], RUNNING_ONCE);
    driver_begin(&d);
    wait_state(&d, 1, JOB_RUNNING, 1);
    submit(&d, 2, backend_plan_ref(plan[1]));
    wait_started(&d, 2);
    CLEANUP(mem_free_ptr) char *second = starts_of(&d, 2);
    int port[2];
    int gpu[2];
    cr_assert_eq(sscanf(first, "%d %d", &port[0], &gpu[0]), 2);
    cr_assert_eq(sscanf(second, "%d %d", &port[1], &gpu[1]), 2);
    cr_assert_neq(port[0], port[1]);
    cr_assert_eq(gpu[0] + gpu[1], 1, "%d %d", gpu[0], gpu[1]);
    for (int i = 0; i < 2; i++) {
        cancel(&d, i + 1, 0);
        wait_state(&d, i + 1, JOB_CANCELED, 1);
        backend_plan_unref(plan[i]);
    }
    struct backend_info info;
    d.backend->ops->info(d.backend, &info);
    cr_assert_eq(info.gpu_slots_used, 0);
    cr_assert_eq(info.cpu_slots_used_milli, 0);
    driver_close(&d);
}

// ---- The supervisor is lost

static void kill_supervisor(struct driver *d) {
    pid_t pid = supervisor_pid(d);
    cr_assert_gt(pid, 0);
    kill(pid, SIGKILL);
}

Test(adopt, a_lost_supervisor_loses_its_jobs_and_none_runs_on) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("echo x >> starts; setsid sleep @@14 & sleep @@14", 2)); // never restarted
    struct backend_plan *plan = plan_of("echo x >> starts; test $(wc -l < starts) -ge 2 || sleep @@14", 1);
    plan_restart(plan, RESTART_ON_FAILURE, 3);
    submit(&d, 2, plan);
    wait_started(&d, 1);
    wait_started(&d, 2);
    wait_state(&d, 1, JOB_RUNNING, 1);
    wait_state(&d, 2, JOB_RUNNING, 1);
    kill_supervisor(&d);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_FAILED);
    cr_assert_eq(f->reason, REASON_LOST);
    f = wait_end(&d, 2);
    cr_assert_eq(f->state, JOB_SUCCEEDED);
    cr_assert_eq(f->restarts, 1);
    cr_assert_eq(f->attempt, 2);
    cr_assert_eq(count_processes("@@14"), 0);
    cr_assert_geq(d.health_count, 2, "it was said that it is ill, and that it is well again");
    submit(&d, 3, plan_of("true", 1));
    cr_assert_eq(wait_end(&d, 3)->state, JOB_SUCCEEDED, "and it goes on");
    driver_close(&d);
}

Test(adopt, leftovers_are_found_by_whatever_name_the_directory_is_given) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("sleep @@16", 2));
    wait_state(&d, 1, JOB_RUNNING, 1);
    driver_detach(&d);
    kill_supervisor(&d);
    CLEANUP(mem_free_ptr) char *link = mem_printf("%s.link", d.dir);
    cr_assert_eq(symlink(d.dir, link), 0);
    d.options.state_dir = link;
    driver_attach(&d);
    driver_begin(&d);
    cr_assert_eq(count_processes("@@16"), 0);
    unlink(link);
    driver_close(&d);
}

Test(adopt, both_are_lost) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *plan = plan_of("echo x >> starts; sleep @@15", 1);
    submit(&d, 1, backend_plan_ref(plan));
    wait_state(&d, 1, JOB_RUNNING, 1);
    wait_started(&d, 1);
    driver_detach(&d);
    kill_supervisor(&d);
    driver_attach(&d);
    submit_again(&d, 1, plan, RUNNING_ONCE);
    submit_again(&d, 2, plan, (struct backend_start){.attempt = 1, .waiting = true}); // was queued after a resume
    driver_begin(&d);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->reason, REASON_LOST);
    wait_state(&d, 2, JOB_RUNNING, 2);
    CLEANUP(mem_free_ptr) char *starts = starts_of(&d, 1);
    cr_assert_str_eq(starts, "x\n");
    cancel(&d, 2, 0);
    wait_state(&d, 2, JOB_CANCELED, 2);
    backend_plan_unref(plan);
    driver_close(&d);
}

Test(adopt, a_cut_connection_changes_nothing) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("echo x >> starts; sleep 0.5", 2));
    wait_state(&d, 1, JOB_RUNNING, 1);
    cr_assert_gt(supervisor_pid(&d), 0); // takes the daemon's place for a moment
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_SUCCEEDED);
    cr_assert_eq(f->attempt, 1);
    driver_close(&d);
}

Test(adopt, a_supervisor_with_nothing_to_hold_goes_by_itself) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("true", 1));
    wait_end(&d, 1);
    settle(&d, 1);
    driver_pass(&d, 50);
    pid_t pid = supervisor_pid(&d);
    driver_pass(&d, 200); // the daemon is back
    cr_assert_eq(kill(pid, 0), 0);
    driver_detach(&d);
    wait_for_end(pid);
    cr_assert_eq(supervisor_pid(&d), 0);
    driver_close(&d);
}
