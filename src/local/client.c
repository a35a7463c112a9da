// The daemon's end of the socket to the supervisor; starts one when there is none.
#include "local/executor.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { READY_MS = 30000, RECONNECT_MS = 200, READ_BYTES = 64 * 1024 };

extern char **environ;

// ---- Connecting
// --------------------------------------------------------------------------------------------------------------------

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

// Waits until it has said that it listens: it writes one byte.
static bool wait_ready(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    return poll(&p, 1, READY_MS) == 1 && read(fd, &byte, 1) == 1;
}

static bool start_supervisor(const struct local *l, struct err *err) {
    int ends[2];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const argv[] = {(char *)(uintptr_t)l->options.supervisor_path, (char *)(uintptr_t)l->options.state_dir, NULL};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return err_fail_errno(err, ERR_UNAVAILABLE, "SUPERVISOR", errno, "no pipe for the supervisor");
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    int failed = posix_spawn(&pid, l->options.supervisor_path, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    bool ready = failed == 0 && wait_ready(ends[0]);
    close(ends[0]);
    if (failed != 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "SUPERVISOR", failed, "cannot start %s",
                              l->options.supervisor_path);
    }
    // Not ready: another one may have been faster; connecting tells.
    (void)ready;
    return true;
}

static void on_io(void *ctx, int events);

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
    return true;
}

// ---- Saying
// ------------------------------------------------------------------------------------------------------------------------

void client_send(struct local *l) {
    size_t sent = 0;
    while (l->fd >= 0 && sent < l->out.len) {
        ssize_t n = send(l->fd, l->out.data + sent, l->out.len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0) {
            break; // full: when it can be written; dead: the read side sees it
        }
        sent += (size_t)n;
    }
    if (sent != 0) {
        memmove(l->out.data, l->out.data + sent, l->out.len - sent);
        l->out.len -= sent;
    }
    if (l->fd >= 0 && !l->stopped) {
        loop_io_start(&l->io, l->fd, l->out.len != 0 ? LOOP_READ | LOOP_WRITE : LOOP_READ);
    }
}

void client_stop(struct local *l, const char *uid, int32_t attempt, int64_t grace_ms) {
    size_t mark;
    wire_begin(&l->out, WIRE_STOP, &mark);
    wire_text(&l->out, uid);
    wire_u32(&l->out, (uint32_t)attempt);
    wire_u64(&l->out, (uint64_t)grace_ms);
    wire_end(&l->out, mark);
}

void client_stop_attempt(struct local *l, const struct run *r, int64_t grace_ms) {
    client_stop(l, r->uid, r->attempt, grace_ms);
}

void client_forget(struct local *l, const char *uid) {
    size_t mark;
    wire_begin(&l->out, WIRE_FORGET, &mark);
    wire_text(&l->out, uid);
    wire_end(&l->out, mark);
    client_send(l);
}

// ---- Hearing
// -----------------------------------------------------------------------------------------------------------------------

static void say_list(struct local *l) {
    size_t mark;
    wire_begin(&l->out, WIRE_LIST, &mark);
    wire_end(&l->out, mark);
}

// A record is of this run's present attempt, or of one that the journal had not heard of yet.
static struct run *run_of(struct local *l, const char *uid, uint32_t attempt) {
    struct run *r = run_find(l, uid);
    if (r == NULL || r->suspended_start) {
        if (!l->listed) { // nobody's: of a job that has ended or was never accepted, or one that is to be still
            client_stop(l, uid, (int32_t)attempt, 0);
            if (r == NULL) {
                client_forget(l, uid);
            }
        }
        return NULL;
    }
    if (!l->listed && ((int32_t)attempt > r->attempt || !r->has_records)) {
        if ((int32_t)attempt < r->attempt) {
            return NULL;
        }
        r->attempt = (int32_t)attempt;
        r->has_records = true;
        run_reset_procs(r);
    }
    return (int32_t)attempt == r->attempt ? r : NULL;
}

