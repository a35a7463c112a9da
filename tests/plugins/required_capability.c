#include "good.h"

DESCRIBE(.name = "required-capability", .capabilities = TRAINER_CAP_LOCAL | (UINT64_C(1) << 7))
