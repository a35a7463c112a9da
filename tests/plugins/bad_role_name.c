#include "good.h"

static const struct trainer_role roles[] = {
    {"Worker", "does the work", 1, 1, 0, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};
DESCRIBE(.name = "bad-role-name", .roles = roles)
