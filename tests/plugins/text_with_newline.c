#include "good.h"

DESCRIBE(.name = "text-with-newline", .description = "one\ntwo")
