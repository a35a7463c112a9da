#include "good.h"

static const struct trainer_functions functions = {.plan_local = good_plan_local};
DESCRIBE(.name = "no-validate", .functions = &functions)
