// A driver for the local backend with a real supervisor: makes plans by hand, keeps the facts, runs the loop.
#ifndef TESTS_LOCAL_SUPPORT_H
#define TESTS_LOCAL_SUPPORT_H

#include "backend/backend.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"
#include "local/local.h"
#include "loop/loop.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAIT_MS = 60000, TICK_MS = 5 };

struct seen_fact {
    char uid[33];
    enum job_state state;
    enum job_reason reason;
    char message[1100];
    int32_t attempt, restarts;
    struct job_exit exit; // role is kept below
    char exit_role[64];
    struct job_role_count roles[4]; // names are not kept
    size_t role_count;
    int64_t happened_ns;
};

struct driver {
    struct loop *loop;
    struct backend *backend;
    struct local_options options;
    char dir[64];
    struct seen_fact *facts;
    size_t fact_count, fact_cap;
    bool ready;
    size_t health_count;
    struct loop_timer tick;
    bool (*condition)(struct driver *d, const void *ctx);
    const void *condition_ctx;
    int64_t give_up_ns;
    bool met;
};

// ---- The sink

static inline void on_fact(void *ctx, const struct backend_fact *f) {
    struct driver *d = ctx;
    if (d->fact_count == d->fact_cap) {
        d->fact_cap = d->fact_cap * 2 + 64;
        d->facts = mem_realloc_array(d->facts, d->fact_cap, sizeof *d->facts);
    }
    struct seen_fact *s = &d->facts[d->fact_count++];
    *s = (struct seen_fact){.state = f->state,
                            .reason = f->reason,
                            .attempt = f->attempt,
                            .restarts = f->restarts,
                            .role_count = f->role_count < 4 ? f->role_count : 4,
                            .happened_ns = f->happened_ns};
    snprintf(s->uid, sizeof s->uid, "%s", f->uid);
    snprintf(s->message, sizeof s->message, "%s", f->message != NULL ? f->message : "");
    if (f->exit != NULL) {
        s->exit = *f->exit;
        snprintf(s->exit_role, sizeof s->exit_role, "%s", f->exit->role);
    }
    for (size_t i = 0; i < s->role_count; i++) {
        s->roles[i] = f->roles[i];
    }
}

static inline void on_ready(void *ctx) {
    struct driver *d = ctx;
    d->ready = true;
}

static inline void on_health(void *ctx, const char *problem) {
    struct driver *d = ctx;
    (void)problem;
    d->health_count++;
}

// ---- What a failed test leaves behind

static char open_dir[64]; // of the driver that is open

__attribute__((destructor)) static void end_supervisor(void) {
    if (open_dir[0] != '\0') {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        struct ucred who = {0};
        socklen_t size = sizeof who;
        snprintf(at.sun_path, sizeof at.sun_path, "%s/supervisor.sock", open_dir);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid > 1) {
            kill(who.pid, SIGTERM);
        }
        close(fd);
    }
}

// ---- Running the loop

static inline void on_tick(void *ctx) {
    struct driver *d = ctx;
    d->met = d->condition != NULL && d->condition(d, d->condition_ctx);
    if (d->met || clock_mono() > d->give_up_ns) {
        loop_stop(d->loop);
        return;
    }
    loop_timer_start(&d->tick, TICK_MS);
}

static inline bool driver_until(struct driver *d, bool (*condition)(struct driver *d, const void *ctx), const void *ctx,
                                int64_t ms) {
    d->condition = condition;
    d->condition_ctx = ctx;
    d->give_up_ns = clock_mono() + ms * CLOCK_MS;
    d->met = false;
    loop_timer_start(&d->tick, 0);
    loop_run(d->loop);
    loop_timer_stop(&d->tick);
    return d->met;
}

static inline void driver_pass(struct driver *d, int64_t ms) {
    (void)driver_until(d, NULL, NULL, ms);
}

static inline bool is_ready(struct driver *d, const void *ctx) {
    (void)ctx;
    return d->ready;
}

// ---- Life

// Starts the backend in d->dir. Jobs of an earlier life are submitted between this and driver_begin.
static inline void driver_attach(struct driver *d) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    d->ready = false;
    bool ok = local_backend_new(&d->options, d->loop, &d->backend, &err);
    cr_assert(ok, "%s", ok ? "" : err.message);
}

static inline void driver_begin(struct driver *d) {
    const struct backend_sink sink = {.fact = on_fact, .ready = on_ready, .health = on_health, .ctx = d};
    d->backend->ops->start(d->backend, &sink);
    cr_assert(driver_until(d, is_ready, NULL, WAIT_MS), "the backend does not become ready");
}

