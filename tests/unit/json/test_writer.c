#include "json/json.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(writer, everything) {
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str out = STR_INIT;
    const struct json *t = NULL;
    cr_assert(json_parse(&a, "{\"n\":[1]}", 9, &json_limits_default, &t, &err));
    struct json_writer w;
    str_add(&out, "data: ");
    json_writer_init(&w, &out);
    json_begin_object(&w);
    json_key(&w, "a\n");
    json_add_string(&w, "q\"");
    json_key(&w, "b");
    json_begin_array(&w);
    json_add_int(&w, INT64_MIN);
    json_add_bool(&w, true);
    json_add_null(&w);
    json_add_string(&w, NULL);
    json_begin_object(&w);
    json_end_object(&w);
    json_begin_array(&w);
    json_end_array(&w);
    json_add_bytes(&w, "x\0y", 3);
    json_add_node(&w, t);
    json_add_node(&w, NULL);
    json_end_array(&w);
    json_key(&w, "c");
    json_add_raw(&w, "[1]");
    json_end_object(&w);
    cr_expect(json_writer_ok(&w));
    cr_expect_str_eq(out.data,
                     "data: {\"a\\n\":\"q\\\"\",\"b\":[-9223372036854775808,true,null,null,{},[],\"x\\u0000y\","
                     "{\"n\":[1]},null],\"c\":[1]}");
    arena_done(&a);
}

Test(writer, doubles) {
    static const struct {
        double v;
        const char *right;
    } table[] = {{0, "0"},
                 {0.1, "0.1"},
                 {1.0 / 3, "0.3333333333333333"},
                 {1e21, "1e+21"},
                 {-2.5, "-2.5"},
                 {100, "100"},
                 {NAN, "\"NaN\""},
                 {INFINITY, "\"Infinity\""},
                 {-INFINITY, "\"-Infinity\""},
                 {0.30000000000000004, "0.30000000000000004"}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        struct json_writer w;
        json_writer_init(&w, &out);
        json_add_double(&w, table[i].v);
        cr_expect(json_writer_ok(&w));
        cr_expect_str_eq(out.data, table[i].right);
    }
    static const double exact[] = {DBL_MAX, DBL_MIN, DBL_EPSILON, 5e-324, -1e-7, 123456789.123456789};
    for (size_t i = 0; i < ARRAY_LEN(exact); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        struct json_writer w;
        json_writer_init(&w, &out);
        json_add_double(&w, exact[i]);
        cr_expect_eq(strtod(out.data, NULL), exact[i], "%s", out.data);
    }
}

// Each letter is a call; the result says whether the writer accepts the sequence.
static bool play(const char *calls) {
    CLEANUP(str_done) struct str out = STR_INIT;
    struct json_writer w;
    json_writer_init(&w, &out);
    for (; *calls != '\0'; calls++) {
        switch (*calls) {
        case '{':
            json_begin_object(&w);
            break;
        case '}':
            json_end_object(&w);
            break;
        case '[':
            json_begin_array(&w);
            break;
        case ']':
            json_end_array(&w);
            break;
        case 'k':
            json_key(&w, "k");
            break;
        default:
            json_add_int(&w, 1);
        }
    }
    return json_writer_ok(&w);
}

Test(writer, misuse_is_latched) {
    static const char *const right[] = {"1", "{}", "[]", "[11]", "{k1}", "{k{k[]}k1}", "[[]{}1]"};
    static const char *const wrong[] = {"{",  "[",    "}",  "]",   "{]",  "[}",   "{1}", "{k}",  "{kk1}",
                                        "k1", "[k1]", "11", "{}1", "[]]", "{}[]", "{k1", "{{}}", "{1}{}"};
    for (size_t i = 0; i < ARRAY_LEN(right); i++) {
        cr_expect(play(right[i]), "%s", right[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        cr_expect(!play(wrong[i]), "%s", wrong[i]);
    }
}

Test(writer, depth) {
    char calls[200] = {0};
    memset(calls, '[', 64);
    memset(calls + 64, ']', 64);
    cr_expect(play(calls));
    memset(calls, '[', 65);
    memset(calls + 65, ']', 65);
    cr_expect(!play(calls));
}

Test(writer, bytes_that_are_not_utf8) {
    static const struct {
        const char *text, *right;
    } table[] = {
        {"a\xff", "\"a\xef\xbf\xbd\""},
        {"\xff\xfe"
         "b\xc3",
         "\"\xef\xbf\xbd\xef\xbf\xbd"
         "b\xef\xbf\xbd\""},
        {"ü\x80ü", "\"ü\xef\xbf\xbdü\""},
        {"\x1b[31m", "\"\\u001b[31m\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        struct json_writer w;
        json_writer_init(&w, &out);
        json_add_string(&w, table[i].text);
        cr_expect_str_eq(out.data, table[i].right);
    }
}
