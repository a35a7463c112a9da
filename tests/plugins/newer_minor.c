#include "good.h"

DESCRIBE(.name = "newer-minor", .abi_minor = 9)
