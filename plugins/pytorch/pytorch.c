/* pytorch: torch.distributed, started by the variables that torchrun and the Kubeflow operator use.
 *
 * Each replica is one node of torchrun's view, also where all run on one machine: its GPUs are its own
 * (CUDA_VISIBLE_DEVICES), so it is the only process on its "node" and LOCAL_RANK is 0. Two kinds of command work:
 *   python train.py     one process a replica; init_process_group() reads MASTER_ADDR, RANK, WORLD_SIZE
 *   torchrun train.py   starts nproc_per_node processes a replica; reads PET_*, which stand for its flags, and gives
 *                       its children their own RANK, LOCAL_RANK and WORLD_SIZE
 * The parameter nproc_per_node is for the second kind. As with the operator RANK is then the rank of the node.
 *
 * The master decides about success; without a master all workers do, and worker 0 is the place of rendezvous. */
#include "trainer_plugin.h"

#include <stdio.h>

static int32_t validate(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors) {
    (void)self;
    const struct trainer_value *elastic = host->get(spec, "elastic");
    int64_t workers = host->replicas(spec, "worker");
    int64_t min = host->integer(host->get(elastic, "min"), 0);
    int64_t max = host->integer(host->get(elastic, "max"), 0);
    if (elastic == NULL || host->count(elastic) == 0) {
        return TRAINER_OK; /* the role table and the schema say the rest */
    }
    if (min == 0 || max == 0) {
        return host->fail(errors, "elastic", "min and max are required, in replicas of worker");
    }
    if (workers == 0) {
        return host->fail(errors, "elastic", "needs the role worker: it is the one that grows and shrinks");
    }
    if (workers < min || workers > max) {
        return host->fail(errors, "elastic", "the replicas of worker must be from elastic.min to elastic.max");
    }
    if (host->get(elastic, "nproc_per_node") != NULL && host->get(spec, "params.nproc_per_node") != NULL) {
        return host->fail(errors, "elastic.nproc_per_node", "may not be set together with params.nproc_per_node");
    }
    return TRAINER_OK;
}

struct group {
    int64_t nodes, per_node;
    const char *nproc; /* as text: a number, "auto", "cpu" or "gpu"; NULL: per_node */
};

static void put_process(const struct trainer_host *host, struct trainer_writer *w, const struct group *g,
                        const struct trainer_value *role, int64_t index, int64_t rank, int32_t decides) {
    host->plan_process(w, role, index, rank, decides);
    host->plan_env_template(w, "MASTER_ADDR", "${host}");
    host->plan_env_template(w, "MASTER_PORT", "${port.master}");
    host->plan_env_integer(w, "RANK", rank);
    host->plan_env_integer(w, "WORLD_SIZE", g->nodes * g->per_node);
    host->plan_env_integer(w, "LOCAL_RANK", 0);
    host->plan_env_integer(w, "LOCAL_WORLD_SIZE", g->per_node);
    host->plan_env_integer(w, "PET_NNODES", g->nodes);
    host->plan_env_integer(w, "PET_NODE_RANK", rank);
    if (g->nproc != NULL) {
        host->plan_env(w, "PET_NPROC_PER_NODE", g->nproc);
    } else {
        host->plan_env_integer(w, "PET_NPROC_PER_NODE", g->per_node);
    }
    host->plan_env_template(w, "PET_MASTER_ADDR", "${host}");
    host->plan_env_template(w, "PET_MASTER_PORT", "${port.master}");
    host->plan_env(w, "PYTHONUNBUFFERED", "1");
    host->plan_process_end(w);
}

static int32_t plan_local(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    const struct trainer_value *nproc = host->get(spec, "params.nproc_per_node");
    const struct trainer_value *master = host->get(spec, "roles[name=master]");
    const struct group g = {.nodes = host->replicas(spec, NULL),
                            .per_node = host->integer(nproc, 1), /* as the operator counts a text */
                            .nproc = host->text(nproc, NULL)};
    int64_t rank = 0;
    (void)self;
    (void)errors;
    /* Roles come in the order of the table: the master, if there is one, is rank 0. */
    for (const struct trainer_value *role = host->first(host->get(spec, "roles")); role != NULL;
         role = host->next(role)) {
        int64_t replicas = host->integer(host->get(role, "replicas"), 0);
        for (int64_t index = 0; index < replicas; index++) {
            put_process(host, w, &g, role, index, rank++, master == NULL || role == master);
        }
    }
    return TRAINER_OK;
}

