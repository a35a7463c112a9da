// The rules of the spec as a whole: a row each, and the row beside it that is allowed.
#include "violations.h"

#define A54 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NAME_RULE " must match [a-z]([-a-z0-9]*[a-z0-9])? and have at most "
#define DNS_RULE " must match [a-z0-9]([-a-z0-9]*[a-z0-9])? and have at most 63 characters"
#define KEY_RULE                                                                                                       \
    "is no label key: an optional DNS prefix and /, then at most 63 of [-A-Za-z0-9_.] that begin and end with a "      \
    "letter or digit"
#define VALUE_RULE "is no label value: at most 63 of [-A-Za-z0-9_.] that begin and end with a letter or digit"

Test(rules, names) {
    violations_check(
        "runtime: process\nroles: [{name: w}]\n",
        (const struct violations_row[]){
            {"", "ok"},
            {"name: a-1", "ok"},
            {"name_prefix: a-1", "ok"},
            {"name: ''\nname_prefix: a", "ok"},
            {"name: a\nname_prefix: b", "name_prefix: only one of name and name_prefix may be set"},
            {"name: A", "name: \"A\"" NAME_RULE "63 characters, it has 1"},
            {"name: 1a", "name: \"1a\"" NAME_RULE "63 characters, it has 2"},
            {"name: " A54 "123456789", "ok"},
            {"name: " A54 "1234567890", "name: \"" A54 "1234567890\"" NAME_RULE "63 characters, it has 64"},
            {"name_prefix: " A54, "ok"},
            {"name_prefix: " A54 "a", "name_prefix: \"" A54 "a\"" NAME_RULE "54 characters, it has 55"},
            {"namespace: team-1", "ok"},
            {"namespace: Team", "namespace: \"Team\"" DNS_RULE},
            {"group: 2nd", "ok"},
            {"group: a_b", "group: \"a_b\"" DNS_RULE},
            {"name: A\nnamespace: B\ngroup: C", "name: \"A\"" NAME_RULE "63 characters, it has 1\n"
                                                "namespace: \"B\"" DNS_RULE "\ngroup: \"C\"" DNS_RULE},
            {NULL, NULL},
        });
}

// 80 bytes are shown of a name; the 27th sign of 3 bytes is cut.
Test(rules, a_long_name_is_cut_at_a_character) {
    CLEANUP(str_done) struct str yaml = STR_INIT;
    CLEANUP(str_done) struct str right = STR_INIT;
    str_add(&yaml, "runtime: process\nroles: [{name: w}]\nname: '");
    str_add(&right, "name: \"");
    for (int i = 0; i < 40; i++) {
        str_add(&yaml, "\xe2\x82\xac");
        str_add(&right, i < 26 ? "\xe2\x82\xac" : "");
    }
    str_add(&yaml, "'");
    str_add(&right, "?\"" NAME_RULE "63 characters, it has 120");
    CLEANUP(mem_free_ptr) char *is = violations(str_text(&yaml));
    cr_expect_str_eq(is, str_text(&right));
}

Test(rules, labels_and_annotations) {
    violations_check("runtime: process\nroles: [{name: w}]\n",
                     (const struct violations_row[]){
                         {"labels: {a: b, x.io/y: '', c: A_1.2}", "ok"},
                         {"labels: {-a: b}", "labels[\"-a\"]: " KEY_RULE},
                         {"labels: {'': b}", "labels[\"\"]: " KEY_RULE},
                         {"labels: {X.io/a: b}", "labels[\"X.io/a\"]: " KEY_RULE},
                         {"labels: {a: 'b c'}", "labels[\"a\"]: " VALUE_RULE},
                         {"labels: {a: -}", "labels[\"a\"]: " VALUE_RULE},
                         {"labels: {/: /}", "labels[\"/\"]: " KEY_RULE "\nlabels[\"/\"]: " VALUE_RULE},
                         {"labels: {a: 1}", "labels[\"a\"]: must be a text, not a number"},
                         {"annotations: {a: 'any text, \xc3\xa4 too', x.io/y: ''}", "ok"},
                         {"annotations: {'a b': c}", "annotations: \"a b\" is no annotation key"},
                         {NULL, NULL},
                     });
}

Test(rules, annotations_together) {
    for (int more = 0; more <= 1; more++) {
        CLEANUP(str_done) struct str yaml = STR_INIT;
        str_add(&yaml, "{\"runtime\":\"process\",\"roles\":[{\"name\":\"w\"}],\"annotations\":{");
        for (char key = 'a'; key <= 'b'; key++) {
            str_printf(&yaml, "%s\"%c\":\"", key == 'a' ? "" : ",", key);
            for (int i = 0; i < 131071 + (more != 0 && key == 'b'); i++) {
                str_add_char(&yaml, 'x');
            }
            str_add(&yaml, "\"");
        }
        str_add(&yaml, "}}");
        CLEANUP(mem_free_ptr) char *is = violations(str_text(&yaml));
        cr_expect_str_eq(is, more == 0 ? "ok" : "annotations: are 262145 bytes in all, at most 262144 are allowed");
    }
}

