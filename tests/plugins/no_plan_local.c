#include "good.h"

static const struct trainer_functions functions = {.validate = good_validate};
DESCRIBE(.name = "no-plan-local", .functions = &functions)
