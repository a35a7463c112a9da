// trainerd-supervisor: holds the processes of jobs, so that they outlive the daemon, and tells whoever connects.
#include "local/supervisor.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "local/local.h"
#include "local/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { IDLE_MS = 10000, READ_BYTES = 64 * 1024 };

// ---- Saying
// ------------------------------------------------------------------------------------------------------------------------

static void head(struct supervisor *s, enum wire_kind kind, const struct attempt *a, size_t *mark) {
    wire_begin(&s->out, kind, mark);
    wire_text(&s->out, a->uid);
    wire_u32(&s->out, a->number);
}

void supervisor_say_exit(struct supervisor *s, const struct rank *r) {
    size_t mark;
    head(s, WIRE_EXITED, r->attempt, &mark);
    wire_u32(&s->out, r->number);
    wire_u32(&s->out, (uint32_t)r->status);
    wire_u64(&s->out, (uint64_t)r->ended_ns);
    wire_end(&s->out, mark);
    supervisor_flush(s);
}

void supervisor_say_rank(struct supervisor *s, const struct rank *r) {
    size_t mark;
    head(s, r->refused != NULL ? WIRE_REFUSED : WIRE_STARTED, r->attempt, &mark);
    wire_u32(&s->out, r->number);
    if (r->refused != NULL) {
        wire_text(&s->out, r->refused);
    } else {
        wire_u32(&s->out, (uint32_t)r->pid);
        wire_text(&s->out, r->note);
    }
    wire_end(&s->out, mark);
    if (r->ended && r->refused == NULL) {
        supervisor_say_exit(s, r);
    }
    supervisor_flush(s);
}

void supervisor_say_gone(struct supervisor *s, const struct attempt *a) {
    size_t mark;
    head(s, WIRE_GONE, a, &mark);
    wire_end(&s->out, mark);
    supervisor_flush(s);
}

static void say_everything(struct supervisor *s) {
    size_t mark;
    LIST_EACH (node, &s->attempts) {
        const struct attempt *a = CONTAINER_OF(node, struct attempt, link);
        LIST_EACH (inner, &a->ranks) {
            supervisor_say_rank(s, CONTAINER_OF(inner, struct rank, link));
        }
        if (a->gone) {
            supervisor_say_gone(s, a);
        }
    }
    wire_begin(&s->out, WIRE_LISTED, &mark);
    wire_end(&s->out, mark);
    supervisor_flush(s);
}

// ---- The client
// --------------------------------------------------------------------------------------------------------------------

static void hang_up(struct supervisor *s) {
    if (s->client_fd >= 0) {
        loop_io_stop(&s->client);
        fd_close(&s->client_fd);
    }
    str_done(&s->in);
    str_done(&s->out);
    loop_timer_start(&s->idle, IDLE_MS);
}

