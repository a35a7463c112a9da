#include "good.h"

DESCRIBE(.name = "flags-set", .flags = 4)
