// A job from its first process to its end.
#include "support.h"

Test(run, success) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("exit 0", 3));
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_SUCCEEDED);
    cr_assert_eq(f->reason, REASON_COMPLETED);
    cr_assert_eq(f->attempt, 1);
    cr_assert_eq(f->restarts, 0);
    cr_assert_eq(f->role_count, 1);
    cr_assert_eq(f->roles[0].desired, 3);
    cr_assert_eq(f->roles[0].succeeded, 3);
    cr_assert_eq(f->roles[0].failed + f->roles[0].running + f->roles[0].pending, 0);
    cr_assert_gt(f->happened_ns, 0);
    cr_assert_eq(count_facts(&d, 1, JOB_STARTING), 1);
    cr_assert_eq(count_facts(&d, 1, JOB_RUNNING), 1);
    struct backend_info info;
    d.backend->ops->info(d.backend, &info);
    cr_assert(info.healthy);
    cr_assert_eq(info.cpu_slots_used_milli, 0);
    cr_assert_eq(info.running_jobs, 0);
    driver_close(&d);
}

struct failure {
    const char *argv[4];
    const char *working_dir;
    enum job_reason reason;
    int exit_code, signal;
    const char *message; // part of it
};

Test(run, failures_say_why) {
    static const struct failure table[] = {
        {{"sh", "-c", "exit 3"}, NULL, REASON_NONZERO_EXIT, 3, 0, "worker-0 exited with 3"},
        {{"sh", "-c", "exit 255"}, NULL, REASON_NONZERO_EXIT, 255, 0, "worker-0 exited with 255"},
        {{"sh", "-c", "kill -9 $$"}, NULL, REASON_KILLED_BY_SIGNAL, 0, 9, "killed by SIGKILL"},
        {{"sh", "-c", "kill -SEGV $$"}, NULL, REASON_KILLED_BY_SIGNAL, 0, 11, "killed by SIGSEGV"},
        {{"sh", "-c", "kill -40 $$"}, NULL, REASON_KILLED_BY_SIGNAL, 0, 40, "killed by signal 40"},
        {{"/nowhere/x"}, NULL, REASON_SPAWN_FAILED, 0, 0, "program /nowhere/x cannot be started: No such file"},
        {{"no-such-program"}, NULL, REASON_SPAWN_FAILED, 0, 0, "program no-such-program is not found in PATH (/"},
        {{"/etc/passwd"}, NULL, REASON_SPAWN_FAILED, 0, 0, "program /etc/passwd is not an executable file"},
        {{"/tmp"}, NULL, REASON_SPAWN_FAILED, 0, 0, "program /tmp is not an executable file"},
        {{"true"}, "/gone/away", REASON_SPAWN_FAILED, 0, 0, "working directory /gone/away does not exist"},
        {{"true"}, "/etc/passwd", REASON_SPAWN_FAILED, 0, 0, "working directory /etc/passwd does not exist"},
    };
    struct driver d;
    driver_open(&d);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct backend_plan *p = plan_new();
        plan_add(p, "worker", table[i].argv)->working_dir = table[i].working_dir;
        submit(&d, (int)i, p);
        const struct seen_fact *f = wait_end(&d, (int)i);
        cr_assert_eq(f->state, JOB_FAILED, "%zu", i);
        cr_assert_eq(f->reason, table[i].reason, "%zu: %s", i, job_reason_name(f->reason));
        cr_assert_eq(f->exit.exit_code, table[i].exit_code, "%zu: %d", i, f->exit.exit_code);
        cr_assert_eq(f->exit.signal, table[i].signal, "%zu: %d", i, f->exit.signal);
        cr_assert(f->exit.present);
        cr_assert_str_eq(f->exit_role, "worker");
        cr_assert(strstr(f->message, table[i].message) != NULL, "%zu: %s", i, f->message);
    }
    driver_close(&d);
}

Test(run, a_message_is_cut_between_characters) {
    struct driver d;
    driver_open(&d);
    for (int n = 0; n < 3; n++) {
        CLEANUP(str_done) struct str program = STR_INIT;
        str_printf(&program, "%.*s", n, "xxx");
        for (int i = 0; i < 600; i++) {
            str_add(&program, "\xc3\xa4");
        }
        struct backend_plan *p = plan_new();
        plan_add(p, "worker", (const char *const[]){program.data, NULL});
        submit(&d, n, p);
        const struct seen_fact *f = wait_end(&d, n);
        cr_assert_eq(f->reason, REASON_SPAWN_FAILED);
        cr_assert_eq(str_utf8_valid(f->message, strlen(f->message)), strlen(f->message));
    }
    driver_close(&d);
}

