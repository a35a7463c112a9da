// The schema subset: values right and wrong, each with the exact place and sentence.
#include "support.h"

#include "plugin/internal.h"

static const char schema_text[] = "type: object\n"
                                  "additionalProperties: false\n"
                                  "required: [steps]\n"
                                  "properties:\n"
                                  "  steps: {type: integer, minimum: 1, maximum: 100}\n"
                                  "  rate: {type: number, minimum: 0.5, maximum: 1.5}\n"
                                  "  mode: {type: string, enum: [fast, exact]}\n"
                                  "  tag: {type: string, minLength: 2, maxLength: 4, pattern: '^[a-zé]+$'}\n"
                                  "  on: {type: boolean}\n"
                                  "  either: {type: [integer, string], minimum: 1, pattern: '^auto$'}\n"
                                  "  list: {type: array, minItems: 1, maxItems: 2, items: {type: object, required: "
                                  "[x], properties: {x: {type: integer}}}}\n"
                                  "  map: {type: object, additionalProperties: {type: integer}}\n"
                                  "  open: {type: object}\n"
                                  "  odd.name: {type: integer}\n"
                                  "  nothing: {type: 'null'}\n"
                                  "  one: {enum: [1, [2], {a: 3}]}\n";

static const struct {
    const char *value, *said;
} cases[] = {
    {"{steps: 1}", ""},
    {"{steps: 100.0, rate: 0.5, mode: exact, tag: éé, on: true, either: auto}", ""},
    {"{steps: 1, either: 7, list: [{x: 1}], map: {a: 1}, open: {z: [1]}, nothing: null}", ""},
    {"{steps: 1, one: 1.0}", ""},
    {"{steps: 1, one: {a: 3}}", ""},
    {"{}", "params.steps: is required"},
    {"[]", "params: must be an object, not a list"},
    {"{steps: 1.5}", "params.steps: must be a whole number, not 1.5"},
    {"{steps: '1'}", "params.steps: must be a whole number, not a text"},
    {"{steps: 0}", "params.steps: must be at least 1"},
    {"{steps: 101}", "params.steps: must be at most 100"},
    {"{steps: 1e400}", "params.steps: must be a whole number, not 1e400"},
    {"{steps: 1, rate: 0.49}", "params.rate: must be at least 0.5"},
    {"{steps: 1, rate: 2}", "params.rate: must be at most 1.5"},
    {"{steps: 1, mode: fats}", "params.mode: must be one of \"fast\", \"exact\"; did you mean \"fast\"?"},
    {"{steps: 1, mode: ''}", "params.mode: must be one of \"fast\", \"exact\""},
    {"{steps: 1, tag: é}", "params.tag: must have at least 2 characters"},
    {"{steps: 1, tag: ééééé}", "params.tag: must have at most 4 characters"},
    {"{steps: 1, tag: A1}", "params.tag: must match the pattern ^[a-zé]+$"},
    {"{steps: 1, on: 'yes'}", "params.on: must be true or false, not a text"},
    {"{steps: 1, either: true}", "params.either: must be a whole number or a text, not a boolean"},
    {"{steps: 1, either: never}", "params.either: must match the pattern ^auto$"},
    {"{steps: 1, either: 0}", "params.either: must be at least 1"},
    {"{steps: 1, list: []}", "params.list: must have at least 1 items"},
    {"{steps: 1, list: [{x: 1}, {x: 2}, {x: 3}]}", "params.list: must have at most 2 items"},
    {"{steps: 1, list: [{x: 1}, {}]}", "params.list[1].x: is required"},
    {"{steps: 1, list: [{x: a}, 2]}",
     "params.list[0].x: must be a whole number, not a text\nparams.list[1]: must be an object, not 2"},
    {"{steps: 1, map: {a: b}}", "params.map.a: must be a whole number, not a text"},
    {"{steps: 1, map: {'a b': b}}", "params.map[\"a b\"]: must be a whole number, not a text"},
    {"{steps: 1, odd.name: x}", "params[\"odd.name\"]: must be a whole number, not a text"},
    {"{steps: 1, nothing: 0}", "params.nothing: must be null, not 0"},
    {"{steps: 1, one: 2}", "params.one: must be one of 1, [2], {\"a\":3}"},
    {"{step: 1}", "params.step: is unknown, did you mean \"steps\"? (there are: steps, rate, mode, tag, on, either, "
                  "list, map, open, "
                  "odd.name, nothing, one)\nparams.steps: is required"},
};

