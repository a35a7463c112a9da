#include "good.h"

DESCRIBE(.name = "no-render", .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER)
