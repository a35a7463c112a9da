// The daemon's end of the socket to the supervisor; starts one when there is none.
#include "local/executor.h"

#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READY_MS = 15000, RECONNECT_MS = 50, RETRY_MS = 2000, READ_BYTES = 64 * 1024 };

// ---- Connecting

static int try_connect(const struct local *l) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s/supervisor.sock", l->options.state_dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
        fd_set_nonblock(fd);
        return fd;
    }
    fd_close(&fd);
    return -1;
}

// Until it has said that it listens (one byte), or that it does not (the end): connecting tells which.
static void wait_ready(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    (void)poll(&p, 1, READY_MS);
}

static bool start_supervisor(const struct local *l, struct err *err) {
    int ends[2];
    pid_t pid;
    sigset_t none;
    sigset_t all;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const argv[] = {(char *)(uintptr_t)l->options.supervisor_path, (char *)(uintptr_t)l->options.state_dir, NULL};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return err_fail_errno(err, ERR_UNAVAILABLE, "SUPERVISOR", errno, "no pipe for the supervisor");
    }
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawn(&pid, l->options.supervisor_path, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed == 0) {
        wait_ready(ends[0]);
    }
    close(ends[0]);
    return failed == 0 ||
           err_fail_errno(err, ERR_PRECONDITION, "SUPERVISOR", failed, "cannot start %s", l->options.supervisor_path);
}

static void on_io(void *ctx, int events);
static void flush(void *ctx);
static void reconnect(void *ctx);

bool client_connect(struct local *l, struct err *err) {
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    if ((size_t)snprintf(path, sizeof path, "%s/supervisor.sock", l->options.state_dir) >= sizeof path) {
        return err_fail(err, ERR_PRECONDITION, "STATE_DIR",
                        "state directory %s is too long a path for a socket in it (at most %zu bytes)",
                        l->options.state_dir, sizeof path - sizeof "/supervisor.sock");
    }
    l->fd = try_connect(l);
    if (l->fd < 0) {
        if (!start_supervisor(l, err)) {
            return false;
        }
        l->fd = try_connect(l);
    }
    if (l->fd < 0) {
        return err_fail(err, ERR_UNAVAILABLE, "SUPERVISOR", "the supervisor does not answer (see %s/supervisor.log)",
                        l->options.state_dir);
    }
    loop_io_init(&l->io, l->loop, "supervisor", on_io, l);
    loop_task_init(&l->flush, flush, l);
    loop_timer_init(&l->reconnect, l->loop, "supervisor reconnect", reconnect, l);
    return true;
}

// ---- Saying

static void flush(void *ctx) {
    struct local *l = ctx;
    while (l->fd >= 0 && l->sent < l->out.len) {
        ssize_t n = send(l->fd, l->out.data + l->sent, l->out.len - l->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0) {
            loop_io_start(&l->io, l->fd, LOOP_READ | LOOP_WRITE); // full; if dead, reading tells
            return;
        }
        l->sent += (size_t)n;
    }
    l->sent = 0;
    str_clear(&l->out);
    if (l->fd >= 0) {
        loop_io_start(&l->io, l->fd, LOOP_READ);
    }
}

void client_send(struct local *l) {
    loop_defer(l->loop, &l->flush);
}

void client_stop(struct local *l, const char *uid, int32_t attempt, int64_t grace_ms, const char *why) {
    size_t mark;
    wire_begin(&l->out, WIRE_STOP, &mark);
    wire_text(&l->out, uid);
    wire_u32(&l->out, (uint32_t)attempt);
    wire_u64(&l->out, (uint64_t)(grace_ms > 0 ? grace_ms : 0));
    wire_text(&l->out, why);
    (void)wire_end(&l->out, mark);
    client_send(l);
}

void client_forget(struct local *l, const char *uid, int32_t attempt) {
    size_t mark;
    wire_begin(&l->out, WIRE_FORGET, &mark);
    wire_text(&l->out, uid);
    wire_u32(&l->out, (uint32_t)attempt);
    (void)wire_end(&l->out, mark);
    client_send(l);
}

void client_ask(struct local *l) {
    size_t mark;
    LIST_EACH (node, &l->runs) {
        CONTAINER_OF(node, struct run, link)->seen = false;
    }
    wire_begin(&l->out, WIRE_LIST, &mark);
    (void)wire_end(&l->out, mark);
    client_send(l);
}