static inline void driver_prepare(struct driver *d) {
    *d = (struct driver){0};
    snprintf(d->dir, sizeof d->dir, "/tmp/trainerd-local-XXXXXX");
    cr_assert(mkdtemp(d->dir) != NULL);
    memcpy(open_dir, d->dir, sizeof open_dir);
    d->options = (struct local_options){.name = "local",
                                        .state_dir = d->dir,
                                        .supervisor_path = TRAINERD_BUILD_DIR "/bin/trainerd-supervisor",
                                        .cpu_slots_milli = 64000,
                                        .gpu_slots = 0,
                                        .log_cap_bytes = 64 * 1024 * 1024,
                                        .port_first = 21000,
                                        .port_last = 21999,
                                        .grace_ms = 2000,
                                        .backoff_ms = 20};
    d->loop = loop_new();
    loop_timer_init(&d->tick, d->loop, "tick", on_tick, d);
}

static inline void driver_open(struct driver *d) {
    driver_prepare(d);
    driver_attach(d);
    driver_begin(d);
}

// The daemon goes; jobs stay.
static inline void driver_detach(struct driver *d) {
    d->backend->ops->stop(d->backend);
    d->backend->ops->free(d->backend);
    d->backend = NULL;
    d->fact_count = 0;
}

// The pid of whoever listens on the supervisor's socket; 0: nobody. Takes the daemon's place.
static inline pid_t supervisor_pid(const struct driver *d) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct ucred who = {0};
    socklen_t size = sizeof who;
    snprintf(at.sun_path, sizeof at.sun_path, "%s/supervisor.sock", d->dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
        (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
    }
    close(fd);
    return who.pid;
}

static inline void wait_for_end(pid_t pid) {
    for (int i = 0; i < WAIT_MS && kill(pid, 0) == 0; i++) {
        char path[64];
        char text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        int fd = open(path, O_RDONLY);
        ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
        if (fd >= 0) {
            close(fd);
        }
        if (n > 0 && strstr(text, ") Z ") != NULL) {
            return;
        }
        usleep(1000);
    }
}

static inline void driver_close(struct driver *d) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (d->backend != NULL) {
        driver_detach(d);
    }
    pid_t pid = supervisor_pid(d);
    if (pid != 0) {
        kill(pid, SIGTERM);
        wait_for_end(pid);
    }
    open_dir[0] = '\0';
    loop_free(d->loop);
    mem_free(d->facts);
    cr_assert(fd_remove_tree(d->dir, &err), "%s", err.message);
}

// ---- Marks: "@@" in a script or a name is a number that no other test has at the moment

static inline char *marked(const char *text) {
    struct str out = STR_INIT;
    const char *at;
    str_add(&out, "");
    while ((at = strstr(text, "@@")) != NULL) {
        str_add_bytes(&out, text, (size_t)(at - text));
        str_printf(&out, "86%07d", (int)getpid());
        text = at + 2;
    }
    str_add(&out, text);
    return str_take(&out);
}

// ---- Plans

static inline struct backend_plan *plan_new(void) {
    struct backend_plan *p = NEW(struct backend_plan);
    p->refs = 1;
    arena_init(&p->arena, 0);
    p->json = "{}";
    p->clean_pods = CLEAN_RUNNING;
    return p;
}

static inline struct plan_process *plan_add(struct backend_plan *p, const char *role, const char *const *argv) {
    struct plan_process *all = ARENA_NEW_ARRAY(&p->arena, struct plan_process, p->process_count + 1);
    int32_t index = 0;
    for (size_t i = 0; i < p->process_count; i++) {
        all[i] = p->processes[i];
        index += strcmp(all[i].role, role) == 0;
    }
    size_t argc = 0;
    while (argv[argc] != NULL) {
        argc++;
    }
    const char **copy = ARENA_NEW_ARRAY(&p->arena, const char *, argc + 1);
    for (size_t i = 0; i < argc; i++) {
        CLEANUP(mem_free_ptr) char *text = marked(argv[i]);
        copy[i] = arena_strdup(&p->arena, text);
    }
    all[p->process_count] = (struct plan_process){.role = arena_strdup(&p->arena, role),
                                                  .index = index,
                                                  .rank = (int32_t)p->process_count,
                                                  .argv = copy,
                                                  .argc = argc,
                                                  .restart = RESTART_NEVER,
                                                  .decides = true};
    p->processes = all;
    return &all[p->process_count++];
}

static inline struct plan_process *plan_sh(struct backend_plan *p, const char *script) {
    return plan_add(p, "worker", (const char *const[]){"sh", "-c", script, NULL});
}

// n workers that run the same script.
static inline struct backend_plan *plan_of(const char *script, size_t n) {
    struct backend_plan *p = plan_new();
    for (size_t i = 0; i < n; i++) {
        plan_sh(p, script);
    }
    return p;
}

static inline struct plan_process *plan_process_at(struct backend_plan *p, size_t i) {
    return (struct plan_process *)(uintptr_t)&p->processes[i];
}

