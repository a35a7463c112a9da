/* A runtime of one's own, in a hundred lines: copy this folder, rename things, build it, load it.
 * docs/plugins.md walks through it. The rules are in trainer_plugin.h, the only header that is needed.
 *
 * The runtime of this example is "sweep": one leader hands out chunks of work over TCP, any number of workers fetch
 * them. The leader knows when all is done, so its exit decides about the job. */
#include "trainer_plugin.h"

enum { CHUNKS_MAX = 100000, CHUNK_DEFAULT = 16 };

/* The parameter as the user gave it, or its default. The schema below has already seen to its type and bounds. */
static int64_t chunk_of(const struct trainer_host *host, const struct trainer_value *spec) {
    return host->integer(host->get(spec, "params.chunk"), CHUNK_DEFAULT);
}

/* What the tables below cannot say is checked here. By now role names are known and canonical, required roles are
 * there, replicas are in bounds, reserved variables are not set and parameters fit the schema. Report every problem
 * with fail or fail_with: where it is, and what would be right. */
static int32_t validate(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors) {
    (void)self;
    if (host->replicas(spec, "worker") * chunk_of(host, spec) > CHUNKS_MAX) {
        return host->fail(errors, "params.chunk", "times the number of workers must be at most 100000");
    }
    return TRAINER_OK;
}

/* One process of the plan. plan_process brings the role's own command, environment, directory, resources and restart
 * policy with it; what is left is what this runtime tells its processes of each other. */
static void put_process(const struct trainer_host *host, struct trainer_writer *w, const struct trainer_value *spec,
                        const struct trainer_value *role, int64_t index, int64_t rank, int32_t decides) {
    host->plan_process(w, role, index, rank, decides);
    /* A template: the daemon puts this machine's address and a free port in, the same port wherever the job says
     * ${port.leader}. */
    host->plan_env_template(w, "SWEEP_LEADER", "${host}:${port.leader}");
    host->plan_env_integer(w, "SWEEP_WORKERS", host->replicas(spec, "worker"));
    host->plan_env_integer(w, "SWEEP_CHUNK", chunk_of(host, spec));
    host->plan_env_integer(w, "SWEEP_RANK", rank);
    host->plan_process_end(w);
}

/* From the spec to local processes. Pure: the same spec gives the same plan, so no clock, no files, no environment. */
static int32_t plan_local(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    int64_t rank = 0;
    (void)self;
    (void)errors;
    /* Roles come in the order of the table, whatever the user's order was: the leader is rank 0. */
    for (const struct trainer_value *role = host->first(host->get(spec, "roles")); role != NULL;
         role = host->next(role)) {
        int64_t replicas = host->integer(host->get(role, "replicas"), 0);
        int32_t leads = rank == 0;
        for (int64_t index = 0; index < replicas; index++) {
            put_process(host, w, spec, role, index, rank++, leads);
        }
    }
    return TRAINER_OK;
}

/* Name, description, required, fewest and most replicas (0: no limit), restart policy unless the user gives one. */
static const struct trainer_role roles[] = {
    {"leader", "hands out the work; its exit decides", 1, 1, 1, TRAINER_RESTART_NEVER},
    {"worker", "fetches work from the leader", 1, 1, 0, TRAINER_RESTART_ON_FAILURE},
    {NULL, NULL, 0, 0, 0, 0},
};

/* Where jobs of this runtime can run, the best first. */
static const struct trainer_target targets[] = {
    {"local", "processes", ""},
    {NULL, NULL, NULL},
};

/* What `params` of a job may hold. Users see it with `trainctl runtimes sweep`. */
static const char schema[] = "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
                             "\"chunk\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1000, \"default\": 16, "
                             "\"description\": \"Work items that a worker fetches at once.\"}}}";

/* Variables that users may not set, because plan_local does. A star at the end makes it a prefix. */
static const char *const reserved_env[] = {"SWEEP_*", NULL};

static const struct trainer_functions functions = {.validate = validate, .plan_local = plan_local};

static const struct trainer_plugin plugin = {
    TRAINER_PLUGIN_HEAD,
    .name = "sweep",
    .version = "1.0",
    .description = "example: a leader and the workers it feeds",
    .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_SUSPEND,
    .roles = roles,
    .targets = targets,
    .functions = &functions,
    .params_schema = schema,
    .reserved_env = reserved_env,
    .main_container = "sweep",
};

/* The one thing that a plugin exports. Called once, before anything else; must do nothing but this. */
const struct trainer_plugin *trainer_plugin_describe(void) {
    return &plugin;
}
