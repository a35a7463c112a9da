#include "kube/lines.h"

#include <criterion/criterion.h>
#include <string.h>

static bool collect(void *ctx, const char *line, size_t n) {
    struct str *out = ctx;
    str_add_char(out, '[');
    str_add_bytes(out, line, n);
    str_add_char(out, ']');
    return n != 4 || memcmp(line, "stop", 4) != 0;
}

static void expect_cut_anywhere(const char *text, const char *right) {
    size_t n = strlen(text);
    for (size_t step = 1; step <= n; step++) {
        struct lines l;
        CLEANUP(str_done) struct str out = STR_INIT;
        lines_init(&l, 1000);
        for (size_t at = 0; at < n; at += step) {
            cr_assert(lines_feed(&l, text + at, n - at < step ? n - at : step, collect, &out));
        }
        cr_expect_str_eq(str_text(&out), right, "in steps of %zu: %s", step, str_text(&out));
        lines_done(&l);
    }
}

Test(lines, are_the_same_however_the_stream_is_cut) {
    expect_cut_anywhere("one\ntwo\n", "[one][two]");
    expect_cut_anywhere("a\r\n\n\nb\n", "[a][b]");
    expect_cut_anywhere("{\"x\":1}\n{\"y\":\"\xc3\xa4\"}\nrest", "[{\"x\":1}][{\"y\":\"\xc3\xa4\"}]");
}

Test(lines, a_line_has_a_bound) {
    struct lines l;
    CLEANUP(str_done) struct str out = STR_INIT;
    lines_init(&l, 4);
    cr_expect(lines_feed(&l, "1234\n", 5, collect, &out));
    cr_expect_not(lines_feed(&l, "12345", 5, collect, &out));
    lines_reset(&l);
    cr_expect(lines_feed(&l, "123", 3, collect, &out));
    cr_expect_not(lines_feed(&l, "45\n", 3, collect, &out));
    cr_expect_str_eq(str_text(&out), "[1234]");
    lines_done(&l);
}

Test(lines, the_receiver_can_stop) {
    struct lines l;
    CLEANUP(str_done) struct str out = STR_INIT;
    lines_init(&l, 100);
    cr_expect_not(lines_feed(&l, "a\nstop\nb\n", 9, collect, &out));
    cr_expect_str_eq(str_text(&out), "[a][stop]");
    lines_done(&l);
}
