// How many replicas `trainctl run` gives to each role of a runtime.
#ifndef CLI_REPLICAS_H
#define CLI_REPLICAS_H

#include "base/err.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct cli;

// Whether every --replicas names a role of the runtime.
bool replicas_check(const struct cli *cli, const struct json *roles, struct err *err) MUST_CHECK;
// roles: Runtime.roles; workers: of --workers, -1 when absent. 0: the role is left out.
int64_t replicas_of(const struct cli *cli, const struct json *roles, const struct json *role, int64_t workers);

#endif