static void put_as_text(const struct trainer_host *host, struct trainer_writer *w, const struct trainer_value *value) {
    char digits[24];
    if (host->text(value, NULL) != NULL) {
        host->put_value(w, value);
        return;
    }
    snprintf(digits, sizeof digits, "%lld", (long long)host->integer(value, 1));
    host->put_text(w, digits);
}

static void put_elastic(const struct trainer_host *host, struct trainer_writer *w,
                        const struct trainer_value *elastic) {
    const struct trainer_value *conf = host->get(elastic, "rendezvous_conf");
    const struct trainer_value *restarts = host->get(elastic, "max_restarts");
    host->put_key(w, "elasticPolicy");
    host->begin_object(w);
    host->put_key(w, "minReplicas");
    host->put_value(w, host->get(elastic, "min"));
    host->put_key(w, "maxReplicas");
    host->put_value(w, host->get(elastic, "max"));
    host->put_key(w, "rdzvBackend");
    host->put_text(w, host->text(host->get(elastic, "rendezvous_backend"), "c10d"));
    if (conf != NULL) {
        host->put_key(w, "rdzvConf");
        host->begin_array(w);
        for (const struct trainer_value *v = host->first(conf); v != NULL; v = host->next(v)) {
            host->begin_object(w);
            host->put_key(w, "key");
            host->put_text(w, host->key(v));
            host->put_key(w, "value");
            host->put_value(w, v);
            host->end_object(w);
        }
        host->end_array(w);
    }
    if (restarts != NULL) {
        host->put_key(w, "maxRestarts");
        host->put_value(w, restarts);
    }
    host->end_object(w);
}

static int32_t render(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                      const char *target, struct trainer_writer *w, struct trainer_errors *errors) {
    (void)self;
    (void)target;
    if (host->cluster_check(spec, errors) != TRAINER_OK) {
        return TRAINER_FAILED;
    }
    host->object_begin(w, spec, "kubeflow.org/v1", "PyTorchJob");
    host->kubeflow_run_policy(w, spec);
    const struct trainer_value *elastic = host->get(spec, "elastic");
    if (host->count(elastic) != 0) {
        put_elastic(host, w, elastic);
    }
    const struct trainer_value *nproc = host->get(spec, "params.nproc_per_node");
    nproc = nproc != NULL ? nproc : host->get(elastic, "nproc_per_node");
    if (nproc != NULL) { /* the field takes texts only */
        host->put_key(w, "nprocPerNode");
        put_as_text(host, w, nproc);
    }
    host->kubeflow_replicas(w, spec, "pytorchReplicaSpecs", "pytorch");
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
    {.name = "master",
     .description = "rank 0 and place of rendezvous; its exit decides",
     .min_replicas = 1,
     .max_replicas = 1,
     .restart = TRAINER_RESTART_ON_FAILURE},
    {.name = "worker",
     .description = "one more node of the group",
     .min_replicas = 1,
     .restart = TRAINER_RESTART_ON_FAILURE},
    {.name = NULL},
};

static const struct trainer_target targets[] = {
    {.name = "local", .kind = "processes", .name_suffix = ""},
    {.name = "kubeflow.org/v1", .kind = "PyTorchJob", .name_suffix = "-${role}-${index}"},
    {.name = NULL},
};

static const char schema[] = "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
                             "\"nproc_per_node\": {\"type\": [\"integer\", \"string\"], \"minimum\": 1, "
                             "\"maximum\": 1024, \"pattern\": \"^(auto|cpu|gpu)$\", \"default\": 1, "
                             "\"description\": \"Processes that torchrun starts for each replica: a number, auto, "
                             "cpu or gpu. Only for commands that start torchrun.\"}}}";

static const char *const reserved_env[] = {"MASTER_ADDR", "MASTER_PORT",      "RANK",  "WORLD_SIZE",
                                           "LOCAL_RANK",  "LOCAL_WORLD_SIZE", "PET_*", NULL};

static const struct trainer_functions functions = {
    .validate = validate, .plan_local = plan_local, .render = render, .observe = observe};

static const struct trainer_plugin plugin = {
    TRAINER_PLUGIN_HEAD,
    .name = "pytorch",
    .version = "1.0",
    .description = "PyTorch: torch.distributed with or without torchrun",
    .capabilities =
        TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER | TRAINER_CAP_ELASTIC | TRAINER_CAP_SCALE | TRAINER_CAP_SUSPEND,
    .roles = roles,
    .targets = targets,
    .functions = &functions,
    .params_schema = schema,
    .reserved_env = reserved_env,
    .main_container = "pytorch",
};

const struct trainer_plugin *trainer_plugin_describe(void) {
    return &plugin;
}
