#include "good.h"

DESCRIBE(.name = "schema-keyword", .params_schema = "{\"type\": \"object\", \"oneOf\": []}")
