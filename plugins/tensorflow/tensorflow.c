/* tensorflow: one task a replica, told of all others by TF_CONFIG.
 *
 * TF_CONFIG is set where there is more than one replica. An evaluator is a task but no part of the cluster. The chief
 * (or master) decides about success; without one worker 0 does, or all workers with success_policy AllWorkers. */
#include <stdio.h>
#include <string.h>

#include "trainer_plugin.h"

static int32_t validate(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors) {
    int64_t leaders = host->replicas(spec, "chief") + host->replicas(spec, "master");
    (void)self;
    if (leaders > 1) {
        return host->fail(errors, "roles", "a job has a chief or a master, not both");
    }
    if (leaders == 0 && host->replicas(spec, "worker") == 0) {
        return host->fail(errors, "roles", "a job needs a chief, a master or a worker: their exit decides");
    }
    return TRAINER_OK;
}

static void put_address(const struct trainer_host *host, struct trainer_writer *w, const char *role, int64_t index) {
    char address[64];
    snprintf(address, sizeof address, "${host}:${port.%s-%lld}", role, (long long)index);
    host->put_text(w, address);
}

static void put_cluster(const struct trainer_host *host, struct trainer_writer *w, const struct trainer_value *spec) {
    host->begin_object(w);
    for (const struct trainer_value *role = host->first(host->get(spec, "roles")); role != NULL;
         role = host->next(role)) {
        const char *name = host->text(host->get(role, "name"), "");
        if (strcmp(name, "evaluator") == 0) {
            continue;
        }
        host->put_key(w, name);
        host->begin_array(w);
        for (int64_t i = 0; i < host->replicas(spec, name); i++) {
            put_address(host, w, name, i);
        }
        host->end_array(w);
    }
    host->end_object(w);
}

static void put_config(const struct trainer_host *host, struct trainer_writer *w, const struct trainer_value *spec,
                       const char *role, int64_t index) {
    host->plan_env_begin(w, "TF_CONFIG");
    host->begin_object(w);
    host->put_key(w, "cluster");
    put_cluster(host, w, spec);
    host->put_key(w, "task");
    host->begin_object(w);
    host->put_key(w, "type");
    host->put_text(w, role);
    host->put_key(w, "index");
    host->put_integer(w, index);
    host->end_object(w);
    host->put_key(w, "environment");
    host->put_text(w, "cloud");
    host->end_object(w);
    host->plan_env_end(w);
}

static int32_t plan_local(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    int led = host->replicas(spec, "chief") + host->replicas(spec, "master") > 0;
    int all = strcmp(host->text(host->get(spec, "params.success_policy"), ""), "AllWorkers") == 0;
    int64_t rank = 0;
    (void)self;
    (void)errors;
    for (const struct trainer_value *role = host->first(host->get(spec, "roles")); role != NULL;
         role = host->next(role)) {
        const char *name = host->text(host->get(role, "name"), "");
        int leader = strcmp(name, "chief") == 0 || strcmp(name, "master") == 0;
        int worker = strcmp(name, "worker") == 0;
        for (int64_t i = 0; i < host->replicas(spec, name); i++) {
            host->plan_process(w, role, i, rank++, led ? leader : worker && (all || i == 0));
            if (host->replicas(spec, NULL) > 1) {
                put_config(host, w, spec, name, i);
            }
            host->plan_env(w, "PYTHONUNBUFFERED", "1");
            host->plan_process_end(w);
        }
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
    host->object_begin(w, spec, "kubeflow.org/v1", "TFJob");
    host->kubeflow_run_policy(w, spec);
    const char *success = host->text(host->get(spec, "params.success_policy"), "");
    if (success[0] != '\0') {
        host->put_key(w, "successPolicy");
        host->put_text(w, success);
    }
    host->kubeflow_replicas(w, spec, "tfReplicaSpecs", "tensorflow");
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
    {"chief", "the worker that leads; its exit decides", 0, 1, 1, TRAINER_RESTART_NEVER},
    {"master", "older name of the chief", 0, 1, 1, TRAINER_RESTART_NEVER},
    {"ps", "parameter server; stopped when the job has ended", 0, 1, 0, TRAINER_RESTART_NEVER},
    {"worker", "one training task", 0, 1, 0, TRAINER_RESTART_NEVER},
    {"evaluator", "evaluates checkpoints; no part of the cluster", 0, 1, 0, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};

static const struct trainer_target targets[] = {
    {.name = "local", .kind = "processes", .name_suffix = ""},
    {.name = "kubeflow.org/v1", .kind = "TFJob", .name_suffix = "-${role}-${index}"},
    {.name = NULL},
};

static const char schema[] = "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
                             "\"success_policy\": {\"type\": \"string\", \"enum\": [\"\", \"AllWorkers\"], "
                             "\"default\": \"\", \"description\": \"Without chief: worker 0 decides, or all workers "
                             "with AllWorkers.\"}}}";

static const char *const reserved_env[] = {"TF_CONFIG", NULL};

static const struct trainer_functions functions = {
    .validate = validate, .plan_local = plan_local, .render = render, .observe = observe};

static const struct trainer_plugin plugin = {
    TRAINER_PLUGIN_HEAD,
    .name = "tensorflow",
    .version = "1.0",
    .description = "TensorFlow: tf.distribute by TF_CONFIG",
    .capabilities = TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER | TRAINER_CAP_SUSPEND,
    .roles = roles,
    .targets = targets,
    .functions = &functions,
    .params_schema = schema,
    .reserved_env = reserved_env,
    .main_container = "tensorflow",
};

const struct trainer_plugin *trainer_plugin_describe(void) {
    return &plugin;
}
