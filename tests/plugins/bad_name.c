#include "good.h"

DESCRIBE(.name = "Bad_Name")
