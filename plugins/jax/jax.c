/* jax: one process a worker around a coordinator, which is worker 0. All workers must succeed.
 *
 * COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID are what the Kubeflow operator sets. JAX reads
 * JAX_COORDINATOR_ADDRESS (host:port) by itself; the two numbers a program hands over, under either name:
 * jax.distributed.initialize(num_processes=int(environ["JAX_NUM_PROCESSES"]), process_id=...). */
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
        host->plan_env_template(w, "COORDINATOR_ADDRESS", "${host}");
        host->plan_env_template(w, "COORDINATOR_PORT", "${port.coordinator}");
        host->plan_env_integer(w, "NUM_PROCESSES", size);
        host->plan_env_integer(w, "PROCESS_ID", rank);
        host->plan_env_template(w, "JAX_COORDINATOR_ADDRESS", "${host}:${port.coordinator}");
        host->plan_env_integer(w, "JAX_NUM_PROCESSES", size);
        host->plan_env_integer(w, "JAX_PROCESS_ID", rank);
        host->plan_env(w, "PYTHONUNBUFFERED", "1");
        host->plan_process_end(w);
    }
    return TRAINER_OK;
}

static int32_t render(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                      const char *target, struct trainer_writer *w, struct trainer_errors *errors) {
    (void)self;
    (void)target;
    if (host->cluster_check(spec, errors) != TRAINER_OK) {
        return TRAINER_FAILED;
    }
    host->object_begin(w, spec, "kubeflow.org/v1", "JAXJob");
    host->kubeflow_run_policy(w, spec);
    host->kubeflow_replicas(w, spec, "jaxReplicaSpecs", "jax");
    host->object_end(w);
    return TRAINER_OK;
}

static int32_t observe(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *object,
                       const char *target, struct trainer_writer *w, struct trainer_errors *errors) {
    (void)self;
    (void)target;
    (void)errors;
    host->kubeflow_observe(w, object);
    return TRAINER_OK;
}

static const struct trainer_role roles[] = {
    {"worker", "one process of the group; worker 0 is the coordinator", 1, 1, 0, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};

static const struct trainer_target targets[] = {
    {.name = "local", .kind = "processes", .name_suffix = ""},
    {.name = "kubeflow.org/v1", .kind = "JAXJob", .name_suffix = "-${role}-${index}"},
    {.name = NULL},
};

static const char *const reserved_env[] = {
    "COORDINATOR_ADDRESS",     "COORDINATOR_PORT",  "NUM_PROCESSES",  "PROCESS_ID",
    "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", NULL};

static const struct trainer_functions functions = {
    .validate = validate, .plan_local = plan_local, .render = render, .observe = observe};

static const struct trainer_plugin plugin = {
    TRAINER_PLUGIN_HEAD,
    .name = "jax",
    .version = "1.0",
    .description = "JAX: jax.distributed, one process a worker",
    .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER | TRAINER_CAP_SCALE | TRAINER_CAP_SUSPEND,
    .roles = roles,
    .targets = targets,
    .functions = &functions,
    .reserved_env = reserved_env,
    .main_container = "jax",
};

const struct trainer_plugin *trainer_plugin_describe(void) {
    return &plugin;
}
