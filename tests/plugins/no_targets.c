#include "good.h"

DESCRIBE(.name = "no-targets", .targets = NULL)
