// Our own accept loop: it caps and counts connections, and it survives running out of descriptors, which stops the
// listener of C core 1.51 for good.
//
// A connection first shows that it speaks HTTP/2; then C core gets it and owns its descriptor. It closes without
// telling, so a duplicate stays here, in an epoll set that reports nothing but the hang-up that C core's shutdown() or
// the peer makes. It costs one descriptor a connection and no wake-ups.
#include "rpc/internal.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <grpc/grpc_posix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ACCEPTS_A_TURN = 64,
    EVENTS_A_TURN = 64,
    PAUSE_MS = 100,
    PREFACE_MS = 10 * 1000,
    KEPT_FOR_OTHERS = 256, // descriptors that connections leave to jobs, journal and logs
};

struct rpc_connection {
    struct list link;
    struct rpc_side *side;
    int fd; // until C core has it; then the duplicate
    bool handed_over;
    struct loop_io io; // waits for the first bytes
    struct loop_timer deadline;
};

static void connection_free(struct rpc_connection *c) {
    struct rpc_server *s = c->side->server;
    loop_io_stop(&c->io);
    loop_timer_stop(&c->deadline);
    list_remove(&c->link);
    s->connection_count--;
    if (c->handed_over) { // closing alone would not do: C core may still have its own
        (void)epoll_ctl(s->closed_fd, EPOLL_CTL_DEL, c->fd, NULL);
    }
    fd_close(&c->fd);
    mem_free(c);
    rpc_server_go_on_ending(s);
}

// ---- Closed connections
// ----------------------------------------------------------------------------------------------------------

static void on_closed(void *ctx, int events UNUSED) {
    struct rpc_server *s = ctx;
    struct epoll_event found[EVENTS_A_TURN];
    int n = epoll_wait(s->closed_fd, found, EVENTS_A_TURN, 0);
    for (int i = 0; i < n; i++) {
        if ((found[i].events & EPOLLHUP) != 0) {
            connection_free(found[i].data.ptr);
        }
    }
}

