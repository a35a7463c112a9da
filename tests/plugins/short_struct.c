#include "good.h"

DESCRIBE(.name = "short-struct", .size = 40)
