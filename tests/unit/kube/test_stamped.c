#include "kube/stamped.h"

#include <criterion/criterion.h>
#include <string.h>

#define T1 "2026-01-02T03:04:05.000000001Z "
#define T2 "2026-01-02T03:04:05.000000002Z "
#define T3 "2026-01-02T03:04:06.5Z "

static void feed(struct stamped *s, const char *text, size_t step, struct str *out) {
    size_t n = strlen(text);
    for (size_t at = 0; at < n; at += step) {
        stamped_feed(s, text + at, n - at < step ? n - at : step, out);
    }
}

Test(stamped, bytes_come_through_without_stamps_however_they_are_cut) {
    static const char in[] = T1 "one\n" T2 "\n" T3 "\xff\x80 bytes\r10%\r20%\n" T3 "no end";
    static const char right[] = "one\n\n\xff\x80 bytes\r10%\r20%\nno end";
    for (size_t step = 1; step < sizeof in; step++) {
        struct stamped s = {0};
        CLEANUP(str_done) struct str out = STR_INIT;
        feed(&s, in, step, &out);
        cr_expect_str_eq(str_text(&out), right, "in steps of %zu", step);
        cr_expect_eq(s.same, 2);
    }
}

Test(stamped, a_reconnect_sends_again_and_nothing_is_doubled_or_lost) {
    struct stamped s = {0};
    CLEANUP(str_done) struct str out = STR_INIT;
    feed(&s, T1 "a\n" T2 "b\n" T2 "c\n", 1000, &out);
    stamped_reconnect(&s);
    feed(&s, T1 "a\n" T2 "b\n" T2 "c\n" T2 "d\n" T3 "e\n", 3, &out);
    cr_expect_str_eq(str_text(&out), "a\nb\nc\nd\ne\n");
    stamped_reconnect(&s);
    feed(&s, T3 "e\n" T3 "f\n", 1000, &out);
    cr_expect_str_eq(str_text(&out), "a\nb\nc\nd\ne\nf\n");
}

Test(stamped, a_line_that_was_cut_is_completed_after_the_reconnect) {
    static const char whole[] = T1 "a\n" T2 "x\n" T2 "half a line\n" T2 "y\n" T3 "z\n";
    for (size_t first = 1; first < sizeof whole; first++) {
        for (size_t second = first; second < sizeof whole; second += 5) {
            struct stamped s = {0};
            CLEANUP(str_done) struct str out = STR_INIT;
            stamped_feed(&s, whole, first, &out);
            stamped_reconnect(&s);
            stamped_feed(&s, whole, second, &out);
            stamped_reconnect(&s);
            feed(&s, whole, 7, &out);
            cr_expect_str_eq(str_text(&out), "a\nx\nhalf a line\ny\nz\n", "cut at %zu, %zu: %s", first, second,
                             str_text(&out));
        }
    }
}

Test(stamped, text_without_stamps_is_shown_as_it_is) {
    static const char text[] = "\nfailed to find the log file of the container in question, it seems\nshort\n";
    struct stamped s = {0};
    CLEANUP(str_done) struct str out = STR_INIT;
    feed(&s, text, 7, &out);
    cr_expect_str_eq(str_text(&out), text, "%s", str_text(&out));
}
