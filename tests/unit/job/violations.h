// A spec in YAML and what is said about it: "ok", or a line "field: text" for each violation, in order.
#ifndef TESTS_JOB_VIOLATIONS_H
#define TESTS_JOB_VIOLATIONS_H

#include "base/mem.h"
#include "job/spec.h"

#include <criterion/criterion.h>
#include <string.h>

static inline char *violations(const char *yaml) { // the caller frees
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct str out = STR_INIT;
    const struct json *tree = NULL;
    struct job_spec *spec = NULL;
    cr_assert(json_parse_yaml(&a, yaml, strlen(yaml), &json_limits_default, &tree, &err), "%s", err.message);
    if (job_spec_parse(tree, &spec, &err)) {
        cr_expect(!err_set(&err));
        job_spec_unref(spec);
        str_add(&out, "ok");
        return str_take(&out);
    }
    cr_expect_null(spec);
    cr_expect_eq(err.code, ERR_INVALID);
    cr_expect_str_eq(err.reason, "INVALID_SPEC");
    cr_expect(err.violation_count >= 1);
    for (size_t i = 0; i < err.violation_count && i < ERR_VIOLATIONS_MAX; i++) {
        str_printf(&out, "%s%s: %s", i == 0 ? "" : "\n", err.violations[i].field, err.violations[i].description);
    }
    return str_take(&out);
}

struct violations_row {
    const char *part, *right;
};

// Each part is put behind `before`.
static inline void violations_check(const char *before, const struct violations_row *rows) {
    for (const struct violations_row *r = rows; r->part != NULL; r++) {
        CLEANUP(mem_free_ptr) char *yaml = mem_printf("%s%s", before, r->part);
        CLEANUP(mem_free_ptr) char *is = violations(yaml);
        cr_expect_str_eq(is, r->right, "%s\n gives %s\n not   %s", yaml, is, r->right);
    }
}

#endif