Test(rules, roles_together) {
    violations_check(
        "",
        (const struct violations_row[]){
            {"{}", "runtime: is required; ListRuntimes shows which there are\nroles: at least one role is required"},
            {"runtime: ''\nroles: [{name: w}]", "runtime: is required; ListRuntimes shows which there are"},
            {"runtime: p", "roles: at least one role is required"},
            {"runtime: p\nroles: []", "roles: at least one role is required"},
            {"runtime: p\nroles: [{}]", "roles[0].name: is required"},
            {"runtime: p\nroles: [{name: w}, {name: ''}]", "roles[1].name: is required"},
            {"runtime: p\nroles: [{name: w}, {name: x}, {name: W}]", "roles[2].name: \"W\" is there twice"},
            {"runtime: p\nroles: [{name: w, replicas: 0}, {name: x}]", "ok"},
            {"runtime: p\nroles: [{name: w, replicas: 0}]",
             "roles: all roles together have no replicas; at least one is needed"},
            {"runtime: p\nroles: [{name: w, replicas: 10000}]", "ok"},
            {"runtime: p\nroles: [{name: w, replicas: 9999}, {name: x, replicas: '2'}]",
             "roles: have 10001 replicas in all, at most 10000 are allowed"},
            {"runtime: p\nroles: [{name: w, replicas: -1}, {name: x}]",
             "roles[0].replicas: is -1, must be from 0 to 10000"},
            {NULL, NULL},
        });
}

Test(rules, manifest) {
    violations_check("manifest: 'kind: PyTorchJob'\n",
                     (const struct violations_row[]){
                         {"", "ok"},
                         {"name: a\nnamespace: b\nlabels: {c: d}\ngroup: e\nbackend: f", "ok"},
                         {"roles: []\nruntime: ''\nparams: {}", "ok"}, // empty is not set
                         {"roles: [{name: w}]", "roles: may not be set together with manifest"},
                         {"runtime: p", "runtime: may not be set together with manifest"},
                         {"elastic: {min: 1}", "elastic: may not be set together with manifest"},
                         {"run_policy: {suspend: true}", "run_policy: may not be set together with manifest"},
                         {"params: {a: 1}", "params: may not be set together with manifest"},
                         {"name_prefix: a", "name_prefix: may not be set together with manifest"},
                         {"target: a", "target: may not be set together with manifest"},
                         {"params: {a: 1}\ntarget: b", "params: may not be set together with manifest\n"
                                                       "target: may not be set together with manifest"},
                         {NULL, NULL},
                     });
}

Test(rules, policies) {
    violations_check(
        "runtime: process\nroles: [{name: w}]\n",
        (const struct violations_row[]){
            {"elastic: {min: 2, max: 2}", "ok"},
            {"elastic: {min: 3}", "ok"},
            {"elastic: {min: 3, max: 2}", "elastic.min: is 3, more than elastic.max (2)"},
            {"elastic: {min: '3', max: '2'}", "elastic.min: is 3, more than elastic.max (2)"},
            {"depends_on: [{job: a}, {job: b, on: FAILED}]", "ok"},
            {"depends_on: [{on: FAILED}]", "depends_on[0].job: is required"},
            {"depends_on: [{job: ''}]", "depends_on[0].job: is required"},
            {"name: me\ndepends_on: [{job: a}, {job: me}]", "depends_on[1].job: a job cannot depend on itself"},
            {"depends_on: [{job: a}, {job: b}, {job: a}]", "depends_on[2].job: \"a\" is there twice"},
            {NULL, NULL},
        });
}

// Lists over their bound are refused as a whole and not compared with themselves, which would take hours.
Test(rules, a_list_too_long_is_not_walked, .timeout = 30) {
    static const struct {
        const char *before, *entry, *after, *right;
    } table[] = {
        {"{\"roles\":[", "{}", "]}", "roles: has 190001 entries, at most 64 are allowed"},
        {"{\"depends_on\":[", "{}", "]}", "depends_on: has 190001 entries, at most 32 are allowed"},
        {"{\"roles\":[{\"ports\":[", "{}", "]}]}", "roles[0].ports: has 190001 entries, at most 64 are allowed"},
        {"{\"roles\":[{\"volume_mounts\":[", "{}", "]}]}",
         "roles[0].volume_mounts: has 190001 entries, at most 64 are allowed"},
        {"{\"roles\":[{\"volumes\":[", "{}", "]}]}", "roles[0].volumes: has 190001 entries, at most 64 are allowed"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        CLEANUP(str_done) struct str text = STR_INIT;
        CLEANUP(arena_done) struct arena a = {0};
        CLEANUP(err_done) struct err err = ERR_INIT;
        const struct json *tree = NULL;
        struct job_spec *spec = NULL;
        str_add(&text, table[i].before);
        for (int k = 0; k < 190000; k++) {
            str_printf(&text, "%s,", table[i].entry);
        }
        str_printf(&text, "%s%s", table[i].entry, table[i].after);
        cr_assert(json_parse(&a, str_text(&text), text.len, &json_limits_default, &tree, &err), "%s", err.message);
        cr_expect(!job_spec_parse(tree, &spec, &err));
        cr_expect_eq(err.violation_count, 1);
        cr_expect_str_eq(err.message, table[i].right);
    }
}
