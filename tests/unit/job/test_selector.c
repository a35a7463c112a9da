#include "job/selector.h"

#include "support.h"

static struct job_selector *make(const struct job_selector_args *args) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct job_selector *s = NULL;
    cr_assert(job_selector_new(args, &s, &err), "%s", err.message);
    return s;
}

// "ok", or the error's description.
static const char *check(const char *text, struct err *err) {
    struct job_selector *s = NULL;
    bool ok = job_selector_new(&(struct job_selector_args){.label_selector = text}, &s, err);
    cr_expect_eq(ok, s != NULL);
    job_selector_free(s);
    if (ok) {
        return "ok";
    }
    cr_assert_eq(err->violation_count, 1);
    cr_expect_str_eq(err->violations[0].field, "selector.label_selector");
    return err->violations[0].description;
}

static bool labels_match(const char *text, const char *labels) {
    struct bench b = bench_new(1);
    struct job *job = job_table_add(b.table, &(struct job_new){.uid = "u",
                                                               .name = "n",
                                                               .namespace_ = "default",
                                                               .runtime = "process",
                                                               .backend = "b",
                                                               .target = "t",
                                                               .labels_json = labels});
    struct job_selector *s = make(&(struct job_selector_args){.label_selector = text});
    bool yes = job_selector_matches(s, job);
    job_selector_free(s);
    bench_done(&b);
    return yes;
}

