// Errors as google.rpc.Status, and back.
#include "api/internal.h"

#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"

#include <criterion/criterion.h>

static Google__Rpc__Status *encoded(const struct err *err) {
    CLEANUP(str_done) struct str bytes = STR_INIT;
    api_encode_status(err, &bytes);
    cr_expect_leq(bytes.len, 6 * 1024);
    Google__Rpc__Status *m = google__rpc__status__unpack(NULL, bytes.len, (const uint8_t *)str_text(&bytes));
    cr_assert_not_null(m);
    return m;
}

static const Google__Protobuf__Any *detail(const Google__Rpc__Status *m, const char *type) {
    for (size_t i = 0; i < m->n_details; i++) {
        if (str_ends(m->details[i]->type_url, type)) {
            return m->details[i];
        }
    }
    return NULL;
}

Test(status, carries_reason_facts_and_paths) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    err_violate(&err, "roles[1].resources.memory", "is no quantity");
    err_violate(&err, "name", "is too long");
    err_fact(&err, "limit", "63");
    Google__Rpc__Status *m = encoded(&err);
    cr_expect_eq(m->code, (int)ERR_INVALID);
    cr_expect_str_eq(m->message, err.message);
    const Google__Protobuf__Any *any = detail(m, "type.googleapis.com/google.rpc.ErrorInfo");
    cr_assert_not_null(any);
    Google__Rpc__ErrorInfo *info = google__rpc__error_info__unpack(NULL, any->value.len, any->value.data);
    cr_expect_str_eq(info->reason, "INVALID_SPEC");
    cr_expect_str_eq(info->domain, "trainerd");
    cr_assert_eq(info->n_metadata, 1);
    cr_expect_str_eq(info->metadata[0]->key, "limit");
    cr_expect_str_eq(info->metadata[0]->value, "63");
    google__rpc__error_info__free_unpacked(info, NULL);
    any = detail(m, "/google.rpc.BadRequest");
    cr_assert_not_null(any);
    Google__Rpc__BadRequest *bad = google__rpc__bad_request__unpack(NULL, any->value.len, any->value.data);
    cr_assert_eq(bad->n_field_violations, 2);
    cr_expect_str_eq(bad->field_violations[0]->field, "roles[1].resources.memory");
    cr_expect_str_eq(bad->field_violations[1]->description, "is too long");
    google__rpc__bad_request__free_unpacked(bad, NULL);
    cr_expect_null(detail(m, "/google.rpc.RetryInfo"));
    google__rpc__status__free_unpacked(m, NULL);
}

Test(status, says_when_to_come_again) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    err_fail(&err, ERR_EXHAUSTED, "LIMIT_REACHED", "too many streams");
    err.retry_after_ms = 1500;
    err_resource(&err, "job", "a");
    Google__Rpc__Status *m = encoded(&err);
    const Google__Protobuf__Any *any = detail(m, "/google.rpc.RetryInfo");
    cr_assert_not_null(any);
    Google__Rpc__RetryInfo *retry = google__rpc__retry_info__unpack(NULL, any->value.len, any->value.data);
    cr_expect(retry->retry_delay->seconds == 1 && retry->retry_delay->nanos == 500000000);
    google__rpc__retry_info__free_unpacked(retry, NULL);
    cr_expect_not_null(detail(m, "/google.rpc.QuotaFailure"));
    cr_expect_not_null(detail(m, "/google.rpc.ResourceInfo"));
    google__rpc__status__free_unpacked(m, NULL);
}

Test(status, stays_small_and_keeps_its_message) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(err_done) struct err read = ERR_INIT;
    CLEANUP(err_done) struct err failed = ERR_INIT;
    CLEANUP(str_done) struct str bytes = STR_INIT;
    for (int i = 0; i < ERR_VIOLATIONS_MAX; i++) {
        err_violate(&err, "roles[0].name", "%0200d", i);
    }
    api_encode_status(&err, &bytes);
    cr_expect_leq(bytes.len, 6 * 1024);
    cr_assert(api_decode_status(str_text(&bytes), bytes.len, &read, &failed));
    cr_expect_eq((int)read.code, (int)ERR_INVALID);
    cr_expect_str_eq(read.reason, "INVALID_SPEC");
    cr_expect_str_eq(read.message, err.message);
    cr_expect(read.violation_count > 0 && read.violation_count < ERR_VIOLATIONS_MAX);
}

Test(status, what_is_no_status_is_said) {
    static const struct {
        const char *bytes;
        size_t n;
    } rows[] = {{"\x0a\x05", 2}, {"", 0}, {"\x08\x11", 2}}; // cut, code 0, code 17
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(err_done) struct err read = ERR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        cr_expect_not(api_decode_status(rows[i].bytes, rows[i].n, &read, &err), "%zu", i);
        cr_expect_eq((int)err.code, (int)ERR_DATA_LOSS);
    }
}
