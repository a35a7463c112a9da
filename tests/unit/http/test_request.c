// Requests over plain HTTP/1.1: what goes out, what comes back, and every way in which it does not.
#include "support.h"

#include <time.h>

static struct bench b;

static void start(void) {
    bench_start(&b, NULL, (struct http_endpoint_config){0});
}
static void stop(void) {
    bench_stop(&b);
}
TestSuite(request, .init = start, .fini = stop, .timeout = 60);

static bool has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

Test(request, answer) {
    struct outcome o = get(&b, "/status=404;header=Warning:299%20-%20%22old%22;header=warning:second;body=gone%0A");
    cr_expect_eq(o.failure, HTTP_OK);
    cr_expect(o.sent);
    cr_expect_eq(o.status, 404);
    cr_expect_str_eq(o.body, "gone\n");
    cr_expect_eq(o.body_len, 5);
    cr_expect_str_eq(o.problem, "");
    cr_expect(has(o.headers, "\nWarning: 299 - \"old\"\nwarning: second\n"), "%s", o.headers);
    cr_expect_eq(o.retry_after, -1);
    outcome_done(&o);
}

Test(request, what_goes_out) {
    cr_assert(http_endpoint_set_header(b.endpoint, "Authorization", "Bearer one"));
    cr_assert(http_endpoint_set_header(b.endpoint, "X-Kept", "endpoint"));
    cr_assert(http_endpoint_set_header(b.endpoint, "X-Overridden", "endpoint"));
    cr_assert(http_endpoint_set_header(b.endpoint, "authorization", "Bearer two"));
    const struct http_header headers[] = {
        {"Content-Type", "application/json"}, {"x-overridden", "request"}, {"X-Empty", ""}};
    struct http_request request = usual;
    request.method = "PATCH";
    request.path = "/echo?x=%20y&z";
    request.headers = headers;
    request.header_count = 3;
    request.body = "{\"a\":1}";
    request.body_len = 7;
    struct outcome o = {0};
    begin(&b, &o, &request);
    cr_assert(http_endpoint_set_header(b.endpoint, "Authorization", NULL)); // not of what has begun
    finish(&b);
    cr_expect(has(o.body, "\"method\": \"PATCH\", \"path\": \"/echo?x=%20y&z\""), "%s", o.body);
    cr_expect(has(o.body, "\"body\": \"{\\\"a\\\":1}\""), "%s", o.body);
    cr_expect(has(o.body, "[\"authorization\", \"Bearer two\"]"), "%s", o.body);
    cr_expect(!has(o.body, "Bearer one"), "%s", o.body);
    cr_expect(has(o.body, "[\"X-Kept\", \"endpoint\"]") && has(o.body, "[\"x-overridden\", \"request\"]"), "%s",
              o.body);
    cr_expect(!has(o.body, "X-Overridden"), "%s", o.body);
    cr_expect(has(o.body, "[\"Content-Type\", \"application/json\"]"), "%s", o.body);
    cr_expect(has(o.body, "[\"Content-Length\", \"7\"]") && !has(o.body, "Expect"), "%s", o.body);
    cr_expect(has(o.body, "[\"User-Agent\", \"trainerd/" TRAINERD_VERSION "\"]"), "%s", o.body);
    outcome_done(&o);
    o = get(&b, "/echo");
    cr_expect(!has(o.body, "uthorization"), "%s", o.body);
    cr_expect(!has(o.body, "Content-Type"), "%s", o.body);
    outcome_done(&o);
}

