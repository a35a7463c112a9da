// Cancel, suspend, resume, deadlines, removal: everything that ends a job from outside.
#include "support.h"

struct counted {
    const char *mark;
    size_t n;
};

static bool as_many(struct driver *d, const void *ctx) {
    const struct counted *c = ctx;
    (void)d;
    return count_processes(c->mark) == c->n;
}

static bool file_has(struct driver *d, const void *ctx) {
    const char *const *c = ctx; // path, text
    CLEANUP(mem_free_ptr) char *text = file_text(c[0]);
    (void)d;
    return strcmp(text, c[1]) == 0;
}

Test(stop, cancel_ends_children_of_children_that_do_not_want_to) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1,
           plan_of("trap '' TERM; (setsid sleep @@11 &); sh -c 'trap \"\" TERM; sleep @@11; sleep @@11' &"
                   "env -i setsid sleep @@11 & sleep @@11; sleep @@11",
                   2));
    cr_assert(driver_until(&d, as_many, &(struct counted){"@@11", 12}, WAIT_MS), "%zu", count_processes("@@11"));
    int64_t before = clock_mono();
    cancel(&d, 1, 300);
    const struct seen_fact *f = wait_state(&d, 1, JOB_CANCELED, 1);
    cr_assert_geq(clock_mono() - before, 290 * CLOCK_MS, "they had their grace");
    cr_assert_eq(f->reason, REASON_CANCELED_BY_USER);
    cr_assert_eq(count_processes("@@11"), 0, "the fact comes when everything is gone");
    driver_close(&d);
}

Test(stop, what_hides_its_environment_and_its_parents_is_found) {
    struct driver d;
    driver_open(&d);
    // Twice forked, a session of its own, an environment of its own: only its descent from the supervisor is left.
    submit(&d, 1, plan_of("(env -i setsid sh -c 'sleep @@12 & exec true'); sleep @@12", 1));
    cr_assert(driver_until(&d, as_many, &(struct counted){"@@12", 3}, WAIT_MS), "%zu", count_processes("@@12"));
    cancel(&d, 1, 100);
    wait_state(&d, 1, JOB_CANCELED, 1);
    cr_assert_eq(count_processes("@@12"), 0);
    driver_close(&d);
}

Test(stop, one_that_ends_on_term_is_not_waited_for) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done", 2));
    wait_state(&d, 1, JOB_RUNNING, 1);
    driver_pass(&d, 200);
    int64_t before = clock_mono();
    cancel(&d, 1, 60000);
    wait_state(&d, 1, JOB_CANCELED, 1);
    cr_assert_lt(clock_mono() - before, 15 * CLOCK_SECOND);
    driver_close(&d);
}

Test(stop, a_second_cancel_may_have_less_patience) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("trap '' TERM; sleep @@13; sleep @@13", 1));
    wait_state(&d, 1, JOB_RUNNING, 1);
    driver_pass(&d, 200);
    cancel(&d, 1, 60000);
    driver_pass(&d, 100);
    cr_assert_eq(count_facts(&d, 1, JOB_CANCELED), 0);
    cancel(&d, 1, 0);
    wait_state(&d, 1, JOB_CANCELED, 1);
    cr_assert_eq(count_processes("@@13"), 0);
    cancel(&d, 1, 0); // and a third one changes nothing
    driver_pass(&d, 50);
    cr_assert_eq(count_facts(&d, 1, JOB_CANCELED), 1);
    driver_close(&d);
}

Test(stop, K07_cancel_of_a_queued_job) {
    struct driver d;
    driver_prepare(&d);
    d.options.cpu_slots_milli = 1000;
    driver_attach(&d);
    driver_begin(&d);
    submit(&d, 1, plan_of("sleep 600", 1));
    submit(&d, 2, plan_of("echo x > ran", 1));
    wait_state(&d, 2, JOB_PENDING, 0);
    cancel(&d, 2, 1000);
    wait_state(&d, 2, JOB_CANCELED, 0);
    settle(&d, 2);
    cancel(&d, 1, 1000);
    wait_state(&d, 1, JOB_CANCELED, 1);
    driver_pass(&d, 100);
    CLEANUP(mem_free_ptr) char *ran = mem_printf("%s/work/%s/ran", d.dir, uid_of(2));
    cr_assert(access(ran, F_OK) != 0, "it never starts");
    driver_close(&d);
}

