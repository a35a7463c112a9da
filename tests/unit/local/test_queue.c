// Slots, the queue for them, GPUs, ports.
#include "support.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void open_with(struct driver *d, int64_t cpu_milli, int32_t gpus) {
    driver_prepare(d);
    d->options.cpu_slots_milli = cpu_milli;
    d->options.gpu_slots = gpus;
    driver_attach(d);
    driver_begin(d);
}

Test(queue, first_in_first_out) {
    struct driver d;
    open_with(&d, 2000, 0);
    CLEANUP(mem_free_ptr) char *order = path_in(&d, "order");
    for (int i = 0; i < 20; i++) {
        CLEANUP(mem_free_ptr) char *script = mem_printf("echo %d >> %s", i, order);
        struct backend_plan *p = plan_of(script, 1);
        plan_process_at(p, 0)->cpu_milli = 2000;
        submit(&d, i, p);
    }
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(wait_end(&d, i)->state, JOB_SUCCEEDED);
    }
    CLEANUP(mem_free_ptr) char *text = file_text(order);
    cr_assert_str_eq(text, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n");
    driver_close(&d);
}

Test(queue, a_small_job_does_not_overtake_a_large_one) {
    struct driver d;
    open_with(&d, 2000, 0);
    CLEANUP(mem_free_ptr) char *go = path_in(&d, "go");
    CLEANUP(mem_free_ptr) char *script = mem_printf("while [ ! -e %s ]; do sleep 0.01; done", go);
    submit(&d, 1, plan_of(script, 1));
    wait_state(&d, 1, JOB_RUNNING, 1);
    submit(&d, 2, plan_of("true", 2));
    submit(&d, 3, plan_of("true", 1));
    const struct seen_fact *f = wait_state(&d, 3, JOB_PENDING, 0);
    cr_assert_eq(f->reason, REASON_QUEUED);
    cr_assert_str_eq(f->message, "waits for 1 CPU (1 of 2 free), 1 job ahead");
    f = wait_state(&d, 2, JOB_PENDING, 0);
    cr_assert_str_eq(f->message, "waits for 2 CPUs (1 of 2 free), 0 jobs ahead");
    driver_pass(&d, 200);
    cr_assert_eq(count_facts(&d, 3, JOB_STARTING), 0);
    touch(go);
    wait_end(&d, 2);
    wait_end(&d, 3);
    driver_close(&d);
}

Test(queue, only_the_head_of_a_long_queue_is_told_and_not_often) {
    struct driver d;
    open_with(&d, 1000, 0);
    submit(&d, 0, plan_of("sleep 600", 1));
    for (int i = 1; i <= 500; i++) {
        submit(&d, i, plan_of("sleep 600", 1));
    }
    driver_pass(&d, 300);
    cr_assert_eq(count_facts(&d, 1, JOB_PENDING), 1);
    cr_assert_eq(count_facts(&d, 100, JOB_PENDING), 1);
    cr_assert_eq(count_facts(&d, 101, JOB_PENDING), 0);
    for (int i = 1; i <= 50; i++) { // the queue moves on
        cancel(&d, i, 0);
    }
    driver_pass(&d, 2500);
    cr_assert_leq(count_facts(&d, 60, JOB_PENDING), 4);
    cr_assert_geq(count_facts(&d, 60, JOB_PENDING), 2);
    cr_assert_eq(count_facts(&d, 120, JOB_PENDING), 1, "it has come among the first hundred");
    cr_assert(strstr(last_fact(&d, 60)->message, ", 9 jobs ahead") != NULL, "%s", last_fact(&d, 60)->message);
    size_t before = d.fact_count;
    driver_pass(&d, 1500);
    cr_assert_eq(d.fact_count, before, "nothing moves, nothing is said");
    driver_close(&d);
}

static void ignore(void *ctx, const char *text) {
    struct str *all = ctx;
    str_printf(all, "%s\n", text);
}

