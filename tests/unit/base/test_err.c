#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

Test(err, fail) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_expect(!err_set(&err));
    cr_expect(!err_fail(&err, ERR_NOT_FOUND, "JOB_NOT_FOUND", "no job %s", "x"));
    cr_expect(err_set(&err));
    cr_expect_eq(err.code, ERR_NOT_FOUND);
    cr_expect_str_eq(err.reason, "JOB_NOT_FOUND");
    cr_expect_str_eq(err.message, "no job x");
    err_wrap(&err, "group %d", 7);
    cr_expect_str_eq(err.message, "group 7: no job x");
    err_done(&err);
    cr_expect(!err_set(&err));
    cr_expect(!err_fail_errno(&err, ERR_UNAVAILABLE, "FILE", ENOENT, "cannot open %s", "f"));
    cr_expect_str_eq(err.message, "cannot open f: No such file or directory");
}

Test(err, filled_twice_is_our_mistake, .signal = SIGABRT) {
    struct err err = ERR_INIT;
    (void)err_fail(&err, ERR_NOT_FOUND, "A", "a");
    (void)err_fail(&err, ERR_NOT_FOUND, "B", "b");
}

Test(err, violations) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_expect(!err_violate(&err, "roles[0].replicas", "must be at least %d", 1));
    cr_expect_eq(err.code, ERR_INVALID);
    cr_expect_str_eq(err.reason, "INVALID_SPEC");
    cr_expect_str_eq(err.message, "roles[0].replicas: must be at least 1");
    err_violate(&err, "name", "is required");
    cr_expect_str_eq(err.message, "roles[0].replicas: must be at least 1 (and 1 more)");
    for (int i = 2; i < 150; i++) {
        err_violate(&err, "f", "number %d", i);
    }
    cr_expect_eq(err.violation_count, 150);
    cr_expect_str_eq(err.violations[1].field, "name");
    cr_expect_str_eq(err.violations[99].description, "number 99");
    cr_expect_str_eq(err.message, "roles[0].replicas: must be at least 1 (and 149 more)");

    CLEANUP(err_done) struct err copy = ERR_INIT;
    err_copy(&copy, &err);
    err_done(&err);
    cr_expect_eq(copy.violation_count, 150);
    cr_expect_str_eq(copy.violations[99].description, "number 99");
    cr_expect_str_eq(copy.violations[0].field, "roles[0].replicas");
}

Test(err, facts_resource_copy_move) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    (void)err_fail(&err, ERR_EXHAUSTED, "TOO_MANY", "too many");
    err_fact(&err, "limit", "10");
    err_fact(&err, "have", "11");
    err_resource(&err, "job", "old");
    err_resource(&err, "job", "j1");
    err.retry_after_ms = 250;

    CLEANUP(err_done) struct err copy = ERR_INIT;
    err_copy(&copy, &err);
    CLEANUP(err_done) struct err moved = ERR_INIT;
    err_move(&moved, &err);
    cr_expect(!err_set(&err) && err.message == NULL);
    const struct err *const both[] = {&copy, &moved};
    for (size_t i = 0; i < 2; i++) {
        const struct err *e = both[i];
        cr_expect_eq(e->code, ERR_EXHAUSTED);
        cr_expect_str_eq(e->reason, "TOO_MANY");
        cr_expect_str_eq(e->message, "too many");
        cr_expect_eq(e->fact_count, 2);
        cr_expect_str_eq(e->facts[1].key, "have");
        cr_expect_str_eq(e->facts[1].value, "11");
        cr_expect_str_eq(e->resource_type, "job");
        cr_expect_str_eq(e->resource_name, "j1");
        cr_expect_eq(e->retry_after_ms, 250);
    }
    cr_expect_neq(copy.message, moved.message);
}

Test(err, code_names) {
    static const struct {
        enum err_code code;
        const char *name;
    } table[] = {{ERR_NONE, "OK"},
                 {ERR_CANCELED, "CANCELLED"},
                 {ERR_INVALID, "INVALID_ARGUMENT"},
                 {ERR_DEADLINE, "DEADLINE_EXCEEDED"},
                 {ERR_EXISTS, "ALREADY_EXISTS"},
                 {ERR_DENIED, "PERMISSION_DENIED"},
                 {ERR_EXHAUSTED, "RESOURCE_EXHAUSTED"},
                 {ERR_PRECONDITION, "FAILED_PRECONDITION"},
                 {ERR_RANGE, "OUT_OF_RANGE"},
                 {ERR_UNAVAILABLE, "UNAVAILABLE"},
                 {ERR_UNAUTHENTICATED, "UNAUTHENTICATED"},
                 {(enum err_code)17, "UNKNOWN"}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        cr_expect_str_eq(err_code_name(table[i].code), table[i].name);
    }
}

// Messages show the beginning of what was wrong; a cut must not leave half a character, which clients refuse.
Test(err, texts_are_utf8_wherever_they_are_cut) {
    static const char euro[] = "\xe2\x82\xac\xe2\x82\xac";
    static const char *const cut[] = {"", "?", "?", "\xe2\x82\xac", "\xe2\x82\xac?", "\xe2\x82\xac?", euro};
    for (int n = 0; n <= 6; n++) {
        CLEANUP(mem_free_ptr) char *quoted = mem_printf("\"%s\"", cut[n]);
        CLEANUP(mem_free_ptr) char *part = mem_printf("%.*s", n, euro);
        CLEANUP(err_done) struct err err = ERR_INIT;
        (void)err_fail(&err, ERR_INVALID, "X", "\"%.*s\"", n, euro);
        cr_expect_str_eq(err.message, quoted);
        err_wrap(&err, "%.*s", n, euro);
        cr_expect(str_starts(err.message, cut[n]) && str_ends(err.message, quoted));
        err_fact(&err, "key", part);
        cr_expect_str_eq(err.facts[0].value, cut[n]);
        err_resource(&err, "job", part);
        cr_expect_str_eq(err.resource_name, cut[n]);
        err_done(&err);
        (void)err_fail_errno(&err, ERR_INVALID, "X", ENOENT, "%.*s", n, euro);
        cr_expect(str_starts(err.message, cut[n]) && str_ends(err.message, ": No such file or directory"));
        err_done(&err);
        err_violate(&err, part, "\"%.*s\"", n, euro);
        cr_expect_str_eq(err.violations[0].field, cut[n]);
        cr_expect_str_eq(err.violations[0].description, quoted);
        cr_expect_eq(str_utf8_valid(err.message, strlen(err.message)), strlen(err.message));
    }
}

Test(err, a_reason_from_outside_is_kept_and_copied) {
    static const struct {
        const char *said, *kept;
    } rows[] = {{"UNKNOWN_METHOD", "UNKNOWN_METHOD"},
                {"A1_2", "A1_2"},
                {"", "OTHER"},
                {"lower", "OTHER"},
                {"WITH SPACE", "OTHER"},
                {"LINE\nBREAK", "OTHER"},
                {"A2345678901234567890123456789012345678901234567890123456789012345", "OTHER"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct err copy = ERR_INIT;
        struct err moved = ERR_INIT;
        char said[128];
        snprintf(said, sizeof said, "%s", rows[i].said);
        err_fail(&err, ERR_INVALID, "FIRST", "text");
        err_set_reason(&err, said);
        memset(said, 'x', sizeof said);
        err_copy(&copy, &err);
        err_move(&moved, &err);
        err_done(&err);
        cr_expect_str_eq(moved.reason, rows[i].kept);
        err_done(&moved);
        cr_expect_str_eq(copy.reason, rows[i].kept);
        err_done(&copy);
    }
}
