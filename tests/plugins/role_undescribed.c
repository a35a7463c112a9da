#include "good.h"

static const struct trainer_role roles[] = {
    {"worker", NULL, 1, 1, 0, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};
DESCRIBE(.name = "role-undescribed", .roles = roles)
