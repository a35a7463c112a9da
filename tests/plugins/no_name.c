#include "good.h"

DESCRIBE(.name = NULL)
