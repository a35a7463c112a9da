#include "base/clock.h"
#include "base/mem.h"
#include "json/json.h"

#include <criterion/criterion.h>
#include <string.h>

// The document as JSON, or the error with "! " in front. The caller frees.
static char *as_json(const char *text, size_t n) {
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct str out = STR_INIT;
    const struct json *tree = NULL;
    if (json_parse_yaml(&a, text, n, &json_limits_default, &tree, &err)) {
        json_write(&out, tree);
    } else {
        cr_expect_null(tree);
        cr_expect_eq(err.code, ERR_INVALID);
        cr_expect_str_eq(err.reason, "BAD_YAML");
        str_printf(&out, "! %s", err.message);
    }
    arena_done(&a);
    return str_take(&out);
}

static void expect(const char *text, const char *right) {
    CLEANUP(mem_free_ptr) char *is = as_json(text, strlen(text));
    cr_expect_str_eq(is, right, "%s\n gives %s\n not   %s", text, is, right);
}

static void expect_error(const char *text, const char *begin) {
    CLEANUP(mem_free_ptr) char *is = as_json(text, strlen(text));
    cr_expect(str_starts(is, "! ") && str_starts(is + 2, begin), "%s\n gives %s\n not   %s", text, is, begin);
}

Test(yaml, plain_scalars) {
    static const struct {
        const char *text, *right;
    } table[] = {
        {"yes", "\"yes\""},
        {"no", "\"no\""},
        {"on", "\"on\""},
        {"Off", "\"Off\""},
        {"y", "\"y\""},
        {"true", "true"},
        {"True", "true"},
        {"TRUE", "true"},
        {"tRUE", "\"tRUE\""},
        {"false", "false"},
        {"null", "null"},
        {"Null", "null"},
        {"~", "null"},
        {"nil", "\"nil\""},
        {"0", "0"},
        {"12", "12"},
        {"-3", "-3"},
        {"+3", "3"},
        {"1e-05", "1e-05"},
        {"1E5", "1E5"},
        {".5", "0.5"},
        {"-.5e3", "-0.5e3"},
        {"1.", "1.0"},
        {"1.e3", "1.0e3"},
        {"+1.5", "1.5"},
        {"12345678901234567890123", "12345678901234567890123"},
        {"0123", "\"0123\""},
        {"0644", "\"0644\""},
        {"-012", "\"-012\""},
        {"0x1F", "\"0x1F\""},
        {"0o17", "\"0o17\""},
        {".inf", "\".inf\""},
        {".NaN", "\".NaN\""},
        {".", "\".\""},
        {"-", "[null]"},
        {"+", "\"+\""},
        {".e5", "\".e5\""},
        {"1e", "\"1e\""},
        {"1_000", "\"1_000\""},
        {"1.2.3", "\"1.2.3\""},
        {"10.0.0.1", "\"10.0.0.1\""},
        {"1:30", "\"1:30\""},
        {"2026-01-02", "\"2026-01-02\""},
        {"4Gi", "\"4Gi\""},
        {"\"12\"", "\"12\""},
        {"'true'", "\"true\""},
        {"''", "\"\""},
        {"\"~\"", "\"~\""},
        {"'it''s'", "\"it's\""},
        {"\"a\\tb\\x41\\u20ac\\U0001F600\"", "\"a\\tbA€😀\""},
        {"!!str 12", "\"12\""},
        {"!!str", "\"\""},
        {"! 12", "\"12\""},
        {"!!int \"12\"", "12"},
        {"!!float \".5\"", "0.5"},
        {"!!bool \"true\"", "true"},
        {"!!null \"\"", "null"},
        {"", "null"},
        {"# only a comment\n", "null"},
        {"---\n", "null"},
        {"--- \n...\n", "null"},
        {"\xef\xbb\xbf"
         "a: 1",
         "{\"a\":1}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        expect(table[i].text, table[i].right);
    }
}

Test(yaml, structures) {
    static const struct {
        const char *text, *right;
    } table[] = {
        {"a: 1\nb:\n  - x\n  - y: {z: [1, 2]}\nc:\n", "{\"a\":1,\"b\":[\"x\",{\"y\":{\"z\":[1,2]}}],\"c\":null}"},
        {"- - 1\n  - 2\n- {}\n- []\n", "[[1,2],{},[]]"},
        {"t: |\n  one\n   two\n\n  three\n", "{\"t\":\"one\\n two\\n\\nthree\\n\"}"},
        {"t: >-\n  one\n  two\n", "{\"t\":\"one two\"}"},
        {"8080: x\ntrue: y\n", "{\"8080\":\"x\",\"true\":\"y\"}"},
        {"? a\n: 1\n", "{\"a\":1}"},
        {"\"quoted key\": 'v'\n", "{\"quoted key\":\"v\"}"},
        {"a: &x {n: 1}\nb: *x\nc: [*x, *x]\n", "{\"a\":{\"n\":1},\"b\":{\"n\":1},\"c\":[{\"n\":1},{\"n\":1}]}"},
        {"a: &s text\nb: *s\n", "{\"a\":\"text\",\"b\":\"text\"}"},
        {"a: &n 0.5\nb: *n\nc: &t true\nd: *t\ne: &z ~\nf: *z",
         "{\"a\":0.5,\"b\":0.5,\"c\":true,\"d\":true,\"e\":null,\"f\":null}"},
        {"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}"},
        {"!!map {a: !!seq [1]}", "{\"a\":[1]}"},
        {"%YAML 1.2\n---\na: b\n", "{\"a\":\"b\"}"},
        {"\"<<\": x", "{\"<<\":\"x\"}"},
        {"{\"a\": \"\\ud83d\\ude00\", \"b\": [1,\t2]}", "{\"a\":\"😀\",\"b\":[1,2]}"},
        {"\t[1,\n\t2]", "[1,2]"},
        {"[a, b: c]", "[\"a\",{\"b\":\"c\"}]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        expect(table[i].text, table[i].right);
    }
}

Test(yaml, errors_with_their_place) {
    static const struct {
        const char *text, *error;
    } table[] = {
        {"a: 1\n\tb: 2\n", "line 2, column 1: "},
        {"a:\n\t- 1\n", "line 2, column 1: "},
        {"a: 1\n  b: 2\n", "line 2, column 4: "},
        {"a:\n    b: 1\n  c: 2\n", "line 3, column 3: "},
        {"a: [1, 2\nb: 3\n", "line 2, column "},
        {"a: \"x\n", "line 2, column 1: "},
        {"a: 1\nb: 2\na: 3\n", "line 3, column 4: duplicate key \"a\""},
        {"a: *nobody\n", "line 1, column 4: unknown alias *nobody"},
        {"a: &x [1, *x]\n", "line 1, column 11: alias *x contains itself"},
        {"a: &x\n  b: *x\n", "line 2, column 6: alias *x contains itself"},
        {"d: &d {a: 1}\ne:\n  <<: *d\n", "line 3, column 3: merge keys (<<) are not supported"},
        {"? [1]\n: 2\n", "line 1, column 3: a key must be plain text"},
        {"? {a: 1}\n: 2\n", "line 1, column 3: a key must be plain text"},
        {"k: &k x\n*k : 2\n", "line 2, column 1: a key must be plain text"},
        {"a: !!binary aGk=\n", "line 1, column 4: tag "},
        {"a: !mine x\n", "line 1, column 4: tag !mine is not supported"},
        {"a: !mine [1]\n", "line 1, column 4: tag !mine is not supported"},
        {"a: !!int x\n", "line 1, column 4: \"x\" is not what its tag says"},
        {"a: !!bool 1\n", "line 1, column 4: \"1\" is not what its tag says"},
        {"a: 1\n---\nb: 2\n", "line 3, column 1: a second document"},
        {"a: \"x\\0y\"\n", "line 1, column 4: a text contains NUL"},
        {"a: b\nc: \x01\n", "line 2, column 4: "},
        {"a: b\nc: \xff\n", "line 2, column 4: not valid UTF-8"},
        {"{\"a\": 1, \"a\": 2}", "line 1, column 15: duplicate key \"a\""},
        {"a: @x\n", "line 1, column 4: "},
        {"- a\nb: 1\n", "line 2, column 1: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        expect_error(table[i].text, table[i].error);
    }
    CLEANUP(mem_free_ptr) char *nul = as_json("a: b\0c", 6);
    cr_expect(str_starts(nul, "! line 1, column 5: "), "%s", nul);
}

Test(yaml, deep) {
    CLEANUP(str_done) struct str text = STR_INIT;
    for (int i = 0; i < 64; i++) {
        str_add(&text, "- ");
    }
    str_add(&text, "1");
    CLEANUP(mem_free_ptr) char *right = as_json(text.data, text.len);
    cr_expect(str_starts(right, "[[[["), "%s", right);
    str_clear(&text);
    for (int i = 0; i < 100000; i++) {
        str_add(&text, "[");
    }
    int64_t begin = clock_mono();
    CLEANUP(mem_free_ptr) char *wrong = as_json(text.data, text.len);
    cr_expect(strstr(wrong, "nested deeper than 64") != NULL, "%.200s", wrong);
    cr_expect_lt(clock_mono() - begin, 2 * CLOCK_SECOND);
}

static void expect_bomb(const char *text, const char *part) {
    int64_t begin = clock_mono();
    CLEANUP(mem_free_ptr) char *is = as_json(text, strlen(text));
    cr_expect(str_starts(is, "! line ") && strstr(is, part) != NULL, "%.200s", is);
    cr_expect_lt(clock_mono() - begin, 2 * CLOCK_SECOND, "%lld ms", (long long)((clock_mono() - begin) / CLOCK_MS));
}

// A few lines that would become 10^9 values; and one text that would become 400 GB.
Test(yaml, billion_laughs) {
    CLEANUP(str_done) struct str text = STR_INIT;
    str_add(&text, "a0: &a0 lol\n");
    for (int i = 1; i < 10; i++) {
        str_printf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++) {
            str_printf(&text, "*a%d%s", i - 1, k < 9 ? ", " : "]\n");
        }
    }
    expect_bomb(text.data, "more than 400000 values");
    str_clear(&text);
    str_add(&text, "t: &t \"");
    for (int i = 0; i < 100000; i++) {
        str_add(&text, "0123456789");
    }
    str_add(&text, "\"\nl: [");
    for (int i = 0; i < 100000; i++) {
        str_add(&text, "*t, ");
    }
    str_add(&text, "1]");
    expect_bomb(text.data, "more than 4194304 bytes of text");
}

// \L is two bytes and becomes the three of U+2028: the text grows while it is read.
Test(yaml, texts_that_grow) {
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json_limits few = {.max_bytes = 22, .max_depth = 8, .max_nodes = 5};
    const struct json *tree = NULL;
    cr_expect(json_parse_yaml(&a, "\"\\L\\L\\L\\L\\L\\L\\L\"", 16, &few, &tree, &err), "%s", err.message);
    cr_expect_eq(tree->length, 21);
    cr_expect(!json_parse_yaml(&a, "\"\\L\\L\\L\\L\\L\\L\\L\\L\"", 18, &few, &tree, &err));
    cr_expect_str_eq(err.message, "line 1, column 1: more than 22 bytes of text");
    arena_done(&a);
}

Test(yaml, several_documents) {
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    static const struct {
        const char *text;
        size_t count;
        const char *right;
    } table[] = {
        {"", 0, ""},
        {"a: 1\n---\n- 2\n---\nthree\n", 3, "{\"a\":1};[2];\"three\";"},
        {"---\na: 1\n...\n---\n", 2, "{\"a\":1};null;"},
        {"[1]", 1, "[1];"},
        {"a: &x 1\n---\nb: 2\n", 2, "{\"a\":1};{\"b\":2};"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct json *first = NULL;
        size_t count = 99;
        cr_assert(
            json_parse_yaml_all(&a, table[i].text, strlen(table[i].text), &json_limits_default, &first, &count, &err),
            "%s", err.message);
        CLEANUP(str_done) struct str out = STR_INIT;
        for (const struct json *t = first; t != NULL; t = t->next) {
            json_write(&out, t);
            str_add(&out, ";");
        }
        cr_expect_eq(count, table[i].count);
        cr_expect_str_eq(str_text(&out), table[i].right);
    }
    const struct json *first = NULL;
    size_t count = 99;
    static const char text[] = "a: &x 1\n---\nb: *x\n"; // anchors end with their document
    cr_expect(!json_parse_yaml_all(&a, text, strlen(text), &json_limits_default, &first, &count, &err));
    cr_expect_str_eq(err.message, "line 3, column 4: unknown alias *x");
    arena_done(&a);
}

Test(yaml, written_texts) {
    static const struct {
        const char *json, *right;
    } table[] = {
        {"{\"a\":\"plain-1.x/y_z\",\"b\":\"two words\",\"c\":\"\"}", "a: plain-1.x/y_z\nb: \"two words\"\nc: \"\"\n"},
        {"[\"yes\",\"No\",\"null\",\"~\",\"TRUE\",\"12\",\"1e5\",\"-x\",\".inf\",\"0x1\",\"on\"]",
         "- \"yes\"\n- \"No\"\n- \"null\"\n- \"~\"\n- \"TRUE\"\n- \"12\"\n- \"1e5\"\n- \"-x\"\n- \".inf\"\n- "
         "\"0x1\"\n- \"on\"\n"},
        {"[[1,[2]],{\"a\":{\"b\":[]},\"c\":[{}]}]", "- - 1\n  - - 2\n- a:\n    b: []\n  c:\n    - {}\n"},
        {"{\"l\":\"a\\nb\\n\",\"#\":\"# x\",\"k: v\":\"a: b\"}",
         "l: \"a\\nb\\n\"\n\"#\": \"# x\"\n\"k: v\": \"a: b\"\n"},
        {"{}", "{}\n"},
        {"\"x\"", "x\n"},
        {"null", "null\n"},
    };
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct json *t = NULL;
        cr_assert(json_parse(&a, table[i].json, strlen(table[i].json), &json_limits_default, &t, &err));
        CLEANUP(str_done) struct str out = STR_INIT;
        json_write_yaml(&out, t);
        cr_expect_str_eq(out.data, table[i].right, "%s", out.data);
    }
    arena_done(&a);
}

// What is written reads back as the same tree.
Test(yaml, round_trips) {
    CLEANUP(str_done) struct str words = STR_INIT; // a text of every kind as value and as key
    static const char *const texts[] = {
        "",           " ",       "a",
        " a",         "a ",      "a b",
        "-",          "- a",     "?",
        "? a",        ":",       "a:",
        "a: b",       "a #b",    "#",
        "*x",         "&x",      "!x",
        "!!str x",    "%x",      "@x",
        "`x",         "|",       ">",
        "[",          "]",       "{",
        "}",          ",",       "'",
        "\\\"",       "\\\\",    "---",
        "...",        "--- a",   "<<",
        "=",          "~",       "null",
        "NULL",       "true",    "True",
        "yes",        "NO",      "On",
        "off",        "y",       "N",
        "1",          "-1",      "+1",
        "0x1",        "0o7",     "0123",
        "1.5",        ".5",      "1.",
        "1e3",        "1e",      ".inf",
        "-.INF",      ".nan",    "inf",
        "nan",        "1_0",     "1:2",
        "2026-01-02", "\\n",     "a\\nb",
        "a\\n",       "\\na",    "a\\r\\nb",
        "\\t",        "a\\tb",   "\\u0001",
        "\\u007f",    "\\u0085", "\\u00a0",
        "\\u2028",    "\\u2029", "\\ufeff",
        "\\ufffe",    "\\uffff", "\\ufffd",
        "é",          "😀",       "\\ud83d\\ude00",
        "a\\u0080b",
    };
    str_add(&words, "{\"list\":[");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        str_printf(&words, "%s\"%s\",[\"%s\"]", i != 0 ? "," : "", texts[i], texts[i]);
    }
    str_add(&words, "]");
    for (size_t i = 0; i < ARRAY_LEN(texts) - 3; i++) { // the emoji is there twice
        str_printf(&words, ",\"%s\":{\"%s\":\"%s\"}", texts[i], texts[i], texts[i]);
    }
    str_add(&words, "}");
    CLEANUP(str_done) struct str keys = STR_INIT; // keys that are longer than a reader looks for a colon
    str_add(&keys, "[{\"");
    for (int i = 0; i < 3000; i++) {
        str_add(&keys, "\\u0001x");
    }
    str_printf(&keys, "\":{\"%0*d\":[1,{\"%0*d\":\"x\"}]},\"%0*d\":2}]", 166, 0, 1100, 1, 167, 0);
    const char *documents[] = {words.data,
                               keys.data,
                               "[[[[]]],{},[{}],{\"a\":{}},{\"a\":[]},[[1],[2,[3]]]]",
                               "{\"a\":[{\"b\":1,\"c\":[{\"d\":{\"e\":[1,2]}}]},[{\"f\":null}]]}",
                               "[0,-0,1.5,1E400,1e-05,123456789012345678901234567890]",
                               "\"text\"",
                               "null",
                               "[]"};
    struct arena a;
    arena_init(&a, 0);
    CLEANUP(err_done) struct err err = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        const struct json *t = NULL;
        const struct json *back = NULL;
        cr_assert(json_parse(&a, documents[i], strlen(documents[i]), &json_limits_default, &t, &err), "%s",
                  err.message);
        CLEANUP(str_done) struct str out = STR_INIT;
        json_write_yaml(&out, t);
        cr_assert(json_parse_yaml(&a, out.data, out.len, &json_limits_default, &back, &err), "%zu: %s\n%s", i,
                  err.message, out.data);
        cr_expect(json_equal(t, back), "%zu:\n%s", i, out.data);
    }
    arena_done(&a);
}