static inline void plan_env(struct backend_plan *p, size_t at, const char *name, const char *value, bool is_template) {
    struct plan_process *process = plan_process_at(p, at);
    struct plan_env *all = ARENA_NEW_ARRAY(&p->arena, struct plan_env, process->env_count + 1);
    for (size_t i = 0; i < process->env_count; i++) {
        all[i] = process->env[i];
    }
    all[process->env_count++] = (struct plan_env){.name = name, .value = value, .is_template = is_template};
    process->env = all;
}

static inline void plan_restart(struct backend_plan *p, enum restart_policy policy, int32_t limit) {
    p->backoff_limit = limit;
    for (size_t i = 0; i < p->process_count; i++) {
        plan_process_at(p, i)->restart = policy;
    }
}

// ---- Jobs

// Takes the plan. The uid is n in text.
static inline const char *uid_of(int n) {
    static char texts[8][33];
    static int at;
    char *text = texts[at++ % 8];
    snprintf(text, sizeof texts[0], "%032d", n);
    return text;
}

static inline void submit(struct driver *d, int n, struct backend_plan *take_plan) {
    d->backend->ops->submit(
        d->backend,
        &(struct backend_start){.uid = uid_of(n), .name = "job", .namespace_ = "default", .plan = take_plan});
    backend_plan_unref(take_plan);
}

static inline const struct seen_fact *last_fact(const struct driver *d, int n) {
    const char *uid = uid_of(n);
    for (size_t i = d->fact_count; i > 0; i--) {
        if (strcmp(d->facts[i - 1].uid, uid) == 0) {
            return &d->facts[i - 1];
        }
    }
    return NULL;
}

struct awaited {
    int n;
    enum job_state state; // NONE: any end
    int32_t attempt;      // 0: any
};

static inline bool has_come(struct driver *d, const void *ctx) {
    const struct awaited *a = ctx;
    const struct seen_fact *f = last_fact(d, a->n);
    return f != NULL && (a->state == JOB_STATE_NONE ? job_state_terminal(f->state) : f->state == a->state) &&
           (a->attempt == 0 || f->attempt == a->attempt);
}

static inline const struct seen_fact *wait_state(struct driver *d, int n, enum job_state state, int32_t attempt) {
    const struct awaited a = {.n = n, .state = state, .attempt = attempt};
    bool came = driver_until(d, has_come, &a, WAIT_MS);
    const struct seen_fact *f = last_fact(d, n);
    cr_assert(came, "job %d does not become %s: it is %s, %s", n, job_state_name(state),
              f != NULL ? job_state_name(f->state) : "unheard of", f != NULL ? f->message : "");
    return f;
}

static inline const struct seen_fact *wait_end(struct driver *d, int n) {
    return wait_state(d, n, JOB_STATE_NONE, 0);
}

static inline void cancel(struct driver *d, int n, int64_t grace_ms) {
    d->backend->ops->cancel(d->backend, uid_of(n), grace_ms);
}

static inline void settle(struct driver *d, int n) {
    d->backend->ops->settled(d->backend, uid_of(n));
}

// How many facts of a job have this state.
static inline size_t count_facts(const struct driver *d, int n, enum job_state state) {
    size_t count = 0;
    for (size_t i = 0; i < d->fact_count; i++) {
        count += strcmp(d->facts[i].uid, uid_of(n)) == 0 && d->facts[i].state == state;
    }
    return count;
}

// ---- Files and processes

static inline char *path_in(const struct driver *d, const char *name) {
    return mem_printf("%s/%s", d->dir, name);
}

static inline bool file_exists(struct driver *d, const void *path) {
    (void)d;
    return access(path, F_OK) == 0;
}

static inline void wait_file(struct driver *d, const char *path) {
    cr_assert(driver_until(d, file_exists, path, WAIT_MS), "%s does not come", path);
}

static inline char *file_text(const char *path) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct str text = STR_INIT;
    if (!fd_read_file(path, 64 * 1024 * 1024, &text, &err)) {
        return mem_strdup("");
    }
    return text.data != NULL ? str_take(&text) : mem_strdup("");
}

static inline void touch(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    cr_assert(fd >= 0);
    close(fd);
}

// Number of processes that have this in their command line.
static inline size_t count_processes(const char *text_with_mark) {
    CLEANUP(mem_free_ptr) char *mark = marked(text_with_mark);
    DIR *dir = opendir("/proc");
    const struct dirent *e;
    size_t n = 0;
    while ((e = readdir(dir)) != NULL) {
        char path[300];
        char text[4096];
        snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
        int fd = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? open(path, O_RDONLY) : -1;
        ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
        if (fd >= 0) {
            close(fd);
        }
        n += got > 0 && memmem(text, (size_t)got, mark, strlen(mark)) != NULL;
    }
    closedir(dir);
    return n;
}

#endif
