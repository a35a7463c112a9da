// Listening sockets: a unix socket that only its owner can open, and a TCP address. Nothing is shared with another
// server by accident: an address in use is an error.
#include "rpc/internal.h"

#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static bool in_use(struct err *err, const char *address) {
    return err_fail(err, ERR_PRECONDITION, "ADDRESS_IN_USE", "%s is in use by another server", address);
}

static bool fail(struct err *err, const char *what, const char *address) {
    return err_fail_errno(err, ERR_PRECONDITION, "CANNOT_LISTEN", errno, "cannot %s %s", what, address);
}

// ---- unix
// -----------------------------------------------------------------------------------------------------------------------

// A file that a crashed server left behind goes; a socket that answers, and anything that is no socket, stays.
static bool clear_path(const struct sockaddr_un *address, struct err *err) {
    struct stat st;
    const char *path = address->sun_path;
    if (lstat(path, &st) != 0) {
        return errno == ENOENT || fail(err, "look at", path);
    }
    if (!S_ISSOCK(st.st_mode)) {
        return err_fail(err, ERR_PRECONDITION, "CANNOT_LISTEN", "%s exists and is no socket", path);
    }
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return fail(err, "make a socket for", path);
    }
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN) {
        return in_use(err, path);
    }
    if (errno != ECONNREFUSED && errno != ENOENT) {
        return fail(err, "try", path);
    }
    return unlink(path) == 0 || errno == ENOENT || fail(err, "replace", path);
}

// On failure what was made stays in side, for rpc_accept_stop.
bool rpc_listen_unix(struct rpc_side *side, const char *path, struct err *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (strlen(path) >= sizeof address.sun_path) {
        return err_fail(err, ERR_INVALID, "CANNOT_LISTEN",
                        "socket path %s is longer than the %zu bytes that are possible", path,
                        sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    side->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (side->fd < 0) {
        return fail(err, "make a socket for", path);
    }
    if (!clear_path(&address, err)) {
        return false;
    }
    if (bind(side->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        return errno == EADDRINUSE ? in_use(err, path) : fail(err, "bind", path);
    }
    side->path = mem_strdup(path);
    // Nobody can connect before listen().
    if (chmod(path, 0600) != 0 || lstat(path, &st) != 0 || listen(side->fd, BACKLOG) != 0) {
        return fail(err, "listen on", path);
    }
    side->device = st.st_dev;
    side->inode = st.st_ino;
    return true;
}

// ---- TCP
// ----------------------------------------------------------------------------------------------------------------------

// "HOST:PORT", "[V6]:PORT". false: neither.
static bool split(const char *address, char host[256], const char **ret_port) {
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon[1] == '\0') {
        return false;
    }
    const char *from = address;
    const char *to = colon;
    if (*from == '[' && to > from && to[-1] == ']') {
        from++;
        to--;
    }
    size_t n = (size_t)(to - from);
    if (n == 0 || n >= 256) {
        return false;
    }
    memcpy(host, from, n);
    host[n] = '\0';
    *ret_port = colon + 1;
    return true;
}

static int bound_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a;
    socklen_t n = sizeof a;
    memset(&a, 0, sizeof a);
    if (getsockname(fd, &a.any, &n) != 0) {
        return 0;
    }
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

static bool listen_at(struct rpc_side *side, const struct addrinfo *to, const char *address, struct err *err) {
    const int on = 1;
    side->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (side->fd < 0) {
        return fail(err, "make a socket for", address);
    }
    // A restart must not wait for old connections; two servers still cannot share the port.
    if (setsockopt(side->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) {
        return fail(err, "set up", address);
    }
    if (bind(side->fd, to->ai_addr, to->ai_addrlen) != 0 || listen(side->fd, BACKLOG) != 0) {
        return errno == EADDRINUSE ? in_use(err, address) : fail(err, "bind", address);
    }
    side->port = bound_port(side->fd);
    return true;
}

bool rpc_listen_tcp(struct rpc_side *side, const char *address, struct err *err) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[256];
    const char *port = NULL;
    if (!split(address, host, &port)) {
        return err_fail(err, ERR_INVALID, "CANNOT_LISTEN", "\"%s\" is not HOST:PORT, such as 127.0.0.1:7070", address);
    }
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed != 0) {
        return err_fail(err, ERR_INVALID, "CANNOT_LISTEN", "cannot find %s: %s", address, gai_strerror(failed));
    }
    bool ok = listen_at(side, found, address, err);
    freeaddrinfo(found);
    return ok;
}
