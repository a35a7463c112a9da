#include "good.h"

static const struct trainer_target targets[] = {{"local", "processes", "-${rank}"}, {NULL, NULL, NULL}};
DESCRIBE(.name = "target-suffix", .targets = targets)
