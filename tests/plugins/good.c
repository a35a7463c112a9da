#include "good.h"

DESCRIBE(.flags = 0)
