// A job spec from YAML or JSON: accepted, it is written out and read again as the same spec with the same hash;
// refused, the error names a place and is fit for the wire. A quantity is the same number however it is written.
#include "job/quantity.h"
#include "job/spec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_limits limits = {.max_bytes = 256 * 1024, .max_depth = 32, .max_nodes = 20000};

static bool is_text(const char *text) {
    return text != NULL && str_utf8_valid(text, strlen(text)) == strlen(text);
}

static void check_error(const struct err *err) {
    assert(err->code == ERR_INVALID && err->reason != NULL && is_text(err->message));
    for (size_t i = 0; i < err->violation_count && i < ERR_VIOLATIONS_MAX; i++) {
        assert(is_text(err->violations[i].field) && err->violations[i].field[0] != '\0');
        assert(is_text(err->violations[i].description) && err->violations[i].description[0] != '\0');
    }
}

static void check_again(const struct job_spec *spec) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct job_spec *back = NULL;
    bool ok = job_spec_parse_text(spec->json, strlen(spec->json), &back, &err);
    assert(ok && !err_set(&err));
    assert(json_equal(spec->tree, back->tree) && strcmp(spec->json, back->json) == 0);
    assert(strcmp(spec->hash, back->hash) == 0 && spec->role_count == back->role_count);
    job_spec_unref(back);
}

static void check_spec(const struct job_spec *spec) {
    assert(spec->namespace_ != NULL && job_namespace_valid(spec->namespace_));
    assert(spec->name == NULL || (spec->name_prefix == NULL && job_name_valid(spec->name, JOB_NAME_MAX)));
    assert(spec->name_prefix == NULL || job_name_valid(spec->name_prefix, JOB_NAME_PREFIX_MAX));
    assert(spec->manifest != NULL || (spec->runtime != NULL && spec->role_count != 0));
    for (size_t i = 0; i < spec->role_count; i++) {
        const struct spec_role *r = &spec->roles[i];
        assert(r->name != NULL && r->replicas >= 1 && r->cpu_milli >= 0 && r->memory_bytes >= 0 && r->gpu >= 0);
        assert(r->argc == 0 || r->argv[r->argc] == NULL);
    }
    check_again(spec);
}

// The same number with and without a suffix, and never a thousandth less than its whole units.
static void check_quantity(const char *text) {
    char plain[32];
    int64_t v = -1;
    int64_t again = -1;
    enum quantity_result milli = quantity_milli(text, &v);
    assert((milli == QUANTITY_OK) == (v >= 0));
    if (milli == QUANTITY_OK) {
        snprintf(plain, sizeof plain, "%" PRId64 "m", v);
        assert(v > INT64_C(99999999999999999) || (quantity_milli(plain, &again) == QUANTITY_OK && again == v));
    }
    int64_t whole = -1;
    enum quantity_result r = quantity_whole(text, &whole);
    assert((r == QUANTITY_OK) == (whole >= 0));
    assert((r == QUANTITY_BAD_SYNTAX) == (milli == QUANTITY_BAD_SYNTAX));
    if (r == QUANTITY_OK) {
        snprintf(plain, sizeof plain, "%" PRId64, whole);
        assert(whole > INT64_C(99999999999999999) || (quantity_whole(plain, &again) == QUANTITY_OK && again == whole));
        assert(milli == QUANTITY_TOO_LARGE || v == whole * 1000);
    }
}

static void check_quantities(const struct json *node) {
    if (node->type == JSON_STRING) {
        check_quantity(node->text);
    }
    JSON_EACH (child, node) {
        check_quantities(child);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    struct job_spec *spec = NULL;
    if (json_parse_yaml(&a, (const char *)data, size, &limits, &tree, &err)) {
        check_quantities(tree);
        if (job_spec_parse(tree, &spec, &err)) {
            assert(!err_set(&err));
            check_spec(spec);
            job_spec_unref(spec);
        } else {
            check_error(&err);
        }
    }
    arena_done(&a);
    return 0;
}