Test(run, the_other_ranks_of_one_that_cannot_start_are_stopped) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_new();
    plan_sh(p, "sleep @@16");
    plan_add(p, "worker", (const char *const[]){"/nowhere/x", NULL});
    plan_sh(p, "sleep @@16");
    submit(&d, 1, p);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->reason, REASON_SPAWN_FAILED);
    cr_assert_eq(f->exit.rank, 1);
    cr_assert_eq(count_processes("@@16"), 0);
    cr_assert_eq(count_facts(&d, 1, JOB_RUNNING), 0);
    driver_close(&d);
}

Test(run, a_script_without_a_first_line_is_explained) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *script = path_in(&d, "script");
    int fd = open(script, O_WRONLY | O_CREAT, 0755);
    cr_assert(fd_write_all(fd, "echo x\n", 7));
    close(fd);
    struct backend_plan *p = plan_new();
    plan_add(p, "worker", (const char *const[]){script, NULL});
    submit(&d, 1, p);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->reason, REASON_SPAWN_FAILED);
    cr_assert(strstr(f->message, "#!") != NULL, "%s", f->message);
    driver_close(&d);
}

Test(run, a_huge_environment_is_refused_with_a_sentence) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *value = mem_alloc(256 * 1024);
    memset(value, 'x', 256 * 1024 - 1);
    value[256 * 1024 - 1] = '\0';
    struct backend_plan *p = plan_of("true", 1);
    plan_env(p, 0, "BIG", value, false);
    submit(&d, 1, p);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->reason, REASON_SPAWN_FAILED);
    cr_assert(strstr(f->message, "larger than the system allows") != NULL, "%s", f->message);
    cr_assert(strstr(f->message, "xxx") == NULL);
    driver_close(&d);
}

Test(run, the_first_failing_rank_is_named_and_the_others_are_stopped) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("if [ $TRAINERD_RANK = 2 ]; then sleep 0.2; exit 7; fi; exec sleep @@11", 4));
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_FAILED);
    cr_assert_eq(f->exit.rank, 2);
    cr_assert_eq(f->exit.index, 2);
    cr_assert_eq(f->exit.exit_code, 7);
    cr_assert_eq(f->roles[0].failed, 1, "those that were stopped have not failed");
    cr_assert_eq(count_processes("@@11"), 0);
    driver_close(&d);
}

Test(run, restarts_until_it_succeeds) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_of("echo x >> tries; test $(wc -l < tries) -ge 3", 1);
    plan_restart(p, RESTART_ON_FAILURE, 5);
    submit(&d, 1, p);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_SUCCEEDED);
    cr_assert_eq(f->attempt, 3);
    cr_assert_eq(f->restarts, 2);
    cr_assert_eq(count_facts(&d, 1, JOB_RESTARTING), 2);
    cr_assert_eq(count_facts(&d, 1, JOB_STARTING), 3);
    driver_close(&d);
}

Test(run, backoff_limit) {
    struct driver d;
    driver_open(&d);
    for (int limit = 0; limit < 3; limit++) {
        struct backend_plan *p = plan_of("exit 9", 2);
        plan_restart(p, RESTART_ON_FAILURE, limit);
        submit(&d, limit, p);
        const struct seen_fact *f = wait_end(&d, limit);
        cr_assert_eq(f->state, JOB_FAILED);
        cr_assert_eq(f->reason, REASON_BACKOFF_LIMIT_EXCEEDED);
        cr_assert_eq(f->restarts, limit);
        cr_assert_eq(f->attempt, limit + 1);
        cr_assert_eq(f->exit.exit_code, 9);
        cr_assert_eq(f->exit.attempt, limit + 1);
    }
    driver_close(&d);
}

Test(run, backoff_doubles) {
    struct driver d;
    driver_prepare(&d);
    d.options.backoff_ms = 100;
    driver_attach(&d);
    driver_begin(&d);
    struct backend_plan *p = plan_of("date +%s%N >> times; exit 1", 1);
    plan_restart(p, RESTART_ON_FAILURE, 3);
    submit(&d, 1, p);
    wait_end(&d, 1);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/work/%s/times", d.dir, uid_of(1));
    CLEANUP(mem_free_ptr) char *text = file_text(path);
    int64_t t[4];
    cr_assert_eq(sscanf(text, "%ld %ld %ld %ld", &t[0], &t[1], &t[2], &t[3]), 4);
    cr_assert_geq(t[1] - t[0], 100 * CLOCK_MS);
    cr_assert_geq(t[2] - t[1], 200 * CLOCK_MS);
    cr_assert_geq(t[3] - t[2], 400 * CLOCK_MS);
    driver_close(&d);
}

