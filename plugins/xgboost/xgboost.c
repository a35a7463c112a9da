/* xgboost: a group around one tracker, which the master's program starts; every replica, the master too, is a worker.
 *
 * MASTER_*, RANK, WORLD_SIZE and WORKER_* are what the Kubeflow operator sets. DMLC_* are the same facts under the
 * names of XGBoost's own collective: RabitTracker(n_workers=DMLC_NUM_WORKER, host_ip=DMLC_TRACKER_URI,
 * port=DMLC_TRACKER_PORT) in the master, CommunicatorContext(dmlc_tracker_uri=..., dmlc_tracker_port=...,
 * dmlc_task_id=DMLC_TASK_ID) in all. */
#include "trainer_plugin.h"

static int32_t validate(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors) {
    (void)host;
    (void)self;
    (void)spec;
    (void)errors;
    return TRAINER_OK; /* the role table says it all */
}

/* As with the operator: one address for each worker, the master left out. On one machine all are the same. */
static void put_worker_addresses(const struct trainer_host *host, struct trainer_writer *w, int64_t workers) {
    host->plan_env_begin(w, "WORKER_ADDRS");
    for (int64_t i = 0; i < workers; i++) {
        host->plan_env_add(w, i == 0 ? "${host}" : ",${host}");
    }
    host->plan_env_end(w);
    host->plan_env_template(w, "WORKER_PORT", "${port.worker}");
}

static int32_t plan_local(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    const struct trainer_value *master = host->get(spec, "roles[name=master]");
    const struct trainer_value *worker = host->get(spec, "roles[name=worker]");
    int64_t workers = host->replicas(spec, "worker");
    int64_t size = host->replicas(spec, NULL);
    (void)self;
    (void)errors;
    for (int64_t rank = 0; rank < size; rank++) {
        host->plan_process(w, rank == 0 ? master : worker, rank == 0 ? 0 : rank - 1, rank, rank == 0);
        host->plan_env_template(w, "MASTER_ADDR", "${host}");
        host->plan_env_template(w, "MASTER_PORT", "${port.master}");
        host->plan_env_integer(w, "RANK", rank);
        host->plan_env_integer(w, "WORLD_SIZE", size);
        host->plan_env_template(w, "DMLC_TRACKER_URI", "${host}");
        host->plan_env_template(w, "DMLC_TRACKER_PORT", "${port.master}");
        host->plan_env_integer(w, "DMLC_TASK_ID", rank);
        host->plan_env_integer(w, "DMLC_NUM_WORKER", size);
        if (workers > 0) {
            put_worker_addresses(host, w, workers);
        }
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
    host->object_begin(w, spec, "kubeflow.org/v1", "XGBoostJob");
    host->kubeflow_run_policy(w, spec);
    host->kubeflow_replicas(w, spec, "xgbReplicaSpecs", "xgboost");
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
    {"master", "rank 0; starts the tracker; its exit decides", 1, 1, 1, TRAINER_RESTART_NEVER},
    {"worker", "one more worker of the group", 0, 1, 0, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};

static const struct trainer_target targets[] = {
    {.name = "local", .kind = "processes", .name_suffix = ""},
    {.name = "kubeflow.org/v1", .kind = "XGBoostJob", .name_suffix = "-${role}-${index}"},
    {.name = NULL},
};

static const char *const reserved_env[] = {"MASTER_ADDR", "MASTER_PORT",  "RANK",   "WORLD_SIZE",
                                           "WORKER_PORT", "WORKER_ADDRS", "DMLC_*", NULL};

static const struct trainer_functions functions = {
    .validate = validate, .plan_local = plan_local, .render = render, .observe = observe};

static const struct trainer_plugin plugin = {
    TRAINER_PLUGIN_HEAD,
    .name = "xgboost",
    .version = "1.0",
    .description = "XGBoost: distributed training around a Rabit tracker",
    .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER | TRAINER_CAP_SUSPEND,
    .roles = roles,
    .targets = targets,
    .functions = &functions,
    .reserved_env = reserved_env,
    .main_container = "xgboost",
};

const struct trainer_plugin *trainer_plugin_describe(void) {
    return &plugin;
}
