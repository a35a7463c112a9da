// TLS and HTTP/2: whom the client believes, what it shows of itself, and many requests on one connection.
#include "support.h"

static struct bench b;
static char dir[] = "/tmp/http-tls-XXXXXX";

static void make_certificates(void) {
    static const char script[] =
        "set -e; cd %s; exec >openssl.log 2>&1\n"
        "new='openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'\n"
        "$new -subj /CN=authority -keyout ca.key -out ca.pem\n"
        "$new -subj /CN=stranger -keyout other.key -out other.pem\n"
        "for name in server client; do\n"
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name -keyout $name.key -out "
        "$name.csr\n"
        "echo subjectAltName=DNS:api.test,IP:127.0.0.1 >ext\n"
        "openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out $name.pem\n"
        "done\n"
        "openssl pkey -in client.key -aes256 -passout pass:secret -out locked.key\n";
    cr_assert_not_null(mkdtemp(dir));
    CLEANUP(mem_free_ptr) char *command = mem_printf(script, dir);
    cr_assert_eq(system(command), 0, "openssl failed: %s/openssl.log", dir);
}

static char *in_dir(const char *name) {
    return mem_printf("%s/%s", dir, name);
}

// The configuration of a client that the server believes, to be spoiled by each test.
static struct { char *url, *ca, *cert, *key, *other, *locked; } have;

static void start_with(const char *const *more) {
    make_certificates();
    const char *args[ARGS_MAX] = {"--tls", dir};
    for (int i = 0; more[i] != NULL; i++) {
        args[i + 2] = more[i];
    }
    signal(SIGPIPE, SIG_IGN);
    server_start(&b.server, args);
    b.loop = loop_new();
    have.url = mem_printf("https://127.0.0.1:%d", b.server.port);
    have.ca = in_dir("ca.pem");
    have.cert = in_dir("client.pem");
    have.key = in_dir("client.key");
    have.other = in_dir("other.pem");
    have.locked = in_dir("locked.key");
}
static void start(void) {
    start_with((const char *[]){"--h2", NULL});
}
static void start_mutual(void) {
    start_with((const char *[]){"--h2", "--client-ca", NULL});
}
static void stop(void) {
    loop_free(b.loop);
    server_stop(&b.server);
    CLEANUP(mem_free_ptr) char *command = mem_printf("rm -r %s", dir);
    cr_expect_eq(system(command), 0);
    char **all = &have.url;
    for (size_t i = 0; i < sizeof have / sizeof *all; i++) {
        mem_free(all[i]);
    }
}
TestSuite(tls, .init = start, .fini = stop, .timeout = 60);
TestSuite(mutual, .init = start_mutual, .fini = stop, .timeout = 60);

static struct http_endpoint_config believing(void) {
    return (struct http_endpoint_config){.url = have.url, .ca.file = have.ca};
}

static struct bench join(struct http_endpoint_config config) {
    struct bench client;
    bench_join(&client, &b, config);
    return client;
}

static struct outcome ask(struct http_endpoint_config config, const char *path) {
    struct bench client = join(config);
    struct outcome o = get(&client, path);
    bench_stop(&client);
    return o;
}

