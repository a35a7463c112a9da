#include "good.h"

static const struct trainer_role roles[] = {
    {"worker", "does the work", 1, 1, 0, TRAINER_RESTART_NEVER},
    {"worker", "does it again", 1, 1, 0, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};
DESCRIBE(.name = "role-twice", .roles = roles)
