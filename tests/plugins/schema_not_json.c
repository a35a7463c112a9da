#include "good.h"

DESCRIBE(.name = "schema-not-json", .params_schema = "{\"type\": \"object\"")
