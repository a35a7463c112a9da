// Submit: from a parsed spec to a durable job, and from there to its backend.
#include "flow/internal.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { WARNINGS_MAX = 64, NAME_TRIES = 8 };

struct warnings {
    struct arena *arena;
    const char *texts[WARNINGS_MAX];
    size_t count, more; // more: that had no place
};

static void warn(void *ctx, const char *text) {
    struct warnings *w = ctx;
    if (w->count < WARNINGS_MAX - 1) {
        w->texts[w->count++] = arena_strdup(w->arena, text);
    } else {
        w->more++;
    }
}

static void count_rest(struct warnings *w) {
    if (w->more != 0) {
        w->texts[w->count++] = arena_printf(w->arena, "and %zu warnings more", w->more);
    }
}

// ---- Everything that is decided before anything is made
// ---------------------------------------------------------------------------

struct prepared {
    struct flow_choice choice;
    struct backend_plan *plan;
    struct arena arena;
    struct warnings warnings;
};

static void prepared_done(struct prepared *p) {
    backend_plan_unref(p->plan);
    arena_done(&p->arena);
}

static bool check_name_length(const struct prepared *p, const struct job_spec *spec, struct err *err) {
    int32_t limit = runtime_name_limit(p->choice.runtime, spec, p->choice.target);
    size_t extra = spec->name != NULL ? 0 : 1 + ID_SUFFIX_LEN;
    const char *given = spec->name != NULL ? spec->name : spec->name_prefix;
    size_t length = strlen(given) + extra;
    if (limit > 0 && length > (size_t)limit) {
        return err_violate(err, spec->name != NULL ? "name" : "name_prefix",
                           "makes a name of %zu characters; %s on %s allows %d with these roles", length,
                           p->choice.runtime->plugin->name, p->choice.target, limit);
    }
    return true;
}

static bool in_cluster(const struct flow_choice *c) {
    return c->backend->ops->create != NULL;
}

static bool prepare(struct flow *f, const struct job_spec *spec, const char *name, struct prepared *ret,
                    struct err *err) {
    *ret = (struct prepared){0};
    arena_init(&ret->arena, 0);
    ret->warnings.arena = &ret->arena;
    const struct json *tree = NULL;
    if (!flow_choose(f, spec, &ret->choice, err)) {
        return false;
    }
    flow_refuse_unsupported(spec, &ret->choice, err);
    if (err_set(err) || !runtime_validate(ret->choice.runtime, spec, &ret->arena, &tree, err) ||
        !check_name_length(ret, spec, err)) {
        return false;
    }
    if (in_cluster(&ret->choice)) {
        return flow_plan_render(ret->choice.runtime, tree, ret->choice.target, name, &ret->plan, err);
    }
    flow_warn_ignored(spec, warn, &ret->warnings);
    struct backend *b = ret->choice.backend;
    bool ok = flow_plan_make(ret->choice.runtime, spec, tree, &ret->plan, err) &&
              b->ops->check(b, ret->plan, warn, &ret->warnings, err);
    count_rest(&ret->warnings);
    return ok;
}

// ---- Idempotency
// --------------------------------------------------------------------------------------------------------------------

// true: *ret is the job of an earlier call with the same key, or NULL.
static bool find_duplicate(struct flow *f, const struct job_spec *spec, const char *request_id, struct job **ret,
                           struct err *err) {
    *ret = NULL;
    if (str_is_empty(request_id)) {
        return true;
    }
    const char *hash = NULL;
    const char *uid = NULL;
    struct job *job = job_table_by_request(f->table, spec->namespace_, request_id);
    if (job != NULL) {
        hash = job->spec_hash;
        uid = job->uid;
    } else if ((uid = store_request_uid(f->store, spec->namespace_, request_id, &hash)) == NULL) {
        return true;
    }
    if (!str_same(hash, spec->hash)) {
        err_fail(err, ERR_EXISTS, "REQUEST_ID_REUSED", "request_id \"%s\" was used with another spec, for job %s (%s)",
                 request_id, job != NULL ? job->name : "that has been deleted", uid);
        err_resource(err, "trainer.v1.Job", uid);
        return false;
    }
    if (job == NULL) {
        err_fail(err, ERR_EXISTS, "REQUEST_ID_DELETED",
                 "request_id \"%s\" was used for job %s, which has been deleted; use another to run it again",
                 request_id, uid);
        err_resource(err, "trainer.v1.Job", uid);
        return false;
    }
    *ret = job;
    return true;
}

// ---- Limits
// -------------------------------------------------------------------------------------------------------------------------