Test(request, methods) {
    static const struct {
        const char *method, *body, *expected;
    } rows[] = {
        {"GET", NULL, "\"method\": \"GET\""},
        {"POST", NULL, "[\"Content-Length\", \"0\"]"},
        {"POST", "", "[\"Content-Length\", \"0\"]"},
        {"PUT", "v", "\"method\": \"PUT\""},
        {"DELETE", NULL, "\"method\": \"DELETE\""},
        {"DELETE", "{}", "\"body\": \"{}\""},
        {"HEAD", NULL, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_request request = usual;
        request.method = rows[i].method;
        request.path = "/echo";
        request.body = rows[i].body;
        request.body_len = rows[i].body != NULL ? strlen(rows[i].body) : 0;
        struct outcome o = {0};
        begin(&b, &o, &request);
        finish(&b);
        cr_expect_eq(o.failure, HTTP_OK, "%s: %s", rows[i].method, o.problem);
        cr_expect(has(o.body, rows[i].expected), "%s: %s", rows[i].method, o.body);
        outcome_done(&o);
    }
}

Test(request, large_bodies_both_ways) {
    enum { SIZE = 3 << 20 };
    char *body = mem_alloc(SIZE);
    memset(body, 'b', SIZE);
    struct http_request request = usual;
    request.method = "POST";
    request.path = "/echo";
    request.body = body;
    request.body_len = SIZE;
    request.max_response = 2 * SIZE;
    struct outcome o = {0};
    begin(&b, &o, &request);
    memset(body, '-', SIZE); // the client has a copy
    mem_free(body);
    finish(&b);
    cr_expect_eq(o.failure, HTTP_OK);
    cr_expect(o.body_len > SIZE && o.body_len < SIZE + 1000);
    cr_expect(has(o.body, "bbbbbbbbbb\"}"));
    outcome_done(&o);
}

Test(request, compressed) {
    static const struct {
        bool gzip;
        const char *path;
        enum http_failure failure;
        size_t len;
    } rows[] = {
        {true, "/gzip=100000", HTTP_OK, 100000},
        {false, "/gzip=100000", HTTP_OK, 100000},
        {true, "/gzip=1048576", HTTP_OK, 1048576},
        {true, "/gzip=100000000", HTTP_TOO_LARGE, 0}, // 100 kB on the wire
        {true, "/header=Content-Encoding:gzip;body=not%20so", HTTP_PROTOCOL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_request request = usual;
        request.path = rows[i].path;
        request.gzip = rows[i].gzip;
        struct outcome o = {0};
        begin(&b, &o, &request);
        finish(&b);
        cr_expect_eq(o.failure, rows[i].failure, "row %zu: %s, %s", i, http_failure_name(o.failure), o.problem);
        cr_expect_eq(strstr(o.headers, "Content-Encoding") != NULL, rows[i].gzip, "%s", o.headers);
        cr_expect(o.failure != HTTP_OK || (o.body_len == rows[i].len && o.body[rows[i].len - 1] == 'x'));
        outcome_done(&o);
    }
}

// ---- Faults

Test(request, faults) {
    static const struct {
        const char *path;
        enum http_failure failure;
        int status;
        const char *body;
    } rows[] = {
        {"/reset=0", HTTP_RESET, 0, ""},
        {"/reset=10;body=abc", HTTP_RESET, 0, ""},
        {"/cut=0", HTTP_RESET, 0, ""},
        {"/cut=70;body=abcdefghijklmnopqrstuvwxyz", HTTP_RESET, 200, "abcdefgh"},
        {"/early=reset", HTTP_RESET, 0, ""},
        {"/early=cut", HTTP_RESET, 0, ""},
        {"/raw=garbage%0D%0A%0D%0A", HTTP_PROTOCOL, 0, ""},
        {"/raw=SSH-2.0-OpenSSH", HTTP_PROTOCOL, 0, ""},
        {"/raw=HTTP/1.1%20200%20OK%0D%0AContent-Length:%20-4%0D%0A%0D%0Aabcd", HTTP_PROTOCOL, 0, ""},
        {"/raw=HTTP/1.1%20200%20OK%0D%0ATransfer-Encoding:%20chunked%0D%0A%0D%0Azz%0D%0A", HTTP_RESET, 200, ""},
        {"/raw=HTTP/1.1%20200%20OK%0D%0ATransfer-Encoding:%20chunked%0D%0A%0D%0A3%0D%0Aabc%0D%0A", HTTP_RESET, 200,
         "abc"},
        {"/size=1048577", HTTP_TOO_LARGE, 200, NULL},
        {"/size=1048576", HTTP_OK, 200, NULL},
        {"/unmarked=whole", HTTP_OK, 200, "whole"},
        {"/chunk=a;chunk=b;sleep=20;chunk=c", HTTP_OK, 200, "abc"},
        {"/raw=HTTP/1.1%20103%20Early%0D%0ALink:%20x%0D%0A%0D%0AHTTP/1.1%20204%20No%0D%0A%0D%0A", HTTP_OK, 204, ""},
        {"/status=302;header=Location:/body=elsewhere;body=stay", HTTP_OK, 302, "stay"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outcome o = get(&b, rows[i].path);
        cr_expect_eq(o.failure, rows[i].failure, "%s: %s, %s", rows[i].path, http_failure_name(o.failure), o.problem);
        cr_expect_eq(o.status, rows[i].status, "%s: %d", rows[i].path, o.status);
        cr_expect(o.sent, "%s", rows[i].path);
        cr_expect(rows[i].body == NULL || strcmp(o.body, rows[i].body) == 0, "%s: %s", rows[i].path, o.body);
        cr_expect_eq(o.problem[0] == '\0', o.failure == HTTP_OK, "%s: %s", rows[i].path, o.problem);
        outcome_done(&o);
    }
}

Test(request, reset_at_every_byte) {
    struct outcome whole = get(&b, "/body=abc");
    for (int at = 0; at < 64; at++) { // 61 bytes are the head, then three
        CLEANUP(mem_free_ptr) char *path = mem_printf("/reset=%d;body=abc", at);
        struct outcome o = get(&b, path);
        cr_expect_eq(o.failure, HTTP_RESET, "at %d: %s", at, http_failure_name(o.failure));
        cr_expect(o.sent);
        outcome_done(&o);
    }
    cr_expect_str_eq(whole.body, "abc");
    outcome_done(&whole);
}

Test(request, too_many_headers) {
    struct str path = STR_INIT;
    str_add(&path, "/body=x");
    for (int i = 0; i < HTTP_HEADER_COUNT_MAX - 2; i++) { // X-Connection and Content-Length come besides
        str_add(&path, ";header=A:b");
    }
    struct outcome o = get(&b, path.data);
    cr_expect_eq(o.failure, HTTP_OK, "%s", o.problem);
    outcome_done(&o);
    str_add(&path, ";header=A:b");
    o = get(&b, path.data);
    cr_expect_eq(o.failure, HTTP_TOO_LARGE);
    outcome_done(&o);

    str_clear(&path);
    str_add(&path, "/header=A:");
    for (int i = 0; i < HTTP_HEADERS_MAX - 500; i++) {
        str_add_char(&path, 'v');
    }
    o = get(&b, path.data);
    cr_expect_eq(o.failure, HTTP_OK, "%s", o.problem);
    outcome_done(&o);
    for (int i = 0; i < 450; i++) {
        str_add_char(&path, 'v');
    }
    o = get(&b, path.data);
    cr_expect_eq(o.failure, HTTP_TOO_LARGE, "%s", http_failure_name(o.failure));
    outcome_done(&o);
    str_done(&path);
}

Test(request, never_sent) {
    static const struct {
        const char *method, *path;
        struct http_header header;
        int64_t total_ms;
    } rows[] = {
        {"get", "/", {"A", "b"}, 1},          {"", "/", {"A", "b"}, 1},         {"GET /", "/", {"A", "b"}, 1},
        {"GET", "", {"A", "b"}, 1},           {"GET", "a", {"A", "b"}, 1},      {"GET", "/a b", {"A", "b"}, 1},
        {"GET", "/a\r\nX: y", {"A", "b"}, 1}, {"GET", "/a#b", {"A", "b"}, 1},   {"GET", "/\xc3\xa4", {"A", "b"}, 1},
        {"GET", "/", {"A:", "b"}, 1},         {"GET", "/", {"", "b"}, 1},       {"GET", "/", {"A", "b\r\nC: d"}, 1},
        {"GET", "/", {"A", "b\n"}, 1},        {"GET", "/", {"A\r\nB", "c"}, 1}, {"GET", "/", {"A", "b"}, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_request request = usual;
        request.method = rows[i].method;
        request.path = rows[i].path;
        request.headers = &rows[i].header;
        request.header_count = 1;
        request.total_ms = rows[i].total_ms;
        struct outcome o = {0};
        begin(&b, &o, &request);
        cr_expect_eq(o.ended, 0, "a callback came before the call returned");
        finish(&b);
        cr_expect_eq(o.failure, HTTP_INVALID, "row %zu: %s", i, http_failure_name(o.failure));
        cr_expect(!o.sent);
        outcome_done(&o);
    }
    cr_expect(!http_endpoint_set_header(b.endpoint, "Authorization", "Bearer x\ny"));
    cr_expect(!http_endpoint_set_header(b.endpoint, "Bad name", "x"));
}

Test(request, a_write_is_not_repeated) {
    // The connection of the pool dies after the request was read. libcurl alone would send it again.
    static const struct {
        const char *method, *path;
        bool repeated;
    } rows[] = {
        {"POST", "/once;reset=0;x=1", false}, {"DELETE", "/once;reset=0;x=2", false},
        {"PATCH", "/once;cut=0;x=3", false},  {"GET", "/once;cut=0;x=4", true},
        {"GET", "/once;reset=0;x=5", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct outcome warm = get(&b, "/body=a");
        struct http_request request = usual;
        request.method = rows[i].method;
        request.path = rows[i].path;
        struct outcome o = {0};
        begin(&b, &o, &request);
        finish(&b);
        cr_expect_eq(o.failure, rows[i].repeated ? HTTP_OK : HTTP_RESET, "%s: %s", o.problem, rows[i].path);
        cr_expect(o.sent);
        CLEANUP(mem_free_ptr)
        char *escaped =
            mem_printf("/seen=%%2Fonce%%3B%s%%3Bx%%3D%zu", i == 2 || i == 3 ? "cut%3D0" : "reset%3D0", i + 1);
        struct outcome seen = get(&b, escaped);
        cr_expect_str_eq(seen.body, rows[i].repeated ? "2" : "1", "%s: %s", rows[i].path, seen.body);
        outcome_done(&warm);
        outcome_done(&o);
        outcome_done(&seen);
    }
}

// ---- Time

Test(request, deadlines) {
    static const struct {
        const char *path;
        int64_t total_ms, idle_ms;
        enum http_failure failure;
        int status;
    } rows[] = {
        {"/sleep=2000", 200, 5000, HTTP_TIMEOUT, 0},      {"/sleep=2000", 5000, 200, HTTP_IDLE, 0},
        {"/drip=100:5:20", 300, 5000, HTTP_TIMEOUT, 200}, {"/chunk=a;sleep=2000", 5000, 200, HTTP_IDLE, 200},
        {"/drip=20:5:20", 5000, 250, HTTP_OK, 200},       {"/stall", 5000, 150, HTTP_IDLE, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_request request = usual;
        request.path = rows[i].path;
        request.total_ms = rows[i].total_ms;
        request.idle_ms = rows[i].idle_ms;
        struct outcome o = {0};
        begin(&b, &o, &request);
        finish(&b);
        int64_t least = rows[i].total_ms < rows[i].idle_ms ? rows[i].total_ms : rows[i].idle_ms;
        cr_expect_eq(o.failure, rows[i].failure, "%s: %s", rows[i].path, http_failure_name(o.failure));
        cr_expect_eq(o.status, rows[i].status, "%s: %d", rows[i].path, o.status);
        cr_expect(o.took_ms >= least && o.took_ms < 1500, "%s: %lld ms", rows[i].path, (long long)o.took_ms);
        cr_expect(o.sent);
        outcome_done(&o);
    }
}

Test(request, retry_after) {
    char date[64], path[128];
    time_t soon = time(NULL) + 30;
    strftime(date, sizeof date, "%a,%%20%d%%20%b%%20%Y%%20%H:%M:%S%%20GMT", gmtime(&soon));
    struct {
        const char *value;
        int64_t least, most;
    } rows[] = {
        {"5", 5000, 5000},
        {"0", 0, 0},
        {"99999999999", 3600000, 3600000},
        {"-1", -1, -1},
        {"x", -1, -1},
        {"9223372036854775807", -1, 3600000},
        {date, 27000, 30000},
        {"Wed,%2021%20Oct%202015%2007:28:00%20GMT", 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(path, sizeof path, "/status=429;header=Retry-After:%s", rows[i].value);
        struct outcome o = get(&b, path);
        cr_expect_eq(o.status, 429);
        cr_expect(o.retry_after >= rows[i].least && o.retry_after <= rows[i].most, "%s: %lld", rows[i].value,
                  (long long)o.retry_after);
        outcome_done(&o);
    }
}

// ---- Connections, queue, ends

Test(request, connections_are_kept_and_bounded) {
    struct outcome a = get(&b, "/body=a"), c = get(&b, "/body=c");
    cr_expect_eq(a.connection, 1);
    cr_expect_eq(c.connection, 1);
    outcome_done(&a);
    outcome_done(&c);
    enum { MANY = 100 };
    struct outcome many[MANY] = {0};
    for (int i = 0; i < MANY; i++) {
        begin_get(&b, &many[i], "/sleep=5;body=x");
    }
    finish(&b);
    for (int i = 0; i < MANY; i++) {
        cr_expect_eq(many[i].failure, HTTP_OK, "%s", many[i].problem);
        cr_expect(many[i].connection <= 8, "%d", many[i].connection);
        outcome_done(&many[i]);
    }
}

Test(request, too_many) {
    struct bench small;
    bench_join(&small, &b, (struct http_endpoint_config){.max_requests = 3, .max_connections = 1});
    struct outcome o[5] = {0};
    for (int i = 0; i < 5; i++) {
        begin_get(&small, &o[i], "/sleep=50;body=x");
    }
    finish(&small);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(o[i].failure, i < 3 ? HTTP_OK : HTTP_BUSY, "%d: %s", i, http_failure_name(o[i].failure));
        cr_expect_eq(o[i].sent, i < 3);
        outcome_done(&o[i]);
    }
    struct outcome again = get(&small, "/body=x");
    cr_expect_eq(again.failure, HTTP_OK);
    outcome_done(&again);
    bench_stop(&small);
}

Test(request, queued_ones_have_their_deadline) {
    struct bench small;
    bench_join(&small, &b, (struct http_endpoint_config){.max_connections = 1});
    struct outcome first = {0}, second = {0};
    begin_get(&small, &first, "/sleep=1000;body=x");
    struct http_request request = usual;
    request.method = "POST";
    request.total_ms = 200;
    run_for(&small, 50);
    begin(&small, &second, &request);
    finish(&small);
    cr_expect_eq(first.failure, HTTP_OK);
    cr_expect_eq(second.failure, HTTP_TIMEOUT);
    cr_expect(!second.sent, "it never had a connection");
    cr_expect(second.took_ms < 800, "%lld", (long long)second.took_ms);
    outcome_done(&first);
    outcome_done(&second);
    bench_stop(&small);
}

static void cancel_other(struct outcome *o) {
    struct outcome *other = o + 1;
    http_cancel(other->call);
    http_cancel(other->call);
    http_cancel(o->call); // its own, in its own last callback: NULL by then
    o->bench->left--;
}

Test(request, cancel) {
    struct outcome o[3] = {0};
    o[0].on_end = cancel_other;
    begin_get(&b, &o[0], "/sleep=50");
    begin_get(&b, &o[1], "/sleep=300");
    begin_get(&b, &o[2], "/sleep=400");
    finish(&b);
    cr_expect_eq(o[0].ended, 1);
    cr_expect_eq(o[1].ended, 0);
    cr_expect_eq(o[2].ended, 1);
    outcome_done(&o[0]);
    outcome_done(&o[2]);

    struct outcome at_once = {0};
    begin_get(&b, &at_once, "/body=x"); // canceled before it could begin
    http_cancel(at_once.call);
    run_for(&b, 50);
    cr_expect_eq(at_once.ended, 0);
    http_cancel(NULL);
}

static void ask_again(struct outcome *o) {
    struct http_request request = usual;
    cr_expect_null(http_request(o->bench->endpoint, &request, keep, o));
}

Test(request, closing_the_client_ends_all) {
    struct bench other;
    bench_join(&other, &b, (struct http_endpoint_config){0});
    enum { MANY = 80 };
    struct outcome o[MANY] = {0};
    for (int i = 0; i < MANY; i++) {
        begin_get(&other, &o[i], "/sleep=5000");
    }
    o[0].on_end = ask_again;
    run_for(&other, 100);
    bench_stop(&other);
    for (int i = 0; i < MANY; i++) {
        cr_expect_eq(o[i].ended, 1);
        cr_expect_eq(o[i].failure, HTTP_CANCELED);
        outcome_done(&o[i]);
    }
}

Test(request, giving_up_an_endpoint_lets_calls_end) {
    struct outcome o = {0};
    begin_get(&b, &o, "/sleep=100;body=x");
    http_endpoint_free(b.endpoint);
    finish(&b);
    cr_expect_eq(o.failure, HTTP_OK);
    cr_expect_str_eq(o.body, "x");
    outcome_done(&o);
    run_for(&b, 10);
}
