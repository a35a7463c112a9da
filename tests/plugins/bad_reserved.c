#include "good.h"

static const char *const reserved[] = {"RANK", "*", NULL};
DESCRIBE(.name = "bad-reserved", .reserved_env = reserved)
