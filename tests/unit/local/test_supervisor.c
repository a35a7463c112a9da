// The supervisor alone, spoken to in its own protocol: what it holds, says again, forgets and survives.
#include "local/wire.h"
#include "support.h"

struct peer {
    int fd;
    struct str in;
};

struct heard {
    enum wire_kind kind;
    char uid[33];
    uint32_t attempt, rank, pid;
    int status;
    char text[256];
};

static void dial(struct driver *d, struct peer *p) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    *p = (struct peer){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    snprintf(at.sun_path, sizeof at.sun_path, "%s/supervisor.sock", d->dir);
    cr_assert_eq(connect(p->fd, (struct sockaddr *)&at, sizeof at), 0);
    const struct timeval most = {.tv_sec = 20};
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

static void hang_up(struct peer *p) {
    close(p->fd);
    str_done(&p->in);
}

static void say(struct peer *p, struct str *take) {
    cr_assert(fd_write_all(p->fd, take->data, take->len));
    str_done(take);
}

// false: the other side has closed.
static bool hear(struct peer *p, struct heard *ret) {
    struct wire_reader r;
    struct wire_report report;
    size_t size;
    *ret = (struct heard){0};
    while (wire_frame(p->in.data, p->in.len, &r, &size, &ret->kind) == 0) {
        char buffer[4096];
        ssize_t n = recv(p->fd, buffer, sizeof buffer, 0);
        if (n <= 0) {
            cr_assert(n == 0 || errno == ECONNRESET, "nothing is said");
            return false;
        }
        str_add_bytes(&p->in, buffer, (size_t)n);
    }
    if (wire_get_report(&r, ret->kind, &report)) {
        snprintf(ret->uid, sizeof ret->uid, "%s", report.uid);
        snprintf(ret->text, sizeof ret->text, "%s", report.text);
        ret->attempt = report.attempt;
        ret->rank = report.rank;
        ret->pid = report.pid;
        ret->status = report.status;
    }
    memmove(p->in.data, p->in.data + size, p->in.len - size);
    p->in.len -= size;
    return true;
}

static struct heard expect(struct peer *p, enum wire_kind kind) {
    struct heard h;
    cr_assert(hear(p, &h), "it has hung up");
    cr_assert_eq(h.kind, kind, "%d instead of %d: %s", (int)h.kind, (int)kind, h.text);
    return h;
}

static void say_spawn(struct peer *p, const char *uid, uint32_t attempt, uint32_t rank, uint32_t total,
                      const char *script) {
    struct str s = STR_INIT;
    size_t mark;
    const char *const argv[] = {"sh", "-c", script};
    CLEANUP(mem_free_ptr) char *mark_env = mem_printf("TRAINERD_JOB_UID=%s", uid);
    wire_begin(&s, WIRE_SPAWN, &mark);
    wire_text(&s, uid);
    wire_u32(&s, attempt);
    wire_u32(&s, rank);
    wire_u32(&s, total);
    wire_text(&s, "worker");
    wire_u32(&s, rank);
    wire_text(&s, "the note");
    wire_u64(&s, 1 << 20);
    wire_text(&s, "/tmp");
    wire_u32(&s, 0);
    wire_u32(&s, 3);
    for (size_t i = 0; i < 3; i++) {
        wire_text(&s, argv[i]);
    }
    wire_u32(&s, 1);
    wire_text(&s, mark_env);
    cr_assert(wire_end(&s, mark));
    say(p, &s);
}

static void say_short(struct peer *p, enum wire_kind kind, const char *uid, uint32_t attempt, const char *why) {
    struct str s = STR_INIT;
    size_t mark;
    wire_begin(&s, kind, &mark);
    if (kind != WIRE_LIST) {
        wire_text(&s, uid);
        wire_u32(&s, attempt);
    }
    if (kind == WIRE_STOP) {
        wire_u64(&s, 0);
        wire_text(&s, why);
    }
    cr_assert(wire_end(&s, mark));
    say(p, &s);
}

static void wait_text(const char *path, const char *expected) {
    for (int i = 0; i < WAIT_MS; i++) {
        CLEANUP(mem_free_ptr) char *text = file_text(path);
        if (strcmp(text, expected) == 0) {
            return;
        }
        usleep(1000);
    }
    cr_assert(false, "%s does not become %s", path, expected);
}

// A supervisor without a daemon.
static void begin(struct driver *d, struct peer *p) {
    driver_open(d);
    driver_detach(d);
    dial(d, p);
    expect(p, WIRE_HELLO);
}

Test(supervisor, a_repeated_spawn_runs_once) {
    struct driver d;
    struct peer p;
    begin(&d, &p);
    CLEANUP(mem_free_ptr) char *ran = path_in(&d, "ran");
    CLEANUP(mem_free_ptr) char *script = mem_printf("echo x >> %s; read forever < /dev/zero; exit 3", ran);
    say_spawn(&p, "a", 1, 0, 1, script);
    struct heard first = expect(&p, WIRE_STARTED);
    cr_assert_str_eq(first.text, "the note");
    say_spawn(&p, "a", 1, 0, 1, script);
    struct heard again = expect(&p, WIRE_STARTED);
    cr_assert_eq(again.pid, first.pid);
    wait_text(ran, "x\n");
    say_short(&p, WIRE_STOP, "a", 1, "because");
    struct heard exit = expect(&p, WIRE_EXITED);
    cr_assert_eq(exit.status, SIGKILL);
    expect(&p, WIRE_GONE);
    say_spawn(&p, "a", 1, 0, 1, script);
    expect(&p, WIRE_STARTED);
    cr_assert_eq(expect(&p, WIRE_EXITED).status, SIGKILL);
    CLEANUP(mem_free_ptr) char *text = file_text(ran);
    cr_assert_str_eq(text, "x\n");
    hang_up(&p);
    driver_close(&d);
}

Test(supervisor, records_are_kept_until_they_are_forgotten) {
    struct driver d;
    struct peer p;
    begin(&d, &p);
    say_spawn(&p, "a", 1, 0, 2, "exit 3");
    say_spawn(&p, "a", 1, 1, 2, "kill -9 $$");
    say_spawn(&p, "b", 4, 0, 1, "/no/such; exit 0");
    size_t gone = 0;
    struct heard h;
    while (gone < 2) {
        cr_assert(hear(&p, &h));
        gone += h.kind == WIRE_GONE;
    }
    for (int round = 0; round < 3; round++) { // whoever comes is told all of it
        hang_up(&p);
        dial(&d, &p);
        expect(&p, WIRE_HELLO);
        say_short(&p, WIRE_LIST, "", 0, "");
        expect(&p, WIRE_STARTED);
        h = expect(&p, WIRE_EXITED);
        cr_assert(h.rank == 0 && h.status == 3 << 8 && strcmp(h.uid, "a") == 0);
        expect(&p, WIRE_STARTED);
        h = expect(&p, WIRE_EXITED);
        cr_assert(h.rank == 1 && h.status == SIGKILL);
        expect(&p, WIRE_GONE);
        h = expect(&p, WIRE_STARTED);
        cr_assert(h.attempt == 4 && strcmp(h.uid, "b") == 0);
        expect(&p, WIRE_EXITED);
        expect(&p, WIRE_GONE);
        expect(&p, WIRE_LISTED);
    }
    say_short(&p, WIRE_FORGET, "a", 1, "");
    say_short(&p, WIRE_FORGET, "b", 3, ""); // an older one than there is
    say_short(&p, WIRE_FORGET, "nobody", 1, "");
    say_short(&p, WIRE_LIST, "", 0, "");
    cr_assert_eq(expect(&p, WIRE_STARTED).attempt, 4);
    expect(&p, WIRE_EXITED);
    expect(&p, WIRE_GONE);
    expect(&p, WIRE_LISTED);
    hang_up(&p);
    driver_close(&d);
}

Test(supervisor, a_part_of_an_attempt_can_be_stopped) {
    struct driver d;
    struct peer p;
    begin(&d, &p);
    say_spawn(&p, "a", 1, 2, 3, "sleep 600"); // the daemon died before it asked for the other two
    expect(&p, WIRE_STARTED);
    say_short(&p, WIRE_STOP, "a", 1, "1 0 x");
    expect(&p, WIRE_EXITED);
    expect(&p, WIRE_GONE);
    say_spawn(&p, "a", 1, 0, 3, "sleep 600");
    cr_assert_str_eq(expect(&p, WIRE_REFUSED).text, "its attempt is being stopped");
    say_short(&p, WIRE_LIST, "", 0, "");
    expect(&p, WIRE_REFUSED);
    expect(&p, WIRE_STARTED);
    expect(&p, WIRE_EXITED);
    cr_assert_str_eq(expect(&p, WIRE_STOPPED).text, "1 0 x");
    expect(&p, WIRE_GONE);
    expect(&p, WIRE_LISTED);
    hang_up(&p);
    driver_close(&d);
}

Test(supervisor, a_half_started_attempt_begins_again_without_being_counted) {
    struct driver d;
    struct peer p;
    begin(&d, &p);
    say_spawn(&p, uid_of(7), 1, 1, 2, "sleep 600");
    expect(&p, WIRE_STARTED);
    hang_up(&p);
    driver_attach(&d);
    struct backend_plan *plan = plan_of("exit 0", 2);
    d.backend->ops->submit(
        d.backend,
        &(struct backend_start){.uid = uid_of(7), .name = "j", .namespace_ = "n", .plan = plan, .attempt = 1});
    backend_plan_unref(plan);
    driver_begin(&d);
    const struct seen_fact *f = wait_end(&d, 7);
    cr_assert_eq(f->state, JOB_SUCCEEDED);
    cr_assert_eq(f->attempt, 2);
    cr_assert_eq(f->restarts, 0);
    driver_close(&d);
}

Test(supervisor, garbage_ends_the_conversation_and_nothing_else) {
    struct driver d;
    struct peer p;
    struct heard h;
    begin(&d, &p);
    say_spawn(&p, "a", 1, 0, 1, "sleep 0.5; exit 9");
    expect(&p, WIRE_STARTED);
    struct str s = STR_INIT;
    str_add_bytes(&s, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    say(&p, &s);
    cr_assert(!hear(&p, &h));
    hang_up(&p);
    dial(&d, &p);
    expect(&p, WIRE_HELLO);
    size_t mark;
    wire_begin(&s, (enum wire_kind)77, &mark); // unknown, and a spawn that makes no sense: both are passed over
    cr_assert(wire_end(&s, mark));
    wire_begin(&s, WIRE_SPAWN, &mark);
    wire_text(&s, "../x");
    cr_assert(wire_end(&s, mark));
    say(&p, &s);
    h = expect(&p, WIRE_EXITED);
    cr_assert_eq(h.status, 9 << 8);
    expect(&p, WIRE_GONE);
    hang_up(&p);
    driver_close(&d);
}

Test(supervisor, there_is_one_for_a_directory) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr)
    char *command = mem_printf("%s %s < /dev/null > /dev/null 2>&1", d.options.supervisor_path, d.dir);
    cr_assert_eq(system(command), 3 << 8);
    CLEANUP(mem_free_ptr) char *wrong = mem_printf("%s relative 2> /dev/null", d.options.supervisor_path);
    cr_assert_eq(system(wrong), 2 << 8);
    submit(&d, 1, plan_of("true", 1));
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    driver_close(&d);
}

