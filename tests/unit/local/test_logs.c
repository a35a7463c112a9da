// Logs: every byte once, in order, whoever comes and goes.
#include "support.h"

struct item {
    enum backend_log_kind kind;
    int32_t rank, attempt;
    struct str data;
    int64_t offset, to_offset, time_ns;
    char *resume;
};

struct reading {
    struct driver *d;
    struct backend_log *log;
    struct item *items;
    size_t count;
    enum backend_log_result last;
    size_t woken;
};

static void on_wake(void *ctx) {
    struct reading *r = ctx;
    r->woken++;
}

static void read_now(struct reading *r) {
    struct backend_log_item item;
    CLEANUP(err_done) struct err err = ERR_INIT;
    while ((r->last = r->d->backend->ops->logs_read(r->log, &item, &err)) == LOG_READ_ITEM) {
        r->items = mem_realloc_array(r->items, r->count + 1, sizeof *r->items);
        struct item *i = &r->items[r->count++];
        *i = (struct item){.kind = item.kind,
                           .rank = item.rank,
                           .attempt = item.attempt,
                           .offset = item.offset,
                           .to_offset = item.to_offset,
                           .time_ns = item.time_ns,
                           .resume = mem_strdup(item.resume)};
        if (item.kind == LOG_ITEM_CHUNK) {
            cr_assert_leq(item.length, 64 * 1024);
            cr_assert_gt(item.length, 0);
            str_add_bytes(&i->data, item.data, item.length);
        }
    }
}

static struct backend_log_query all_of(int n) {
    return (struct backend_log_query){.uid = uid_of(n), .index = -1, .tail_lines = -1};
}

static void open_log(struct driver *d, const struct backend_log_query *q, bool terminal, struct reading *r) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    *r = (struct reading){.d = d};
    bool ok = d->backend->ops->logs_open(d->backend, q, terminal, on_wake, r, &r->log, &err);
    cr_assert(ok, "%s", ok ? "" : err.message);
    read_now(r);
}

static void close_log(struct reading *r) {
    r->d->backend->ops->logs_close(r->log);
    for (size_t i = 0; i < r->count; i++) {
        str_done(&r->items[i].data);
        mem_free(r->items[i].resume);
    }
    mem_free(r->items);
}

// The bytes of one rank (-1: all) and attempt (0: all), from item `from` on.
static struct str bytes_from(const struct reading *r, size_t from, size_t to, int32_t rank, int32_t attempt) {
    struct str all = STR_INIT;
    for (size_t i = from; i < to; i++) {
        const struct item *k = &r->items[i];
        if ((rank < 0 || k->rank == rank) && (attempt == 0 || k->attempt == attempt) && k->data.len != 0) {
            str_add_bytes(&all, k->data.data, k->data.len);
        }
    }
    return all;
}

static char *text_of(struct driver *d, const struct backend_log_query *q) {
    struct reading r;
    open_log(d, q, true, &r);
    cr_assert_eq(r.last, LOG_READ_END);
    struct str all = bytes_from(&r, 0, r.count, -1, 0);
    close_log(&r);
    return all.data != NULL ? str_take(&all) : mem_strdup("");
}

static void expect_text(struct driver *d, const struct backend_log_query *q, const char *expected) {
    CLEANUP(mem_free_ptr) char *text = text_of(d, q);
    cr_assert_str_eq(text, expected);
}

static void expect_refusal(struct driver *d, const struct backend_log_query *q, enum err_code code, const char *part) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct backend_log *log;
    cr_assert(!d->backend->ops->logs_open(d->backend, q, true, on_wake, NULL, &log, &err), "%s", part);
    cr_assert_eq(err.code, code, "%s: %s", part, err.message);
    const char *said = err.violation_count != 0 ? err.violations[0].description : err.message;
    cr_assert(strstr(said, part) != NULL, "%s: %s", part, said);
}

