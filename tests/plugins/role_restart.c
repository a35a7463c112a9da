#include "good.h"

static const struct trainer_role roles[] = {
    {"worker", "does the work", 1, 1, 0, 0},
    {NULL, NULL, 0, 0, 0, 0},
};
DESCRIBE(.name = "role-restart", .roles = roles)
