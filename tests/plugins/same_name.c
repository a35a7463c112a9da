#include "good.h"

DESCRIBE(.version = "2.0")
