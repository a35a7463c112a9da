#include "good.h"

DESCRIBE(.name = "schema-type", .params_schema = "{\"type\": \"string\"}")