static bool admit_journal(struct flow *f, struct err *err) {
    const char *problem = store_problem(f->store);
    if (problem == NULL) {
        return true;
    }
    if (store_full(f->store)) {
        err_fail(err, ERR_EXHAUSTED, "JOURNAL_FULL", "no new jobs while the journal has no space: %s", problem);
    } else {
        err_fail(err, ERR_UNAVAILABLE, "JOURNAL_UNAVAILABLE", "no new jobs while the journal cannot be written: %s",
                 problem);
    }
    err->retry_after_ms = 5000;
    return false;
}

static bool admit(struct flow *f, struct err *err) {
    if (f->draining) {
        return err_fail(err, ERR_UNAVAILABLE, "SHUTTING_DOWN",
                        "the server is shutting down, try again on its successor");
    }
    if (!admit_journal(f, err)) {
        return false;
    }
    const struct {
        int64_t have, limit;
        const char *name;
    } limits[] = {{(int64_t)job_table_active_count(f->table), f->limits.max_active_jobs, "limits.max_active_jobs"},
                  {(int64_t)job_table_count(f->table), f->limits.max_jobs, "limits.max_jobs"}};
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        if (limits[i].have >= limits[i].limit) {
            err_fail(err, ERR_EXHAUSTED, "LIMIT_REACHED", "%lld jobs, and %s is %lld: try again when some have ended",
                     (long long)limits[i].have, limits[i].name, (long long)limits[i].limit);
            err_fact(err, "limit", limits[i].name);
            err->retry_after_ms = 1000;
            return false;
        }
    }
    return true;
}

static bool name_is_free(struct flow *f, const struct job_spec *spec, struct err *err) {
    struct job *other = spec->name != NULL ? job_table_by_name(f->table, spec->namespace_, spec->name) : NULL;
    if (other == NULL) {
        return true;
    }
    err_fail(err, ERR_EXISTS, "NAME_TAKEN",
             "a job named %s exists in namespace %s (%s); delete it, or use name_prefix to get a new name each time",
             spec->name, spec->namespace_, job_state_name(other->head != NULL ? other->head->state : JOB_PENDING));
    err_resource(err, "trainer.v1.Job", other->uid);
    return false;
}

static bool pick_name(struct flow *f, const struct job_spec *spec, char *out, size_t size, struct err *err) {
    if (spec->name != NULL) {
        snprintf(out, size, "%s", spec->name);
        return true;
    }
    for (int i = 0; i < NAME_TRIES; i++) {
        char suffix[ID_SUFFIX_LEN + 1];
        id_suffix(suffix);
        snprintf(out, size, "%s-%s", spec->name_prefix, suffix);
        if (job_table_by_name(f->table, spec->namespace_, out) == NULL) {
            return true;
        }
    }
    return err_fail(err, ERR_EXHAUSTED, "NO_NAME_LEFT", "found no free name with prefix %s", spec->name_prefix);
}

// ---- The job
// ------------------------------------------------------------------------------------------------------------------------

static char *json_texts(const char *const *texts, size_t n) {
    if (n == 0) {
        return NULL;
    }
    struct str out = STR_INIT;
    struct json_writer w;
    json_writer_init(&w, &out);
    json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        json_add_string(&w, texts[i]);
    }
    json_end_array(&w);
    return str_take(&out);
}

static struct job *make_job(struct flow *f, struct job_spec *spec, const char *name, const char *request_id,
                            struct prepared *p) {
    char uid[ID_UID_LEN + 1];
    id_uid(uid);
    CLEANUP(mem_free_ptr) char *warnings = json_texts(p->warnings.texts, p->warnings.count);
    CLEANUP(str_done) struct str labels = STR_INIT;
    if (spec->labels != NULL && spec->labels->count != 0) {
        json_write_canonical(&labels, spec->labels);
    }
    struct job *job =
        job_table_add(f->table, &(struct job_new){.uid = uid,
                                                  .name = name,
                                                  .namespace_ = spec->namespace_,
                                                  .runtime = spec->runtime,
                                                  .backend = p->choice.backend->name,
                                                  .target = p->choice.target,
                                                  .group = spec->group,
                                                  .labels_json = labels.len != 0 ? str_text(&labels) : NULL,
                                                  .request_id = str_is_empty(request_id) ? NULL : request_id,
                                                  .spec_hash = spec->hash,
                                                  .warnings_json = warnings,
                                                  .created_ns = clock_wall(),
                                                  .spec = spec});
    flow_job_of(f, job)->plan = TAKE(p->plan);
    return job;
}

