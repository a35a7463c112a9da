// Endpoints: what is refused as configuration, and servers that cannot be reached.
#include "support.h"

#include "base/log.h"
#include "http/backoff.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>

static struct bench b;

static void start(void) {
    bench_start(&b, NULL, (struct http_endpoint_config){0});
}
static void stop(void) {
    bench_stop(&b);
}
TestSuite(endpoint, .init = start, .fini = stop, .timeout = 60);

// libcurl's resolver thread finds this one before the C library's.
__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **ret) {
    if (node != NULL && strcmp(node, "slow.test") == 0) {
        sleep(3);
        return EAI_AGAIN;
    }
    if (node != NULL && strcmp(node, "missing.test") == 0) {
        return EAI_NONAME;
    }
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(node, service, hints, ret);
}

Test(endpoint, configuration) {
    static const char pem[] = "-----BEGIN CERTIFICATE-----\n";
    static const struct {
        struct http_endpoint_config config;
        const char *reason; // NULL: accepted
    } rows[] = {
        {{.url = "https://host"}, NULL},
        {{.url = "https://host:6443/"}, NULL},
        {{.url = "https://[::1]:6443/prefix/"}, NULL},
        {{.url = "http://10.0.0.1:80"}, NULL},
        {{.url = NULL}, "BAD_URL"},
        {{.url = ""}, "BAD_URL"},
        {{.url = "host:6443"}, "BAD_URL"},
        {{.url = "ftp://host"}, "BAD_URL"},
        {{.url = "file:///etc/passwd"}, "BAD_URL"},
        {{.url = "https://user:password@host"}, "BAD_URL"},
        {{.url = "https://host/?a=b"}, "BAD_URL"},
        {{.url = "https://host/#a"}, "BAD_URL"},
        {{.url = "https://host:99999"}, "BAD_URL"},
        {{.url = "https://ho st"}, "BAD_URL"},
        {{.url = "https://host", .server_name = "other.name"}, NULL},
        {{.url = "https://host", .server_name = "a/b"}, "BAD_SERVER_NAME"},
        {{.url = "https://host", .server_name = ""}, "BAD_SERVER_NAME"},
        {{.url = "https://host", .proxy = "http://user:secret@proxy:3128"}, NULL},
        {{.url = "https://host", .proxy = "socks5://proxy:1080"}, NULL},
        {{.url = "https://host", .proxy = "ftp://user:secret@proxy"}, "BAD_PROXY"},
        {{.url = "https://host", .proxy = "proxy"}, "BAD_PROXY"},
        {{.url = "https://host", .ca.text = pem}, NULL},
        {{.url = "https://host", .ca.text = "rubbish"}, "BAD_PEM"},
        {{.url = "https://host", .ca.text = ""}, "BAD_PEM"},
        {{.url = "https://host", .ca.text = pem, .insecure = true}, "INSECURE_WITH_CA"},
        {{.url = "https://host", .cert.text = pem}, "BAD_CLIENT_CERTIFICATE"},
        {{.url = "https://host", .key.text = pem}, "BAD_CLIENT_CERTIFICATE"},
        {{.url = "https://host", .cert.text = pem, .key.text = pem}, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct http_endpoint *endpoint = NULL;
        bool ok = http_endpoint_new(b.client, &rows[i].config, &endpoint, &err);
        cr_expect_eq(ok, rows[i].reason == NULL, "row %zu: %s", i, err.message);
        cr_expect(ok || str_same(err.reason, rows[i].reason), "row %zu: %s, %s", i, err.reason, err.message);
        cr_expect(ok || (strstr(err.message, "secret") == NULL && strstr(err.message, "password") == NULL));
        http_endpoint_free(endpoint);
    }
    struct http_endpoint_config missing = {.url = "https://host", .ca.file = "/does/not/exist"};
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct http_endpoint *endpoint = NULL;
    cr_expect(!http_endpoint_new(b.client, &missing, &endpoint, &err));
    cr_expect_not_null(strstr(err.message, "certificate authority"), "%s", err.message);
}

static struct outcome ask(struct http_endpoint_config config, int64_t connect_ms) {
    struct bench other;
    bench_join(&other, &b, config);
    struct http_request request = usual;
    request.method = "POST";
    request.path = "/echo";
    request.connect_ms = connect_ms;
    struct outcome o = {0};
    begin(&other, &o, &request);
    finish(&other);
    bench_stop(&other);
    return o;
}

static int port_of(int fd) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

Test(endpoint, unreachable) {
    int closed = socket(AF_INET, SOCK_STREAM, 0), full = socket(AF_INET, SOCK_STREAM, 0),
        mute = socket(AF_INET, SOCK_STREAM, 0);
    CLEANUP(mem_free_ptr) char *refusing = mem_printf("http://127.0.0.1:%d", port_of(closed)); // not listening
    CLEANUP(mem_free_ptr) char *silent = mem_printf("https://127.0.0.1:%d", port_of(full));    // no handshake
    listen(full, 8);
    CLEANUP(mem_free_ptr) char *plain = mem_printf("https://127.0.0.1:%d", b.server.port); // no TLS there
    CLEANUP(mem_free_ptr) char *proxy = mem_printf("http://127.0.0.1:%d", port_of(mute));
    CLEANUP(mem_free_ptr)
    char *no_proxy = mem_printf("http://127.0.0.1:%d", b.server.port); // answers CONNECT with an error
    const struct {
        struct http_endpoint_config config;
        enum http_failure failure;
    } rows[] = {
        {{.url = refusing}, HTTP_CONNECT},
        {{.url = "http://missing.test"}, HTTP_DNS},
        {{.url = "http://slow.test"}, HTTP_TIMEOUT},
        {{.url = silent}, HTTP_TIMEOUT},
        {{.url = plain}, HTTP_TLS},
        {{.url = "http://host.test", .proxy = proxy}, HTTP_CONNECT},
        {{.url = "http://host.test", .proxy = "http://missing.test"}, HTTP_DNS},
        {{.url = "https://host.test", .proxy = no_proxy}, HTTP_CONNECT},
        {{.url = "http://host", .unix_path = "/does/not/exist"}, HTTP_CONNECT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t begin_at = clock_mono();
        struct outcome o = ask(rows[i].config, 400);
        int64_t took = (clock_mono() - begin_at) / CLOCK_MS;
        cr_expect_eq(o.failure, rows[i].failure, "row %zu: %s, %s", i, http_failure_name(o.failure), o.problem);
        cr_expect(!o.sent, "row %zu: %s", i, o.problem);
        cr_expect(took < 1500, "row %zu: the loop was blocked for %lld ms", i, (long long)took);
        outcome_done(&o);
    }
    close(closed);
    close(full);
    close(mute);
}

Test(endpoint, a_name_that_takes_long_blocks_nobody) {
    struct bench slow;
    bench_join(&slow, &b, (struct http_endpoint_config){.url = "http://slow.test"});
    struct outcome o = {0};
    begin_get(&slow, &o, "/");
    struct outcome quick = get(&b, "/body=x");
    cr_expect_eq(quick.failure, HTTP_OK);
    cr_expect(quick.took_ms < 1000);
    int64_t begin_at = clock_mono();
    http_cancel(o.call);
    run_for(&b, 20);
    cr_expect(clock_mono() - begin_at < 1000 * CLOCK_MS, "canceling waited for the resolver");
    bench_stop(&slow);
    outcome_done(&quick);
    sleep(3); // the thread of the resolver ends, and leaves nothing
}

Test(endpoint, proxy_prefix_and_unix_socket) {
    CLEANUP(mem_free_ptr) char *itself = mem_printf("http://127.0.0.1:%d", b.server.port);
    struct outcome o = ask((struct http_endpoint_config){.url = "http://host.test", .proxy = itself}, 1000);
    cr_expect_eq(o.failure, HTTP_OK); // the server takes the whole URL for a path and ignores it
    outcome_done(&o);

    struct bench other;
    CLEANUP(mem_free_ptr) char *prefixed = mem_printf("http://127.0.0.1:%d/echo;/", b.server.port);
    bench_join(&other, &b, (struct http_endpoint_config){.url = prefixed});
    o = get(&other, "/a/../b?q=1");
    cr_expect_not_null(strstr(o.body, "\"path\": \"/echo;/a/../b?q=1\""), "%s", o.body);
    outcome_done(&o);
    bench_stop(&other);

    char dir[] = "/tmp/http-unix-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/s", dir);
    struct server server;
    server_start(&server, (const char *[]){"--unix", path, NULL});
    o = ask((struct http_endpoint_config){.url = "http://host.test", .unix_path = path}, 1000);
    cr_expect_eq(o.failure, HTTP_OK, "%s", o.problem);
    cr_expect_not_null(strstr(o.body, "[\"Host\", \"host.test\"]"), "%s", o.body);
    outcome_done(&o);
    server_stop(&server);
    unlink(path);
    rmdir(dir);
}

Test(endpoint, the_log_tells_no_secrets) {
    char name[] = "/tmp/http-log-XXXXXX";
    int file = mkstemp(name), old = dup(2);
    dup2(file, 2);
    log_set_level(LOG_DEBUG);
    cr_assert(http_endpoint_set_header(b.endpoint, "Authorization", "Bearer secret-1"));
    static const struct http_header header = {"X-Other", "secret-2"};
    struct http_request request = usual;
    request.method = "POST";
    request.path = "/status=409;body=x?token=secret-3";
    request.headers = &header;
    request.header_count = 1;
    request.body = "secret-4";
    request.body_len = 8;
    struct outcome o = {0};
    begin(&b, &o, &request);
    finish(&b);
    log_set_level(LOG_INFO);
    dup2(old, 2);
    char text[4096] = "";
    cr_assert_gt(pread(file, text, sizeof text - 1, 0), 0);
    cr_expect_not_null(strstr(text, "POST /status=409;body=x: OK, status 409, "), "%s", text);
    static const char *const secrets[] = {"secret-1", "secret-2", "token", "secret-4"};
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
        cr_expect_null(strstr(text, secrets[i]), "%s", text);
    }
    close(file);
    close(old);
    unlink(name);
    outcome_done(&o);
}

