#include "base/mem.h"
#include "json/json.h"

#include <criterion/criterion.h>
#include <string.h>

// The text of a document once read and written again, or the error; the caller frees.
static char *again(const char *text, size_t n, const struct json_limits *limits) {
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct str out = STR_INIT;
    const struct json *tree = NULL;
    if (json_parse(&a, text, n, limits, &tree, &err)) {
        cr_expect(!err_set(&err));
        json_write(&out, tree);
    } else {
        cr_expect_null(tree, "an output without success");
        cr_expect_eq(err.code, ERR_INVALID);
        cr_expect_str_eq(err.reason, "BAD_JSON");
        str_printf(&out, "! %s", err.message);
    }
    arena_done(&a);
    return str_take(&out);
}

static void expect(const char *text, const char *right) {
    CLEANUP(mem_free_ptr) char *is = again(text, strlen(text), &json_limits_default);
    cr_expect_str_eq(is, right, "%s\n gives %s\n not   %s", text, is, right);
}

static void expect_error(const char *text, size_t n, const char *begin) {
    CLEANUP(mem_free_ptr) char *is = again(text, n, &json_limits_default);
    cr_expect(str_starts(is, "! ") && str_starts(is + 2, begin), "%s\n gives %s\n not   %s", text, is, begin);
}

Test(parse, documents) {
    static const char *const same[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-1.5e-300",
        "1E+2",
        "1e-05",
        "123456789012345678901234567890",
        "\"\"",
        "\"a b\"",
        "[]",
        "{}",
        "[[],{},[[]]]",
        "{\"a\":1,\"b\":[true,null],\"\":{\"c\":\"d\"}}",
        "{\"z\":1,\"a\":2}",
        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\"",
        "\"äöü€😀\"",
        "\"\\u2028\\u0085\\ufeff\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        expect(same[i], same[i]);
    }
    expect(" \t\r\n[ 1 , 2 ]\n ", "[1,2]");
    expect("\"\\/\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "\"/Aé€😀\"");
    expect("{\"a\":{\"a\":{\"a\":1}}}", "{\"a\":{\"a\":{\"a\":1}}}");
}

Test(parse, errors_with_their_place) {
    static const struct {
        const char *text, *error;
    } table[] = {
        {"", "line 1, column 1: "},
        {"  \n ", "line 2, column 2: "},
        {"{", "line 1, column 2: "},
        {"[1,2", "line 1, column 4: "},
        {"[1,]", "line 1, column 4: "},
        {"[1 2]", "line 1, column 4: "},
        {"{\"a\" 1}", "line 1, column 6: "},
        {"{\"a\":tru}", "line 1, column 6: "},
        {"{a:1}", "line 1, column 2: "},
        {"{'a':1}", "line 1, column 2: "},
        {"{\n  \"a\": 1,\n  \"b\": x\n}", "line 3, column 8: "},
        {"[1]\n [2]", "line 2, column 2: "},
        {"1 2", "line 1, column 3: "},
        {"nul", "line 1, column 1: "},
        {"01", "line 1, column 2: "},
        {"[-]", "line 1, column 2: "},
        {"[1.]", "line 1, column 2: "},
        {"[.5]", "line 1, column 2: "},
        {"[+1]", "line 1, column 2: "},
        {"[1e]", "line 1, column 2: "},
        {"[0x10]", "line 1, column 3: "},
        {"[NaN]", "line 1, column 2: "},
        {"[Infinity]", "line 1, column 2: "},
        {"// c\n1", "line 1, column 1: "},
        {"[/* c */1]", "line 1, column 2: "},
        {"\"a", "line 1, column 1: "},
        {"\"a\nb\"", "line 1, column 1: "},
        {"\"\\x41\"", "line 1, column 1: "},
        {"\"\\u12\"", "line 1, column 1: "},
        {"[1,\n \"a\\u0000b\"]", "line 2, column 2: a text contains NUL"},
        {"{\"\\u0000\":1}", "line 1, column 2: a text contains NUL"},
        {"[\"ok\",\n\"\\ud800\"]", "line 2, column 2: \\ud800 is half of a surrogate pair"},
        {"\"\\ud800\\u0041\"", "line 1, column 2: \\ud800 is half"},
        {"\"\\ud800\\ue000\"", "line 1, column 2: \\ud800 is half"},
        {"\"\\\\\\udc00\"", "line 1, column 4: \\udc00 is half"},
        {"{\"a\":1,\n \"b\":2,\n \"a\":3}", "line 3, column 6: duplicate key \"a\""},
        {"{\"a\":1,\"\\u0061\":3}", "line 1, column 17: duplicate key \"a\""},
        {"\xef\xbb\xbf"
         "1",
         "line 1, column 1: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        expect_error(table[i].text, strlen(table[i].text), table[i].error);
    }
    expect_error("[\"a\0b\"]", 7, "line 1, column 2: ");
    expect_error("[1]\0", 4, "line 1, column 4: ");
}

Test(parse, utf8) {
    static const char *const bad[] = {"\"\x80\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                                      "\"\xc3\"", "\"\xff\""};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        expect_error(bad[i], strlen(bad[i]), "line 1, column 2: not valid UTF-8");
    }
    expect_error("[1,\n  \"ab\xff\"]", 11, "line 2, column 6: not valid UTF-8");
}