void flow_accept(struct flow *f, struct job *job) {
    bool suspended = job->spec->suspend;
    flow_move(f, job,
              &(struct job_change){.to = suspended ? JOB_SUSPENDED : JOB_PENDING,
                                   .reason = suspended ? REASON_SUBMITTED_SUSPENDED : REASON_ACCEPTED,
                                   .message = suspended ? "submitted suspended; resume starts it" : "accepted",
                                   .observed_ns = job->created_ns});
}

static bool is_seen(const struct flow_op *op) {
    return op->owner->job->seen != NULL;
}

static size_t read_warnings(struct arena *a, const char *text, const char **out) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    size_t n = 0;
    if (text != NULL && json_parse(a, text, strlen(text), &json_limits_default, &tree, &err)) {
        JSON_EACH (t, tree) {
            if (n < WARNINGS_MAX) {
                out[n++] = json_string(t, "");
            }
        }
    }
    return n;
}

static void answer_job(struct job *job, bool duplicate, flow_submit_fn *fn, void *ctx) {
    struct arena a;
    arena_init(&a, 0);
    const char *warnings[WARNINGS_MAX];
    size_t n = read_warnings(&a, job->warnings_json, warnings);
    const struct flow_submitted result = {.job = job,
                                          .spec = job->spec,
                                          .name = job->name,
                                          .backend = job->backend,
                                          .target = job->target,
                                          .duplicate = duplicate,
                                          .warnings = warnings,
                                          .warning_count = n};
    fn(ctx, &result, NULL);
    arena_done(&a);
}

static void answer_submit(struct flow_op *op, const struct err *err) {
    if (err != NULL) {
        op->fn.submit(op->fn_ctx, NULL, err);
        return;
    }
    answer_job(op->owner->job, op->duplicate, op->fn.submit, op->fn_ctx);
}

static struct flow_op *wait_for_commit(struct flow *f, struct job *job, bool duplicate, flow_submit_fn *fn, void *ctx) {
    struct flow_job *fj = flow_job_of(f, job);
    struct flow_op *op = NEW(struct flow_op);
    *op = (struct flow_op){
        .owner = fj, .ready = is_seen, .answer = answer_submit, .fn.submit = fn, .fn_ctx = ctx, .duplicate = duplicate};
    list_push(&fj->waiters, &op->link);
    return op;
}

static void answer_checked(const struct job_spec *spec, const struct prepared *p, flow_submit_fn *fn, void *ctx) {
    const struct flow_submitted result = {.spec = spec,
                                          .name = spec->name != NULL ? spec->name : "",
                                          .backend = p->choice.backend->name,
                                          .target = p->choice.target,
                                          .warnings = p->warnings.texts,
                                          .warning_count = p->warnings.count};
    fn(ctx, &result, NULL);
}

// ---- In a cluster: the objects first, then the journal
// -----------------------------------------------------------------------------------------------

// The cluster has said yes or no to a job that is in the table without a state.
static void on_created(void *ctx, const struct err *err) {
    struct job *job = ctx;
    struct flow_job *fj = job->flow;
    struct flow *f = fj->flow;
    if (err == NULL) {
        flow_accept(f, job);
    } else {
        flow_waiters_fail(fj, err);
        job_table_forget(f->table, job);
        flow_job_drop(job);
    }
    job_unref(job);
}

static void drop_created(void *ctx) {
    job_unref(ctx);
}

static void create(struct flow *f, struct job *job, const char *target) {
    const struct flow_job *fj = job->flow;
    flow_create(f, fj->backend,
                &(struct backend_create){.uid = job->uid,
                                         .name = job->name,
                                         .namespace_ = job->namespace_,
                                         .target = target,
                                         .objects = fj->plan->tree,
                                         .request_id = job->request_id,
                                         .spec_hash = job->spec_hash,
                                         .spec_json = job->spec->json},
                on_created, drop_created, job_ref(job));
}

// Only a question to the cluster. The answer needs what was prepared.
struct trial {
    struct flow_op op; // first: it is what the caller may cancel
    struct job_spec *spec;
    struct prepared p;
};

static void cancel_trial(struct flow_op *op) {
    op->fn.submit = NULL; // it is freed when the cluster has answered
}

static void drop_trial(void *ctx) {
    struct trial *t = ctx;
    prepared_done(&t->p);
    job_spec_unref(t->spec);
    mem_free(t);
}

static void on_tried(void *ctx, const struct err *err) {
    struct trial *t = ctx;
    if (t->op.fn.submit != NULL && err != NULL) {
        t->op.fn.submit(t->op.fn_ctx, NULL, err);
    } else if (t->op.fn.submit != NULL) {
        answer_checked(t->spec, &t->p, t->op.fn.submit, t->op.fn_ctx);
    }
    drop_trial(t);
}