void supervisor_flush(struct supervisor *s) {
    if (s->client_fd < 0) {
        str_clear(&s->out); // it will ask when it comes
        return;
    }
    size_t sent = 0;
    while (sent < s->out.len) {
        ssize_t n = send(s->client_fd, s->out.data + sent, s->out.len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0) {
            break; // full: the rest when it can be written; dead: the read side sees it
        }
        sent += (size_t)n;
    }
    memmove(s->out.data != NULL ? s->out.data : (char *)&sent, s->out.data + sent, s->out.len - sent);
    s->out.len -= sent;
    loop_io_start(&s->client, s->client_fd, s->out.len != 0 ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

static void forget(struct supervisor *s, const char *uid) {
    LIST_EACH (node, &s->attempts) {
        struct attempt *a = CONTAINER_OF(node, struct attempt, link);
        if (strcmp(a->uid, uid) != 0) {
            continue;
        }
        if (a->gone) {
            attempt_free(a);
        } else {
            a->forgotten = true;
        }
    }
}

static void obey(struct supervisor *s, enum wire_kind kind, struct wire_reader *r) {
    switch (kind) {
    case WIRE_SPAWN:
        attempt_spawn(s, r);
        return;
    case WIRE_STOP: {
        const char *uid = wire_get_text(r);
        struct attempt *a = attempt_find(s, uid, wire_get_u32(r));
        uint64_t grace = wire_get_u64(r);
        if (a != NULL && !r->bad) {
            attempt_stop(a, (int64_t)grace);
        }
        return;
    }
    case WIRE_FORGET:
        forget(s, wire_get_text(r));
        return;
    case WIRE_LIST:
        say_everything(s);
        return;
    default:
        return;
    }
}

static void on_client(void *ctx, int events) {
    struct supervisor *s = ctx;
    if ((events & LOOP_WRITE) != 0) {
        supervisor_flush(s);
    }
    if ((events & LOOP_READ) == 0) {
        return;
    }
    str_reserve(&s->in, READ_BYTES);
    ssize_t n = recv(s->client_fd, s->in.data + s->in.len, READ_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        hang_up(s);
        return;
    }
    s->in.len += (size_t)n;
    size_t used = 0;
    struct wire_reader r;
    enum wire_kind kind;
    size_t size;
    int found;
    while ((found = wire_frame(s->in.data + used, s->in.len - used, &r, &size, &kind)) == 1) {
        used += size;
        obey(s, kind, &r);
    }
    if (found < 0) {
        hang_up(s);
        return;
    }
    memmove(s->in.data, s->in.data + used, s->in.len - used);
    s->in.len -= used;
}

static void on_connection(void *ctx, int events UNUSED) {
    struct supervisor *s = ctx;
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    size_t mark;
    if (s->client_fd >= 0) { // the newest daemon is the one that has the lock
        hang_up(s);
    }
    loop_timer_stop(&s->idle);
    s->client_fd = fd;
    loop_io_start(&s->client, fd, LOOP_READ);
    wire_begin(&s->out, WIRE_HELLO, &mark);
    wire_u32(&s->out, WIRE_VERSION);
    wire_u32(&s->out, (uint32_t)getpid());
    wire_end(&s->out, mark);
    supervisor_flush(s);
}

// ---- Its own life
// ------------------------------------------------------------------------------------------------------------------

static void on_idle(void *ctx) {
    struct supervisor *s = ctx;
    if (list_empty(&s->attempts)) {
        loop_stop(s->loop); // nothing is held and nobody asks: the next daemon starts another
    } else {
        loop_timer_start(&s->idle, IDLE_MS);
    }
}

static void sweep(void *ctx) {
    struct supervisor *s = ctx;
    LIST_EACH (node, &s->attempts) {
        attempt_check(CONTAINER_OF(node, struct attempt, link));
    }
    bool all_gone = true;
    LIST_EACH (node, &s->attempts) {
        all_gone = all_gone && CONTAINER_OF(node, struct attempt, link)->gone;
    }
    if (s->leaving && all_gone) {
        loop_stop(s->loop);
    }
}

// Any child, also one that a rank left behind: perhaps an attempt is gone now.
static void on_any_child(void *ctx, int status UNUSED) {
    struct supervisor *s = ctx;
    loop_child_start(&s->any, s->loop, 0, on_any_child, s);
    bool waiting = s->leaving;
    LIST_EACH (node, &s->attempts) {
        const struct attempt *a = CONTAINER_OF(node, struct attempt, link);
        waiting = waiting || (!a->gone && a->ended_count == a->total);
    }
    if (waiting) {
        loop_defer(s->loop, &s->sweep);
    }
}

static void on_term(void *ctx, int number UNUSED) {
    struct supervisor *s = ctx;
    s->leaving = true;
    LIST_EACH (node, &s->attempts) {
        struct attempt *a = CONTAINER_OF(node, struct attempt, link);
        if (!a->gone) {
            attempt_stop(a, 0);
        }
    }
    loop_defer(s->loop, &s->sweep);
}

static void on_ignored(void *ctx UNUSED, int number UNUSED) {
}

static bool take_lock(struct supervisor *s) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/supervisor.lock", s->directory);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return s->lock_fd >= 0 && flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0;
}

static bool bind_socket(struct supervisor *s) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if ((size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s/supervisor.sock", s->directory) >= sizeof at.sun_path) {
        return false;
    }
    (void)unlink(at.sun_path); // the lock says that nobody is behind it
    s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return s->listen_fd >= 0 && bind(s->listen_fd, (struct sockaddr *)&at, sizeof at) == 0 &&
           listen(s->listen_fd, 8) == 0;
}

// The descriptors it was given: one to say "ready" on, the rest not its own.
static void detach(const struct supervisor *s) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/supervisor.log", s->directory);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)fd_write_all(STDOUT_FILENO, "r", 1);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(log >= 0 ? log : null, STDERR_FILENO);
    close(null);
    fd_close(&log);
}

