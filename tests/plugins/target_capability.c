#include "good.h"

static const struct trainer_target targets[] = {{"batch/v1", "Job", ""}, {NULL, NULL, NULL}};
DESCRIBE(.name = "target-capability", .targets = targets)
