#include "base/mem.h"
#include "base/str.h"

#include <criterion/criterion.h>
#include <string.h>

Test(str, grows) {
    CLEANUP(str_done) struct str s = STR_INIT;
    cr_expect_str_eq(str_text(&s), "");
    str_add(&s, "");
    cr_expect_not_null(s.data);
    for (int i = 0; i < 1000; i++) {
        str_printf(&s, "%d,", i);
        cr_assert_eq(s.data[s.len], '\0');
        cr_assert_eq(strlen(s.data), s.len);
    }
    cr_expect_eq(s.len, 10 * 2 + 90 * 3 + 900 * 4);
    cr_expect(str_ends(s.data, "998,999,"));
    size_t cap = s.cap;
    str_clear(&s);
    cr_expect_str_eq(s.data, "");
    cr_expect_eq(s.cap, cap);
    str_add_bytes(&s, "a\0b", 3);
    str_add_char(&s, 'c');
    cr_expect(s.len == 4 && memcmp(s.data, "a\0bc", 5) == 0);
    char *taken = str_take(&s);
    cr_expect_eq(memcmp(taken, "a\0bc", 5), 0);
    mem_free(taken);
    cr_expect_eq(s.len, 0);
    taken = str_take(&s);
    cr_expect_str_eq(taken, "");
    mem_free(taken);
}

Test(str, comparisons) {
    cr_expect(str_starts("abc", "ab") && str_starts("abc", "") && !str_starts("abc", "b") && !str_starts("a", "ab"));
    cr_expect(str_ends("abc", "bc") && str_ends("abc", "") && !str_ends("abc", "ab") && !str_ends("c", "bc"));
    cr_expect(str_same("a", "a") && !str_same("a", "A") && str_same(NULL, NULL) && !str_same(NULL, "") &&
              !str_same("", NULL));
    cr_expect(str_same_nocase("aB", "Ab") && !str_same_nocase("a", "b") && !str_same_nocase(NULL, "a"));
    cr_expect(str_is_empty(NULL) && str_is_empty("") && !str_is_empty(" "));
}