Test(tls, whom_we_believe) {
    CLEANUP(mem_free_ptr) char *by_name = mem_printf("https://localhost:%d", b.server.port);
    const struct {
        struct http_endpoint_config config;
        enum http_failure failure;
    } rows[] = {
        {{.url = have.url, .ca.file = have.ca}, HTTP_OK},
        {{.url = have.url, .ca.file = have.other}, HTTP_TLS},
        {{.url = have.url}, HTTP_TLS}, // only the system's authorities
        {{.url = have.url, .insecure = true}, HTTP_OK},
        {{.url = by_name, .ca.file = have.ca}, HTTP_TLS}, // the certificate is not for localhost
        {{.url = by_name, .ca.file = have.ca, .server_name = "api.test"}, HTTP_OK},
        {{.url = have.url, .ca.file = have.ca, .server_name = "api.test"}, HTTP_OK},
        {{.url = have.url, .ca.file = have.ca, .server_name = "other.test"}, HTTP_TLS},
        {{.url = by_name, .insecure = true}, HTTP_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outcome o = ask(rows[i].config, "/body=secret");
        cr_expect_eq(o.failure, rows[i].failure, "row %zu: %s, %s", i, http_failure_name(o.failure), o.problem);
        cr_expect_eq(o.sent, rows[i].failure == HTTP_OK, "row %zu", i);
        cr_expect_str_eq(o.body, rows[i].failure == HTTP_OK ? "secret" : "");
        outcome_done(&o);
    }
}

Test(tls, authority_in_memory) {
    CLEANUP(str_done) struct str ca = STR_INIT;
    FILE *file = fopen(have.ca, "r");
    for (int c; (c = fgetc(file)) != EOF;) {
        str_add_char(&ca, (char)c);
    }
    fclose(file);
    struct outcome o =
        ask((struct http_endpoint_config){.url = have.url, .ca = {.file = have.other, .text = ca.data}}, "/body=x");
    cr_expect_eq(o.failure, HTTP_OK, "%s", o.problem); // text wins
    outcome_done(&o);
}

Test(tls, the_host_header_is_the_real_host) {
    struct http_endpoint_config config = believing();
    config.server_name = "api.test";
    struct bench client = join(config);
    CLEANUP(mem_free_ptr) char *authority = mem_printf("[\":authority\", \"127.0.0.1:%d\"]", b.server.port);
    struct outcome o = get(&client, "/echo");
    cr_expect_not_null(strstr(o.body, authority), "%s", o.body);
    outcome_done(&o);
    bench_stop(&client);
}

Test(tls, one_connection_for_many) {
    enum { MANY = 50 };
    struct bench client = join(believing());
    struct outcome o[MANY] = {0};
    int64_t begin = clock_mono();
    for (int i = 0; i < MANY; i++) {
        begin_get(&client, &o[i], i == 0 ? "/sleep=1500;body=x" : "/sleep=500;body=x");
    }
    finish(&client);
    cr_expect(clock_mono() - begin < 5000 * CLOCK_MS); // one after the other they would take 26 s
    for (int i = 0; i < MANY; i++) {
        cr_expect_eq(o[i].failure, HTTP_OK, "%s", o[i].problem);
        cr_expect_eq(o[i].connection, o[0].connection);
        cr_expect(i == 0 || o[i].took_ms < 1500, "held up by the slow one: %lld", (long long)o[i].took_ms);
        outcome_done(&o[i]);
    }
    bench_stop(&client);
}

Test(tls, large_bodies_over_http2) {
    enum { SIZE = 2 << 20 };
    struct bench client = join(believing());
    char *body = mem_alloc(SIZE);
    memset(body, 'b', SIZE);
    struct http_request request = usual;
    request.method = "PUT";
    request.path = "/echo";
    request.body = body;
    request.body_len = SIZE;
    request.max_response = 2 * SIZE;
    struct outcome o = {0};
    begin(&client, &o, &request);
    finish(&client);
    mem_free(body);
    cr_expect_eq(o.failure, HTTP_OK, "%s", o.problem);
    cr_expect(o.body_len > SIZE);
    cr_expect_not_null(strstr(o.body, "\"method\": \"PUT\""), "no PUT arrived");
    outcome_done(&o);
    bench_stop(&client);
}

Test(tls, a_stalled_answer_holds_up_nobody) {
    struct bench client = join(believing());
    struct http_request stalled = usual;
    stalled.path = "/stall";
    stalled.total_ms = 600;
    struct outcome slow = {0};
    begin(&client, &slow, &stalled);
    struct outcome quick[3] = {0};
    for (int i = 0; i < 3; i++) {
        begin_get(&client, &quick[i], "/body=x");
    }
    finish(&client);
    cr_expect_eq(slow.failure, HTTP_TIMEOUT);
    cr_expect(slow.sent);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(quick[i].failure, HTTP_OK);
        cr_expect(quick[i].took_ms < 500, "%lld", (long long)quick[i].took_ms);
        outcome_done(&quick[i]);
    }
    outcome_done(&slow);
    bench_stop(&client);
}

