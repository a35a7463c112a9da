#include "good.h"

static const struct trainer_role roles[] = {{NULL, NULL, 0, 0, 0, 0}};
DESCRIBE(.name = "no-roles", .roles = roles)