Test(stop, suspend_and_resume) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *starts = path_in(&d, "starts");
    CLEANUP(mem_free_ptr) char *script = mem_printf("echo x >> %s; sleep @@14", starts);
    submit(&d, 1, plan_of(script, 1));
    wait_file(&d, starts);
    d.backend->ops->suspend(d.backend, uid_of(1));
    const struct seen_fact *f = wait_state(&d, 1, JOB_SUSPENDED, 1);
    cr_assert_eq(f->reason, REASON_SUSPENDED_BY_USER);
    cr_assert_eq(count_processes("@@14"), 0);
    struct backend_info info;
    d.backend->ops->info(d.backend, &info);
    cr_assert_eq(info.cpu_slots_used_milli, 0);
    driver_pass(&d, 100);
    d.backend->ops->resume(d.backend, uid_of(1));
    f = wait_state(&d, 1, JOB_RUNNING, 2);
    cr_assert_eq(f->restarts, 0, "a resume is no restart");
    cr_assert(driver_until(&d, file_has, (const char *const[]){starts, "x\nx\n"}, WAIT_MS));
    cancel(&d, 1, 1000);
    wait_state(&d, 1, JOB_CANCELED, 2);
    driver_close(&d);
}

Test(stop, suspend_of_a_queued_job_and_resume_at_the_end_of_the_queue) {
    struct driver d;
    driver_prepare(&d);
    d.options.cpu_slots_milli = 1000;
    driver_attach(&d);
    driver_begin(&d);
    CLEANUP(mem_free_ptr) char *order = path_in(&d, "order");
    submit(&d, 1, plan_of("sleep 600", 1));
    for (int i = 2; i <= 3; i++) {
        CLEANUP(mem_free_ptr) char *script = mem_printf("echo %d >> %s", i, order);
        submit(&d, i, plan_of(script, 1));
    }
    wait_state(&d, 3, JOB_PENDING, 0);
    d.backend->ops->suspend(d.backend, uid_of(2));
    wait_state(&d, 2, JOB_SUSPENDED, 0);
    d.backend->ops->resume(d.backend, uid_of(2));
    wait_state(&d, 2, JOB_PENDING, 0);
    cancel(&d, 1, 1000);
    wait_end(&d, 2);
    wait_end(&d, 3);
    CLEANUP(mem_free_ptr) char *text = file_text(order);
    cr_assert_str_eq(text, "3\n2\n");
    driver_close(&d);
}

Test(stop, submitted_suspended) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_of("true", 1);
    d.backend->ops->submit(
        d.backend,
        &(struct backend_start){.uid = uid_of(1), .name = "j", .namespace_ = "n", .plan = p, .suspended = true});
    backend_plan_unref(p);
    driver_pass(&d, 200);
    cr_assert_eq(d.fact_count, 0);
    d.backend->ops->resume(d.backend, uid_of(1));
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    driver_close(&d);
}

Test(stop, cancel_while_suspended_and_while_it_backs_off) {
    struct driver d;
    driver_prepare(&d);
    d.options.backoff_ms = 20000;
    driver_attach(&d);
    driver_begin(&d);
    submit(&d, 1, plan_of("sleep 600", 1));
    wait_state(&d, 1, JOB_RUNNING, 1);
    d.backend->ops->suspend(d.backend, uid_of(1));
    wait_state(&d, 1, JOB_SUSPENDED, 1);
    cancel(&d, 1, 1000);
    wait_state(&d, 1, JOB_CANCELED, 1);
    struct backend_plan *p = plan_of("exit 1", 1);
    plan_restart(p, RESTART_ALWAYS, 5);
    submit(&d, 2, p);
    wait_state(&d, 2, JOB_RESTARTING, 1);
    driver_pass(&d, 100);
    cancel(&d, 2, 1000);
    wait_state(&d, 2, JOB_CANCELED, 1);
    struct backend_info info;
    d.backend->ops->info(d.backend, &info);
    cr_assert_eq(info.cpu_slots_used_milli, 0);
    driver_close(&d);
}