// ---- The supervisor is gone, or is not ours

static void lose(struct local *l, const char *problem, int64_t again_ms) {
    loop_io_stop(&l->io);
    fd_close(&l->fd);
    str_clear(&l->in);
    str_clear(&l->out);
    l->sent = 0;
    l->listed = false;
    l->problem = problem;
    l->sink.health(l->sink.ctx, problem);
    loop_timer_start(&l->reconnect, again_ms);
}

static void reconnect(void *ctx) {
    struct local *l = ctx;
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (!client_connect(l, &err)) {
        l->problem = "the supervisor cannot be started";
        loop_timer_start(&l->reconnect, RETRY_MS);
        return;
    }
    client_ask(l);
}

// ---- Hearing

// Everything that it holds was said.
static void on_listed(struct local *l) {
    if (l->listed) {
        return;
    }
    l->listed = true;
    if (l->problem != NULL) {
        l->problem = NULL;
        l->sink.health(l->sink.ctx, NULL);
    }
    LIST_EACH (node, &l->runs) {
        run_on_listed(CONTAINER_OF(node, struct run, link));
    }
    if (!l->ready) {
        l->ready = true;
        l->sink.ready(l->sink.ctx);
    }
    loop_defer(l->loop, &l->kick);
}

static void on_report(struct local *l, enum wire_kind kind, const struct wire_report *report) {
    struct run *r = run_find(l, report->uid);
    int32_t attempt = (int32_t)report->attempt;
    if (r == NULL) {
        if (!l->listed) { // of a job that has ended, or was never accepted: nobody wants it
            client_stop(l, report->uid, attempt, 0, "");
            client_forget(l, report->uid, attempt);
        }
        return;
    }
    if (!run_is_about(r, attempt)) {
        return;
    }
    switch (kind) {
    case WIRE_STARTED:
        run_on_started(r, report->rank, report->text, report->time_ns);
        break;
    case WIRE_REFUSED:
        run_on_refused(r, report->rank, report->text, report->time_ns);
        break;
    case WIRE_EXITED:
        run_on_exited(r, report->rank, report->status, report->time_ns);
        break;
    case WIRE_STOPPED:
        run_on_stopped(r, report->text);
        break;
    default:
        run_on_gone(r);
        return;
    }
    if (l->listed) {
        run_evaluate(r);
    }
}

// false: nothing more can be heard on this connection.
static bool hear(struct local *l, enum wire_kind kind, struct wire_reader *w) {
    struct wire_report report;
    if (kind == WIRE_HELLO && wire_get_u32(w) != WIRE_VERSION) {
        lose(l, "the supervisor is of another version; it goes when its jobs have ended", RETRY_MS);
        return false;
    }
    if (kind == WIRE_LISTED) {
        on_listed(l);
    } else if (kind != WIRE_HELLO && wire_get_report(w, kind, &report)) {
        on_report(l, kind, &report);
    }
    return true;
}

static void on_io(void *ctx, int events) {
    static const char gone[] = "the supervisor is gone; another one is being started";
    struct local *l = ctx;
    if ((events & LOOP_WRITE) != 0) {
        flush(l);
    }
    if ((events & LOOP_READ) == 0) {
        return;
    }
    str_reserve(&l->in, READ_BYTES);
    ssize_t n = recv(l->fd, l->in.data + l->in.len, READ_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        lose(l, gone, RECONNECT_MS);
        return;
    }
    l->in.len += (size_t)n;
    size_t used = 0;
    struct wire_reader w;
    enum wire_kind kind;
    size_t size;
    int found;
    while ((found = wire_frame(l->in.data + used, l->in.len - used, &w, &size, &kind)) == 1) {
        used += size;
        if (!hear(l, kind, &w)) {
            return;
        }
    }
    if (found < 0) {
        lose(l, gone, RECONNECT_MS);
        return;
    }
    memmove(l->in.data, l->in.data + used, l->in.len - used);
    l->in.len -= used;
}

void client_close(struct local *l) {
    flush(l);
    loop_task_cancel(&l->flush);
    loop_timer_stop(&l->reconnect);
    loop_io_stop(&l->io);
    fd_close(&l->fd);
    str_done(&l->in);
    str_done(&l->out);
}