// All records are known. In the order of submission: what runs is taken over, what was never started waits.
static void on_listed(struct local *l) {
    if (l->listed) {
        return;
    }
    l->listed = true;
    LIST_EACH (node, &l->runs) {
        struct run *r = CONTAINER_OF(node, struct run, link);
        if (r->suspended_start || r->state != RUN_IDLE) {
            continue;
        }
        if (r->has_records) {
            slots_take(r);
            r->state = RUN_OUT;
            bool gone = r->gone;
            r->gone = false;
            run_evaluate(r);
            r->gone = gone;
            if (gone && r->state == RUN_STOPPING) {
                run_conclude(r);
            }
        } else if (r->attempt > 0) {
            slots_take(r);
            r->state = RUN_OUT;
            run_lost(r);
        } else {
            queue_add(r);
        }
        run_step(r);
    }
    l->sink.ready(l->sink.ctx);
    loop_defer(l->loop, &l->kick);
}

static void hear(struct local *l, enum wire_kind kind, struct wire_reader *w) {
    if (kind == WIRE_HELLO) {
        if (wire_get_u32(w) != WIRE_VERSION) {
            l->problem = "the supervisor is of another version: it goes when its jobs have ended";
            l->sink.health(l->sink.ctx, l->problem);
        }
        return;
    }
    if (kind == WIRE_LISTED) {
        on_listed(l);
        return;
    }
    const char *uid = wire_get_text(w);
    uint32_t attempt = wire_get_u32(w);
    struct run *r = w->bad ? NULL : run_of(l, uid, attempt);
    if (r == NULL) {
        return;
    }
    uint32_t rank = kind == WIRE_GONE ? 0 : wire_get_u32(w);
    if (kind == WIRE_STARTED) {
        (void)wire_get_u32(w);
        run_on_started(r, rank, wire_get_text(w));
    } else if (kind == WIRE_REFUSED) {
        run_on_refused(r, rank, wire_get_text(w));
    } else if (kind == WIRE_EXITED) {
        uint32_t status = wire_get_u32(w);
        run_on_exited(r, rank, (int)status, (int64_t)wire_get_u64(w));
    }
    if (l->listed) {
        run_evaluate(r);
    }
    if (kind == WIRE_GONE) {
        run_on_gone(r);
    }
}

static void reconnect(void *ctx) {
    struct local *l = ctx;
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (!client_connect(l, &err)) {
        l->problem = "the supervisor cannot be started";
        loop_timer_start(&l->reconnect, RECONNECT_MS * 10);
        return;
    }
    l->problem = NULL;
    l->sink.health(l->sink.ctx, NULL);
    client_send(l);
    // A new supervisor has first killed what the old one left: nothing of these runs any more.
    LIST_EACH (node, &l->runs) {
        struct run *r = CONTAINER_OF(node, struct run, link);
        if (r->state == RUN_OUT || r->state == RUN_STOPPING) {
            run_lost(r);
        }
    }
    loop_defer(l->loop, &l->kick);
}

static void lost(struct local *l) {
    loop_io_stop(&l->io);
    fd_close(&l->fd);
    str_clear(&l->in);
    str_clear(&l->out);
    l->problem = "the supervisor is gone; another one is being started";
    l->sink.health(l->sink.ctx, l->problem);
    loop_timer_init(&l->reconnect, l->loop, "supervisor reconnect", reconnect, l);
    loop_timer_start(&l->reconnect, RECONNECT_MS);
}

static void on_io(void *ctx, int events) {
    struct local *l = ctx;
    if ((events & LOOP_WRITE) != 0) {
        client_send(l);
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
        lost(l);
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
        hear(l, kind, &w);
    }
    if (found < 0) {
        lost(l);
        return;
    }
    memmove(l->in.data, l->in.data + used, l->in.len - used);
    l->in.len -= used;
    client_send(l);
}

void client_close(struct local *l) {
    if (l->fd >= 0) {
        client_send(l);
        l->stopped = true;
        loop_io_stop(&l->io);
        fd_close(&l->fd);
    }
    loop_timer_stop(&l->reconnect);
    str_done(&l->in);
    str_done(&l->out);
}

void client_ask(struct local *l) {
    say_list(l);
    client_send(l);
}
