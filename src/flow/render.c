// Render: what a spec becomes on each target. Pure: nothing is asked of any backend but which targets it serves.
#include "flow/internal.h"

#include "base/str.h"

struct rendering {
    struct flow *flow;
    const struct job_spec *spec;
    const struct json *tree;
    struct flow_choice chosen;
    void (*each)(void *ctx, const struct flow_rendered *r);
    void *ctx;
};

static bool render_text(const struct rendering *r, const char *target, struct str *out, struct err *err) {
    if (str_same(target, "local")) {
        struct backend_plan *plan = NULL;
        if (!flow_plan_make(r->chosen.runtime, r->spec, r->tree, &plan, err)) {
            return false;
        }
        str_add(out, plan->json);
        backend_plan_unref(plan);
        return true;
    }
    return runtime_render(r->chosen.runtime, r->tree, target, out, err);
}

static void render_one(const struct rendering *r, const struct trainer_target *t) {
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    bool ok = render_text(r, t->name, &text, &err);
    const struct flow_rendered out = {.target = t->name,
                                      .kind = t->kind,
                                      .json = ok ? str_text(&text) : "",
                                      .error = ok ? NULL : err.message,
                                      .chosen = str_same(t->name, r->chosen.target)};
    r->each(r->ctx, &out);
}

static void no_warning(void *ctx UNUSED, const char *text UNUSED) {
}

bool flow_render(struct flow *f, const struct job_spec *spec, const char *target,
                 void (*each)(void *ctx, const struct flow_rendered *r), void (*warn)(void *ctx, const char *text),
                 void *ctx, struct err *err) {
    struct rendering r = {.flow = f, .spec = spec, .each = each, .ctx = ctx};
    if (!flow_choose(f, spec, &r.chosen, err)) {
        return false;
    }
    bool all = str_same(target, "*");
    const char *only = str_is_empty(target) ? r.chosen.target : target;
    if (!all && !runtime_has_target(r.chosen.runtime, only)) {
        return err_violate(err, "target", "runtime %s has no target \"%.64s\"", spec->runtime, only);
    }
    CLEANUP(arena_done) struct arena a = {0};
    if (!runtime_validate(r.chosen.runtime, spec, &a, &r.tree, err)) {
        return false;
    }
    if (warn == NULL) {
        warn = no_warning;
    }
    for (const struct trainer_target *t = r.chosen.runtime->plugin->targets; t->name != NULL; t++) {
        if (all || str_same(t->name, only)) {
            render_one(&r, t);
        }
    }
    if (!all && !str_same(only, r.chosen.target)) {
        warn(ctx, "no backend of this server serves that target");
    }
    return true;
}
