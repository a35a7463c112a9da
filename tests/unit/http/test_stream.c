// Streams: pieces of any size, pauses, cancels at any moment, and connections that nobody shares.
#include "support.h"

static struct bench b;

static void start(void) {
    bench_start(&b, NULL, (struct http_endpoint_config){0});
}
static void stop(void) {
    bench_stop(&b);
}
TestSuite(stream, .init = start, .fini = stop, .timeout = 60);

static struct http_request asking(const char *path) {
    struct http_request request = usual;
    request.path = path;
    request.total_ms = 0;
    return request;
}

Test(stream, ends) {
    static const struct {
        const char *path;
        enum http_failure failure;
        int heads, status;
        const char *data;
    } rows[] = {
        {"/chunk=one;sleep=20;chunk=two", HTTP_OK, 1, 200, "onetwo"},
        {"/status=410;body=gone", HTTP_OK, 1, 410, "gone"},
        {"/unmarked=until%20the%20end", HTTP_OK, 1, 200, "until the end"},
        {"/status=204", HTTP_OK, 1, 204, ""},
        {"/chunk=a;stall", HTTP_IDLE, 1, 200, "a"},
        {"/stall", HTTP_IDLE, 0, 0, ""},
        {"/early=reset", HTTP_RESET, 0, 0, ""},
        {"/cut=80;chunk=abcdefghij;chunk=abcdefghijklmn", HTTP_RESET, 1, 200, NULL},
        {"/reset=80;chunk=abcdefghij;chunk=abcdefghijklmn", HTTP_RESET, 1, 200, NULL},
        {"/raw=nothing%20like%20it", HTTP_PROTOCOL, 0, 0, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_request request = asking(rows[i].path);
        request.idle_ms = 200;
        struct outcome o = {0};
        begin_stream(&b, &o, &request);
        cr_expect_eq(o.heads + o.ended + o.pieces, 0, "a callback came before the call returned");
        finish(&b);
        cr_expect_eq(o.failure, rows[i].failure, "%s: %s, %s", rows[i].path, http_failure_name(o.failure), o.problem);
        cr_expect_eq(o.heads, rows[i].heads, "%s: %d", rows[i].path, o.heads);
        cr_expect_eq(o.status, rows[i].status, "%s: %d", rows[i].path, o.status);
        cr_expect_eq(o.head_status, rows[i].status);
        cr_expect(rows[i].data == NULL || strcmp(str_text(&o.data), rows[i].data) == 0, "%s: %s", rows[i].path,
                  str_text(&o.data));
        cr_expect_str_eq(o.body, "");
        cr_expect_eq(o.ended, 1);
        outcome_done(&o);
    }
}

Test(stream, lives_as_long_as_bytes_come) {
    struct http_request request = asking("/drip=30:1:20");
    request.idle_ms = 200;
    request.max_response = 0;
    struct outcome o = {0};
    begin_stream(&b, &o, &request);
    finish(&b);
    cr_expect_eq(o.failure, HTTP_OK);
    cr_expect_eq(o.data.len, 30);
    cr_expect(o.took_ms > 500);
    outcome_done(&o);

    request.total_ms = 300;
    begin_stream(&b, &o, &request);
    o.ended = 0;
    finish(&b);
    cr_expect_eq(o.failure, HTTP_TIMEOUT);
    outcome_done(&o);
}

Test(stream, the_first_piece_comes_at_once) {
    struct http_request request = asking("/chunk=first;sleep=3000;chunk=second");
    struct outcome o = {0};
    begin_stream(&b, &o, &request);
    run_until(&b, &o.pieces, 1);
    cr_expect_str_eq(str_text(&o.data), "first");
    cr_expect_eq(o.ended, 0);
    http_cancel(o.call);
    outcome_done(&o);
}

static void pause_it(struct outcome *o) {
    http_pause(o->call);
}

Test(stream, pause) {
    // 64 MB do not fit into any buffer on the way: the sender has to wait.
    struct http_request request = asking("/size=67108864");
    request.idle_ms = 300;
    struct outcome o = {.on_data = pause_it};
    begin_stream(&b, &o, &request);
    run_until(&b, &o.pieces, 1);
    run_for(&b, 700); // idle_ms does not run
    cr_assert_eq(o.ended, 0, "%s", o.problem);
    cr_expect_eq(o.pieces, 1, "%d", o.pieces);
    size_t first = o.data.len;
    for (int i = 2; i < 6; i++) {
        http_resume(o.call);
        http_resume(o.call);
        run_until(&b, &o.pieces, i);
        run_for(&b, 50);
        cr_expect_eq(o.pieces, i, "%d", o.pieces);
    }
    cr_expect(o.data.len > first && o.data.len < 6 * first);
    struct outcome other = {0};
    begin_get(&b, &other, "/body=x"); // not held up
    run_until(&b, &other.ended, 1);
    cr_expect_eq(other.failure, HTTP_OK);
    cr_expect(other.took_ms < 1000);
    outcome_done(&other);
    o.on_data = NULL;
    http_resume(o.call);
    finish(&b);
    cr_expect_eq(o.failure, HTTP_OK, "%s", o.problem);
    cr_expect_eq(o.data.len, 67108864);
    outcome_done(&o);
}

Test(stream, pause_and_resume_within_data) {
    struct http_request request = asking("/size=1000000");
    struct outcome o = {0};
    begin_stream(&b, &o, &request);
    http_pause(o.call); // before there is anything
    run_until(&b, &o.heads, 1);
    run_for(&b, 50);
    cr_expect_eq(o.pieces, 0);
    http_resume(o.call);
    finish(&b);
    cr_expect_eq(o.data.len, 1000000);
    outcome_done(&o);
}

Test(stream, idle_time_begins_anew_with_resume) {
    struct http_request request = asking("/chunk=a;sleep=1500;chunk=b");
    request.idle_ms = 1000;
    struct outcome o = {.on_data = pause_it};
    begin_stream(&b, &o, &request);
    run_until(&b, &o.pieces, 1);
    run_for(&b, 1200);
    o.on_data = NULL;
    http_resume(o.call);
    finish(&b);
    cr_expect_eq(o.failure, HTTP_OK, "%s", o.problem);
    cr_expect_str_eq(str_text(&o.data), "ab");
    outcome_done(&o);
}

Test(stream, cancel_while_paused) {
    struct http_request request = asking("/size=67108864");
    struct outcome o = {.on_data = pause_it};
    begin_stream(&b, &o, &request);
    run_until(&b, &o.pieces, 1);
    http_resume(o.call);
    http_cancel(o.call);
    http_resume(o.call);
    http_pause(o.call);
    run_for(&b, 50);
    cr_expect_eq(o.pieces, 1);
    cr_expect_eq(o.ended, 0);
    outcome_done(&o);
}

static void cancel_it(struct outcome *o) {
    http_cancel(o->call);
    loop_stop(o->bench->loop);
}

Test(stream, cancel_within_data) {
    struct http_request request = asking("/drip=1000:1000:1");
    struct outcome o = {.on_data = cancel_it};
    begin_stream(&b, &o, &request);
    loop_run(b.loop);
    run_for(&b, 100);
    cr_expect_eq(o.pieces, 1);
    cr_expect_eq(o.ended, 0);
    outcome_done(&o);
}

static struct outcome head_outcome;

static void cancel_at_head(void *ctx, const struct http_response *r) {
    struct outcome *o = ctx;
    o->heads++;
    o->head_status = r->status;
    http_cancel(o->call);
}

Test(stream, cancel_within_head) {
    static const struct http_stream_events events = {cancel_at_head, on_data, keep};
    struct http_request request = asking("/body=abc");
    head_outcome = (struct outcome){0};
    head_outcome.call = http_stream(b.endpoint, &request, &events, &head_outcome);
    run_until(&b, &head_outcome.heads, 1);
    run_for(&b, 50);
    cr_expect_eq(head_outcome.pieces, 0);
    cr_expect_eq(head_outcome.ended, 0);
}

static struct outcome second;

static void begin_second(struct outcome *o) {
    if (second.bench == NULL) {
        begin_get(o->bench, &second, "/body=second");
    }
}

Test(stream, a_request_from_within_data) {
    struct http_request request = asking("/chunk=a;sleep=300;chunk=b");
    struct outcome o = {.on_data = begin_second};
    begin_stream(&b, &o, &request);
    finish(&b);
    cr_expect_eq(second.failure, HTTP_OK);
    cr_expect_str_eq(second.body, "second");
    cr_expect_eq(o.failure, HTTP_OK);
    outcome_done(&second);
    outcome_done(&o);
}

Test(stream, each_has_its_connection) {
    enum { MANY = 20 };
    struct outcome o[MANY] = {0}, request = {0};
    struct http_request asked = asking("/chunk=a;sleep=500;chunk=b");
    for (int i = 0; i < MANY; i++) {
        begin_stream(&b, &o[i], &asked);
    }
    run_for(&b, 100);
    begin_get(&b, &request, "/body=x");
    finish(&b);
    bool taken[MANY + 3] = {0};
    for (int i = 0; i < MANY; i++) {
        cr_assert(o[i].connection >= 1 && o[i].connection <= MANY + 1, "%d", o[i].connection);
        cr_expect(!taken[o[i].connection]);
        taken[o[i].connection] = true;
        outcome_done(&o[i]);
    }
    cr_expect(!taken[request.connection]);
    struct outcome again = {0};
    begin_stream(&b, &again, &asked);
    finish(&b);
    cr_expect(again.connection == MANY + 2, "%d", again.connection);
    outcome_done(&again);
    outcome_done(&request);
}

Test(stream, too_many) {
    struct bench small;
    bench_join(&small, &b, (struct http_endpoint_config){.max_streams = 2});
    struct outcome o[3] = {0};
    struct http_request asked = asking("/body=x");
    for (int i = 0; i < 3; i++) {
        begin_stream(&small, &o[i], &asked);
    }
    finish(&small);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(o[i].failure, i < 2 ? HTTP_OK : HTTP_BUSY);
        cr_expect_eq(o[i].heads, i < 2 ? 1 : 0);
        outcome_done(&o[i]);
    }
    bench_stop(&small);
}

