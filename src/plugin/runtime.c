// The calls of a runtime. What a plugin gives back is checked: its mistakes become one INTERNAL error that names it.
#include "plugin/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

static const struct entry *entry_of(const struct runtime *r) {
    return CONTAINER_OF(r, const struct entry, runtime);
}

// One call under way.
struct call {
    const struct runtime *runtime;
    const char *function;
    int64_t began;
    struct err found; // what the plugin reports
    struct trainer_errors errors;
};

static void begin(struct call *c, const struct runtime *r, const char *function, const struct json *tree) {
    *c = (struct call){.runtime = r, .function = function, .began = clock_mono()};
    c->errors = (struct trainer_errors){.err = &c->found, .tree = tree};
}

static bool fault(const struct call *c, struct err *err, const char *what) {
    const char *name = c->runtime->plugin->name;
    err_fail(err, ERR_INTERNAL, "PLUGIN_FAULT", "plugin %s is at fault: %s %s", name, c->function, what);
    err_fact(err, "plugin", name);
    return false;
}

// The end of every call: what it took, what it reported, whether its answer can be believed.
static bool end(struct call *c, int32_t status, struct err *err) {
    CLEANUP(err_done) struct err found = c->found;
    int64_t ms = (clock_mono() - c->began) / CLOCK_MS;
    if (ms > PLUGIN_BUDGET_MS) {
        log_warn("plugin", "%s: %s took %lld ms, more than %d: the daemon stood still meanwhile",
                 c->runtime->plugin->name, c->function, (long long)ms, PLUGIN_BUDGET_MS);
    }
    if (c->errors.failed) {
        err_move(err, &found);
        return false;
    }
    return status == TRAINER_OK || fault(c, err, "failed without saying why");
}

bool runtime_validate(const struct runtime *r, const struct job_spec *spec, struct arena *a,
                      const struct json **ret_tree, struct err *err) {
    static const struct json no_params = {.type = JSON_OBJECT};
    const struct entry *e = entry_of(r);
    const struct json *tree = spec_canonical(r, spec, a, err);
    // The verdict of both checks is in err, with all they found.
    bool params_ok = schema_check(r->params_schema, spec->params != NULL ? spec->params : &no_params, "params", err);
    if (!params_ok || err_set(err)) {
        return false;
    }
    struct call c;
    begin(&c, r, "validate", tree);
    int32_t status =
        e->functions->validate(&e->host, r->self, (const struct trainer_value *)(const void *)tree, &c.errors);
    if (!end(&c, status, err)) {
        return false;
    }
    *ret_tree = tree;
    return true;
}

// ---- Calls that write

static bool take_document(const struct call *c, struct trainer_writer *w, struct str *out, struct err *err) {
    if (w->out.len > w->limit) {
        w->too_large = true;
    }
    if (w->wrong[0] != '\0') {
        return fault(c, err, w->wrong);
    }
    if (w->too_large) {
        return fault(c, err, "wrote more than 1 MiB");
    }
    if (!json_writer_ok(&w->json) || w->out.len == 0) {
        return fault(c, err, w->out.len == 0 ? "wrote nothing" : "wrote JSON that is not well-formed");
    }
    str_add_bytes(out, w->out.data, w->out.len);
    return true;
}

static bool take_plan(const struct call *c, struct trainer_writer *w, struct str *out, struct err *err) {
    plan_finish(w->plan, w);
    if (w->too_large || w->out.len > w->limit) {
        return err_fail(err, ERR_EXHAUSTED, "PLAN_TOO_LARGE",
                        "the plan of runtime %s for this job is too large (4 MiB in all, 128 KiB for one variable): "
                        "use fewer replicas or a smaller environment",
                        c->runtime->plugin->name);
    }
    if (w->wrong[0] != '\0') {
        return fault(c, err, w->wrong);
    }
    str_add_bytes(out, w->out.data, w->out.len);
    return true;
}

bool runtime_plan_local(const struct runtime *r, const struct json *tree, struct str *out, struct err *err) {
    const struct entry *e = entry_of(r);
    if ((r->plugin->capabilities & TRAINER_CAP_LOCAL) == 0) {
        return err_fail(err, ERR_PRECONDITION, "NO_LOCAL", "runtime %s cannot run as local processes", r->plugin->name);
    }
    struct call c;
    struct trainer_writer w;
    writer_init(&w, PLUGIN_PLAN_MAX);
    w.plan = plan_new(tree);
    w.to = NULL;
    json_begin_object(&w.json);
    json_key(&w.json, "processes");
    json_begin_array(&w.json);
    begin(&c, r, "plan_local", tree);
    int32_t status =
        e->functions->plan_local(&e->host, r->self, (const struct trainer_value *)(const void *)tree, &w, &c.errors);
    bool ok = end(&c, status, err) && take_plan(&c, &w, out, err);
    plan_free(w.plan);
    writer_done(&w);
    return ok;
}

typedef int32_t write_fn(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *in,
                         const char *target, struct trainer_writer *w, struct trainer_errors *errors);

static bool call_write(const struct runtime *r, const char *function, write_fn *fn, const struct json *in,
                       const char *target, struct str *out, struct err *err) {
    const struct entry *e = entry_of(r);
    if ((r->plugin->capabilities & TRAINER_CAP_RENDER) == 0) {
        return err_fail(err, ERR_PRECONDITION, "NO_RENDER", "runtime %s has no objects of a cluster", r->plugin->name);
    }
    struct call c;
    struct trainer_writer w;
    writer_init(&w, PLUGIN_OUTPUT_MAX);
    begin(&c, r, function, in);
    int32_t status = fn(&e->host, r->self, (const struct trainer_value *)(const void *)in, target, &w, &c.errors);
    bool ok = end(&c, status, err) && take_document(&c, &w, out, err);
    writer_done(&w);
    return ok;
}

bool runtime_render(const struct runtime *r, const struct json *tree, const char *target, struct str *out,
                    struct err *err) {
    return call_write(r, "render", entry_of(r)->functions->render, tree, target, out, err);
}

bool runtime_observe(const struct runtime *r, const struct json *object, const char *target, struct str *out,
                     struct err *err) {
    return call_write(r, "observe", entry_of(r)->functions->observe, object, target, out, err);
}

bool runtime_has_target(const struct runtime *r, const char *target) {
    for (const struct trainer_target *t = r->plugin->targets; t->name != NULL; t++) {
        if (str_same(t->name, target)) {
            return true;
        }
    }
    return false;
}