Test(endpoint, backoff) {
    struct http_backoff backoff = {.base_ms = 100, .cap_ms = 1000};
    static const int64_t most[] = {100, 200, 400, 800, 1000, 1000, 1000};
    bool varied = false;
    for (int round = 0; round < 50; round++) {
        int64_t first = 0;
        for (size_t i = 0; i < ARRAY_LEN(most); i++) {
            int64_t wait = http_backoff_next(&backoff);
            cr_expect(wait >= most[i] / 2 && wait <= most[i], "%zu: %lld", i, (long long)wait);
            first = i == 0 ? wait : first;
        }
        varied = varied || first != 100;
        http_backoff_reset(&backoff);
    }
    cr_expect(varied);
    struct http_backoff huge = {.base_ms = 1, .cap_ms = INT64_MAX};
    for (int i = 0; i < 200; i++) {
        cr_expect(http_backoff_next(&huge) >= 0);
    }
}

Test(endpoint, names_of_failures) {
    for (unsigned i = 0; i < HTTP_FAILURES; i++) {
        cr_expect(strlen(http_failure_name(i)) > 1, "%u", i);
    }
    cr_expect_str_eq(http_failure_name(HTTP_TOO_LARGE), "TOO_LARGE");
    cr_expect_str_eq(http_failure_name(HTTP_FAILURES), "?");
}
