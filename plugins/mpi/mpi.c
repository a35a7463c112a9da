/* mpi: the launcher's command, started by mpirun with as many ranks as workers have slots.
 *
 * On one machine the whole job is one process, mpirun, which starts the ranks itself; the workers are the room they
 * take, so their resources are added to the launcher's. A command that starts mpirun or mpiexec is used as it is. */
#include <stdio.h>
#include <string.h>

#include "trainer_plugin.h"

static int32_t validate(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors) {
    (void)host;
    (void)self;
    (void)spec;
    (void)errors;
    return TRAINER_OK; /* the role table and the schema say it all */
}

static int starts_mpi(const char *program) {
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;
    return strncmp(name, "mpirun", 6) == 0 || strncmp(name, "mpiexec", 7) == 0;
}

static const char *program_of(const struct trainer_host *host, const struct trainer_value *role) {
    const struct trainer_value *first = host->first(host->get(role, "command"));
    return host->text(first != NULL ? first : host->first(host->get(role, "args")), "");
}

static void put_launcher(const struct trainer_host *host, struct trainer_writer *w,
                         const struct trainer_value *launcher, int64_t ranks) {
    /* A container or a small machine has fewer cores than ranks, jobs share the machine, and root may run them: said
     * by variables, so that it holds for the user's own mpirun too. The second name is that of Open MPI 5. */
    static const struct {
        const char *name, *text;
    } settings[] = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "true"},
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    };
    if (!starts_mpi(program_of(host, launcher))) {
        char count[24];
        snprintf(count, sizeof count, "%lld", (long long)ranks);
        host->plan_arg(w, "mpirun");
        host->plan_arg(w, "-np");
        host->plan_arg(w, count);
    }
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        host->plan_env(w, settings[i].name, settings[i].text);
    }
}

static int32_t plan_local(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    const struct trainer_value *launcher = host->get(spec, "roles[name=launcher]");
    const struct trainer_value *worker = host->get(spec, "roles[name=worker]");
    int64_t workers = host->replicas(spec, "worker");
    int64_t slots = host->integer(host->get(spec, "params.slots_per_worker"), 1);
    int64_t ranks = host->integer(host->get(spec, "params.np"), (workers > 0 ? workers : 1) * slots);
    (void)self;
    if (host->count(host->get(worker, "env")) > 0) {
        return host->fail(errors, host->get(spec, "roles[1]") == worker ? "roles[1].env" : "roles[0].env",
                          "on one machine all ranks inherit the launcher's environment: set it there");
    }
    host->plan_process(w, launcher, 0, 0, 1);
    host->plan_resources(w, worker, workers);
    put_launcher(host, w, launcher, ranks);
    host->plan_process_end(w);
    return TRAINER_OK;
}

static int32_t render(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                      const char *target, struct trainer_writer *w, struct trainer_errors *errors) {
    (void)self;
    (void)target;
    if (host->cluster_check(spec, errors) != TRAINER_OK) {
        return TRAINER_FAILED;
    }
    host->object_begin(w, spec, "kubeflow.org/v1", "MPIJob");
    host->kubeflow_run_policy(w, spec);
    int64_t slots = host->integer(host->get(spec, "params.slots_per_worker"), 0);
    if (slots > 0) {
        host->put_key(w, "slotsPerWorker");
        host->put_integer(w, slots);
    }
    host->kubeflow_replicas(w, spec, "mpiReplicaSpecs", "mpi");
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
    {"launcher", "runs mpirun; its exit decides", 1, 1, 1, TRAINER_RESTART_NEVER},
    {"worker", "room for slots_per_worker ranks", 0, 1, 0, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};

static const struct trainer_target targets[] = {
    {.name = "local", .kind = "processes", .name_suffix = ""},
    {.name = "kubeflow.org/v1", .kind = "MPIJob", .name_suffix = "-${role}-${index}"},
    {.name = NULL},
};

static const char schema[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "\"slots_per_worker\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1024, \"default\": 1, "
    "\"description\": \"Ranks on each worker.\"}, "
    "\"np\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 100000, "
    "\"description\": \"Ranks in all. Default: workers x slots_per_worker, or the slots of one when there are none. "
    "Not used when the command starts mpirun itself.\"}}}";

static const char *const reserved_env[] = {"OMPI_MCA_plm_rsh_agent",
                                           "OMPI_MCA_orte_default_hostfile",
                                           "OMPI_ALLOW_RUN_AS_ROOT",
                                           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                           "I_MPI_HYDRA_BOOTSTRAP",
                                           "I_MPI_HYDRA_BOOTSTRAP_EXEC",
                                           NULL};

static const struct trainer_functions functions = {
    .validate = validate, .plan_local = plan_local, .render = render, .observe = observe};

static const struct trainer_plugin plugin = {
    TRAINER_PLUGIN_HEAD,
    .name = "mpi",
    .version = "1.0",
    .description = "MPI: a program on many ranks by mpirun",
    .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER | TRAINER_CAP_SUSPEND,
    .roles = roles,
    .targets = targets,
    .functions = &functions,
    .params_schema = schema,
    .reserved_env = reserved_env,
    .main_container = "mpi",
};

const struct trainer_plugin *trainer_plugin_describe(void) {
    return &plugin;
}