static bool more_came(struct driver *d, const void *ctx) {
    struct reading *r = (struct reading *)(uintptr_t)ctx;
    (void)d;
    if (r->woken != 0) {
        r->woken = 0;
        size_t before = r->count;
        read_now(r);
        return r->count > before || r->last == LOG_READ_END;
    }
    return r->last == LOG_READ_END;
}

static bool at_end(struct driver *d, const void *ctx) {
    const struct reading *r = ctx;
    (void)more_came(d, ctx);
    return r->last == LOG_READ_END;
}

// ---- Bytes

Test(logs, L04_bytes_are_exact) {
    struct driver d;
    driver_open(&d);
    size_t n = 6 * 1024 * 1024;
    uint8_t *blob = mem_alloc(n);
    for (size_t i = 0; i < n; i++) { // all byte values, a line of 3 MiB, progress bars, no end
        blob[i] = i < 1024 * 1024 ? (uint8_t)(i * 7 + i / 256) : i < 4 * 1024 * 1024 ? 'x' : i % 100 == 0 ? '\r' : 0xff;
    }
    CLEANUP(mem_free_ptr) char *path = path_in(&d, "blob");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    cr_assert(fd_write_all(fd, blob, n));
    close(fd);
    struct backend_plan *p = plan_new();
    plan_add(p, "worker", (const char *const[]){"cat", path, NULL});
    submit(&d, 1, p);
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    struct reading r;
    struct backend_log_query q = all_of(1);
    open_log(&d, &q, true, &r);
    cr_assert_eq(r.last, LOG_READ_END);
    struct str got = bytes_from(&r, 0, r.count, 0, 1);
    cr_assert_eq(got.len, n);
    cr_assert(memcmp(got.data, blob, n) == 0);
    int64_t at = 0;
    cr_assert_eq(r.items[0].kind, LOG_ITEM_ATTEMPT);
    for (size_t i = 1; i < r.count; i++) {
        cr_assert_eq(r.items[i].kind, LOG_ITEM_CHUNK);
        cr_assert_eq(r.items[i].offset, at);
        at += (int64_t)r.items[i].data.len;
    }
    str_done(&got);
    close_log(&r);
    mem_free(blob);
    driver_close(&d);
}

Test(logs, stdout_and_stderr_in_order) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("echo a; echo b >&2; echo c; printf d >&2", 1));
    wait_end(&d, 1);
    struct backend_log_query q = all_of(1);
    expect_text(&d, &q, "a\nb\nc\nd");
    driver_close(&d);
}

Test(logs, ranks_are_merged_by_time_and_chosen_by_role_and_index) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_new();
    plan_add(p, "Master", (const char *const[]){"sh", "-c", "echo m1; sleep 0.3; echo m2", NULL});
    plan_sh(p, "sleep 0.1; echo a1; sleep 0.4; echo a2");
    plan_sh(p, "sleep 0.2; echo b1");
    submit(&d, 1, p);
    wait_end(&d, 1);
    struct backend_log_query q = all_of(1);
    expect_text(&d, &q, "m1\na1\nb1\nm2\na2\n");
    q.role = "master"; // case does not matter
    expect_text(&d, &q, "m1\nm2\n");
    q.role = "worker";
    expect_text(&d, &q, "a1\nb1\na2\n");
    q.index = 1;
    expect_text(&d, &q, "b1\n");
    q.index = 2;
    expect_refusal(&d, &q, ERR_INVALID, "role worker has no index 2");
    q.role = "ps";
    expect_refusal(&d, &q, ERR_INVALID, "the job has no role \"ps\"");
    q = all_of(1);
    q.container = "main";
    expect_refusal(&d, &q, ERR_INVALID, "no containers");
    driver_close(&d);
}

