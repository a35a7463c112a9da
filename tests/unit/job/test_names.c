#include "base/str.h"
#include "job/internal.h"

#include <criterion/criterion.h>
#include <string.h>

#define A10 "aaaaaaaaaa"
#define A60 A10 A10 A10 A10 A10 A10
#define A63 A60 "aaa"

struct row {
    const char *text;
    bool right;
};

static bool job_name(const char *text) {
    return job_name_valid(text, JOB_NAME_MAX);
}

static bool prefix(const char *text) {
    return job_name_valid(text, JOB_NAME_PREFIX_MAX);
}

static void run(const char *what, bool (*valid)(const char *), const struct row *rows) {
    for (const struct row *r = rows; r->text != NULL; r++) {
        cr_expect_eq(valid(r->text), r->right, "\"%s\" as %s is%s right", r->text, what, r->right ? "" : " not");
    }
}

Test(names, job) {
    run("a job's name", job_name,
        (const struct row[]){{"a", true},    {"a1", true},     {"a-b", true},       {"a--b", true}, {A63, true},
                             {"", false},    {A63 "a", false}, {"1a", false},       {"-a", false},  {"a-", false},
                             {"A", false},   {"aB", false},    {"a.b", false},      {"a_b", false}, {"a b", false},
                             {"a\n", false}, {" a", false},    {"\xc3\xa4", false}, {"a/b", false}, {NULL, false}});
    run("a prefix", prefix,
        (const struct row[]){
            {A10 A10 A10 A10 A10 "aaaa", true}, {A10 A10 A10 A10 A10 "aaaaa", false}, {"a-", false}, {NULL, false}});
}

Test(names, namespace_) {
    run("a namespace", job_namespace_valid,
        (const struct row[]){{"default", true},
                             {"1", true},
                             {"0-0", true},
                             {A63, true},
                             {"", false},
                             {A63 "a", false},
                             {"-a", false},
                             {"a-", false},
                             {"Team", false},
                             {"a.b", false},
                             {"a_b", false},
                             {"a b", false},
                             {NULL, false}});
}

Test(names, variable) {
    run("a variable", job_env_name_valid,
        (const struct row[]){{"A", true},
                             {"_", true},
                             {"a.b-c_1", true},
                             {"PATH", true},
                             {"-a", true},
                             {".a", true},
                             {"", false},
                             {"1A", false},
                             {"A=B", false},
                             {"A B", false},
                             {"A$", false},
                             {"A\t", false},
                             {"\xc3\xa4", false},
                             {A60 A60 A60 A60 A10 "aaaaaa", true},
                             {A60 A60 A60 A60 A10 "aaaaaaa", false},
                             {NULL, false}});
}

Test(names, label_value) {
    run("a label value", job_label_value_valid,
        (const struct row[]){{"", true},
                             {"a", true},
                             {"A.b_c-1", true},
                             {"1", true},
                             {A63, true},
                             {A63 "a", false},
                             {"-a", false},
                             {"a-", false},
                             {".a", false},
                             {"a.", false},
                             {"_", false},
                             {"a b", false},
                             {"a/b", false},
                             {"a=b", false},
                             {NULL, false}});
}

Test(names, label_key) {
    run("a label key", job_label_key_valid,
        (const struct row[]){{"a", true},
                             {"A_b.c-d", true},
                             {"example.com/a", true},
                             {"1.2/x", true},
                             {A63 "." A63 "." A63 "." A60 "a/a", true}, // 253 bytes before the slash
                             {A63 "." A63 "." A63 "." A60 "aa/a", false},
                             {A63 "a.b/a", false}, // one part of 64
                             {"example.com/" A63, true},
                             {"example.com/" A63 "a", false},
                             {"", false},
                             {"/a", false},
                             {"a/", false},
                             {"a/b/c", false},
                             {"Example.com/a", false},
                             {"a..b/c", false},
                             {".a/b", false},
                             {"a./b", false},
                             {"-a/b", false},
                             {"a b", false},
                             {NULL, false}});
}
