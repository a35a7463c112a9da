#include "good.h"

static int32_t create(const struct trainer_host *host, const struct trainer_value *config, struct trainer_self **ret,
                      struct trainer_errors *errors) {
    (void)config;
    (void)ret;
    return host->fail(errors, "directory", "is needed in the configuration");
}

static const struct trainer_functions functions = {
    .create = create, .validate = good_validate, .plan_local = good_plan_local};
DESCRIBE(.name = "create-fails", .functions = &functions)