static bool watch_for_close(struct rpc_connection *c, int fd) {
    // Edge-triggered and without events: hang-ups and errors are always reported, data never.
    struct epoll_event event = {.events = EPOLLET, .data.ptr = c};
    if (epoll_ctl(c->side->server->closed_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        return false;
    }
    c->fd = fd;
    c->handed_over = true;
    return true;
}

// ---- From accept to C core
// -------------------------------------------------------------------------------------------------------

static void hand_over(struct rpc_connection *c) {
    int fd = c->fd;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    loop_io_stop(&c->io);
    loop_timer_stop(&c->deadline);
    if (copy < 0 || !watch_for_close(c, copy)) {
        log_debug("rpc", "no descriptor left for a new connection, closing it");
        fd_close(&copy);
        connection_free(c);
        return;
    }
    grpc_server_add_channel_from_fd(c->side->core, fd, c->side->server->credentials);
}

static void on_first_bytes(void *ctx, int events UNUSED) {
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct rpc_connection *c = ctx;
    char got[sizeof preface - 1];
    ssize_t n = recv(c->fd, got, sizeof got, MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0 || memcmp(got, preface, (size_t)n) != 0) {
        if (n > 0) {
            log_debug("rpc", "a connection that does not speak gRPC, closing it");
        }
        connection_free(c);
        return;
    }
    hand_over(c);
}

static void on_no_bytes(void *ctx) {
    connection_free(ctx);
}

static void set_up_tcp(int fd) {
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

static bool is_our_user(int fd) {
    struct ucred peer;
    socklen_t n = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static void refuse(struct rpc_server *s, int fd, const char *why) {
    close(fd);
    s->refused++;
    int64_t now = clock_mono();
    if (s->refused_logged_ns == 0 || now - s->refused_logged_ns > 10 * CLOCK_SECOND) {
        s->refused_logged_ns = now;
        log_warn("rpc", "refusing connections: %s (%lld so far)", why, (long long)s->refused);
    }
}

static void take(struct rpc_side *side, int fd) {
    struct rpc_server *s = side->server;
    if (s->connection_count >= s->max_connections) {
        refuse(s, fd, "the limit is reached");
        return;
    }
    if (side->local && !is_our_user(fd)) {
        refuse(s, fd, "the socket is for its owner only");
        return;
    }
    if (!side->local) {
        set_up_tcp(fd);
    }
    struct rpc_connection *c = NEW(struct rpc_connection);
    c->side = side;
    c->fd = fd;
    s->connection_count++;
    list_push(&s->connections, &c->link);
    loop_io_init(&c->io, s->loop, "rpc first bytes", on_first_bytes, c);
    loop_timer_init(&c->deadline, s->loop, "rpc first bytes", on_no_bytes, c);
    loop_io_start(&c->io, fd, LOOP_READ);
    loop_timer_start(&c->deadline, PREFACE_MS);
}

// ---- Accepting
// --------------------------------------------------------------------------------------------------------------------

static int open_reserve(void) {
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// Without a descriptor nothing can be accepted, and the socket stays readable: one client is told by closing it, the
// others wait in the backlog until some are free again.
static void out_of_descriptors(struct rpc_side *side) {
    struct rpc_server *s = side->server;
    fd_close(&s->reserve_fd);
    int fd = accept4(side->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
        refuse(s, fd, "out of descriptors");
    }
    s->reserve_fd = open_reserve();
    loop_io_stop(&side->io);
    loop_timer_start(&side->pause, PAUSE_MS);
}

static bool is_passing(int error) {
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == ENETDOWN || error == EHOSTDOWN ||
           error == EHOSTUNREACH || error == ENETUNREACH || error == EPERM;
}

static void on_connect(void *ctx, int events UNUSED) {
    struct rpc_side *side = ctx;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = accept4(side->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            take(side, fd);
        } else if (errno == EAGAIN) {
            return;
        } else if (!is_passing(errno)) {
            out_of_descriptors(side); // or out of memory: the same
            return;
        }
    }
}

static void on_pause_over(void *ctx) {
    struct rpc_side *side = ctx;
    loop_io_start(&side->io, side->fd, LOOP_READ);
}

void rpc_accept_start(struct rpc_side *side) {
    loop_io_init(&side->io, side->server->loop, "rpc accept", on_connect, side);
    loop_timer_init(&side->pause, side->server->loop, "rpc accept pause", on_pause_over, side);
    loop_io_start(&side->io, side->fd, LOOP_READ);
}

static void remove_file(struct rpc_side *side) {
    struct stat st;
    if (side->path != NULL && lstat(side->path, &st) == 0 && st.st_dev == side->device && st.st_ino == side->inode) {
        unlink(side->path); // another server may have replaced it
    }
    mem_free(TAKE(side->path));
}

void rpc_accept_stop(struct rpc_side *side) {
    loop_io_stop(&side->io);
    loop_timer_stop(&side->pause);
    remove_file(side);
    fd_close(&side->fd);
}

// ---- All of them
// ------------------------------------------------------------------------------------------------------------------

// Each connection takes two descriptors, and everything else needs some too.
static int64_t connections_possible(int64_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return wanted;
    }
    int64_t all = (int64_t)limit.rlim_cur;
    int64_t kept = all / 4 < KEPT_FOR_OTHERS ? all / 4 : KEPT_FOR_OTHERS;
    int64_t possible = (all - kept) / 2;
    return possible < wanted ? possible : wanted;
}

bool rpc_accept_init(struct rpc_server *s, struct err *err) {
    int64_t possible = connections_possible(s->max_connections);
    if (possible < s->max_connections) {
        log_warn("rpc", "the limit of open files allows %lld connections, not %lld", (long long)possible,
                 (long long)s->max_connections);
        s->max_connections = possible;
    }
    s->closed_fd = epoll_create1(EPOLL_CLOEXEC);
    s->reserve_fd = open_reserve();
    if (s->closed_fd < 0 || s->reserve_fd < 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "CANNOT_LISTEN", errno, "cannot open what connections need");
    }
    loop_io_init(&s->closed, s->loop, "rpc closed", on_closed, s);
    loop_io_start(&s->closed, s->closed_fd, LOOP_READ);
    return true;
}

void rpc_accept_drop_waiting(struct rpc_server *s) {
    LIST_EACH (node, &s->connections) {
        struct rpc_connection *c = CONTAINER_OF(node, struct rpc_connection, link);
        if (!c->handed_over) {
            connection_free(c);
        }
    }
}

void rpc_accept_hang_up(struct rpc_server *s) {
    LIST_EACH (node, &s->connections) {
        (void)shutdown(CONTAINER_OF(node, struct rpc_connection, link)->fd, SHUT_RD);
    }
}

void rpc_accept_done(struct rpc_server *s) {
    LIST_EACH (node, &s->connections) {
        connection_free(CONTAINER_OF(node, struct rpc_connection, link));
    }
    if (s->closed_fd >= 0) {
        loop_io_stop(&s->closed);
    }
    fd_close(&s->closed_fd);
    fd_close(&s->reserve_fd);
}