Test(str, integers) {
    static const struct {
        const char *text;
        int64_t min, max;
        bool right;
        int64_t value;
    } table[] = {
        {"0", 0, 10, true, 0},
        {"-0", 0, 10, true, 0},
        {"10", 0, 10, true, 10},
        {"11", 0, 10, false, 0},
        {"-1", 0, 10, false, 0},
        {"-1", -1, 10, true, -1},
        {"007", 0, 10, true, 7},
        {"9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN},
        {"9223372036854775808", INT64_MIN, INT64_MAX, false, 0},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, false, 0},
        {"", 0, 10, false, 0},
        {NULL, 0, 10, false, 0},
        {" 1", 0, 10, false, 0},
        {"1 ", 0, 10, false, 0},
        {"+1", 0, 10, false, 0},
        {"-", -10, 10, false, 0},
        {"- 1", -10, 10, false, 0},
        {"1.0", 0, 10, false, 0},
        {"1e1", 0, 10, false, 0},
        {"0x1", 0, 10, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int64_t v = 42;
        cr_expect_eq(str_to_int64(table[i].text, table[i].min, table[i].max, &v), table[i].right, "%s", table[i].text);
        cr_expect_eq(v, table[i].right ? table[i].value : 42, "%s", table[i].text);
    }
}

Test(str, utf8) {
    static const struct {
        const char *text;
        size_t n, good;
    } table[] = {
        {"", 0, 0},
        {"plain", 5, 5},
        {"a\0b", 3, 3},
        {"\xc2\x80\xdf\xbf", 4, 4},
        {"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", 12, 12},
        {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8, 8},
        {"ab\x80", 3, 2},
        {"ab\xff", 3, 2},
        {"\xc0\xaf", 2, 0},
        {"\xc1\xbf", 2, 0},
        {"a\xe0\x80\x80", 4, 1},
        {"\xe0\x9f\xbf", 3, 0},
        {"\xed\xa0\x80", 3, 0},
        {"\xed\xbf\xbf", 3, 0},
        {"\xf0\x80\x80\x80", 4, 0},
        {"\xf0\x8f\xbf\xbf", 4, 0},
        {"\xf4\x90\x80\x80", 4, 0},
        {"\xf5\x80\x80\x80", 4, 0},
        {"\xf8\x88\x80\x80\x80", 5, 0},
        {"a\xc3", 2, 1},
        {"a\xe2\x82", 3, 1},
        {"a\xf0\x9f\x98", 4, 1},
        {"\xc3(", 2, 0},
        {"\xe2\x28\xa1", 3, 0},
        {"\xe2\x82\x28", 3, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(mem_free_ptr) char *exact = mem_dup(table[i].text, table[i].n); // reading behind it would be seen
        cr_expect_eq(str_utf8_valid(exact, table[i].n), table[i].good, "row %zu", i);
    }
}

// Every 1-, 2- and 3-byte sequence against the definition of UTF-8: exactly the code points are valid.
Test(str, utf8_counts) {
    size_t valid[4] = {0};
    for (uint32_t v = 0; v < 1U << 24; v++) {
        const char text[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
        if ((v & 0xffff) == 0) {
            valid[1] += str_utf8_valid(text, 1) == 1;
        }
        if ((v & 0xff) == 0) {
            valid[2] += (text[0] & 0x80) != 0 && str_utf8_valid(text, 2) == 2;
        }
        valid[3] += (text[0] & 0xf0) == 0xe0 && str_utf8_valid(text, 3) == 3;
    }
    cr_expect_eq(valid[1], 128);
    cr_expect_eq(valid[2], 0x800 - 0x80);
    cr_expect_eq(valid[3], 0x10000 - 0x800 - 0x800);
}

Test(str, nearest) {
    static const char *const names[] = {"pytorch", "tensorflow", "xgboost", "mpi", "jax", "paddle", "process"};
    static const struct {
        const char *wrong, *right;
    } table[] = {
        {"pytorch", "pytorch"},
        {"PyTorch", "pytorch"},
        {"pytroch", "pytorch"},
        {"torch", "pytorch"},
        {"tensorflow2", "tensorflow"},
        {"xgbost", "xgboost"},
        {"jx", "jax"},
        {"MPI", "mpi"},
        {"proces", "process"},
        {"zzzzzz", NULL},
        {"", NULL},
        {"q", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const char *is = str_nearest(table[i].wrong, names, ARRAY_LEN(names));
        cr_expect(str_same(is, table[i].right), "%s gives %s", table[i].wrong, is != NULL ? is : "nothing");
    }
    char longest[200];
    memset(longest, 'p', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cr_expect_null(str_nearest("pytorch", NULL, 0));
    cr_expect(str_same(str_nearest(longest, (const char *const[]){longest}, 1), longest));
    (void)str_nearest(longest, names, ARRAY_LEN(names)); // too long to compare: no crash, whatever it says
}

Test(str, utf8_mend) {
    static const struct {
        const char *text, *right;
    } table[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"a\xc3", "a?"},                 // cut within two bytes,
        {"a\xe2\x82", "a?"},             // three,
        {"a\xf0\x9f\x98", "a?"},         // and four
        {"\"\xe2\x82\" is", "\"?\" is"}, // in the middle, as "%.2s" leaves it
        {"\xff\xfe\xfd", "?"},
        {"a\xff"
         "b\xff"
         "c",
         "a?b?c"},
        {"\xc3\xc3\xa4", "?\xc3\xa4"},
        {"\xa4\xc3\xa4\xa4", "?\xc3\xa4?"},
        {"\xed\xa0\x80x", "?x"}, // half a surrogate pair
        {"\xc0\xaf", "?"},       // too long for what it says
        {"\xf4\x90\x80\x80", "?"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *text = mem_strdup(table[i].text);
        str_utf8_mend(text);
        cr_expect_str_eq(text, table[i].right, "row %zu: %s", i, text);
        cr_expect_eq(str_utf8_valid(text, strlen(text)), strlen(text));
        mem_free(text);
    }
}