// n brackets around nothing.
static char *nested(size_t n, char open, char close) {
    char *text = mem_alloc(2 * n + 1);
    memset(text, open, n);
    memset(text + n, close, n);
    text[2 * n] = '\0';
    return text;
}

Test(parse, depth) {
    struct json_limits ten = json_limits_default;
    ten.max_depth = 10;
    struct json_limits endless = json_limits_default;
    endless.max_depth = 100000;
    static const struct {
        size_t depth;
        int limits;
        bool right;
    } table[] = {{64, 0, true},  {65, 0, false}, {500000, 0, false}, {10, 1, true},
                 {11, 1, false}, {64, 2, true},  {65, 2, false}};
    const struct json_limits *const limits[] = {&json_limits_default, &ten, &endless};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(mem_free_ptr) char *text = nested(table[i].depth, '[', ']');
        CLEANUP(mem_free_ptr) char *is = again(text, strlen(text), limits[table[i].limits]);
        cr_expect_eq(is[0] != '!', table[i].right, "%zu: %.100s", table[i].depth, is);
        cr_expect(table[i].right || strstr(is, "nested deeper than ") != NULL, "%.100s", is);
    }
}

Test(parse, size_and_count) {
    struct json_limits few = {.max_bytes = 20, .max_depth = 8, .max_nodes = 5};
    CLEANUP(mem_free_ptr) char *fits = again("[1,2,3,4]", 9, &few);
    cr_expect_str_eq(fits, "[1,2,3,4]");
    CLEANUP(mem_free_ptr) char *many = again("[1,2,3,4,5]", 11, &few);
    cr_expect_str_eq(many, "! line 1, column 10: more than 5 values");
    CLEANUP(mem_free_ptr) char *nested_too = again("[[],{},[],[],{}]", 16, &few);
    cr_expect_str_eq(nested_too, "! line 1, column 14: more than 5 values");
    CLEANUP(mem_free_ptr) char *longest = again("\"12345678901234567\"", 19, &few);
    cr_expect_str_eq(longest, "\"12345678901234567\"");
    CLEANUP(mem_free_ptr) char *longer = again("\"1234567890123456789\"", 21, &few);
    cr_expect_str_eq(longer, "! line 1, column 1: 21 bytes, more than 20");
}

// 100,000 members in one object are read, checked for duplicates and compared in far less than a second.
Test(parse, large_objects_are_quick, .timeout = 20) {
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(str_done) struct str turned = STR_INIT;
    str_add(&text, "{\"k\":0");
    str_add(&turned, "{");
    for (int i = 1; i <= 100000; i++) {
        str_printf(&text, ",\"k%d\":%d", i, i);
        str_printf(&turned, "\"k%d\":%d,", 100001 - i, 100001 - i);
    }
    str_add(&text, "}");
    str_add(&turned, "\"k\":0}");
    const struct json *x = NULL;
    const struct json *y = NULL;
    cr_assert(json_parse(&a, text.data, text.len, &json_limits_default, &x, &err), "%s", err.message);
    cr_assert(json_parse(&a, turned.data, turned.len, &json_limits_default, &y, &err), "%s", err.message);
    cr_expect_eq(x->count, 100001);
    cr_expect(json_equal(x, y));
    text.data[text.len - 1] = ',';
    str_add(&text, "\"k77\":1}");
    cr_expect(!json_parse(&a, text.data, text.len, &json_limits_default, &x, &err));
    cr_expect(strstr(err.message, "duplicate key \"k77\"") != NULL, "%s", err.message);
    arena_done(&a);
}

Test(parse, places_in_the_tree) {
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    static const char text[] = "{\n  \"a\": [1,  \"two\", {}],\n  \"b\" : -3.5\n}";
    const struct json *t = NULL;
    cr_assert(json_parse(&a, text, strlen(text), &json_limits_default, &t, &err));
    static const struct {
        const char *path;
        unsigned line, column;
    } table[] = {{"", 1, 1}, {"a", 2, 8}, {"a[0]", 2, 9}, {"a[1]", 2, 13}, {"a[2]", 2, 20}, {"b", 3, 9}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct json *node = json_path(t, table[i].path);
        cr_assert_not_null(node, "%s", table[i].path);
        cr_expect_eq(node->line, table[i].line, "%s: line %u", table[i].path, node->line);
        cr_expect_eq(node->column, table[i].column, "%s: column %u", table[i].path, node->column);
    }
    arena_done(&a);
}

Test(parse, long_texts) {
    enum { N = 3000000 };
    CLEANUP(mem_free_ptr) char *text = mem_alloc(N + 3);
    memset(text, 'x', N + 2);
    text[0] = text[N + 1] = '"';
    text[N + 2] = '\0';
    CLEANUP(mem_free_ptr) char *is = again(text, N + 2, &json_limits_default);
    cr_expect(strcmp(is, text) == 0);
}
