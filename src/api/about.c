// What the server says about itself: runtimes, backends, limits, methods.
#include "api/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include "trainer/v1/service.pb-c.h"

#include <string.h>

static char *text(const char *t) {
    return (char *)(uintptr_t)(t != NULL ? t : "");
}

// ---- Runtimes
// ----------------------------------------------------------------------------------------------------------------------

struct names {
    struct arena *arena;
    char **items;
    size_t count, cap;
};

static void add_name(void *ctx, const char *name) {
    struct names *n = ctx;
    if (n->count < n->cap) {
        n->items[n->count++] = arena_strdup(n->arena, name);
    }
}

static bool among(const struct names *n, const char *name) {
    for (size_t i = 0; i < n->count; i++) {
        if (str_same(n->items[i], name)) {
            return true;
        }
    }
    return false;
}

static void put_targets(struct arena *a, struct flow *f, const char *backend, const struct runtime *r,
                        Trainer__V1__Runtime *m) {
    size_t n = 0;
    struct backend *const *all = NULL;
    size_t backends = flow_backends(f, &all);
    for (const struct trainer_target *t = r->plugin->targets; t->name != NULL; t++) {
        n++;
    }
    m->targets = ARENA_NEW_ARRAY(a, Trainer__V1__RuntimeTarget *, n);
    for (const struct trainer_target *t = r->plugin->targets; t->name != NULL; t++) {
        struct names served = {.arena = a, .items = ARENA_NEW_ARRAY(a, char *, backends), .cap = backends};
        Trainer__V1__RuntimeTarget *out = ARENA_NEW(a, Trainer__V1__RuntimeTarget);
        trainer__v1__runtime_target__init(out);
        out->name = text(t->name);
        out->kind = text(t->kind);
        out->available =
            flow_target_served(f, t, add_name, &served) && (str_is_empty(backend) || among(&served, backend));
        out->unavailable_reason = text(out->available          ? ""
                                       : str_is_empty(backend) ? "no backend of this server serves it"
                                                               : "that backend does not serve it");
        out->backends = served.items;
        out->n_backends = served.count;
        m->available = m->available || out->available;
        m->targets[m->n_targets++] = out;
    }
}

static void put_roles(struct arena *a, const struct runtime *r, Trainer__V1__Runtime *m) {
    static const Trainer__V1__RestartPolicy policies[] = {
        0, TRAINER__V1__RESTART_POLICY__NEVER, TRAINER__V1__RESTART_POLICY__ON_FAILURE,
        TRAINER__V1__RESTART_POLICY__ALWAYS, TRAINER__V1__RESTART_POLICY__EXIT_CODE};
    size_t n = 0;
    for (const struct trainer_role *role = r->plugin->roles; role->name != NULL; role++) {
        n++;
    }
    m->roles = ARENA_NEW_ARRAY(a, Trainer__V1__RuntimeRole *, n);
    for (const struct trainer_role *role = r->plugin->roles; role->name != NULL; role++) {
        Trainer__V1__RuntimeRole *out = ARENA_NEW(a, Trainer__V1__RuntimeRole);
        trainer__v1__runtime_role__init(out);
        out->name = text(role->name);
        out->description = text(role->description);
        out->required = role->required != 0;
        out->min_replicas = (int32_t)role->min_replicas;
        out->max_replicas = (int32_t)role->max_replicas;
        out->restart_policy = role->restart < ARRAY_LEN(policies) ? policies[role->restart] : 0;
        m->roles[m->n_roles++] = out;
    }
}

static void put_capabilities(struct arena *a, uint64_t bits, Trainer__V1__Runtime *m) {
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {{TRAINER_CAP_LOCAL, "local"},
                 {TRAINER_CAP_RENDER, "render"},
                 {TRAINER_CAP_ELASTIC, "elastic"},
                 {TRAINER_CAP_SCALE, "scale"},
                 {TRAINER_CAP_SUSPEND, "suspend"}};
    m->capabilities = ARENA_NEW_ARRAY(a, char *, ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if ((bits & names[i].bit) != 0) {
            m->capabilities[m->n_capabilities++] = text(names[i].name);
        }
    }
}

static void put_reserved(struct arena *a, const char *const *names, Trainer__V1__Runtime *m) {
    size_t n = 0;
    while (names != NULL && names[n] != NULL) {
        n++;
    }
    m->reserved_env = ARENA_NEW_ARRAY(a, char *, n);
    for (; m->n_reserved_env < n; m->n_reserved_env++) {
        m->reserved_env[m->n_reserved_env] = text(names[m->n_reserved_env]);
    }
}

static Trainer__V1__Runtime *runtime_message(struct arena *a, struct flow *f, const char *backend,
                                             const struct runtime *r) {
    const struct trainer_plugin *p = r->plugin;
    Trainer__V1__Runtime *m = ARENA_NEW(a, Trainer__V1__Runtime);
    trainer__v1__runtime__init(m);
    m->name = text(p->name);
    m->description = text(p->description);
    put_targets(a, f, backend, r, m);
    put_roles(a, r, m);
    put_capabilities(a, p->capabilities, m);
    put_reserved(a, p->reserved_env, m);
    m->unavailable_reason = text(m->available ? "" : "none of its targets is served");
    m->params_schema = text(p->params_schema);
    m->main_container = text(p->main_container);
    m->name_limit = runtime_name_limit(r, NULL, p->targets[0].name);
    Trainer__V1__PluginInfo *info = ARENA_NEW(a, Trainer__V1__PluginInfo);
    trainer__v1__plugin_info__init(info);
    info->file = text(r->file);
    info->version = text(p->version);
    info->abi = text(r->abi);
    info->built_with = text(p->built_with);
    info->isolated = r->isolated;
    m->plugin = info;
    return m;
}

