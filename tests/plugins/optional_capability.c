#include "good.h"

/* Right: what the host does not know in the high half it may ignore. */
DESCRIBE(.name = "optional-capability", .capabilities = TRAINER_CAP_LOCAL | (UINT64_C(1) << 60))