Test(logs, no_line_is_cut_unless_it_is_long) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("seq 1 200000; head -c 100000 /dev/zero | tr '\\0' y; echo", 2));
    wait_end(&d, 1);
    struct reading r;
    struct backend_log_query q = all_of(1);
    open_log(&d, &q, true, &r);
    for (size_t i = 0; i < r.count; i++) {
        const struct item *k = &r.items[i];
        if (k->kind == LOG_ITEM_CHUNK && k->data.data[k->data.len - 1] != '\n') {
            cr_assert_eq(k->data.data[k->data.len - 1], 'y');
            cr_assert_eq(k->data.len, 32 * 1024);
        }
    }
    cr_assert_lt(r.count, 2 * 1500000 / 20000, "many lines a chunk: %zu", r.count);
    close_log(&r);
    driver_close(&d);
}

// ---- Tail and since

Test(logs, tail_lines_of_each_process) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("seq 1 100000; printf end", 2));
    wait_end(&d, 1);
    static const struct {
        int64_t lines;
        const char *expected;
    } table[] = {{0, ""}, {1, "end"}, {2, "100000\nend"}, {3, "99999\n100000\nend"}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct backend_log_query q = all_of(1);
        q.tail_lines = table[i].lines;
        q.role = "worker";
        q.index = 1;
        expect_text(&d, &q, table[i].expected);
    }
    struct reading r;
    struct backend_log_query q = all_of(1);
    q.tail_lines = 50000;
    open_log(&d, &q, true, &r);
    for (int32_t rank = 0; rank < 2; rank++) {
        struct str all = bytes_from(&r, 0, r.count, rank, 1);
        size_t lines = 0;
        for (size_t i = 0; i < all.len; i++) {
            lines += all.data[i] == '\n';
        }
        cr_assert_eq(lines, 49999, "and the last one without an end");
        str_done(&all);
    }
    close_log(&r);
    driver_close(&d);
}

Test(logs, since) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("echo before; sleep 0.5; echo after", 1));
    int64_t end = wait_end(&d, 1)->happened_ns;
    struct backend_log_query q = all_of(1);
    q.since_ns = end - 250 * CLOCK_MS;
    expect_text(&d, &q, "after\n");
    q.since_ns = end - 3600 * CLOCK_SECOND;
    expect_text(&d, &q, "before\nafter\n");
    q.since_ns = end + CLOCK_SECOND;
    expect_text(&d, &q, "");
    driver_close(&d);
}

// ---- Attempts

Test(logs, L03_attempts_and_previous) {
    struct driver d;
    driver_open(&d);
    struct backend_plan *p = plan_of("echo attempt $TRAINERD_ATTEMPT of $TRAINERD_RANK; sleep 0.1; exit 1", 2);
    plan_restart(p, RESTART_ON_FAILURE, 2);
    struct reading r;
    struct backend_log_query q = all_of(1);
    submit(&d, 1, p);
    q.follow = true;
    open_log(&d, &q, false, &r);
    while (!at_end(&d, &r)) {
        (void)driver_until(&d, more_came, &r, 100);
        if (last_fact(&d, 1)->state == JOB_FAILED) {
            d.backend->ops->logs_terminal(r.log);
        }
    }
    int32_t newest = 1;
    size_t marks = 0;
    for (size_t i = 0; i < r.count; i++) {
        cr_assert_geq(r.items[i].attempt, newest, "one attempt after the other");
        newest = r.items[i].attempt;
        marks += r.items[i].kind == LOG_ITEM_ATTEMPT;
    }
    cr_assert_eq(newest, 3);
    cr_assert_eq(marks, 6);
    for (int32_t attempt = 1; attempt <= 3; attempt++) {
        for (int32_t rank = 0; rank < 2; rank++) {
            CLEANUP(mem_free_ptr) char *expected = mem_printf("attempt %d of %d\n", attempt, rank);
            struct str got = bytes_from(&r, 0, r.count, rank, attempt);
            cr_assert_str_eq(str_text(&got), expected);
            str_done(&got);
        }
    }
    close_log(&r);
    q = all_of(1);
    q.role = "worker";
    q.index = 0;
    expect_text(&d, &q, "attempt 3 of 0\n");
    q.attempt = -1;
    expect_text(&d, &q, "attempt 2 of 0\n");
    q.attempt = 1;
    expect_text(&d, &q, "attempt 1 of 0\n");
    q.attempt = 4;
    expect_refusal(&d, &q, ERR_NOT_FOUND, "there is no attempt 4; the newest is 3");
    submit(&d, 2, plan_of("true", 1));
    wait_end(&d, 2);
    q = all_of(2);
    q.attempt = -1;
    expect_refusal(&d, &q, ERR_PRECONDITION, "no attempt before");
    driver_close(&d);
}

