// A schema, a NUL byte, a value. A schema that is verified must be checkable against anything, and what it says must be
// fit for the wire.
#include "base/str.h"
#include "plugin/internal.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct json_limits limits = {.max_bytes = 64 * 1024, .max_depth = 32, .max_nodes = 4096};
    const uint8_t *nul = size != 0 ? memchr(data, 0, size) : NULL;
    if (nul == NULL) {
        return 0;
    }
    size_t n = (size_t)(nul - data);
    struct arena a = {0};
    struct err err = ERR_INIT;
    const struct json *schema = NULL;
    const struct json *value = NULL;
    if (json_parse(&a, (const char *)data, n, &limits, &schema, &err) &&
        json_parse_yaml(&a, (const char *)nul + 1, size - n - 1, &limits, &value, &err) &&
        schema_verify(schema, &err)) {
        bool ok = schema_check(schema, value, "params", &err);
        assert(ok == !err_set(&err));
    }
    for (size_t i = 0; i < err.violation_count && i < ERR_VIOLATIONS_MAX; i++) {
        const char *field = err.violations[i].field;
        const char *text = err.violations[i].description;
        assert(str_utf8_valid(field, strlen(field)) == strlen(field));
        assert(str_utf8_valid(text, strlen(text)) == strlen(text));
    }
    err_done(&err);
    arena_done(&a);
    return 0;
}
