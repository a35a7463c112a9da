#include "good.h"

static const struct trainer_target targets[] = {
    {"local", "processes", ""}, {"local", "processes", ""}, {NULL, NULL, NULL}};
DESCRIBE(.name = "target-twice", .targets = targets)
