// The plugin's functions, called in this process. What comes back is checked: a plugin's mistakes become one INTERNAL
// error that names it.
#include "plugin/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

static const struct trainer_value *value_of(const struct json *json) {
    return (const struct trainer_value *)(const void *)json;
}

const char *call_name(enum call_kind kind) {
    static const char *const names[] = {
        [CALL_VALIDATE] = "validate",
        [CALL_PLAN_LOCAL] = "plan_local",
        [CALL_RENDER] = "render",
        [CALL_OBSERVE] = "observe",
    };
    return names[kind];
}

bool call_fault(const struct entry *e, const char *function, const char *what, struct err *err) {
    const char *name = e->runtime.plugin->name;
    err_fail(err, ERR_INTERNAL, "PLUGIN_FAULT", "plugin %s is at fault: %s %s", name, function, what);
    err_fact(err, "plugin", name);
    return false;
}

bool call_create(struct entry *e, const struct json *config, struct err *err) {
    CLEANUP(err_done) struct err found = ERR_INIT;
    struct trainer_errors errors = {.err = &found};
    if (e->functions->create == NULL) {
        return true;
    }
    int32_t status = e->functions->create(&e->host, value_of(config), &e->runtime.self, &errors);
    if (errors.failed) {
        return err_fail(err, ERR_PRECONDITION, "BAD_PLUGIN", "create failed: %s", found.message);
    }
    return status == TRAINER_OK || err_fail(err, ERR_PRECONDITION, "BAD_PLUGIN", "create failed without saying why");
}

// ---- What was written

static bool take_document(const struct entry *e, enum call_kind kind, struct trainer_writer *w, struct str *out,
                          struct err *err) {
    if (w->wrong[0] != '\0') {
        return call_fault(e, call_name(kind), w->wrong, err);
    }
    if (w->too_large || w->out.len > w->limit) {
        return call_fault(e, call_name(kind), "wrote more than 1 MiB", err);
    }
    if (w->out.len == 0) {
        return call_fault(e, call_name(kind), "wrote nothing", err);
    }
    if (!json_writer_ok(&w->json)) {
        return call_fault(e, call_name(kind), "wrote JSON that is not well-formed", err);
    }
    str_add_bytes(out, w->out.data, w->out.len);
    return true;
}

static bool take_plan(const struct entry *e, struct trainer_writer *w, struct str *out, struct err *err) {
    plan_finish(w->plan, w);
    if (w->too_large || w->out.len > w->limit) {
        return err_fail(err, ERR_EXHAUSTED, "PLAN_TOO_LARGE",
                        "the plan of runtime %s for this job is too large (4 MiB in all, 128 KiB for one variable): "
                        "use fewer replicas or a smaller environment",
                        e->runtime.plugin->name);
    }
    if (w->wrong[0] != '\0') {
        return call_fault(e, call_name(CALL_PLAN_LOCAL), w->wrong, err);
    }
    str_add_bytes(out, w->out.data, w->out.len);
    return true;
}

// ---- The call

static void open_output(struct trainer_writer *w, enum call_kind kind, const struct json *in) {
    writer_init(w, kind == CALL_PLAN_LOCAL ? PLUGIN_PLAN_MAX : PLUGIN_OUTPUT_MAX);
    if (kind == CALL_PLAN_LOCAL) {
        w->plan = plan_new(in);
        w->to = NULL;
        json_begin_object(&w->json);
        json_key(&w->json, "processes");
        json_begin_array(&w->json);
    }
}

static int32_t run(const struct entry *e, enum call_kind kind, const struct json *in, const char *target,
                   struct trainer_writer *w, struct trainer_errors *errors) {
    const struct trainer_functions *f = e->functions;
    struct trainer_self *self = e->runtime.self;
    switch (kind) {
    case CALL_VALIDATE:
        return f->validate(&e->host, self, value_of(in), errors);
    case CALL_PLAN_LOCAL:
        return f->plan_local(&e->host, self, value_of(in), w, errors);
    case CALL_RENDER:
        return f->render(&e->host, self, value_of(in), target, w, errors);
    case CALL_OBSERVE:
        return f->observe(&e->host, self, value_of(in), target, w, errors);
    }
    return TRAINER_FAILED;
}

static void note_time(const struct entry *e, enum call_kind kind, int64_t began) {
    int64_t ms = (clock_mono() - began) / CLOCK_MS;
    if (ms > PLUGIN_BUDGET_MS) {
        log_warn("plugin", "%s: %s took %lld ms, more than %d: the daemon stood still meanwhile",
                 e->runtime.plugin->name, call_name(kind), (long long)ms, PLUGIN_BUDGET_MS);
    }
}

bool call_direct(const struct entry *e, enum call_kind kind, const struct json *in, const char *target, struct str *out,
                 struct err *err) {
    CLEANUP(err_done) struct err found = ERR_INIT;
    struct trainer_errors errors = {.err = &found, .tree = kind != CALL_OBSERVE ? in : NULL};
    struct trainer_writer w;
    open_output(&w, kind, in);
    int64_t began = clock_mono();
    int32_t status = run(e, kind, in, target, &w, &errors);
    note_time(e, kind, began);
    bool ok;
    if (errors.failed) {
        err_move(err, &found);
        ok = false;
    } else if (status != TRAINER_OK) {
        ok = call_fault(e, call_name(kind), "failed without saying why", err);
    } else if (kind == CALL_VALIDATE) {
        ok = true;
    } else {
        ok = kind == CALL_PLAN_LOCAL ? take_plan(e, &w, out, err) : take_document(e, kind, &w, out, err);
    }
    plan_free(w.plan);
    writer_done(&w);
    return ok;
}
