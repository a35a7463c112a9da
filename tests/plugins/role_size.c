#include "good.h"

DESCRIBE(.name = "role-size", .role_size = 8)
