#include "api/api.h"
#include "base/mem.h"
#include "base/str.h"
#include "rpc/internal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static size_t on_the_wire(const struct err *sent, const struct str *details) {
    size_t n = (details->len + 2) / 3 * 4;
    for (const char *p = sent->message; *p != '\0'; p++) {
        n += *p >= ' ' && *p <= '~' && *p != '%' ? 1 : 3;
    }
    return n;
}

// What a client gets back of err.
static void round_trip(const struct err *err, struct err *ret) {
    CLEANUP(err_done) struct err sent = ERR_INIT;
    CLEANUP(err_done) struct err failed = ERR_INIT;
    CLEANUP(str_done) struct str details = STR_INIT;
    rpc_status_write(err, &sent, &details);
    cr_assert_lt(on_the_wire(&sent, &details), 8192 - 500);
    cr_assert_eq(str_utf8_valid(sent.message, strlen(sent.message)), strlen(sent.message));
    cr_assert_gt(details.len, 0);
    cr_assert(api_decode_status(details.data, details.len, ret, &failed), "%s", failed.message);
    cr_assert_str_eq(ret->message, sent.message, "the same in both places");
    cr_assert_eq(ret->code, err->code);
    cr_assert_str_eq(ret->reason, err->reason);
}

Test(status, small_ones_are_whole) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(err_done) struct err got = ERR_INIT;
    err_violate(&err, "roles[0].name", "must not be empty");
    err_violate(&err, "roles[1].name", "must be \"worker\", not %s", "é");
    round_trip(&err, &got);
    cr_assert_eq(got.violation_count, 2);
    cr_assert_str_eq(got.violations[1].field, "roles[1].name");
    cr_assert_str_eq(got.violations[1].description, "must be \"worker\", not é");
}

Test(status, many_violations_are_cut) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(err_done) struct err got = ERR_INIT;
    for (int i = 0; i < 300; i++) {
        char field[64];
        snprintf(field, sizeof field, "roles[0].env[%d].name", i);
        err_violate(&err, field,
                    "日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本");
    }
    round_trip(&err, &got);
    cr_assert_gt(got.violation_count, 3);
    cr_assert_str_eq(got.violations[3].field, "roles[0].env[3].name");
    cr_assert_not_null(strstr(got.message, "299 more"));
}

Test(status, long_messages_are_cut_between_characters) {
    for (size_t shift = 0; shift < 4; shift++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        CLEANUP(err_done) struct err got = ERR_INIT;
        CLEANUP(str_done) struct str text = STR_INIT;
        for (size_t i = 0; i < shift; i++) {
            str_add_char(&text, 'x');
        }
        for (int i = 0; i < 5000; i++) {
            str_add(&text, "語");
        }
        err_fail(&err, ERR_INTERNAL, "JOURNAL_FULL", "%s", str_text(&text));
        round_trip(&err, &got);
        cr_assert(str_ends(got.message, "語..."));
        cr_assert_leq(strlen(got.message), 1024);
    }
}

Test(status, texts_that_are_no_utf8_are_mended) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(err_done) struct err got = ERR_INIT;
    err_violate(&err, "a\xff", "cut \xe6\x97");
    err_resource(&err, "file", "\x80name");
    round_trip(&err, &got);
    cr_assert_str_eq(got.violations[0].field, "a?");
    cr_assert_str_eq(got.violations[0].description, "cut ?");
    cr_assert_str_eq(got.message, "a?: cut ?");
}
