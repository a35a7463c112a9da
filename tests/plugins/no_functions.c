#include "good.h"

DESCRIBE(.name = "no-functions", .functions = NULL)
