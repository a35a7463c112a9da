#include "kube/status.h"

#include "base/str.h"

#include <criterion/criterion.h>
#include <string.h>

#define STATUS(rest) "{\"kind\":\"Status\",\"apiVersion\":\"v1\"," rest "}"

Test(status, meanings) {
    static const struct {
        int http;
        const char *body;
        enum err_code code;
        const char *reason, *message;
        int64_t retry_ms;
    } rows[] = {
        {409, STATUS("\"reason\":\"AlreadyExists\",\"message\":\"pytorchjobs \\\"x\\\" already exists\""), ERR_EXISTS,
         "KUBE_ALREADY_EXISTS", "create x: pytorchjobs \"x\" already exists", 0},
        {409, STATUS("\"reason\":\"Conflict\",\"message\":\"changed\""), ERR_ABORTED, "KUBE_CONFLICT",
         "create x: changed", 0},
        {410, STATUS("\"reason\":\"Expired\",\"message\":\"too old\""), ERR_RANGE, "KUBE_EXPIRED", "create x: too old",
         0},
        {410, "", ERR_RANGE, "KUBE_EXPIRED", "create x: the API server answered 410", 0},
        {401, "Unauthorized", ERR_UNAUTHENTICATED, "KUBE_UNAUTHORIZED",
         "create x: the API server answered 401: Unauthorized", 0},
        {403, STATUS("\"reason\":\"Forbidden\",\"message\":\"no\""), ERR_DENIED, "KUBE_FORBIDDEN", "create x: no", 0},
        {403, STATUS("\"message\":\"admission webhook \\\"v.k.io\\\" denied the request: bad name\""), ERR_INVALID,
         "KUBE_WEBHOOK_DENIED", "create x: admission webhook \"v.k.io\" denied the request: bad name", 0},
        {429, STATUS("\"reason\":\"TooManyRequests\",\"message\":\"slow down\",\"details\":{\"retryAfterSeconds\":3}"),
         ERR_EXHAUSTED, "KUBE_TOO_MANY_REQUESTS", "create x: slow down", 3000},
        {500, "<html>broken</html>", ERR_UNAVAILABLE, "KUBE_INTERNAL_ERROR",
         "create x: the API server answered 500: <html>broken</html>", 0},
        {599, "\xff\xfe", ERR_UNAVAILABLE, "KUBE_SERVER_ERROR", "create x: the API server answered 599", 0},
        {418, "{\"kind\":\"Teapot\"}", ERR_INTERNAL, "KUBE_REFUSED",
         "create x: the API server answered 418: {\"kind\":\"Teapot\"}", 0},
        {504,
         STATUS("\"reason\":\"Timeout\",\"message\":\"Too large resource version: 750, current: 1\","
                "\"details\":{\"retryAfterSeconds\":-5}"),
         ERR_UNAVAILABLE, "KUBE_TIMEOUT", "create x: Too large resource version: 750, current: 1", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        kube_status_error(&err, rows[i].http, rows[i].body, strlen(rows[i].body), 0, "create x");
        cr_expect_eq(err.code, rows[i].code, "row %zu: %d", i, err.code);
        cr_expect_str_eq(err.reason, rows[i].reason, "row %zu: %s", i, err.reason);
        cr_expect_str_eq(err.message, rows[i].message, "row %zu: %s", i, err.message);
        cr_expect_eq(err.retry_after_ms, rows[i].retry_ms, "row %zu", i);
    }
}

Test(status, causes_become_violations) {
    static const char body[] =
        STATUS("\"reason\":\"Invalid\",\"message\":\"PyTorchJob is invalid\",\"details\":{\"causes\":["
               "{\"reason\":\"FieldValueInvalid\",\"message\":\"must be 1\",\"field\":\"spec.replicas\"},"
               "{\"message\":\"must be a label\",\"field\":\"metadata.name\"},{\"message\":\"no field\"}]}");
    CLEANUP(err_done) struct err err = ERR_INIT;
    kube_status_error(&err, 422, body, strlen(body), 0, "create PyTorchJob team/x");
    cr_expect_eq(err.code, ERR_INVALID);
    cr_assert_eq(err.violation_count, 2);
    cr_expect_str_eq(err.violations[0].field, "spec.replicas");
    cr_expect_str_eq(err.violations[1].description, "must be a label");
    cr_expect_str_eq(err.message, "create PyTorchJob team/x: spec.replicas: must be 1 (and 1 more)");
}

Test(status, the_header_wins_and_texts_are_cut_between_characters) {
    CLEANUP(str_done) struct str body = STR_INIT;
    str_add(&body, "{\"kind\":\"Status\",\"message\":\"");
    for (int i = 0; i < 1500; i++) {
        str_add(&body, "\xc3\xa4");
    }
    str_add(&body, "\",\"details\":{\"retryAfterSeconds\":9}}");
    CLEANUP(err_done) struct err err = ERR_INIT;
    kube_status_error(&err, 503, body.data, body.len, 2, "x");
    cr_expect_eq(err.retry_after_ms, 2000);
    cr_expect_eq(str_utf8_valid(err.message, strlen(err.message)), strlen(err.message));
    cr_expect_eq(strlen(err.message), 3 + 2000);
}