static void serve(struct supervisor *s) {
    loop_io_init(&s->listen, s->loop, "supervisor accept", on_connection, s);
    loop_io_init(&s->client, s->loop, "supervisor client", on_client, s);
    loop_timer_init(&s->idle, s->loop, "supervisor idle", on_idle, s);
    loop_task_init(&s->sweep, sweep, s);
    loop_io_start(&s->listen, s->listen_fd, LOOP_READ);
    loop_timer_start(&s->idle, IDLE_MS);
    loop_signal_start(&s->term, s->loop, SIGTERM, on_term, s);
    loop_signal_start(&s->hangup, s->loop, SIGHUP, on_ignored, s);
    loop_signal_start(&s->interrupt, s->loop, SIGINT, on_ignored, s);
    loop_child_start(&s->any, s->loop, 0, on_any_child, s);
    loop_run(s->loop);
    LIST_EACH (node, &s->attempts) {
        attempt_free(CONTAINER_OF(node, struct attempt, link));
    }
    loop_io_stop(&s->listen);
    if (s->client_fd >= 0) {
        loop_io_stop(&s->client);
        fd_close(&s->client_fd);
    }
    loop_timer_stop(&s->idle);
    loop_task_cancel(&s->sweep);
    loop_child_stop(&s->any);
    loop_signal_stop(&s->term);
    loop_signal_stop(&s->hangup);
    loop_signal_stop(&s->interrupt);
}

int local_supervisor_main(int argc, char **argv) {
    if (argc != 2 || argv[1][0] != '/') {
        fprintf(stderr,
                "usage: trainerd-supervisor STATE_DIR\nStarted by trainerd; it holds the processes of its jobs.\n");
        return 2;
    }
    struct supervisor s = {.directory = argv[1], .lock_fd = -1, .listen_fd = -1, .client_fd = -1};
    signal(SIGPIPE, SIG_IGN);
    umask(077);
    if (!take_lock(&s)) {
        return 3; // another one is there already
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    // What a supervisor before this one left running belongs to nobody any more.
    while (tree_signal("TRAINERD_SUPERVISOR", s.directory, NULL, 0, SIGKILL) != 0) {
        usleep(1000);
    }
    s.logs = mem_printf("%s/logs", s.directory);
    (void)mkdir(s.logs, 0700);
    list_init(&s.attempts);
    s.loop = loop_new();
    if (!bind_socket(&s)) {
        fprintf(stderr, "trainerd-supervisor: cannot listen in %s: %s\n", s.directory, strerror(errno));
        return 1;
    }
    detach(&s);
    serve(&s);
    str_done(&s.in);
    str_done(&s.out);
    hash_done(&s.by_key);
    fd_close(&s.listen_fd);
    loop_free(s.loop);
    mem_free(s.logs);
    fd_close(&s.lock_fd);
    return 0;
}
