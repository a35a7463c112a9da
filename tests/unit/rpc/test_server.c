#include "server_thread.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static const char watch[] = "/grpc.health.v1.Health/Watch";

// Ends in the middle of everything: calls open, connections silent, nothing shut down before.
Test(server, freed_while_in_use) {
    struct server_thread t = {0};
    CLEANUP(str_done) struct str out = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct rpc_stream *streams[20];
    cr_assert(server_start(&t));
    struct rpc_client *c = rpc_client_new(t.address, NULL);
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        cr_assert(rpc_client_open(c, watch, NULL, 0, &streams[i], &err));
        if (i % 2 == 0) {
            cr_assert_eq(rpc_stream_next(streams[i], 10000, &out, &err), STREAM_MESSAGE);
        }
    }
    server_stop(&t, false);
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        enum rpc_stream_result last = rpc_stream_next(streams[i], 10000, &out, &err);
        if (last == STREAM_MESSAGE) {
            last = rpc_stream_next(streams[i], 10000, &out, &err);
        }
        cr_assert_eq(last, STREAM_ERROR);
        err_done(&err);
        rpc_stream_close(streams[i]);
    }
    rpc_client_free(c);
}

Test(server, started_and_stopped_at_once) {
    for (int i = 0; i < 5; i++) {
        struct server_thread t = {0};
        cr_assert(server_start(&t));
        server_stop(&t, i % 2 == 0);
    }
}

Test(server, the_socket_is_private_and_goes_away) {
    struct server_thread t = {0};
    struct stat st;
    char path[128];
    cr_assert(server_start(&t));
    snprintf(path, sizeof path, "%s", t.options.unix_path);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert(S_ISSOCK(st.st_mode));
    cr_assert_eq(st.st_mode & 0777, 0600);
    server_stop(&t, true);
    cr_assert_neq(stat(path, &st), 0);
}

static void refused(struct server_thread *t, enum err_code code, const char *reason, const char *says) {
    cr_assert(!server_start(t));
    cr_assert_eq(t->err.code, code, "%s", t->err.message);
    cr_assert_str_eq(t->err.reason, reason);
    cr_assert_not_null(strstr(t->err.message, says), "%s", t->err.message);
    server_stop(t, true);
}

Test(server, addresses_in_use) {
    struct sockaddr_un unix_address = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp_address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof tcp_address;
    struct stat st;
    char tcp[32];
    int unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int tcp_fd = socket(AF_INET, SOCK_STREAM, 0);
    snprintf(unix_address.sun_path, sizeof unix_address.sun_path, "/tmp/rpc-test-live-%d", (int)getpid());
    cr_assert_eq(bind(unix_fd, (struct sockaddr *)&unix_address, sizeof unix_address), 0);
    cr_assert_eq(bind(tcp_fd, (struct sockaddr *)&tcp_address, sizeof tcp_address), 0);
    cr_assert_eq(listen(unix_fd, 5), 0);
    cr_assert_eq(listen(tcp_fd, 5), 0);
    getsockname(tcp_fd, (struct sockaddr *)&tcp_address, &length);
    snprintf(tcp, sizeof tcp, "127.0.0.1:%d", ntohs(tcp_address.sin_port));
    struct server_thread by_path = {.options.unix_path = unix_address.sun_path};
    refused(&by_path, ERR_PRECONDITION, "ADDRESS_IN_USE", unix_address.sun_path);
    struct server_thread by_port = {.options.tcp_address = tcp};
    refused(&by_port, ERR_PRECONDITION, "ADDRESS_IN_USE", tcp);
    cr_assert_eq(stat(unix_address.sun_path, &st), 0, "the other one's socket stays");
    unlink(unix_address.sun_path);
    close(unix_fd);
    close(tcp_fd);
}

Test(server, bad_addresses) {
    static const struct {
        const char *unix_path, *tcp, *reason, *says;
        enum err_code code;
    } cases[] = {
        {NULL, "7070", "CANNOT_LISTEN", "HOST:PORT", ERR_INVALID},
        {NULL, ":7070", "CANNOT_LISTEN", "HOST:PORT", ERR_INVALID},
        {NULL, "127.0.0.1:", "CANNOT_LISTEN", "HOST:PORT", ERR_INVALID},
        {NULL, "127.0.0.1:x", "CANNOT_LISTEN", "127.0.0.1:x", ERR_INVALID},
        {NULL, "192.0.2.1:7070", "CANNOT_LISTEN", "192.0.2.1", ERR_PRECONDITION},
        {"/nonexistent/s", NULL, "CANNOT_LISTEN", "/nonexistent/s", ERR_PRECONDITION},
        {"/dev/null", NULL, "CANNOT_LISTEN", "is no socket", ERR_PRECONDITION},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct server_thread t = {.options.unix_path = cases[i].unix_path, .options.tcp_address = cases[i].tcp};
        refused(&t, cases[i].code, cases[i].reason, cases[i].says);
    }
}

Test(server, a_stale_socket_is_replaced) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/rpc-test-stale-%d", (int)getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    struct server_thread t = {.options.unix_path = address.sun_path};
    cr_assert(server_start(&t), "%s", t.err.message);
    server_stop(&t, true);
}