Test(schema, values) {
    struct arena a = {0};
    struct err err = ERR_INIT;
    const struct json *schema = parse(&a, schema_text);
    cr_assert(schema_verify(schema, &err), "%s", err.message);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool ok = schema_check(schema, parse(&a, cases[i].value), "params", &err);
        char *text = said(&err);
        cr_expect_eq(ok, cases[i].said[0] == '\0', "%s", cases[i].value);
        cr_expect_str_eq(text, cases[i].said, "%s: %s", cases[i].value, text);
        mem_free(text);
        err_done(&err);
    }
    arena_done(&a);
}

// What is wrong with a schema is said when the plugin is loaded, with the place.
Test(schema, schemas) {
    static const struct {
        const char *schema, *message;
    } wrong[] = {
        {"[]", "schema: a schema must be an object, not a list"},
        {"{type: object, oneOf: []}", "schema: keyword \"oneOf\" is not supported"},
        {"{type: thing}", "schema: \"type\" must be a type name or a list of them"},
        {"{type: []}", "schema: \"type\" must be a type name or a list of them"},
        {"{type: object, properties: {a: {minLength: -1}}}", "schema.properties.a: \"minLength\" must be a count"},
        {"{type: object, properties: {a: {items: 1}}}", "schema.properties.a: \"items\" must be a schema"},
        {"{type: object, properties: {a: {items: {enum: []}}}}",
         "schema.properties.a.items: \"enum\" must be a list of at least one value"},
        {"{type: object, additionalProperties: {maximum: x}}",
         "schema.additionalProperties: \"maximum\" must be a number"},
        {"{type: object, required: [1]}", "schema: \"required\" must be a list of names"},
        {"{type: object, required: x}", "schema: \"required\" must be a list of names"},
        {"{type: object, properties: {a: 1}}", "schema.properties.a: a schema must be an object, not a number"},
        {"{}", "schema: \"type\" must be \"object\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct arena a = {0};
        struct err err = ERR_INIT;
        cr_expect(!schema_verify(parse(&a, wrong[i].schema), &err), "%s", wrong[i].schema);
        cr_expect_str_eq(err.message, wrong[i].message, "%s", err.message);
        err_done(&err);
        arena_done(&a);
    }
}

// Keys come from outside: long ones are cut, and never in the middle of a character.
Test(schema, long_keys_are_cut) {
    struct arena a = {0};
    struct err err = ERR_INIT;
    struct str value = STR_INIT;
    str_add(&value, "{\"x");
    for (int i = 0; i < 100; i++) {
        str_add(&value, "é");
    }
    str_add(&value, "\": 1}");
    cr_expect(!schema_check(parse(&a, "{type: object, additionalProperties: false}"), parse(&a, str_text(&value)),
                            "params", &err));
    size_t n = strlen(err.message);
    cr_expect_eq(str_utf8_valid(err.message, n), n);
    cr_expect_lt(n, 160);
    str_done(&value);
    err_done(&err);
    arena_done(&a);
}

// A pattern is refused before the C library spends gigabytes or hours on it.
Test(schema, patterns) {
    static const struct {
        const char *pattern;
        bool fit;
    } all[] = {
        {"", true},
        {"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", true},
        {"a{255}", true},
        {"(a{255}){255}", true},
        {"((a{255}){255}){255}", false},
        {"(((a{0,99}){0,99}){0,99}){0,99}", false},
        {"(a{2,}){3}", true},
        {"a{255}{255}{255}", false},
        {"(a{255}|b{255})*{255}{255}", false},
        {"[((((]{9}", true},
        {"[]{255]{255}{255}{255}", false},
        {"[[:alpha:]]{3}", true},
        {"\\({255}\\)", true},
        {"(a)\\1", false},
        {"(a*)*\\9", false},
        {"a{,5}b", true},
        {"[", false},
        {"(", false},
        {"[[:alpha:]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct arena a = {0};
        struct err err = ERR_INIT;
        CLEANUP(mem_free_ptr)
        char *text = mem_printf("{type: object, properties: {a: {pattern: '%s'}}}", all[i].pattern);
        cr_expect_eq(schema_verify(parse(&a, text), &err), all[i].fit, "%s: %s", all[i].pattern, err.message);
        cr_expect(all[i].fit || str_same(err.message, "schema.properties.a: \"pattern\" must be an extended regular "
                                                      "expression without references and with few repeats"),
                  "%s: %s", all[i].pattern, err.message);
        err_done(&err);
        arena_done(&a);
    }
}
