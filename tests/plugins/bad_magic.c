#include "good.h"

DESCRIBE(.name = "bad-magic", .magic = 0x12345678)