Test(logs, L02_before_it_starts) {
    struct driver d;
    driver_prepare(&d);
    d.options.cpu_slots_milli = 1000;
    driver_attach(&d);
    driver_begin(&d);
    CLEANUP(mem_free_ptr) char *go = path_in(&d, "go");
    CLEANUP(mem_free_ptr) char *script = mem_printf("while [ ! -e %s ]; do sleep 0.02; done", go);
    submit(&d, 1, plan_of(script, 1));
    submit(&d, 2, plan_of("echo one; sleep 0.1; echo two", 1));
    wait_state(&d, 2, JOB_PENDING, 0);
    struct backend_log_query q = all_of(2);
    expect_refusal(&d, &q, ERR_PRECONDITION, "has not started a process yet");
    struct reading r;
    q.follow = true;
    q.role = "worker";
    q.index = 5;
    expect_refusal(&d, &q, ERR_INVALID, "role worker has no index 5");
    q.index = 0;
    open_log(&d, &q, false, &r);
    cr_assert_eq(r.last, LOG_READ_WAIT);
    cr_assert_eq(r.count, 0);
    touch(go);
    wait_end(&d, 2);
    d.backend->ops->logs_terminal(r.log);
    cr_assert(driver_until(&d, at_end, &r, WAIT_MS));
    struct str all = bytes_from(&r, 0, r.count, -1, 0);
    cr_assert_str_eq(str_text(&all), "one\ntwo\n");
    str_done(&all);
    close_log(&r);
    q = all_of(3);
    expect_refusal(&d, &q, ERR_NOT_FOUND, "has no logs");
    driver_close(&d);
}

// ---- Follow

Test(logs, follow_holds_back_what_is_no_line_yet) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *first = path_in(&d, "first");
    CLEANUP(mem_free_ptr) char *second = path_in(&d, "second");
    CLEANUP(mem_free_ptr)
    char *script = mem_printf("echo whole; printf part; while [ ! -e %s ]; do sleep 0.02; done; echo ' of a line';"
                              "printf rest; while [ ! -e %s ]; do sleep 0.02; done",
                              first, second);
    submit(&d, 1, plan_of(script, 1));
    wait_state(&d, 1, JOB_RUNNING, 1);
    struct reading r;
    struct backend_log_query q = all_of(1);
    q.follow = true;
    q.attempt = 1;
    open_log(&d, &q, false, &r);
    while (r.count < 2) {
        cr_assert(driver_until(&d, more_came, &r, WAIT_MS));
    }
    cr_assert_str_eq(str_text(&r.items[1].data), "whole\n");
    driver_pass(&d, 200);
    read_now(&r);
    cr_assert_eq(r.count, 2);
    struct reading now; // who does not follow gets what is there
    struct backend_log_query once = all_of(1);
    open_log(&d, &once, false, &now);
    struct str all = bytes_from(&now, 0, now.count, -1, 0);
    cr_assert_str_eq(str_text(&all), "whole\npart");
    str_done(&all);
    close_log(&now);
    touch(first);
    cr_assert(driver_until(&d, more_came, &r, WAIT_MS));
    cr_assert_str_eq(str_text(&r.items[2].data), "part of a line\n");
    touch(second);
    cr_assert(driver_until(&d, at_end, &r, WAIT_MS), "the attempt that was asked for is over");
    cr_assert_str_eq(str_text(&r.items[3].data), "rest");
    cr_assert_eq(r.count, 4);
    close_log(&r);
    driver_close(&d);
}

