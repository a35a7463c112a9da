/* paddle: collective training with workers only, or parameter servers (the masters) and trainers (the workers).
 *
 * PADDLE_JOB_ID, PADDLE_NNODES and PADDLE_MASTER, and in the second form PADDLE_SERVER_NUM and PADDLE_TRAINER_NUM, are
 * what the Kubeflow operator sets for `python -m paddle.distributed.launch train.py`. A plain `python train.py` finds
 * its place in PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM, PADDLE_TRAINER_ENDPOINTS and PADDLE_CURRENT_ENDPOINT.
 * The master decides about success; without one all workers do. */
#include <stdio.h>

#include "trainer_plugin.h"

enum { ENDPOINT_MAX = 64 };

static int32_t validate(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors) {
    (void)host;
    (void)self;
    (void)spec;
    (void)errors;
    return TRAINER_OK; /* the role table says it all */
}

static void endpoint(char out[ENDPOINT_MAX], int64_t worker) {
    snprintf(out, ENDPOINT_MAX, "${host}:${port.worker-%lld}", (long long)worker);
}

static void put_trainer(const struct trainer_host *host, struct trainer_writer *w, int64_t index, int64_t workers) {
    char text[ENDPOINT_MAX];
    host->plan_env_integer(w, "PADDLE_TRAINER_ID", index);
    host->plan_env_integer(w, "PADDLE_TRAINERS_NUM", workers);
    endpoint(text, index);
    host->plan_env_template(w, "PADDLE_CURRENT_ENDPOINT", text);
    host->plan_env_begin(w, "PADDLE_TRAINER_ENDPOINTS");
    for (int64_t i = 0; i < workers; i++) {
        endpoint(text, i);
        host->plan_env_add(w, i == 0 ? "" : ",");
        host->plan_env_add(w, text);
    }
    host->plan_env_end(w);
}

static int32_t plan_local(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    const char *name = host->text(host->get(spec, "name"), host->text(host->get(spec, "name_prefix"), "job"));
    const struct trainer_value *master = host->get(spec, "roles[name=master]");
    const struct trainer_value *worker = host->get(spec, "roles[name=worker]");
    int64_t masters = host->replicas(spec, "master");
    int64_t workers = host->replicas(spec, "worker");
    (void)self;
    (void)errors;
    for (int64_t rank = 0; rank < masters + workers; rank++) {
        int is_master = rank < masters;
        int64_t index = is_master ? rank : rank - masters;
        host->plan_process(w, is_master ? master : worker, index, rank, is_master || masters == 0);
        host->plan_env(w, "PADDLE_JOB_ID", name);
        host->plan_env_integer(w, "PADDLE_NNODES", masters + workers);
        host->plan_env_template(w, "PADDLE_MASTER", "${host}:${port.master}");
        if (masters > 0) {
            host->plan_env_integer(w, is_master ? "PADDLE_SERVER_NUM" : "PADDLE_TRAINER_NUM", 1);
        }
        if (!is_master) {
            put_trainer(host, w, index, workers);
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
    host->object_begin(w, spec, "kubeflow.org/v1", "PaddleJob");
    host->kubeflow_run_policy(w, spec);
    host->kubeflow_replicas(w, spec, "paddleReplicaSpecs", "paddle");
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
    {"master", "parameter server; its exit decides", 0, 1, 0, TRAINER_RESTART_ON_FAILURE},
    {"worker", "one trainer", 0, 1, 0, TRAINER_RESTART_ON_FAILURE},
    {NULL, NULL, 0, 0, 0, 0},
};

static const struct trainer_target targets[] = {
    {.name = "local", .kind = "processes", .name_suffix = ""},
    {.name = "kubeflow.org/v1", .kind = "PaddleJob", .name_suffix = "-${role}-${index}"},
    {.name = NULL},
};

static const char *const reserved_env[] = {"PADDLE_*", NULL};

static const struct trainer_functions functions = {
    .validate = validate, .plan_local = plan_local, .render = render, .observe = observe};

static const struct trainer_plugin plugin = {
    TRAINER_PLUGIN_HEAD,
    .name = "paddle",
    .version = "1.0",
    .description = "PaddlePaddle: collective or parameter-server training",
    .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER | TRAINER_CAP_SCALE | TRAINER_CAP_SUSPEND,
    .roles = roles,
    .targets = targets,
    .functions = &functions,
    .reserved_env = reserved_env,
    .main_container = "paddle",
};

const struct trainer_plugin *trainer_plugin_describe(void) {
    return &plugin;
}