Test(queue, check_refuses_what_never_fits_and_warns_of_what_is_not_done) {
    struct driver d;
    open_with(&d, 4000, 2);
    static const struct {
        size_t n;
        int64_t cpu_milli;
        int32_t gpu;
        bool fits;
    } table[] = {
        {1, 4000, 0, true}, {1, 4001, 0, false}, {2, 2000, 0, true}, {2, 2001, 0, false},
        {64, 0, 0, true}, // what is not said is only counted
        {2, 0, 1, true},    {1, 0, 3, false},    {3, 0, 1, false},   {2, INT64_MAX, 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        CLEANUP(str_done) struct str warnings = STR_INIT;
        struct backend_plan *p = plan_of("true", table[i].n);
        for (size_t k = 0; k < table[i].n; k++) {
            plan_process_at(p, k)->cpu_milli = table[i].cpu_milli;
            plan_process_at(p, k)->gpu = table[i].gpu;
            plan_process_at(p, k)->memory_bytes = 1 << 30;
        }
        bool ok = d.backend->ops->check(d.backend, p, ignore, &warnings, &err);
        cr_assert_eq(ok, table[i].fits, "%zu", i);
        cr_assert(ok || strcmp(err.reason, "NEVER_FITS") == 0);
        cr_assert_str_eq(str_text(&warnings), "resources.memory of role worker is not enforced on the local backend\n");
        backend_plan_unref(p);
    }
    driver_close(&d);
}

Test(queue, a_job_larger_than_the_machine_that_asked_for_nothing_runs) {
    struct driver d;
    open_with(&d, 1000, 0);
    submit(&d, 1, plan_of("sleep 0.1", 8));
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    driver_close(&d);
}

Test(queue, gpus_are_told_apart_and_given_back) {
    struct driver d;
    open_with(&d, 64000, 4);
    CLEANUP(mem_free_ptr) char *ids = path_in(&d, "ids");
    CLEANUP(mem_free_ptr) char *script = mem_printf("echo \"$CUDA_VISIBLE_DEVICES\" >> %s; sleep 0.05", ids);
    for (int i = 0; i < 10; i++) {
        struct backend_plan *p = plan_of(script, 2);
        plan_process_at(p, 0)->gpu = 1;
        plan_process_at(p, 1)->gpu = 1;
        submit(&d, i, p);
    }
    struct backend_info info;
    driver_pass(&d, 20);
    d.backend->ops->info(d.backend, &info);
    cr_assert_eq(info.gpu_slots, 4);
    cr_assert_leq(info.gpu_slots_used, 4);
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(wait_end(&d, i)->state, JOB_SUCCEEDED);
    }
    CLEANUP(mem_free_ptr) char *text = file_text(ids);
    size_t seen[4] = {0};
    for (const char *c = text; *c != '\0'; c += 2) {
        cr_assert(c[0] >= '0' && c[0] <= '3' && c[1] == '\n', "%s", text);
        seen[c[0] - '0']++;
    }
    cr_assert_eq(seen[0] + seen[1] + seen[2] + seen[3], 20);
    d.backend->ops->info(d.backend, &info);
    cr_assert_eq(info.gpu_slots_used, 0);
    struct backend_plan *p = plan_of("test \"$CUDA_VISIBLE_DEVICES\" = 0,1,2", 1);
    plan_process_at(p, 0)->gpu = 3;
    submit(&d, 50, p);
    cr_assert_eq(wait_end(&d, 50)->state, JOB_SUCCEEDED);
    submit(&d, 51, plan_of("test \"${CUDA_VISIBLE_DEVICES-unset}\" = ''", 1));
    cr_assert_eq(wait_end(&d, 51)->state, JOB_SUCCEEDED, "none is visible to a job that asked for none");
    driver_close(&d);
}

static struct backend_plan *with_ports(const char *script, size_t n, size_t ports) {
    static const char *const names[] = {"master", "other"};
    struct backend_plan *p = plan_of(script, n);
    p->ports = names;
    p->port_count = ports;
    for (size_t i = 0; i < n; i++) {
        plan_env(p, i, "MASTER_ADDR", "${host}", true);
        plan_env(p, i, "MASTER_PORT", "${port.master}", true);
        plan_env(p, i, "OTHER", "${port.other}:${port.master}", true);
        plan_env(p, i, "LITERAL", "${port.master}", false);
        plan_env(p, i, "UNKNOWN", "${x} ${port.nope} ${", true);
    }
    return p;
}

Test(queue, ports_of_fifty_jobs_are_all_different) {
    struct driver d;
    open_with(&d, 64000, 0);
    CLEANUP(mem_free_ptr) char *dir = path_in(&d, "ports");
    CLEANUP(mem_free_ptr) char *go = path_in(&d, "go");
    CLEANUP(mem_free_ptr)
    char *script =
        mem_printf("mkdir -p %s; echo $MASTER_PORT >> %s/$TRAINERD_JOB_UID; echo ${OTHER%%:*} >> %s/$TRAINERD_JOB_UID;"
                   "while [ ! -e %s ]; do sleep 0.05; done",
                   dir, dir, dir, go);
    for (int i = 0; i < 50; i++) {
        submit(&d, i, with_ports(script, 1, 2));
    }
    for (int i = 0; i < 50; i++) {
        wait_state(&d, i, JOB_RUNNING, 1);
    }
    touch(go);
    bool seen[1000] = {false};
    for (int i = 0; i < 50; i++) {
        wait_end(&d, i);
        CLEANUP(mem_free_ptr) char *path = mem_printf("%s/%s", dir, uid_of(i));
        CLEANUP(mem_free_ptr) char *text = file_text(path);
        int a;
        int b;
        cr_assert_eq(sscanf(text, "%d %d", &a, &b), 2, "%s", text);
        cr_assert(a >= 21000 && a < 22000 && b >= 21000 && b < 22000 && a != b);
        cr_assert(!seen[a - 21000] && !seen[b - 21000]);
        seen[a - 21000] = seen[b - 21000] = true;
    }
    driver_close(&d);
}

