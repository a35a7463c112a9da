// A JobSpec from the flags of `trainctl run`.
#ifndef CLI_SPEC_H
#define CLI_SPEC_H

#include "base/err.h"
#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>

struct cli;

// runtime: the answer of GetRuntime, whose roles the flags fill. Appends the spec's JSON text.
bool spec_from_flags(const struct cli *cli, const struct json *runtime, struct str *out, struct err *err) MUST_CHECK;

#endif
