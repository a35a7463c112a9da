/* A plugin that is right in everything; each file here changes one thing and is wrong by that. Later members of an
 * initializer win, so DESCRIBE(.magic = 0) is the good one with another magic. */
#ifndef GOOD_H
#define GOOD_H

#include "trainer_plugin.h"

static int32_t good_validate(const struct trainer_host *host, struct trainer_self *self,
                             const struct trainer_value *spec, struct trainer_errors *errors) {
    (void)host;
    (void)self;
    (void)spec;
    (void)errors;
    return TRAINER_OK;
}

static int32_t good_plan_local(const struct trainer_host *host, struct trainer_self *self,
                               const struct trainer_value *spec, struct trainer_writer *w,
                               struct trainer_errors *errors) {
    const struct trainer_value *worker = host->get(spec, "roles[name=worker]");
    (void)self;
    (void)errors;
    for (int64_t i = 0; i < host->replicas(spec, "worker"); i++) {
        host->plan_process(w, worker, i, i, 1);
        host->plan_process_end(w);
    }
    return TRAINER_OK;
}

static const struct trainer_role good_roles[] = {
    {"worker", "does the work", 1, 1, 0, TRAINER_RESTART_NEVER},
    {NULL, NULL, 0, 0, 0, 0},
};

static const struct trainer_target good_targets[] = {{"local", "processes", ""}, {NULL, NULL, NULL}};

static const struct trainer_functions good_functions = {.validate = good_validate, .plan_local = good_plan_local};

#define DESCRIBE(...)                                                                                                  \
    static const struct trainer_plugin plugin = {TRAINER_PLUGIN_HEAD,                                                  \
                                                 .built_with = "a compiler",                                           \
                                                 .name = "good",                                                       \
                                                 .version = "1.0",                                                     \
                                                 .description = "right in everything",                                 \
                                                 .capabilities = TRAINER_CAP_LOCAL,                                    \
                                                 .roles = good_roles,                                                  \
                                                 .targets = good_targets,                                              \
                                                 .functions = &good_functions,                                         \
                                                 __VA_ARGS__};                                                         \
    const struct trainer_plugin *trainer_plugin_describe(void) {                                                       \
        return &plugin;                                                                                                \
    }

#endif