Test(queue, templates_only_where_they_are_meant) {
    struct driver d;
    open_with(&d, 64000, 0);
    struct backend_plan *p = with_ports("test \"$MASTER_ADDR\" = 127.0.0.1 && test \"$LITERAL\" = '${port.master}' &&"
                                        "test \"$UNKNOWN\" = '${x} ${port.nope} ${'",
                                        1, 2);
    submit(&d, 1, p);
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    p = plan_new();
    static const char *const names[] = {"p"};
    p->ports = names;
    p->port_count = 1;
    plan_add(
        p, "launcher",
        (const char *const[]){"sh", "-c", "test $0 -ge 21000 && test $1 = 127.0.0.1", "${port.p}", "${host}", NULL})
        ->argv_is_template = true;
    submit(&d, 2, p);
    cr_assert_eq(wait_end(&d, 2)->state, JOB_SUCCEEDED);
    driver_close(&d);
}

Test(queue, a_port_that_somebody_else_has_is_not_given) {
    struct driver d;
    driver_prepare(&d);
    d.options.port_first = 21500;
    d.options.port_last = 21501;
    driver_attach(&d);
    driver_begin(&d);
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(21500), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    cr_assert_eq(listen(fd, 1), 0);
    for (int i = 0; i < 5; i++) {
        submit(&d, i, with_ports("test $MASTER_PORT = 21501", 1, 1));
        cr_assert_eq(wait_end(&d, i)->state, JOB_SUCCEEDED);
    }
    submit(&d, 9, with_ports("true", 1, 2));
    const struct seen_fact *f = wait_end(&d, 9);
    cr_assert_eq(f->state, JOB_FAILED);
    cr_assert_str_eq(f->message, "no free port from 21500 to 21501");
    close(fd);
    submit(&d, 10, with_ports("true", 1, 2));
    cr_assert_eq(wait_end(&d, 10)->state, JOB_SUCCEEDED, "both are free again");
    driver_close(&d);
}

static int port_socket(uint16_t port, struct sockaddr_in *at) {
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return fd;
}

Test(queue, a_port_that_rests_is_not_given) {
    struct driver d;
    driver_prepare(&d);
    d.options.port_first = 21510;
    d.options.port_last = 21511;
    driver_attach(&d);
    driver_begin(&d);
    struct sockaddr_in at;
    int server = port_socket(21510, &at);
    cr_assert_eq(bind(server, (const struct sockaddr *)&at, sizeof at), 0);
    cr_assert_eq(listen(server, 1), 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(client, (const struct sockaddr *)&at, sizeof at), 0);
    int accepted = accept(server, NULL, NULL);
    close(accepted); // the side that closes first has the port in TIME_WAIT
    close(client);
    close(server);
    for (int i = 0; i < 4; i++) {
        submit(&d, i, with_ports("test $MASTER_PORT = 21511", 1, 1));
        cr_assert_eq(wait_end(&d, i)->state, JOB_SUCCEEDED);
    }
    driver_close(&d);
}

static bool all_ended(struct driver *d, const void *ctx) {
    const size_t *n = ctx;
    size_t ended = 0;
    for (size_t i = 0; i < d->fact_count; i++) {
        ended += job_state_terminal(d->facts[i].state);
    }
    return ended == *n;
}

Test(queue, a_thousand_short_jobs) {
    struct driver d;
    open_with(&d, 8000, 0);
    size_t n = 1000;
    CLEANUP(mem_free_ptr) char *ran = path_in(&d, "ran");
    CLEANUP(mem_free_ptr) char *script = mem_printf("echo $TRAINERD_JOB_UID >> %s", ran);
    for (size_t i = 0; i < n; i++) {
        submit(&d, (int)i, plan_of(script, 1));
    }
    cr_assert(driver_until(&d, all_ended, &n, 100000));
    for (size_t i = 0; i < d.fact_count; i++) {
        cr_assert(d.facts[i].state != JOB_FAILED);
    }
    CLEANUP(mem_free_ptr) char *text = file_text(ran);
    cr_assert_eq(strlen(text), n * 33, "each ran once");
    driver_close(&d);
}
