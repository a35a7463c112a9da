// What the tests of plugin/ share.
#ifndef PLUGIN_TEST_SUPPORT_H
#define PLUGIN_TEST_SUPPORT_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/spec.h"
#include "plugin/plugin.h"
#include "json/json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define RUNTIMES TRAINERD_BUILD_DIR "/plugins"
#define TEST_PLUGINS TRAINERD_BUILD_DIR "/tests/plugins"

static inline const struct json *parse(struct arena *a, const char *yaml) {
    struct err err = ERR_INIT;
    const struct json *tree = NULL;
    cr_assert(json_parse_yaml(a, yaml, strlen(yaml), &json_limits_default, &tree, &err), "%s", err.message);
    return tree;
}

static inline struct job_spec *spec_of(const char *yaml) {
    struct err err = ERR_INIT;
    struct job_spec *spec = NULL;
    struct arena a = {0};
    cr_assert(job_spec_parse(parse(&a, yaml), &spec, &err), "%s\n%s", err.message, yaml);
    arena_done(&a);
    return spec;
}

static inline const struct runtime *load(struct plugins *p, const char *directory, const char *name) {
    struct err err = ERR_INIT;
    char *path = mem_printf("%s/%s.so", directory, name);
    cr_assert(plugins_load(p, path, NULL, &err), "%s: %s", path, err.message);
    mem_free(path);
    for (size_t i = 0; i < plugins_count(p); i++) {
        const struct runtime *r = plugins_at(p, i);
        if (strncmp(r->file, name, strlen(name)) == 0 && strcmp(r->file + strlen(name), ".so") == 0) {
            return r;
        }
    }
    cr_assert_fail("%s is not in the list", name);
    return NULL;
}

// All violations as "field: description" lines, or "CODE message" when there are none.
static inline char *said(const struct err *err) {
    struct str out = STR_INIT;
    for (size_t i = 0; i < err->violation_count && i < ERR_VIOLATIONS_MAX; i++) {
        str_printf(&out, "%s%s: %s", i == 0 ? "" : "\n", err->violations[i].field, err->violations[i].description);
    }
    if (err->violation_count == 0 && err_set(err)) {
        str_printf(&out, "%s %s", err_code_name(err->code), err->message);
    }
    return str_take(&out);
}

#endif