Test(logs, follow_of_a_fast_writer_loses_nothing) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("seq 1 300000", 2));
    wait_state(&d, 1, JOB_RUNNING, 1);
    struct reading r;
    struct backend_log_query q = all_of(1);
    q.follow = true;
    open_log(&d, &q, false, &r);
    wait_end(&d, 1);
    d.backend->ops->logs_terminal(r.log);
    cr_assert(driver_until(&d, at_end, &r, WAIT_MS));
    struct str expected = STR_INIT;
    for (int i = 1; i <= 300000; i++) {
        str_printf(&expected, "%d\n", i);
    }
    for (int32_t rank = 0; rank < 2; rank++) {
        struct str got = bytes_from(&r, 0, r.count, rank, 1);
        cr_assert_eq(got.len, expected.len);
        cr_assert(memcmp(got.data, expected.data, got.len) == 0);
        str_done(&got);
    }
    str_done(&expected);
    close_log(&r);
    driver_close(&d);
}

// ---- Resume

Test(logs, resume_at_every_message_is_the_whole) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("for i in 1 2 3 4 5 6 7 8 9; do echo $TRAINERD_RANK-$i; sleep 0.02; done; seq 1 20000", 3));
    wait_end(&d, 1);
    struct reading whole;
    struct backend_log_query q = all_of(1);
    open_log(&d, &q, true, &whole);
    cr_assert_gt(whole.count, 15);
    for (size_t i = 0; i < whole.count; i++) {
        struct reading rest;
        q.resume = whole.items[i].resume;
        cr_assert_lt(strlen(q.resume), 64, "tokens are small");
        open_log(&d, &q, true, &rest);
        cr_assert_eq(rest.count, whole.count - i - 1, "%zu", i);
        for (size_t k = 0; k < rest.count; k++) {
            const struct item *a = &rest.items[k];
            const struct item *b = &whole.items[i + 1 + k];
            cr_assert(a->kind == b->kind && a->rank == b->rank && a->offset == b->offset && a->data.len == b->data.len);
            cr_assert(a->data.len == 0 || memcmp(a->data.data, b->data.data, a->data.len) == 0);
        }
        close_log(&rest);
    }
    q.uid = uid_of(2);
    expect_refusal(&d, &q, ERR_INVALID, "is no token of this log");
    q = all_of(1);
    q.role = "worker";
    q.resume = whole.items[3].resume;
    expect_refusal(&d, &q, ERR_INVALID, "is no token of this log");
    close_log(&whole);
    driver_close(&d);
}

Test(logs, resume_across_attempts_and_a_restart_of_the_daemon) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *go = path_in(&d, "go");
    CLEANUP(mem_free_ptr)
    char *script =
        mem_printf("echo $TRAINERD_ATTEMPT begins; test $TRAINERD_ATTEMPT = 2 || exit 1; while [ ! -e %s ]; do"
                   " sleep 0.02; done; echo over",
                   go);
    struct backend_plan *p = plan_of(script, 1);
    plan_restart(p, RESTART_ON_FAILURE, 1);
    submit(&d, 1, backend_plan_ref(p));
    struct reading r;
    struct backend_log_query q = all_of(1);
    q.follow = true;
    q.uid = "00000000000000000000000000000001";
    open_log(&d, &q, false, &r);
    while (r.count < 2) {
        cr_assert(driver_until(&d, more_came, &r, WAIT_MS));
    }
    cr_assert_str_eq(str_text(&r.items[1].data), "1 begins\n");
    CLEANUP(mem_free_ptr) char *token = mem_strdup(r.items[1].resume);
    close_log(&r);
    wait_state(&d, 1, JOB_RUNNING, 2);
    driver_detach(&d);
    driver_attach(&d);
    d.backend->ops->submit(
        d.backend,
        &(struct backend_start){.uid = q.uid, .name = "job", .namespace_ = "default", .plan = p, .attempt = 2});
    driver_begin(&d);
    q.resume = token;
    open_log(&d, &q, false, &r);
    touch(go);
    wait_end(&d, 1);
    d.backend->ops->logs_terminal(r.log);
    cr_assert(driver_until(&d, at_end, &r, WAIT_MS));
    cr_assert_eq(r.items[0].kind, LOG_ITEM_ATTEMPT);
    cr_assert_eq(r.items[0].attempt, 2);
    struct str all = bytes_from(&r, 0, r.count, -1, 0);
    cr_assert_str_eq(str_text(&all), "2 begins\nover\n");
    str_done(&all);
    close_log(&r);
    backend_plan_unref(p);
    driver_close(&d);
}

