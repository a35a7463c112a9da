// Which runtime, backend and target a spec gets, or a sentence on why none.
#include "flow/internal.h"

#include "base/str.h"

#include <assert.h>

bool flow_backend_serves(struct backend *b, const struct trainer_target *target) {
    const char *why = NULL;
    for (size_t i = 0; b->ops->targets[i] != NULL; i++) {
        if (str_same(b->ops->targets[i], target->name)) {
            return b->ops->serves == NULL || b->ops->serves(b, target->name, target->kind, &why);
        }
    }
    return false;
}

bool flow_target_served(struct flow *f, const struct trainer_target *target,
                        void (*each)(void *ctx, const char *backend), void *ctx) {
    bool served = false;
    for (size_t i = 0; i < f->backend_count; i++) {
        if (flow_backend_serves(f->backends[i], target)) {
            served = true;
            each(ctx, f->backends[i]->name);
        }
    }
    return served;
}

struct backend *flow_backend_find(struct flow *f, const char *name) {
    if (str_is_empty(name)) {
        return f->backends[0];
    }
    for (size_t i = 0; i < f->backend_count; i++) {
        if (str_same(f->backends[i]->name, name)) {
            return f->backends[i];
        }
    }
    return NULL;
}

static void unknown_runtime(struct flow *f, const char *name, struct err *err) {
    CLEANUP(str_done) struct str known = STR_INIT;
    for (size_t i = 0; i < plugins_count(f->plugins); i++) {
        str_printf(&known, "%s%s", i == 0 ? "" : ", ", plugins_at(f->plugins, i)->plugin->name);
    }
    const char *nearest = plugins_nearest(f->plugins, name);
    if (nearest != NULL) {
        err_violate(err, "runtime", "unknown runtime \"%.64s\", did you mean \"%s\"? (there are: %s)", name, nearest,
                    str_text(&known));
    } else {
        err_violate(err, "runtime", "unknown runtime \"%.64s\" (there are: %s)", name, str_text(&known));
    }
}

static void unknown_backend(struct flow *f, const char *name, struct err *err) {
    CLEANUP(str_done) struct str known = STR_INIT;
    for (size_t i = 0; i < f->backend_count; i++) {
        assert(f->backends[i] != NULL);
        str_printf(&known, "%s%s", i == 0 ? "" : ", ", f->backends[i]->name);
    }
    err_violate(err, "backend", "unknown backend \"%.64s\" (there are: %s)", name, str_text(&known));
}

bool flow_choose(struct flow *f, const struct job_spec *spec, struct flow_choice *ret, struct err *err) {
    if (spec->manifest != NULL) {
        return err_fail(err, ERR_PRECONDITION, "NO_CLUSTER",
                        "a manifest needs a Kubernetes backend and this server has none");
    }
    struct flow_choice c = {.runtime = plugins_find(f->plugins, spec->runtime),
                            .backend = flow_backend_find(f, spec->backend)};
    if (c.runtime == NULL) {
        unknown_runtime(f, spec->runtime, err);
    }
    if (c.backend == NULL) {
        unknown_backend(f, spec->backend, err);
    }
    if (c.runtime == NULL || c.backend == NULL) {
        return false;
    }
    if (spec->target != NULL && !runtime_has_target(c.runtime, spec->target)) {
        return err_violate(err, "target", "runtime %s has no target \"%.64s\"", spec->runtime, spec->target);
    }
    for (const struct trainer_target *t = c.runtime->plugin->targets; t->name != NULL; t++) {
        bool pinned_elsewhere = spec->target != NULL && !str_same(spec->target, t->name);
        if (!pinned_elsewhere && flow_backend_serves(c.backend, t)) {
            c.target = t->name;
            c.kind = t->kind;
            *ret = c;
            return true;
        }
    }
    return err_fail(err, ERR_PRECONDITION, "TARGET_NOT_SERVED", "backend %s serves no target of runtime %s%s%s",
                    c.backend->name, spec->runtime, spec->target != NULL ? ": it does not have " : "",
                    spec->target != NULL ? spec->target : "");
}
