#include "good.h"

DESCRIBE(.name = "no-version", .version = "")
