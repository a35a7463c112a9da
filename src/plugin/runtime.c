// The runtime's view of a spec: what can be said from its descriptor, then what its plugin says, wherever that runs.
#include "plugin/internal.h"

#include "base/str.h"

static const struct entry *entry_of(const struct runtime *r) {
    return CONTAINER_OF(r, const struct entry, runtime);
}

static bool call(const struct runtime *r, enum call_kind kind, const struct json *in, const char *target,
                 struct str *out, struct err *err) {
    const struct entry *e = entry_of(r);
    return e->isolate != NULL ? isolate_call(e, kind, in, target, out, err)
                              : call_direct(e, kind, in, target, out, err);
}

bool runtime_validate(const struct runtime *r, const struct job_spec *spec, struct arena *a,
                      const struct json **ret_tree, struct err *err) {
    static const struct json no_params = {.type = JSON_OBJECT};
    const struct json *tree = spec_canonical(r, spec, a, err);
    // The verdict of both checks is in err, with all they found.
    bool params_ok = schema_check(r->params_schema, spec->params != NULL ? spec->params : &no_params, "params", err);
    if (!params_ok || err_set(err) || !call(r, CALL_VALIDATE, tree, NULL, NULL, err)) {
        return false;
    }
    *ret_tree = tree;
    return true;
}

bool runtime_plan_local(const struct runtime *r, const struct json *tree, struct str *out, struct err *err) {
    if ((r->plugin->capabilities & TRAINER_CAP_LOCAL) == 0) {
        return err_fail(err, ERR_PRECONDITION, "NO_LOCAL", "runtime %s cannot run as local processes", r->plugin->name);
    }
    return call(r, CALL_PLAN_LOCAL, tree, NULL, out, err);
}

static bool check_render(const struct runtime *r, struct err *err) {
    return (r->plugin->capabilities & TRAINER_CAP_RENDER) != 0 ||
           err_fail(err, ERR_PRECONDITION, "NO_RENDER", "runtime %s has no objects of a cluster", r->plugin->name);
}

bool runtime_render(const struct runtime *r, const struct json *tree, const char *target, struct str *out,
                    struct err *err) {
    return check_render(r, err) && call(r, CALL_RENDER, tree, target, out, err);
}

bool runtime_observe(const struct runtime *r, const struct json *object, const char *target, struct str *out,
                     struct err *err) {
    return check_render(r, err) && call(r, CALL_OBSERVE, object, target, out, err);
}

bool runtime_has_target(const struct runtime *r, const char *target) {
    for (const struct trainer_target *t = r->plugin->targets; t->name != NULL; t++) {
        if (str_same(t->name, target)) {
            return true;
        }
    }
    return false;
}
