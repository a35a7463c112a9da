#include "good.h"

DESCRIBE(.name = "functions-short", .functions_size = 8)
