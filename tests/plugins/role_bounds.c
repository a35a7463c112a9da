#include "good.h"

static const struct trainer_role roles[] = {
    {"worker", "does the work", 1, 4, 2, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};
DESCRIBE(.name = "role-bounds", .roles = roles)
