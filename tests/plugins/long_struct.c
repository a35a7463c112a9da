#include "good.h"

DESCRIBE(.name = "long-struct", .size = 4096)
