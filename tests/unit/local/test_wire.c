// Frames between daemon and supervisor: what is wrong is refused, and nothing is read beyond its end.
#include "base/mem.h"
#include "local/wire.h"

#include <criterion/criterion.h>
#include <string.h>

static void put_spawn(struct str *out, const struct wire_spawn *s, uint32_t argc, uint32_t envc) {
    size_t mark;
    wire_begin(out, WIRE_SPAWN, &mark);
    wire_text(out, s->uid);
    wire_u32(out, s->attempt);
    wire_u32(out, s->rank);
    wire_u32(out, s->total);
    wire_text(out, s->role);
    wire_u32(out, s->index);
    wire_text(out, s->note);
    wire_u64(out, s->log_cap);
    wire_text(out, s->cwd);
    wire_u32(out, s->make_cwd);
    wire_u32(out, argc);
    for (const char **p = s->argv; *p != NULL; p++) {
        wire_text(out, *p);
    }
    wire_u32(out, envc);
    for (const char **p = s->env; *p != NULL; p++) {
        wire_text(out, *p);
    }
    cr_assert(wire_end(out, mark));
}

static const char *argv[] = {"sh", "-c", "", NULL};
static const char *env[] = {"A=1", "B=", NULL};
static const struct wire_spawn good = {.uid = "0123abc",
                                       .attempt = 3,
                                       .rank = 1,
                                       .total = 2,
                                       .role = "worker",
                                       .index = 7,
                                       .note = "1,2;0",
                                       .log_cap = UINT64_C(1) << 40,
                                       .cwd = "/x",
                                       .make_cwd = 1,
                                       .argv = argv,
                                       .env = env};

static bool decode(const struct str *s, struct wire_spawn *ret) {
    struct wire_reader r;
    size_t size;
    enum wire_kind kind;
    cr_assert_eq(wire_frame(s->data, s->len, &r, &size, &kind), 1);
    cr_assert_eq(size, s->len);
    cr_assert_eq(kind, WIRE_SPAWN);
    return wire_get_spawn(&r, ret);
}

Test(wire, a_spawn_comes_out_as_it_went_in) {
    struct str s = STR_INIT;
    struct wire_spawn got;
    put_spawn(&s, &good, 3, 2);
    cr_assert(decode(&s, &got));
    cr_assert_str_eq(got.uid, good.uid);
    cr_assert_eq(got.attempt, 3);
    cr_assert_eq(got.rank, 1);
    cr_assert_eq(got.total, 2);
    cr_assert_eq(got.index, 7);
    cr_assert_eq(got.log_cap, UINT64_C(1) << 40);
    cr_assert_str_eq(got.role, "worker");
    cr_assert_str_eq(got.note, "1,2;0");
    cr_assert_str_eq(got.cwd, "/x");
    cr_assert_eq(got.make_cwd, 1);
    cr_assert_str_eq(got.argv[2], "");
    cr_assert_null(got.argv[3]);
    cr_assert_str_eq(got.env[1], "B=");
    cr_assert_null(got.env[2]);
    wire_spawn_done(&got);
    str_done(&s);
}

Test(wire, a_bad_spawn_is_refused) {
    struct wire_spawn bad[11];
    uint32_t argc[ARRAY_LEN(bad)];
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        bad[i] = good;
        argc[i] = 3;
    }
    const char *none[] = {NULL};
    bad[0].uid = "";
    bad[1].uid = "../../etc/passwd";
    bad[2].uid = "012345678901234567890123456789012"; // 33
    bad[3].attempt = 0;
    bad[4].rank = 2;
    bad[5].total = WIRE_RANKS_MAX + 1;
    bad[6].cwd = "relative";
    argc[7] = UINT32_MAX;
    argc[8] = 1000;
    bad[9].argv = none;
    argc[9] = 0;
    argc[10] = 2; // what is left over shifts all that follows
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct str s = STR_INIT;
        struct wire_spawn got;
        put_spawn(&s, &bad[i], argc[i], 2);
        cr_assert(!decode(&s, &got), "%zu", i);
        str_done(&s);
    }
}

Test(wire, every_cut_of_a_frame_waits_or_is_refused) {
    struct str s = STR_INIT;
    put_spawn(&s, &good, 3, 2);
    for (size_t n = 0; n < s.len; n++) {
        struct wire_reader r;
        size_t size;
        enum wire_kind kind;
        char *copy = mem_dup(s.data, n); // so that a sanitizer sees a step beyond
        cr_assert_eq(wire_frame(copy, n, &r, &size, &kind), 0, "%zu", n);
        if (n > 8) { // the same with a length that claims to be whole
            struct wire_spawn got;
            uint32_t length = (uint32_t)n - 4;
            memcpy(copy, &length, 4);
            cr_assert_eq(wire_frame(copy, n, &r, &size, &kind), 1);
            cr_assert(!wire_get_spawn(&r, &got), "%zu", n);
        }
        mem_free(copy);
    }
    str_done(&s);
}

Test(wire, lengths_have_a_bound) {
    static const uint32_t lengths[] = {0, 3, WIRE_FRAME_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        char data[16] = {0};
        struct wire_reader r;
        size_t size;
        enum wire_kind kind;
        memcpy(data, &lengths[i], 4);
        cr_assert_eq(wire_frame(data, sizeof data, &r, &size, &kind), -1);
    }
    struct str s = STR_INIT;
    size_t mark;
    wire_u32(&s, 42);
    wire_begin(&s, WIRE_SPAWN, &mark);
    char *big = mem_alloc(WIRE_FRAME_MAX + 1);
    memset(big, 'x', WIRE_FRAME_MAX);
    big[WIRE_FRAME_MAX] = '\0';
    wire_text(&s, big);
    cr_assert(!wire_end(&s, mark));
    cr_assert_eq(s.len, 4, "nothing of it stays");
    mem_free(big);
    str_done(&s);
}

Test(wire, reports) {
    static const enum wire_kind kinds[] = {WIRE_STARTED, WIRE_REFUSED, WIRE_EXITED, WIRE_STOPPED, WIRE_GONE};
    const struct wire_report report = {
        .uid = "f00", .attempt = 9, .rank = 8, .pid = 77, .status = -5, .time_ns = INT64_MIN, .text = "\xff text"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct str s = STR_INIT;
        struct wire_reader r;
        struct wire_report got;
        size_t size;
        enum wire_kind kind;
        wire_put_report(&s, kinds[i], &report);
        cr_assert_eq(wire_frame(s.data, s.len, &r, &size, &kind), 1);
        cr_assert_eq(kind, kinds[i]);
        cr_assert(wire_get_report(&r, kind, &got));
        cr_assert(strcmp(got.uid, "f00") == 0 && got.attempt == 9 && got.rank == 8 && got.pid == 77);
        cr_assert(got.status == -5 && got.time_ns == INT64_MIN && strcmp(got.text, report.text) == 0);
        cr_assert_eq(wire_frame(s.data, s.len, &r, &size, &kind), 1);
        cr_assert(!wire_get_report(&r, WIRE_HELLO, &got));
        cr_assert(!wire_get_report(&r, (enum wire_kind)99, &got));
        str_done(&s);
    }
}