Test(run, restart_policies) {
    static const struct {
        enum restart_policy policy;
        const char *script;
        bool restarts;
    } table[] = {
        {RESTART_NEVER, "exit 1", false},        {RESTART_NEVER, "kill -9 $$", false},
        {RESTART_ON_FAILURE, "exit 1", true},    {RESTART_ON_FAILURE, "kill -9 $$", true},
        {RESTART_EXIT_CODE, "exit 1", false},    {RESTART_EXIT_CODE, "exit 127", false},
        {RESTART_EXIT_CODE, "exit 128", true},   {RESTART_EXIT_CODE, "exit 143", true},
        {RESTART_EXIT_CODE, "kill -9 $$", true}, {RESTART_ALWAYS, "exit 1", true},
        {RESTART_ALWAYS, "exit 0", true},        {RESTART_ON_FAILURE, "no-such-program", true},
    };
    struct driver d;
    driver_open(&d);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct backend_plan *p = plan_of(table[i].script, 1);
        plan_restart(p, table[i].policy, 1);
        submit(&d, (int)i, p);
        const struct seen_fact *f = wait_end(&d, (int)i);
        cr_assert_eq(f->state, JOB_FAILED, "%zu", i);
        cr_assert_eq(f->restarts, table[i].restarts ? 1 : 0, "%zu: %s", i, table[i].script);
    }
    driver_close(&d);
}

Test(run, the_failing_roles_policy_counts) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_new();
    const char *const master[] = {"sleep", "600", NULL};
    plan_add(p, "master", master)->restart = RESTART_ON_FAILURE;
    plan_sh(p, "exit 2")->restart = RESTART_NEVER;
    p->backoff_limit = 3;
    submit(&d, 1, p);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_FAILED);
    cr_assert_eq(f->reason, REASON_NONZERO_EXIT);
    cr_assert_eq(f->restarts, 0);
    cr_assert_str_eq(f->exit_role, "worker");
    cr_assert_eq(f->exit.index, 0);
    cr_assert_eq(f->exit.rank, 1);
    cr_assert_eq(f->role_count, 2);
    driver_close(&d);
}

Test(run, only_those_that_decide_are_waited_for) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_new();
    plan_sh(p, "sleep 0.2");
    plan_sh(p, "exec sleep @@12")->decides = false;
    plan_sh(p, "true")->decides = false; // ends early, which is fine
    submit(&d, 1, p);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_SUCCEEDED);
    cr_assert_eq(f->roles[0].failed, 0);
    cr_assert_eq(f->roles[0].succeeded, 2);
    cr_assert_eq(count_processes("@@12"), 0, "the rest is stopped");
    driver_close(&d);
}

Test(run, a_failure_of_one_that_does_not_decide_counts) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_new();
    plan_sh(p, "sleep 600");
    plan_sh(p, "exit 5")->decides = false;
    submit(&d, 1, p);
    const struct seen_fact *f = wait_end(&d, 1);
    cr_assert_eq(f->state, JOB_FAILED);
    cr_assert_eq(f->exit.exit_code, 5);
    driver_close(&d);
}

static bool slots_are_free(struct driver *d, const void *ctx) {
    struct backend_info info;
    (void)ctx;
    d->backend->ops->info(d->backend, &info);
    return info.cpu_slots_used_milli == 0;
}

Test(run, K03_clean_pods_none_leaves_the_rest_running) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *go = path_in(&d, "go");
    CLEANUP(mem_free_ptr) char *script = mem_printf("while [ ! -e %s ]; do sleep 0.02; done", go);
    struct backend_plan *p = plan_new();
    plan_sh(p, "true");
    plan_sh(p, script)->decides = false;
    p->clean_pods = CLEAN_NONE;
    submit(&d, 1, p);
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    settle(&d, 1);
    driver_pass(&d, 200);
    cr_assert_geq(count_processes(go), 1);
    cr_assert(!slots_are_free(&d, NULL), "it holds its slots until it ends");
    touch(go);
    cr_assert(driver_until(&d, slots_are_free, NULL, WAIT_MS));
    cr_assert_eq(count_processes(go), 0);
    driver_close(&d);
}

Test(run, leftovers_of_a_job_that_ended_well_are_ended) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("setsid sleep @@13 & (sleep @@13 &) ; env -i setsid sleep @@13 & true", 1));
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    cr_assert_eq(count_processes("@@13"), 0);
    driver_close(&d);
}

Test(run, nothing_of_a_running_job_is_taken_for_a_leftover) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("setsid sleep @@14 & sleep @@14", 1)); // one more session, and it stays
    wait_state(&d, 1, JOB_RUNNING, 1);
    submit(&d, 2, plan_of("setsid sleep @@15 & true", 1));
    cr_assert_eq(wait_end(&d, 2)->state, JOB_SUCCEEDED);
    cr_assert_eq(count_processes("@@15"), 0);
    cr_assert_geq(count_processes("@@14"), 2);
    cancel(&d, 1, 1000);
    wait_state(&d, 1, JOB_CANCELED, 1);
    cr_assert_eq(count_processes("@@14"), 0);
    driver_close(&d);
}
