#include "base/attr.h"
#include "base/clock.h"

#include <criterion/criterion.h>
#include <string.h>

Test(clock, formats_and_parses) {
    static const struct {
        int64_t wall;
        const char *text;
    } table[] = {
        {0, "1970-01-01T00:00:00Z"},
        {1, "1970-01-01T00:00:00.000000001Z"},
        {-1, "1969-12-31T23:59:59.999999999Z"},
        {-CLOCK_SECOND, "1969-12-31T23:59:59Z"},
        {INT64_C(1767323045678000000), "2026-01-02T03:04:05.678Z"},
        {INT64_C(1767323045600000000), "2026-01-02T03:04:05.600Z"},
        {INT64_C(1767323045678900000), "2026-01-02T03:04:05.678900Z"},
        {INT64_C(1767323045000000010), "2026-01-02T03:04:05.000000010Z"},
        {INT64_C(951782400000000000), "2000-02-29T00:00:00Z"},
        {INT64_C(9214646399999999999), "2261-12-31T23:59:59.999999999Z"},
        {INT64_C(-9214560000000000000), "1678-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char text[CLOCK_TEXT_MAX];
        int64_t back = 42;
        clock_format(table[i].wall, text);
        cr_expect_str_eq(text, table[i].text);
        cr_expect(clock_parse(table[i].text, &back), "%s", table[i].text);
        cr_expect_eq(back, table[i].wall, "%s", table[i].text);
    }
}

Test(clock, other_spellings) {
    static const struct {
        const char *text, *same;
    } table[] = {
        {"2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05Z"},  {"2026-01-02T03:04:05-00:00", "2026-01-02T03:04:05Z"},
        {"2026-01-02t03:04:05z", "2026-01-02T03:04:05Z"},       {"2026-01-02 03:04:05Z", "2026-01-02T03:04:05Z"},
        {"2026-01-02T03:04:05.6Z", "2026-01-02T03:04:05.600Z"}, {"2026-01-02T05:34:05+02:30", "2026-01-02T03:04:05Z"},
        {"2026-01-01T19:04:05-08:00", "2026-01-02T03:04:05Z"},  {"2025-12-31T23:30:00-01:00", "2026-01-01T00:30:00Z"},
        {"2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z"},  {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
        {"2017-01-01T00:59:60+01:00", "2017-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int64_t a = 1;
        int64_t b = 2;
        cr_expect(clock_parse(table[i].text, &a) && clock_parse(table[i].same, &b), "%s", table[i].text);
        cr_expect_eq(a, b, "%s", table[i].text);
    }
}

Test(clock, not_times) {
    static const char *const table[] = {
        "",
        "x",
        "2026",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04Z",
        "2026-1-2T03:04:05Z",
        "2026-01-02T3:04:05Z",
        "2026-00-02T03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-01-00T03:04:05Z",
        "2026-01-32T03:04:05Z",
        "2026-04-31T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:05Z",
        "2026-01-02T03:04:61Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.1234567890Z",
        "2026-01-02T03:04:05,5Z",
        "2026-01-02T03:04:05Z ",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05+0100",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+01:60",
        "2026-01-02T03:04:05ZZ",
        "+026-01-02T03:04:05Z",
        "1677-12-31T23:59:59Z",
        "2262-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int64_t v = 42;
        cr_expect(!clock_parse(table[i], &v), "%s", table[i]);
        cr_expect_eq(v, 42);
    }
}

Test(clock, runs) {
    int64_t a = clock_mono();
    int64_t b = clock_mono();
    cr_expect_leq(a, b);
    cr_expect_gt(clock_wall(), INT64_C(1700000000) * CLOCK_SECOND);
}