Test(tls, nobody_joins_a_connection_that_went_silent) {
    struct bench client = join(believing());
    struct outcome first = get(&client, "/body=x");
    kill(b.server.pid, SIGSTOP); // its kernel still acknowledges what we send
    struct http_request request = usual;
    request.total_ms = 300;
    struct outcome lost = {0};
    begin(&client, &lost, &request);
    finish(&client);
    kill(b.server.pid, SIGCONT);
    cr_expect_eq(lost.failure, HTTP_TIMEOUT);
    struct outcome next = get(&client, "/body=x");
    cr_expect_eq(next.failure, HTTP_OK);
    cr_expect(next.connection > first.connection, "%d, %d", next.connection, first.connection);
    outcome_done(&first);
    outcome_done(&lost);
    outcome_done(&next);
    bench_stop(&client);
}

Test(tls, http2_faults) {
    static const struct {
        const char *method, *path;
        enum http_failure failure;
    } rows[] = {
        {"GET", "/goaway", HTTP_RESET},
        {"POST", "/goaway;x=1", HTTP_RESET},
        {"GET", "/refuse;body=x", HTTP_OK}, // a refused stream was not looked at: repeated
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench client = join(believing());
        struct http_request request = usual;
        request.method = rows[i].method;
        request.path = rows[i].path;
        struct outcome o = {0};
        begin(&client, &o, &request);
        finish(&client);
        cr_expect_eq(o.failure, rows[i].failure, "%s: %s, %s", rows[i].path, http_failure_name(o.failure), o.problem);
        outcome_done(&o);
        struct outcome after = get(&client, "/body=x");
        cr_expect_eq(after.failure, HTTP_OK, "%s", after.problem);
        outcome_done(&after);
        bench_stop(&client);
    }
}

Test(tls, streams_speak_http1) {
    struct bench client = join(believing());
    struct http_request request = usual;
    request.path = "/drip=5:10:10"; // the server chunks only in HTTP/1.1
    request.total_ms = 0;
    struct outcome o = {0}, beside = {0};
    begin_stream(&client, &o, &request);
    begin_get(&client, &beside, "/body=x");
    finish(&client);
    cr_expect_eq(o.failure, HTTP_OK, "%s", o.problem);
    cr_expect_eq(o.data.len, 50);
    cr_expect_neq(o.connection, beside.connection);
    outcome_done(&o);
    outcome_done(&beside);
    bench_stop(&client);
}

Test(mutual, client_certificates) {
    CLEANUP(mem_free_ptr) char *server_cert = in_dir("server.pem");
    CLEANUP(mem_free_ptr) char *other_key = in_dir("other.key");
    const struct {
        struct http_pem cert, key;
        bool ok;
        const char *what;
    } rows[] = {
        {{.file = have.cert}, {.file = have.key}, true, "the right one"},
        {{0}, {0}, false, "none"},
        {{.file = have.other}, {.file = other_key}, false, "of another authority"},
        {{.file = server_cert}, {.file = have.key}, false, "a key of another certificate"},
        {{.file = have.cert}, {.file = have.locked}, false, "a key with a password"},
        {{.text = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"},
         {.file = have.key},
         false,
         "no certificate"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_endpoint_config config = believing();
        config.cert = rows[i].cert;
        config.key = rows[i].key;
        struct outcome o = ask(config, "/body=x");
        cr_expect_eq(o.failure, rows[i].ok ? HTTP_OK : HTTP_TLS, "%s: %s, %s", rows[i].what,
                     http_failure_name(o.failure), o.problem);
        outcome_done(&o);
    }
}