void api_encode_runtime(struct flow *f, const struct runtime *r, struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    api_pack(&runtime_message(&a, f, NULL, r)->base, out);
}

void api_encode_runtimes(struct flow *f, const char *backend, struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    const struct plugins *plugins = flow_plugins(f);
    const struct plugin_failure *failures = NULL;
    size_t failed = plugins_failures(plugins, &failures);
    Trainer__V1__ListRuntimesResponse m = TRAINER__V1__LIST_RUNTIMES_RESPONSE__INIT;
    m.runtimes = ARENA_NEW_ARRAY(&a, Trainer__V1__Runtime *, plugins_count(plugins));
    for (size_t i = 0; i < plugins_count(plugins); i++) {
        m.runtimes[m.n_runtimes++] = runtime_message(&a, f, backend, plugins_at(plugins, i));
    }
    m.failures = ARENA_NEW_ARRAY(&a, Trainer__V1__PluginFailure *, failed);
    for (size_t i = 0; i < failed; i++) {
        Trainer__V1__PluginFailure *x = ARENA_NEW(&a, Trainer__V1__PluginFailure);
        trainer__v1__plugin_failure__init(x);
        x->file = text(failures[i].file);
        x->message = text(failures[i].message);
        m.failures[m.n_failures++] = x;
    }
    api_pack(&m.base, out);
}

// ---- The server
// --------------------------------------------------------------------------------------------------------------------

static Google__Protobuf__Timestamp *timestamp(struct arena *a, int64_t wall_ns) {
    Google__Protobuf__Timestamp *t = ARENA_NEW(a, Google__Protobuf__Timestamp);
    google__protobuf__timestamp__init(t);
    t->seconds = wall_ns / CLOCK_SECOND;
    t->nanos = (int32_t)(wall_ns % CLOCK_SECOND);
    return t;
}

static void put_limits(struct arena *a, const struct flow_limits *l, Trainer__V1__GetServerInfoResponse *m) {
    const struct {
        const char *name;
        int64_t value;
        const char *unit;
    } limits[] = {
        {"limits.max_jobs", l->max_jobs, "count"},
        {"limits.max_active_jobs", l->max_active_jobs, "count"},
        {"limits.max_watchers", l->max_watchers, "count"},
        {"limits.max_log_streams", l->max_log_streams, "count"},
        {"limits.max_message", l->max_spec_bytes, "bytes"},
        {"limits.feed_events", l->feed_events, "count"},
        {"limits.cancel_grace", l->cancel_grace_s, "seconds"},
        {"retention.age", l->retention_age_ns / CLOCK_SECOND, "seconds"},
        {"retention.jobs", l->retention_jobs, "count"},
        {"retention.transitions", l->retention_transitions, "count"},
    };
    m->limits = ARENA_NEW_ARRAY(a, Trainer__V1__Limit *, ARRAY_LEN(limits));
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        Trainer__V1__Limit *x = ARENA_NEW(a, Trainer__V1__Limit);
        trainer__v1__limit__init(x);
        x->name = text(limits[i].name);
        x->value = limits[i].value;
        x->unit = text(limits[i].unit);
        m->limits[m->n_limits++] = x;
    }
}

static void put_backends(struct arena *a, struct flow *f, Trainer__V1__GetServerInfoResponse *m) {
    struct backend *const *all = NULL;
    size_t n = flow_backends(f, &all);
    m->backends = ARENA_NEW_ARRAY(a, Trainer__V1__Backend *, n);
    for (size_t i = 0; i < n; i++) {
        struct backend_info info = {0};
        Trainer__V1__Backend *x = ARENA_NEW(a, Trainer__V1__Backend);
        trainer__v1__backend__init(x);
        all[i]->ops->info(all[i], &info);
        x->name = text(all[i]->name);
        x->kind = text(all[i]->ops->kind);
        x->healthy = info.healthy;
        x->message = arena_strdup(a, info.message != NULL ? info.message : "");
        x->cpu_slots_milli = info.cpu_slots_milli;
        x->cpu_slots_used_milli = info.cpu_slots_used_milli;
        x->gpu_slots = info.gpu_slots;
        x->gpu_slots_used = info.gpu_slots_used;
        x->queued_jobs = info.queued_jobs;
        x->running_jobs = info.running_jobs;
        m->backends[m->n_backends++] = x;
    }
}

void api_encode_server_info(struct flow *f, const struct api_method_live *methods, size_t method_count,
                            struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    struct flow_info info;
    flow_info(f, &info);
    Trainer__V1__GetServerInfoResponse m = TRAINER__V1__GET_SERVER_INFO_RESPONSE__INIT;
    m.version = text(TRAINERD_VERSION);
    m.epoch = text(info.epoch);
    m.oldest_sequence = info.oldest_sequence;
    m.newest_sequence = info.newest_sequence;
    m.start_time = timestamp(&a, info.started_ns);
    m.server_time = timestamp(&a, clock_wall());
    m.jobs = info.jobs;
    m.active_jobs = info.active_jobs;
    m.watchers = info.watchers;
    m.journal_error = text(info.journal_problem);
    put_limits(&a, info.limits, &m);
    put_backends(&a, f, &m);
    m.methods = ARENA_NEW_ARRAY(&a, Trainer__V1__Method *, method_count);
    for (size_t i = 0; i < method_count; i++) {
        Trainer__V1__Method *x = ARENA_NEW(&a, Trainer__V1__Method);
        trainer__v1__method__init(x);
        x->name = text(methods[i].name);
        x->live = methods[i].live;
        m.methods[m.n_methods++] = x;
    }
    api_pack(&m.base, out);
}
