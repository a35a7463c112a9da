// The supervisor's end of the socket to the daemon: what it says, and what it is told to do.
#include "local/supervisor.h"

#include "base/fd.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { IDLE_MS = 10000, READ_BYTES = 64 * 1024 };

// ---- Saying

static void say(struct supervisor *s, enum wire_kind kind, const struct wire_report *report) {
    if (s->client_fd < 0) {
        return; // it asks when it comes
    }
    wire_put_report(&s->out, kind, report);
    loop_defer(s->loop, &s->flush);
}

void talk_say_exit(struct supervisor *s, const struct rank *r) {
    say(s, WIRE_EXITED,
        &(struct wire_report){.uid = r->attempt->uid,
                              .attempt = r->attempt->number,
                              .rank = r->number,
                              .status = r->status,
                              .time_ns = r->ended_ns});
}

void talk_say_rank(struct supervisor *s, const struct rank *r) {
    bool refused = r->refused != NULL;
    say(s, refused ? WIRE_REFUSED : WIRE_STARTED,
        &(struct wire_report){.uid = r->attempt->uid,
                              .attempt = r->attempt->number,
                              .rank = r->number,
                              .pid = (uint32_t)r->pid,
                              .time_ns = refused ? r->ended_ns : r->started_ns,
                              .text = refused ? r->refused : r->note});
    if (r->ended && !refused) {
        talk_say_exit(s, r);
    }
}

void talk_say_gone(struct supervisor *s, const struct attempt *a) {
    say(s, WIRE_GONE, &(struct wire_report){.uid = a->uid, .attempt = a->number});
}

static void say_attempt(struct supervisor *s, const struct attempt *a) {
    if (a->forgotten) {
        return; // its job is settled; what still runs of it was left on purpose
    }
    for (uint32_t i = 0; i < a->total; i++) {
        if (a->ranks[i] != NULL) {
            talk_say_rank(s, a->ranks[i]);
        }
    }
    if (a->stopping) {
        say(s, WIRE_STOPPED, &(struct wire_report){.uid = a->uid, .attempt = a->number, .text = a->why});
    }
    if (a->gone) {
        talk_say_gone(s, a);
    }
}

static void say_everything(struct supervisor *s) {
    size_t mark;
    LIST_EACH (node, &s->attempts) {
        say_attempt(s, CONTAINER_OF(node, struct attempt, link));
    }
    wire_begin(&s->out, WIRE_LISTED, &mark);
    (void)wire_end(&s->out, mark);
    loop_defer(s->loop, &s->flush);
}

static void flush(void *ctx) {
    struct supervisor *s = ctx;
    while (s->client_fd >= 0 && s->sent < s->out.len) {
        ssize_t n = send(s->client_fd, s->out.data + s->sent, s->out.len - s->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0) {
            loop_io_start(&s->client, s->client_fd, LOOP_READ | LOOP_WRITE); // full; if dead, reading tells
            return;
        }
        s->sent += (size_t)n;
    }
    s->sent = 0;
    str_clear(&s->out);
    if (s->client_fd >= 0) {
        loop_io_start(&s->client, s->client_fd, LOOP_READ);
    }
}

// ---- The daemon comes and goes

void talk_start_idle(struct supervisor *s) {
    if (s->client_fd < 0) {
        loop_timer_start(&s->idle, IDLE_MS);
    }
}

static void on_idle(void *ctx) {
    struct supervisor *s = ctx;
    if (list_empty(&s->attempts)) { // nothing is held and nobody asks: the next daemon starts another
        loop_stop(s->loop);
    }
}

static void hang_up(struct supervisor *s) {
    if (s->client_fd >= 0) {
        loop_io_stop(&s->client);
        fd_close(&s->client_fd);
    }
    str_done(&s->in);
    str_done(&s->out);
    s->sent = 0;
    talk_start_idle(s);
}

// Attempt 0: every one of this job, also what was left running on purpose.
static void obey_stop(const struct supervisor *s, struct wire_reader *r) {
    const char *uid = wire_get_uid(r);
    uint32_t number = wire_get_u32(r);
    uint64_t grace = wire_get_u64(r);
    int64_t grace_ms = grace < INT32_MAX ? (int64_t)grace : INT32_MAX;
    const char *why = wire_get_text(r);
    struct attempt *a = r->bad ? NULL : hash_get(&s->by_uid, uid);
    while (a != NULL) {
        struct attempt *older = a->older;
        if (number == 0 ? !a->gone : a->number == number) {
            attempt_stop(a, grace_ms, why);
        }
        a = older;
    }
}

static void obey(struct supervisor *s, enum wire_kind kind, struct wire_reader *r) {
    struct wire_spawn spawn;
    switch (kind) {
    case WIRE_SPAWN:
        if (wire_get_spawn(r, &spawn)) {
            attempt_spawn(s, &spawn);
            wire_spawn_done(&spawn);
        }
        return;
    case WIRE_STOP:
        obey_stop(s, r);
        return;
    case WIRE_FORGET: {
        const char *uid = wire_get_uid(r);
        uint32_t number = wire_get_u32(r);
        if (!r->bad) {
            attempt_forget(s, uid, number);
        }
        return;
    }
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
        flush(s);
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
        log_warn("supervisor", "the daemon does not speak this protocol, closing");
        hang_up(s);
        return;
    }
    memmove(s->in.data, s->in.data + used, s->in.len - used);
    s->in.len -= used;
}

static void on_connection(void *ctx, int events UNUSED) {
    struct supervisor *s = ctx;
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    size_t mark;
    if (fd < 0) {
        return;
    }
    hang_up(s); // the newest daemon is the one that has the state directory's lock
    loop_timer_stop(&s->idle);
    s->client_fd = fd;
    loop_io_start(&s->client, fd, LOOP_READ);
    wire_begin(&s->out, WIRE_HELLO, &mark);
    wire_u32(&s->out, WIRE_VERSION);
    (void)wire_end(&s->out, mark);
    loop_defer(s->loop, &s->flush);
}

bool talk_listen(struct supervisor *s) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    loop_io_init(&s->listen, s->loop, "supervisor accept", on_connection, s);
    loop_io_init(&s->client, s->loop, "supervisor client", on_client, s);
    loop_timer_init(&s->idle, s->loop, "supervisor idle", on_idle, s);
    loop_task_init(&s->flush, flush, s);
    if ((size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s/supervisor.sock", s->directory) >= sizeof at.sun_path) {
        return false;
    }
    (void)unlink(at.sun_path); // the lock says that nobody is behind it
    s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listen_fd < 0 || bind(s->listen_fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(s->listen_fd, 8) != 0) {
        return false;
    }
    loop_io_start(&s->listen, s->listen_fd, LOOP_READ);
    talk_start_idle(s);
    return true;
}

void talk_close(struct supervisor *s) {
    loop_io_stop(&s->listen);
    fd_close(&s->listen_fd);
    hang_up(s);
    loop_timer_stop(&s->idle);
    loop_task_cancel(&s->flush);
}
