// List, page by page.
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

#include "base/err.h"
#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct cli;

// JSON text of the JobSelector that the flags -l, --state, --group, --runtime, --name and -A ask for.
void pages_write_selector(const struct cli *cli, struct str *out);
// Calls page for every ListResponse until there is no further one or `most` jobs (0: all) were asked for. Each lives
// only for the call.
bool pages_each(struct cli *cli, const struct str *selector, int64_t most,
                void (*page)(void *ctx, const struct json *response), void *ctx, struct err *err) MUST_CHECK;

#endif
