/* process: any program, n times. What a program needs to know of the others is its rank and how many there are. */
#include "trainer_plugin.h"

static int32_t validate(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors) {
    (void)host;
    (void)self;
    (void)spec;
    (void)errors;
    return TRAINER_OK; /* the role table says it all */
}

static int32_t plan_local(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    const struct trainer_value *worker = host->get(spec, "roles[name=worker]");
    int64_t size = host->replicas(spec, "worker");
    (void)self;
    (void)errors;
    for (int64_t rank = 0; rank < size; rank++) {
        host->plan_process(w, worker, rank, rank, 1);
        host->plan_env_integer(w, "RANK", rank);
        host->plan_env_integer(w, "WORLD_SIZE", size);
        host->plan_process_end(w);
    }
    return TRAINER_OK;
}

static const struct trainer_role roles[] = {
    {.name = "worker",
     .description = "one process of the program; all must exit 0",
     .required = 1,
     .min_replicas = 1,
     .restart = TRAINER_RESTART_NEVER},
    {.name = NULL},
};

static const struct trainer_target targets[] = {
    {.name = "local", .kind = "processes", .name_suffix = ""},
    {.name = NULL},
};

static const char *const reserved_env[] = {"RANK", "WORLD_SIZE", NULL};

static const struct trainer_functions functions = {.validate = validate, .plan_local = plan_local};

static const struct trainer_plugin plugin = {
    TRAINER_PLUGIN_HEAD,
    .name = "process",
    .version = "1.0",
    .description = "any program, as many times as asked for",
    .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_SUSPEND,
    .roles = roles,
    .targets = targets,
    .functions = &functions,
    .reserved_env = reserved_env,
};

const struct trainer_plugin *trainer_plugin_describe(void) {
    return &plugin;
}
