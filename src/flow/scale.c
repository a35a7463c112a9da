// Scale: another number of replicas for a job that is there, where its kind, its runtime and its own bounds allow it.
#include "flow/internal.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

enum { REPLICAS_MAX = 10000 };

struct scaling {
    struct flow_op op; // first: what flow_op_cancel gets
    struct job *job;   // a reference
};

static const char *kind_of(const struct runtime *r, const char *target) {
    for (const struct trainer_target *t = r->plugin->targets; t->name != NULL; t++) {
        if (str_same(t->name, target)) {
            return t->kind;
        }
    }
    return "";
}

// The role that the backend can scale; NULL and an error when there is none.
static const char *scalable_role(const struct job *job, const struct runtime *r, struct backend *b, struct err *err) {
    const char *role = NULL;
    if (r != NULL && b->ops->scales != NULL && (r->plugin->capabilities & TRAINER_CAP_SCALE) != 0) {
        role = b->ops->scales(b, job->target, kind_of(r, job->target));
    }
    if (role == NULL) {
        err_fail(err, ERR_PRECONDITION, "NOT_SCALABLE",
                 "runtime %s on target %s cannot scale: cancel the job and submit one of the other size", job->runtime,
                 job->target);
    }
    return role;
}

static const struct spec_role *find_role(const struct job_spec *spec, const char *name) {
    for (size_t i = 0; i < spec->role_count; i++) {
        if (str_same_nocase(spec->roles[i].name, name)) {
            return &spec->roles[i];
        }
    }
    return NULL;
}

// Longer numbers make longer names of pods.
static bool check_name(const struct job *job, const struct runtime *r, const struct spec_role *role, int32_t replicas,
                       struct err *err) {
    CLEANUP(arena_done) struct arena a = {0};
    struct job_spec scaled = *job->spec;
    scaled.roles = ARENA_NEW_ARRAY(&a, struct spec_role, scaled.role_count);
    memcpy(scaled.roles, job->spec->roles, scaled.role_count * sizeof *scaled.roles);
    scaled.roles[role - job->spec->roles].replicas = replicas;
    int32_t limit = runtime_name_limit(r, &scaled, job->target);
    return limit <= 0 || strlen(job->name) <= (size_t)limit ||
           err_violate(err, "replicas",
                       "is %d: the job's name has %zu characters, with so many replicas %d are allowed", replicas,
                       strlen(job->name), limit);
}

static bool check_bounds(const struct job *job, const struct runtime *r, int32_t replicas, struct err *err) {
    const struct job_spec *spec = job->spec;
    bool waits = job->head->state == JOB_SUSPENDED;
    if (spec->elastic_max != 0 && replicas < spec->elastic_min) {
        return err_violate(err, "replicas", "is %d, less than elastic.min (%d)", replicas, spec->elastic_min);
    }
    if (spec->elastic_max != 0 && replicas > spec->elastic_max) {
        return err_violate(err, "replicas", "is %d, more than elastic.max (%d)", replicas, spec->elastic_max);
    }
    if (spec->elastic_max == 0 && (r->plugin->capabilities & TRAINER_CAP_ELASTIC) != 0 && !waits) {
        return err_fail(err, ERR_PRECONDITION, "NOT_ELASTIC",
                        "job %s is not elastic: its processes learn their number when they start. Suspend it first, or "
                        "submit it with elastic bounds",
                        job->name);
    }
    return true;
}

static bool check(const struct job *job, const struct runtime *r, struct backend *b, const char *role, int32_t replicas,
                  struct err *err) {
    enum job_state s = job->head->state;
    if (replicas < 1 || replicas > REPLICAS_MAX) {
        return err_violate(err, "replicas", "is %d, must be from 1 to %d (to stop a job, suspend or cancel it)",
                           replicas, REPLICAS_MAX);
    }
    if (job_state_terminal(s) || s == JOB_CANCELING || job->spec == NULL) {
        return err_fail(err, ERR_PRECONDITION, "JOB_OVER", "job %s is %s: there is nothing to scale", job->name,
                        job_state_name(s));
    }
    const char *able = scalable_role(job, r, b, err);
    if (able == NULL) {
        return false;
    }
    if (!str_is_empty(role) && !str_same_nocase(role, able)) {
        return err_violate(err, "role", "is \"%.64s\"; of this job only %s can be scaled", role, able);
    }
    const struct spec_role *there = find_role(job->spec, able);
    if (there == NULL) {
        return err_violate(err, "role", "the job has no role %s that could get more replicas", able);
    }
    return check_bounds(job, r, replicas, err) && check_name(job, r, there, replicas, err);
}

// ---- The answer

static void drop(void *ctx) {
    struct scaling *s = ctx;
    job_unref(s->job);
    mem_free(s);
}

static void on_scaled(void *ctx, const struct err *err) {
    struct scaling *s = ctx;
    if (s->op.fn.job != NULL) {
        s->op.fn.job(s->op.fn_ctx, err == NULL ? s->job : NULL, err);
    }
    drop(s);
}

static void cancel(struct flow_op *op) {
    op->fn.job = NULL; // the cluster does it all the same; it is freed with its answer
}

struct flow_op *flow_scale(struct flow *f, struct job *job, const char *role, int32_t replicas, flow_job_fn *fn,
                           void *ctx) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct runtime *r = plugins_find(f->plugins, job->runtime);
    struct backend *b = flow_backend_find(f, job->backend);
    if (b == NULL) {
        err_fail(&err, ERR_PRECONDITION, "NO_BACKEND", "backend %s of job %s is not configured", job->backend,
                 job->name);
    } else {
        (void)check(job, r, b, role, replicas, &err);
    }
    if (err_set(&err)) {
        fn(ctx, NULL, &err);
        return NULL;
    }
    struct scaling *s = NEW(struct scaling);
    *s = (struct scaling){.op = {.cancel = cancel, .fn.job = fn, .fn_ctx = ctx}, .job = job_ref(job)};
    flow_resize(f, b, job->uid, replicas, on_scaled, drop, s);
    return &s->op;
}
