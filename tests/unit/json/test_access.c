#include "json/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct arena arena;

static void setup(void) {
    arena_init(&arena, 0);
}

static void teardown(void) {
    arena_done(&arena);
}

TestSuite(access, .init = setup, .fini = teardown);

static const struct json *tree(const char *text) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *t = NULL;
    cr_assert(json_parse(&arena, text, strlen(text), &json_limits_default, &t, &err), "%s: %s", text, err.message);
    return t;
}

Test(access, paths) {
    const struct json *t = tree(
        "{\"spec\":{\"containers\":[{\"name\":\"x\"},{\"name\":\"y\",\"n\":7}]},"
        "\"labels\":{\"a.b/c\":\"L\",\"\":\"empty\"},\"matrix\":[[1,2],[3]],"
        "\"conditions\":[{\"type\":\"A\",\"v\":1},5,{\"type\":\"Complete\",\"v\":2},{\"type\":\"Complete\",\"v\":3}]}");
    static const struct {
        const char *path, *right; // NULL: nothing there
    } table[] = {
        {"spec.containers[0].name", "\"x\""},
        {"spec.containers[1].n", "7"},
        {"spec.containers[2]", NULL},
        {"spec.containers[-1]", NULL},
        {"spec.containers[x]", NULL},
        {"spec.containers[]", NULL},
        {"spec.containers[0", NULL},
        {"spec.containers[99999999999999999999]", NULL},
        {"spec.nothing.name", NULL},
        {"spec..containers", NULL},
        {"spec.", NULL},
        {".spec", NULL},
        {"matrix[0][1]", "2"},
        {"matrix[1][1]", NULL},
        {"matrix.name", NULL},
        {"labels[\"a.b/c\"]", "\"L\""},
        {"labels[\"a.b\"]", NULL},
        {"labels[\"a.b/c\"", NULL},
        {"labels[\"a.b/c]", NULL},
        {"labels[\"\"]", "\"empty\""},
        {"conditions[type=Complete].v", "2"},
        {"conditions[type=Failed].v", NULL},
        {"conditions[type=Comp].v", NULL},
        {"conditions[none=Complete].v", NULL},
        {"[\"matrix\"][1][0]", "3"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct json *node = json_path(t, table[i].path);
        CLEANUP(str_done) struct str out = STR_INIT;
        if (node != NULL) {
            json_write(&out, node);
        }
        cr_expect_eq(node == NULL, table[i].right == NULL, "%s: %s", table[i].path, str_text(&out));
        cr_expect(node == NULL || str_same(str_text(&out), table[i].right), "%s: %s", table[i].path, str_text(&out));
    }
    cr_expect_eq(json_path(t, ""), t);
    cr_expect_null(json_path(NULL, "a.b"));
}

Test(access, wrong_types_are_calm) {
    const struct json *t = tree("[null,true,1,\"s\",[],{}]");
    cr_expect_null(json_get(t, "a"));
    cr_expect_null(json_get(NULL, "a"));
    cr_expect_null(json_at(NULL, 0));
    cr_expect_null(json_at(json_at(t, 5), 0));
    cr_expect_null(json_at(t, 6));
    for (size_t i = 0; i <= 6; i++) { // the last one is NULL
        const struct json *node = json_at(t, i);
        int64_t n = 42;
        double d = 42;
        cr_expect_eq(json_int(node, &n), i == 2);
        cr_expect_eq(json_double(node, &d), i == 2);
        cr_expect_eq(n, i == 2 ? 1 : 42);
        cr_expect_eq(json_bool(node, false), i == 1);
        cr_expect_eq(json_bool(node, true), true);
        cr_expect_str_eq(json_string(node, "fallback"), i == 3 ? "s" : "fallback");
    }
    cr_expect_str_eq(json_type_name(JSON_OBJECT), "an object");
}

Test(access, numbers) {
    static const struct {
        const char *text;
        bool whole;
        int64_t i;
        double d;
    } table[] = {
        {"0", true, 0, 0},
        {"-0", true, 0, 0},
        {"9223372036854775807", true, INT64_MAX, 9223372036854775807.0},
        {"-9223372036854775808", true, INT64_MIN, -9223372036854775808.0},
        {"9223372036854775808", false, 0, 9223372036854775808.0},
        {"1e3", true, 1000, 1000},
        {"2.0", true, 2, 2},
        {"2.5", false, 0, 2.5},
        {"1e30", false, 0, 1e30},
        {"-1E-2", false, 0, -0.01},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct json *n = tree(table[i].text);
        int64_t v = 42;
        double d = 42;
        cr_expect_eq(json_int(n, &v), table[i].whole, "%s", table[i].text);
        cr_expect_eq(v, table[i].whole ? table[i].i : 42, "%s", table[i].text);
        cr_expect(json_double(n, &d) && d == table[i].d, "%s", table[i].text);
    }
    double d = 42;
    cr_expect(!json_double(tree("1e999"), &d) && d == 42);
}

Test(access, equality) {
    static const struct {
        const char *a, *b;
        bool same;
    } table[] = {
        {"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":null}", "{\"b\":null}", false},
        {"{}", "{}", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"[]", "{}", false},
        {"1", "1.0", true},
        {"100", "1e2", true},
        {"0", "-0", true},
        {"1", "\"1\"", false},
        {"1", "true", false},
        {"true", "false", false},
        {"9007199254740993", "9007199254740992", false},
        {"1e999", "2e999", false},
        {"1e999", "1e999", true},
        {"\"a\"", "\"a\"", true},
        {"\"a\"", "\"b\"", false},
        {"null", "null", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        cr_expect_eq(json_equal(tree(table[i].a), tree(table[i].b)), table[i].same, "%s %s", table[i].a, table[i].b);
        cr_expect_eq(json_equal(tree(table[i].b), tree(table[i].a)), table[i].same, "%s %s", table[i].b, table[i].a);
    }
    cr_expect(json_equal(NULL, NULL));
    cr_expect(!json_equal(NULL, tree("null")));
}

Test(access, canonical_and_pretty) {
    const struct json *t = tree("{\"b\":1.0,\"a\":{\"z\":[],\"B\":{},\"é\":1,\"aa\":2},\"\":[{\"y\":1,\"x\":2},3]}");
    CLEANUP(str_done) struct str out = STR_INIT;
    json_write_canonical(&out, t);
    cr_expect_str_eq(out.data, "{\"\":[{\"x\":2,\"y\":1},3],\"a\":{\"B\":{},\"aa\":2,\"z\":[],\"é\":1},\"b\":1.0}");
    str_clear(&out);
    json_write_pretty(&out, tree("{\"b\":[1,{\"c\":null}],\"a\":{},\"d\":[]}"));
    cr_expect_str_eq(out.data,
                     "{\n  \"b\": [\n    1,\n    {\n      \"c\": null\n    }\n  ],\n  \"a\": {},\n  \"d\": []\n}\n");
}
