#include "good.h"

DESCRIBE(.name = "target-size", .target_size = 4000)