Test(stop, active_deadline) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_of("sleep 600", 2);
    p->active_deadline_ns = 300 * CLOCK_MS;
    submit(&d, 1, p);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_FAILED);
    cr_assert_eq(f->reason, REASON_DEADLINE_EXCEEDED);
    p = plan_of("true", 1); // one that began long ago, says the journal
    p->active_deadline_ns = CLOCK_SECOND;
    d.backend->ops->submit(d.backend, &(struct backend_start){.uid = uid_of(2),
                                                              .name = "j",
                                                              .namespace_ = "n",
                                                              .plan = p,
                                                              .deadline_from_ns = clock_wall() - 60 * CLOCK_SECOND});
    backend_plan_unref(p);
    cr_assert_eq(wait_end(&d, 2)->attempt, 1);
    driver_close(&d);
}

Test(stop, fail_with_a_reason_of_the_flow) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("sleep 600", 1));
    wait_state(&d, 1, JOB_RUNNING, 1);
    d.backend->ops->fail(d.backend, uid_of(1), REASON_START_DEADLINE_EXCEEDED, "too late");
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_FAILED);
    cr_assert_eq(f->reason, REASON_START_DEADLINE_EXCEEDED);
    cr_assert_str_eq(f->message, "too late");
    driver_close(&d);
}

Test(stop, restart_kills_the_old_attempt_first) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *log = path_in(&d, "log");
    // Rank 1 notes whether rank 1 of the attempt before still lives when it begins.
    CLEANUP(mem_free_ptr)
    char *script = mem_printf("if [ $TRAINERD_RANK = 0 ]; then sleep 0.2; exit 1; fi; echo +$$ >> %s;"
                              "trap 'echo -$$ >> %s; exit 0' TERM; while :; do sleep 0.01; done",
                              log, log);
    struct backend_plan *p = plan_of(script, 2);
    plan_restart(p, RESTART_ON_FAILURE, 2);
    submit(&d, 1, p);
    wait_end(&d, 1);
    CLEANUP(mem_free_ptr) char *text = file_text(log);
    int depth = 0;
    for (const char *c = text; *c != '\0'; c++) {
        depth += *c == '+' ? 1 : *c == '-' ? -1 : 0;
        cr_assert(depth == 0 || depth == 1, "%s", text);
    }
    cr_assert_eq(depth, 0);
    driver_close(&d);
}

static bool nothing_left(struct driver *d, const void *ctx) {
    CLEANUP(mem_free_ptr) char *logs = mem_printf("%s/logs/%s", d->dir, (const char *)ctx);
    CLEANUP(mem_free_ptr) char *work = mem_printf("%s/work/%s", d->dir, (const char *)ctx);
    return access(logs, F_OK) != 0 && access(work, F_OK) != 0;
}

Test(stop, remove_takes_logs_files_and_what_was_left_running) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_new();
    plan_sh(p, "mkdir -p a/b; echo x > a/b/c; ln -s /etc link");
    plan_sh(p, "sleep @@15")->decides = false;
    p->clean_pods = CLEAN_NONE;
    submit(&d, 1, p);
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    settle(&d, 1);
    d.backend->ops->remove(d.backend, uid_of(1));
    cr_assert(driver_until(&d, nothing_left, uid_of(1), WAIT_MS));
    cr_assert(driver_until(&d, as_many, &(struct counted){"@@15", 0}, WAIT_MS));
    cr_assert(access("/etc/passwd", F_OK) == 0);
    driver_close(&d);
}