Test(stream, closing_the_client_ends_them) {
    struct bench other;
    bench_join(&other, &b, (struct http_endpoint_config){0});
    struct outcome o[2] = {{.on_data = pause_it}, {0}};
    struct http_request asked = asking("/size=9000000"), quiet = asking("/chunk=a;stall");
    begin_stream(&other, &o[0], &asked);
    begin_stream(&other, &o[1], &quiet);
    run_for(&other, 100);
    bench_stop(&other);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(o[i].ended, 1);
        cr_expect_eq(o[i].failure, HTTP_CANCELED);
        cr_expect_eq(o[i].status, 200);
        outcome_done(&o[i]);
    }
}

// ---- All at once

enum { STORM = 300 };

static void at_random(struct outcome *o) {
    switch (rand() % 8) {
    case 0:
        http_cancel(o->call);
        o->bench->left--;
        o->call = NULL;
        break;
    case 1:
        http_pause(o->call);
        break;
    case 2:
        http_pause(o->call);
        http_resume(o->call);
        break;
    default:
        break;
    }
}

Test(stream, storm) {
    static const char *const paths[] = {"/drip=20:500:2", "/reset=300;size=1000", "/size=300000",
                                        "/stall",         "/early=reset",         "/raw=bad",
                                        "/chunk=a;cut=3", "/sleep=20;body=x",     "/a bad path"};
    struct outcome *all = mem_zalloc(STORM * sizeof *all);
    srand(7);
    for (int i = 0; i < STORM; i++) {
        struct http_request request = asking(paths[rand() % (int)ARRAY_LEN(paths)]);
        request.idle_ms = 1000;
        if (i % 3 == 0) {
            request.total_ms = 3000;
            begin(&b, &all[i], &request);
        } else {
            all[i].on_data = at_random;
            begin_stream(&b, &all[i], &request);
        }
        if (i % 16 == 0) {
            run_for(&b, 5);
        }
        struct outcome *some = &all[rand() % (i + 1)];
        if (rand() % 5 == 0 && some->call != NULL) {
            http_cancel(some->call);
            some->call = NULL;
            b.left--;
        }
    }
    for (int round = 0; b.left > 0 && round < 1000; round++) {
        for (int i = 0; i < STORM; i++) {
            http_resume(all[i].call);
        }
        run_for(&b, 10);
    }
    cr_expect_eq(b.left, 0);
    for (int i = 0; i < STORM; i++) {
        cr_expect_leq(all[i].ended, 1);
        outcome_done(&all[i]);
    }
    mem_free(all);
    struct outcome after = get(&b, "/body=x");
    cr_expect_eq(after.failure, HTTP_OK);
    outcome_done(&after);
}