static struct flow_op *try_create(struct flow *f, struct job_spec *spec, const char *name, struct prepared *take_p,
                                  flow_submit_fn *fn, void *ctx) {
    struct trial *t = NEW(struct trial);
    char uid[ID_UID_LEN + 1];
    id_uid(uid);
    *t = (struct trial){
        .op = {.cancel = cancel_trial, .fn.submit = fn, .fn_ctx = ctx}, .spec = job_spec_ref(spec), .p = *take_p};
    *take_p = (struct prepared){0};
    t->p.warnings.arena = &t->p.arena;
    flow_create(f, t->p.choice.backend,
                &(struct backend_create){.uid = uid,
                                         .name = name,
                                         .namespace_ = spec->namespace_,
                                         .target = t->p.choice.target,
                                         .objects = t->p.plan->tree,
                                         .dry_run = true},
                on_tried, drop_trial, t);
    return &t->op;
}

struct flow_op *flow_submit(struct flow *f, struct job_spec *spec, const char *request_id, bool validate_only,
                            flow_submit_fn *fn, void *ctx) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(prepared_done) struct prepared p = {0};
    char name[128];
    struct job *duplicate = NULL;
    if (!find_duplicate(f, spec, request_id, &duplicate, &err)) {
        fn(ctx, NULL, &err);
        return NULL;
    }
    if (duplicate != NULL && !validate_only) {
        if (duplicate->seen == NULL) {
            return wait_for_commit(f, duplicate, true, fn, ctx);
        }
        answer_job(duplicate, true, fn, ctx);
        return NULL;
    }
    if (!pick_name(f, spec, name, sizeof name, &err) || !prepare(f, spec, name, &p, &err) ||
        !name_is_free(f, spec, &err)) {
        fn(ctx, NULL, &err);
        return NULL;
    }
    if (validate_only && in_cluster(&p.choice)) {
        return try_create(f, spec, name, &p, fn, ctx);
    }
    if (validate_only) {
        answer_checked(spec, &p, fn, ctx);
        return NULL;
    }
    if (!admit(f, &err)) {
        fn(ctx, NULL, &err);
        return NULL;
    }
    bool objects_first = in_cluster(&p.choice);
    struct job *job = make_job(f, spec, name, request_id, &p);
    struct flow_op *op = wait_for_commit(f, job, false, fn, ctx);
    if (objects_first) {
        create(f, job, p.choice.target);
    } else {
        flow_accept(f, job);
    }
    return op;
}

// ---- Handing over
// ---------------------------------------------------------------------------------------------------------------------

static bool plan_again(struct flow *f, struct flow_job *fj, struct err *err) {
    struct arena a;
    arena_init(&a, 0);
    const struct json *tree = NULL;
    const struct runtime *r = plugins_find(f->plugins, fj->job->runtime);
    bool ok = r != NULL ? runtime_validate(r, fj->job->spec, &a, &tree, err) &&
                              flow_plan_make(r, fj->job->spec, tree, &fj->plan, err)
                        : err_fail(err, ERR_PRECONDITION, "NO_RUNTIME", "runtime %s is not loaded", fj->job->runtime);
    arena_done(&a);
    return ok;
}

void flow_hand_over(struct flow *f, struct job *job) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct flow_job *fj = flow_job_of(f, job);
    bool objects_first = fj->backend->ops->create != NULL; // they are there, the plan has done its work
    if (objects_first) {
        backend_plan_unref(TAKE(fj->plan));
    } else if (fj->plan == NULL && !plan_again(f, fj, &err)) {
        log_error("flow", "job %s cannot be run again: %s", job->uid, err.message);
        return;
    }
    const struct job_event *e = job->head;
    fj->handed_over = true;
    fj->backend->ops->submit(fj->backend, &(struct backend_start){.uid = job->uid,
                                                                  .name = job->name,
                                                                  .namespace_ = job->namespace_,
                                                                  .plan = fj->plan,
                                                                  .suspended = e->state == JOB_SUSPENDED,
                                                                  .attempt = e->attempt,
                                                                  .restarts = e->restarts,
                                                                  .restarting = e->state == JOB_RESTARTING,
                                                                  .waiting = e->state == JOB_PENDING,
                                                                  .deadline_from_ns = e->started_ns,
                                                                  .spec = job->spec});
    if (job->spec->start_deadline_ns != 0 && e->attempt == 0) {
        int64_t left = job->created_ns + job->spec->start_deadline_ns - clock_wall();
        loop_timer_start(&fj->start_deadline, left > 0 ? left / CLOCK_MS : 0);
    }
}
