#include "job/quantity.h"

#include <criterion/criterion.h>
#include <string.h>

struct row {
    const char *text;
    enum quantity_result result;
    int64_t value;
};

static void run(enum quantity_result (*read)(const char *, int64_t *), const struct row *rows) {
    for (const struct row *r = rows; r->text != NULL; r++) {
        int64_t v = -7;
        enum quantity_result result = read(r->text, &v);
        cr_expect_eq(result, r->result, "\"%s\" gives result %d, not %d", r->text, (int)result, (int)r->result);
        int64_t right = r->result == QUANTITY_OK ? r->value : -7; // what is refused leaves the target alone
        cr_expect_eq(v, right, "\"%s\" gives %lld, not %lld", r->text, (long long)v, (long long)right);
    }
}

Test(quantity, milli) {
    run(quantity_milli, (const struct row[]){
                            {"0", QUANTITY_OK, 0},
                            {"-0", QUANTITY_OK, 0},
                            {"1", QUANTITY_OK, 1000},
                            {"+1", QUANTITY_OK, 1000},
                            {"0.5", QUANTITY_OK, 500},
                            {".5", QUANTITY_OK, 500},
                            {"5.", QUANTITY_OK, 5000},
                            {"500m", QUANTITY_OK, 500},
                            {"1.5", QUANTITY_OK, 1500},
                            {"0.1", QUANTITY_OK, 100}, // exact, where a double is not
                            {"2k", QUANTITY_OK, 2000000},
                            {"1Ki", QUANTITY_OK, 1024000},
                            {"1u", QUANTITY_OK, 1}, // below a thousandth: up
                            {"1n", QUANTITY_OK, 1},
                            {"1000u", QUANTITY_OK, 1},
                            {"1001u", QUANTITY_OK, 2},
                            {"0.0001", QUANTITY_OK, 1},
                            {"1e3", QUANTITY_OK, 1000000},
                            {"1E3", QUANTITY_OK, 1000000},
                            {"1e-3", QUANTITY_OK, 1},
                            {"1e+0", QUANTITY_OK, 1000},
                            {"9223372036854775m", QUANTITY_OK, INT64_C(9223372036854775)},
                            {"9223372036854775", QUANTITY_OK, INT64_C(9223372036854775000)},
                            {"9223372036854776", QUANTITY_TOO_LARGE, 0},
                            {"0.5Ei", QUANTITY_TOO_LARGE, 0},
                            {"-1", QUANTITY_NEGATIVE, 0},
                            {"-1m", QUANTITY_NEGATIVE, 0},
                            {NULL, QUANTITY_OK, 0},
                        });
}

Test(quantity, whole) {
    run(quantity_whole, (const struct row[]){
                            {"0", QUANTITY_OK, 0},
                            {"0Gi", QUANTITY_OK, 0},
                            {"17", QUANTITY_OK, 17},
                            {"1k", QUANTITY_OK, 1000},
                            {"1M", QUANTITY_OK, 1000000},
                            {"1G", QUANTITY_OK, 1000000000},
                            {"1T", QUANTITY_OK, INT64_C(1000000000000)},
                            {"1P", QUANTITY_OK, INT64_C(1000000000000000)},
                            {"1E", QUANTITY_OK, INT64_C(1000000000000000000)},
                            {"1Ki", QUANTITY_OK, 1024},
                            {"1Mi", QUANTITY_OK, 1048576},
                            {"1Gi", QUANTITY_OK, 1073741824},
                            {"1Ti", QUANTITY_OK, INT64_C(1099511627776)},
                            {"1Pi", QUANTITY_OK, INT64_C(1125899906842624)},
                            {"1Ei", QUANTITY_OK, INT64_C(1152921504606846976)},
                            {"1.5Gi", QUANTITY_OK, 1610612736},
                            {"0.5Ki", QUANTITY_OK, 512},
                            {"1000m", QUANTITY_OK, 1},
                            {"2000000u", QUANTITY_OK, 2},
                            {"12e2", QUANTITY_OK, 1200},
                            {"1200e-2", QUANTITY_OK, 12},
                            {"7.9Ei", QUANTITY_NOT_WHOLE, 0},
                            {"7.5Ei", QUANTITY_OK, INT64_C(8646911284551352320)},
                            {"8Ei", QUANTITY_TOO_LARGE, 0},
                            {"9.3E", QUANTITY_TOO_LARGE, 0},
                            {"1e100", QUANTITY_TOO_LARGE, 0},
                            {"0e100", QUANTITY_OK, 0},
                            {"999999999999999999", QUANTITY_OK, INT64_C(999999999999999999)},
                            {"9999999999999999999", QUANTITY_TOO_LARGE, 0},
                            {"0.5", QUANTITY_NOT_WHOLE, 0},
                            {"512m", QUANTITY_NOT_WHOLE, 0},
                            {"1e-100", QUANTITY_NOT_WHOLE, 0},
                            {"0.0001Ki", QUANTITY_NOT_WHOLE, 0},
                            {"-5Gi", QUANTITY_NEGATIVE, 0},
                            {NULL, QUANTITY_OK, 0},
                        });
}

Test(quantity, syntax) {
    static const char *const wrong[] = {"",      " ",    "1 ",    " 1",        "m",           ".",    "-",   "+",
                                        "+-1",   "--1",  "1..2",  "1.2.3",     "1x",          "1K",   "1ki", "1KI",
                                        "1mi",   "1gi",  "1GiB",  "1Gb",       "1MB",         "1e",   "1e-", "1e+",
                                        "1ee",   "1e3m", "1e3Ki", "1e1.5",     "e3",          "0x10", "1,5", "1_000",
                                        "1e101", "inf",  "NaN",   "1\xc2\xa0", "\xef\xbc\x91"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t v = -7;
        cr_expect_eq(quantity_milli(wrong[i], &v), QUANTITY_BAD_SYNTAX, "\"%s\"", wrong[i]);
        cr_expect_eq(quantity_whole(wrong[i], &v), QUANTITY_BAD_SYNTAX, "\"%s\"", wrong[i]);
        cr_expect_eq(v, -7);
    }
}

Test(quantity, advice_says_what_would_be_right) {
    cr_expect(strstr(quantity_advice(QUANTITY_BAD_SYNTAX), "500m, 2 or 1.5Gi") != NULL);
    cr_expect_str_eq(quantity_advice(QUANTITY_NEGATIVE), "must not be negative");
    cr_expect_str_eq(quantity_advice(QUANTITY_TOO_LARGE), "is too large");
    cr_expect(strstr(quantity_advice(QUANTITY_NOT_WHOLE), "whole number") != NULL);
}
