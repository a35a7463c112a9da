#include "good.h"

DESCRIBE(.name = "spare-set", .spare = {[2] = good_roles})