Test(selector, label_grammar) {
    static const char labels[] = "{\"a\":\"1\",\"b\":\"2\",\"empty\":\"\",\"x.io/k\":\"v\",\"in\":\"notin\"}";
    static const struct {
        const char *text;
        bool right;
    } table[] = {
        {"", true},
        {"  \t ", true},
        {"a=1", true},
        {"a==1", true},
        {" a = 1 ", true},
        {"a=2", false},
        {"c=1", false},
        {"a!=1", false},
        {"a!=2", true},
        {"c!=1", true}, // a missing label is not 1
        {"a in (1)", true},
        {"a in(1,2)", true},
        {"a in ( 3 , 1 )", true},
        {"a in (2,3)", false},
        {"c in (1)", false},
        {"a notin (1,2)", false},
        {"a notin (3)", true},
        {"c notin (1)", true},
        {"a", true},
        {"c", false},
        {"!a", false},
        {"! c", true},
        {"empty=", true},
        {"a=", false},
        {"empty in ()", true},
        {"a in (,1)", true},
        {"x.io/k=v", true},
        {"a=1,b=2", true},
        {"a=1,b=3", false},
        {"a,b,!c", true},
        {"a=1,a=2", false},
        {"in in (notin)", true},
        {"in=notin", true},
        {"A=1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        cr_expect_eq(labels_match(table[i].text, labels), table[i].right, "%s", table[i].text);
    }
    cr_expect(!labels_match("a", NULL));
    cr_expect(labels_match("!a,b!=2,c notin (x)", NULL));
}

Test(selector, label_grammar_errors) {
    static const struct {
        const char *text, *right;
    } table[] = {
        {",", "at character 1: expected a label key"},
        {"a=1,", "at character 5: expected a label key"},
        {"=1", "at character 1: expected a label key"},
        {"!", "at character 2: expected a label key"},
        {"!=1", "at character 2: expected a label key"},
        {"-a=1", "at character 3: expected a label key"},
        {"a b", "at character 4: expected =, ==, !=, in or notin"},
        {"a IN (b)", "at character 5: expected =, ==, !=, in or notin"},
        {"a in b", "at character 6: expected ( and a list of values"},
        {"a in (b", "at character 8: expected , or )"},
        {"a in (b c)", "at character 9: expected , or )"},
        {"a=b c", "at character 5: expected , or the end"},
        {"a===b", "at character 4: expected , or the end"},
        {"a=-", "at character 4: that is no label value"},
        {"a in (b,-)", "at character 10: that is no label value"},
        {"!a=b", "at character 3: expected , or the end"},
        {"\xc3\xa4=b", "at character 3: expected a label key"},
        {"a>1", "at character 4: expected a label key"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        const char *is = check(table[i].text, &err);
        cr_expect_str_eq(is, table[i].right, "%s\n gives %s\n not   %s", table[i].text, is, table[i].right);
        cr_expect_eq(err.code, ERR_INVALID);
    }
}

Test(selector, bounds) {
    CLEANUP(str_done) struct str text = STR_INIT;
    struct err err = ERR_INIT;
    for (int i = 0; i < 64; i++) {
        str_printf(&text, "%sk%d", i == 0 ? "" : ",", i);
    }
    cr_expect_str_eq(check(str_text(&text), &err), "ok");
    str_add(&text, ",one-more");
    cr_expect(str_ends(check(str_text(&text), &err), "too many requirements"));
    err_done(&err);
    str_clear(&text);
    for (int i = 0; i < 256; i++) {
        str_printf(&text, "%s%d", i == 0 ? "k in (" : ",", i);
    }
    str_add(&text, ")");
    cr_expect_str_eq(check(str_text(&text), &err), "ok");
    text.data[text.len - 1] = ',';
    str_add(&text, "x)");
    cr_expect(str_ends(check(str_text(&text), &err), "too many values"));
    err_done(&err);
    str_clear(&text);
    while (text.len < 8192) {
        str_add_char(&text, ' ');
    }
    cr_expect_str_eq(check(str_text(&text), &err), "ok");
    str_add_char(&text, ' ');
    cr_expect_str_eq(check(str_text(&text), &err), "is longer than 8192 bytes");
    err_done(&err);

    const char *uids[1001];
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        uids[i] = "u";
    }
    struct job_selector *s = NULL;
    cr_expect(!job_selector_new(&(struct job_selector_args){.uids = uids, .uid_count = 1001}, &s, &err));
    cr_expect_str_eq(err.message, "selector.uids: has 1001 entries, at most 1000 are allowed");
    err_done(&err);
    s = make(&(struct job_selector_args){.uids = uids, .uid_count = 1000});
    job_selector_free(s);
}

Test(selector, each_condition) {
    struct bench b = bench_new(1);
    struct job *job = job_table_add(b.table, &(struct job_new){.uid = "abc",
                                                               .name = "train-7",
                                                               .namespace_ = "team-a",
                                                               .runtime = "pytorch",
                                                               .backend = "local",
                                                               .target = "local",
                                                               .group = "study",
                                                               .labels_json = "{\"k\":\"v\"}"});
    static const char *const mine[] = {"x", "abc"};
    static const char *const others[] = {"ab", "abcd", ""};
    const struct {
        struct job_selector_args args;
        bool right;
    } table[] = {
        {{0}, true},
        {{.namespace_ = "", .group = "", .runtime = "", .name_contains = "", .label_selector = ""}, true},
        {{.namespace_ = "team-a"}, true},
        {{.namespace_ = "team"}, false},
        {{.group = "study"}, true},
        {{.group = "stud"}, false},
        {{.runtime = "pytorch"}, true},
        {{.runtime = "process"}, false},
        {{.name_contains = "in-"}, true},
        {{.name_contains = "TRAIN"}, false},
        {{.uids = mine, .uid_count = 2}, true},
        {{.uids = others, .uid_count = 3}, false},
        {{.label_selector = "k=v"}, true},
        {{.label_selector = "k=w"}, false},
        {{.namespace_ = "team-a", .group = "study", .runtime = "pytorch", .label_selector = "k", .name_contains = "7"},
         true},
        {{.namespace_ = "team-a", .group = "study", .runtime = "pytorch", .label_selector = "k", .name_contains = "8"},
         false},
        {{.states = 1U << JOB_FAILED}, true}, // the state is asked for apart
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct job_selector *s = make(&table[i].args);
        cr_expect_eq(job_selector_matches(s, job), table[i].right, "row %zu", i);
        job_selector_free(s);
    }
    bench_done(&b);
}

Test(selector, states) {
    struct job_selector *any = make(&(struct job_selector_args){0});
    struct job_selector *two = make(&(struct job_selector_args){.states = 1U << JOB_RUNNING | 1U << JOB_CANCELED});
    for (int s = JOB_PENDING; s <= (int)JOB_CANCELED; s++) {
        cr_expect(job_selector_wants_state(any, (enum job_state)s));
        cr_expect_eq(job_selector_wants_state(two, (enum job_state)s), s == (int)JOB_RUNNING || s == (int)JOB_CANCELED);
    }
    job_selector_free(any);
    job_selector_free(two);
}

// Page tokens of one selector are refused with another.
Test(selector, hash_tells_selectors_apart) {
    static const char *const one[] = {"a"};
    static const char *const other[] = {"b"};
    const struct job_selector_args all[] = {
        {0},
        {.namespace_ = "a"},
        {.label_selector = "a"},
        {.group = "a"},
        {.runtime = "a"},
        {.name_contains = "a"},
        {.uids = one, .uid_count = 1},
        {.uids = other, .uid_count = 1},
        {.states = 1U << JOB_RUNNING},
        {.namespace_ = "a", .group = "a"},
    };
    uint64_t hashes[ARRAY_LEN(all)];
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct job_selector *s = make(&all[i]);
        struct job_selector *again = make(&all[i]);
        hashes[i] = job_selector_hash(s);
        cr_expect_eq(hashes[i], job_selector_hash(again));
        for (size_t k = 0; k < i; k++) {
            cr_expect_neq(hashes[i], hashes[k], "%zu and %zu", i, k);
        }
        const char *const *uids = NULL;
        cr_expect_eq(job_selector_uids(s, &uids), all[i].uid_count);
        cr_expect(all[i].uid_count == 0 || (str_same(uids[0], all[i].uids[0]) && uids[0] != all[i].uids[0]));
        job_selector_free(s);
        job_selector_free(again);
    }
    job_selector_free(NULL);
}
