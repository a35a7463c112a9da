#include "good.h"

DESCRIBE(.name = "other-major", .abi_major = 2, .abi_minor = 1)