Test(supervisor, signals_of_a_terminal_do_not_reach_it) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("sleep 0.5; exit 4", 1));
    wait_state(&d, 1, JOB_RUNNING, 1);
    pid_t pid = supervisor_pid(&d);
    kill(pid, SIGHUP);
    kill(pid, SIGINT);
    cr_assert_eq(wait_end(&d, 1)->exit.exit_code, 4);
    driver_close(&d);
}

Test(supervisor, a_state_directory_that_is_too_long_says_so) {
    struct driver d;
    CLEANUP(err_done) struct err err = ERR_INIT;
    driver_prepare(&d);
    CLEANUP(mem_free_ptr) char *dir = mem_printf("%s/%0100d", d.dir, 0);
    d.options.state_dir = dir;
    cr_assert(!local_backend_new(&d.options, d.loop, &d.backend, &err));
    cr_assert(strstr(err.message, "is too long a path for a socket in it") != NULL, "%s", err.message);
    d.backend = NULL;
    d.options.state_dir = d.dir;
    d.options.supervisor_path = "/no/supervisor";
    CLEANUP(err_done) struct err second = ERR_INIT;
    cr_assert(!local_backend_new(&d.options, d.loop, &d.backend, &second));
    cr_assert(strstr(second.message, "cannot start /no/supervisor: No such file") != NULL, "%s", second.message);
    d.backend = NULL;
    driver_close(&d);
}