Test(logs, of_very_many_processes) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("echo $TRAINERD_RANK", 300));
    cr_assert_eq(wait_end(&d, 1)->state, JOB_SUCCEEDED);
    struct reading r;
    struct backend_log_query q = all_of(1);
    open_log(&d, &q, true, &r);
    cr_assert_eq(r.last, LOG_READ_END);
    cr_assert_eq(r.count, 600);
    for (int32_t rank = 0; rank < 300; rank++) {
        CLEANUP(mem_free_ptr) char *expected = mem_printf("%d\n", rank);
        struct str got = bytes_from(&r, 0, r.count, rank, 1);
        cr_assert_str_eq(str_text(&got), expected);
        str_done(&got);
    }
    struct reading rest; // from the middle
    q.resume = r.items[450].resume;
    open_log(&d, &q, true, &rest);
    cr_assert_eq(rest.count, 149);
    close_log(&rest);
    close_log(&r);
    driver_close(&d);
}

// ---- The cap

Test(logs, a_cap_makes_a_gap_and_not_a_lie) {
    struct driver d;
    driver_prepare(&d);
    d.options.log_cap_bytes = 128 * 1024;
    driver_attach(&d);
    driver_begin(&d);
    submit(&d, 1, plan_of("seq 1 200000", 1));
    wait_end(&d, 1);
    struct reading r;
    struct backend_log_query q = all_of(1);
    open_log(&d, &q, true, &r);
    struct str whole = STR_INIT;
    for (int i = 1; i <= 200000; i++) {
        str_printf(&whole, "%d\n", i);
    }
    cr_assert_eq(r.items[1].kind, LOG_ITEM_GAP);
    cr_assert_eq(r.items[1].offset, 0);
    struct str got = bytes_from(&r, 0, r.count, 0, 1);
    cr_assert_eq(r.items[1].to_offset + (int64_t)got.len, (int64_t)whole.len);
    cr_assert_leq(got.len, 128 * 1024);
    cr_assert_geq(got.len, 128 * 1024 * 3 / 4 - 1);
    cr_assert(memcmp(got.data, whole.data + r.items[1].to_offset, got.len) == 0);
    q.resume = r.items[0].resume;
    expect_refusal(&d, &(struct backend_log_query){.uid = uid_of(1), .index = -1, .tail_lines = -1, .resume = "x"},
                   ERR_INVALID, "token");
    str_done(&got);
    str_done(&whole);
    close_log(&r);
    driver_close(&d);
}

Test(logs, of_a_removed_job) {
    struct driver d;
    driver_open(&d);
    submit(&d, 1, plan_of("echo x", 1));
    wait_end(&d, 1);
    settle(&d, 1);
    struct backend_log_query q = all_of(1);
    expect_text(&d, &q, "x\n");
    d.backend->ops->remove(d.backend, uid_of(1));
    driver_pass(&d, 300);
    q = all_of(1);
    expect_refusal(&d, &q, ERR_NOT_FOUND, "has no logs");
    driver_close(&d);
}
