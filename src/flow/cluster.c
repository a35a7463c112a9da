// The way up from a cluster: what the runtime reads in a job's object, and what its pods say, become one fact.
//
// The object decides the state: nobody knows better than the operator. Pods explain it, and tell waiting from
// starting. Nothing is guessed: without a word of the operator the job stays as it was accepted.
#include "flow/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 1024, ROLES_MAX = 16, EXPLAIN_MS = 1000 };

static enum job_reason reason_parse(const char *name) {
    static const struct {
        const char *name;
        enum job_reason reason;
    } rows[] = {
#define X(name, number) {#name, REASON_##name},
        JOB_REASONS(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_same(rows[i].name, name)) {
            return rows[i].reason;
        }
    }
    return REASON_NONE;
}

static bool read_observed(const struct runtime *r, const struct backend_object *o, struct flow_observed *ret,
                          struct err *err) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *tree = NULL;
    enum job_state state;
    if (!runtime_observe(r, o->object, o->target, &text, err) ||
        !json_parse(&a, str_text(&text), text.len, &json_limits_default, &tree, err)) {
        return false;
    }
    if (!job_state_parse(json_string(json_get(tree, "state"), ""), &state)) {
        return err_fail(err, ERR_INTERNAL, "BAD_OBSERVATION", "the runtime gave no state");
    }
    ret->state = state;
    ret->reason = reason_parse(json_string(json_get(tree, "reason"), ""));
    mem_free(ret->message);
    ret->message = mem_strdup(json_string(json_get(tree, "message"), ""));
    ret->happened_ns = 0;
    (void)clock_parse(json_string(json_get(tree, "happened"), ""), &ret->happened_ns);
    return true;
}

// A status that cannot be read changes nothing: what was known stays true.
static void observe(struct flow *f, struct flow_job *fj, const struct backend_object *o) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct runtime *r = plugins_find(f->plugins, fj->job->runtime);
    if (o->object != NULL && r != NULL && !read_observed(r, o, &fj->observed, &err)) {
        log_warn("flow", "job %s: its status cannot be read: %s", fj->job->uid, err.message);
    }
}

// ---- Counts

static size_t count_roles(const struct job *job, const struct backend_object *o, struct job_role_count *out) {
    size_t n = 0;
    for (size_t i = 0; job->spec != NULL && i < job->spec->role_count && n < ROLES_MAX; i++) {
        const struct spec_role *role = &job->spec->roles[i];
        bool scaled = o->scaled > 0 && str_same(o->scaled_role, role->name);
        out[n] = (struct job_role_count){.name = role->name, .desired = scaled ? o->scaled : role->replicas};
        for (size_t k = 0; k < o->role_count; k++) {
            if (str_same_nocase(o->roles[k].name, role->name)) {
                out[n].pending = o->roles[k].pending;
                out[n].running = o->roles[k].running;
                out[n].succeeded = o->roles[k].succeeded;
                out[n].failed = o->roles[k].failed;
            }
        }
        n++;
    }
    return n;
}

// ---- One fact

static void explain_waiting(const struct backend_object *o, struct backend_fact *fact) {
    if (o->reason == REASON_VALIDATION_FAILED) { // the operator will never do anything with it
        fact->state = JOB_FAILED;
        fact->reason = o->reason;
        fact->message = o->message;
    } else if (o->reason != REASON_NONE && o->reason != REASON_INITIALIZING) {
        fact->state = JOB_PENDING;
        fact->reason = o->reason;
        fact->message = o->message;
    } else if (o->pods > 0) {
        fact->state = JOB_STARTING;
        fact->reason = o->reason != REASON_NONE ? o->reason : REASON_STARTED;
        fact->message = o->reason != REASON_NONE ? o->message : "its pods are being started";
    }
}

static void explain_running(const struct backend_object *o, char *text, size_t size, struct backend_fact *fact) {
    int32_t want = 0;
    int32_t run = 0;
    int32_t done = 0;
    for (size_t i = 0; i < fact->role_count; i++) {
        want += fact->roles[i].desired;
        run += fact->roles[i].running;
        done += fact->roles[i].succeeded;
    }
    bool all = run + done >= want;
    fact->reason = all ? REASON_ALL_RUNNING : o->reason != REASON_NONE ? REASON_DEGRADED : REASON_STARTED;
    int n = snprintf(text, size, "%d of %d pods run", run, want);
    n += done != 0 ? snprintf(text + n, size - (size_t)n, ", %d ended well", done) : 0;
    if (fact->reason == REASON_DEGRADED) {
        snprintf(text + n, size - (size_t)n, "; %s", o->message != NULL ? o->message : "");
    }
    text[str_utf8_valid(text, strlen(text))] = '\0';
    fact->message = text;
}

static void explain_failed(const struct backend_object *o, struct backend_fact *fact) {
    bool plain = fact->reason == REASON_NONE || fact->reason == REASON_BACKEND_ERROR;
    fact->exit = o->exit;
    if (plain && o->reason == REASON_EVICTED) {
        fact->reason = REASON_EVICTED;
    } else if (plain && o->exit != NULL) {
        bool memory = o->exit->message != NULL && strstr(o->exit->message, "OOMKilled") != NULL;
        fact->reason = memory                 ? REASON_OUT_OF_MEMORY
                       : o->exit->signal != 0 ? REASON_KILLED_BY_SIGNAL
                                              : REASON_NONZERO_EXIT;
    }
}

// SUSPENDED as flow decided it, or as somebody else did.
static void explain_suspended(const struct job *job, struct backend_fact *fact) {
    if (job->head->state == JOB_SUSPENDED) {
        fact->reason = job->head->reason;
        fact->message = job->head->message;
    } else if (fact->reason == REASON_NONE) {
        fact->reason = REASON_SUSPENDED_BY_USER;
    }
}

// A job that is being canceled is canceled when nothing of it uses the cluster any more.
static bool is_canceled(const struct flow_job *fj, const struct backend_object *o) {
    return fj->job->head->state == JOB_CANCELING && o->active == 0 && fj->observed.state == JOB_SUSPENDED;
}

// Objects and pods come in streams of their own: the operator's verdict may be here before the exit code that it speaks
// of, and a terminal state is not told twice.
static bool waits_for_reason(struct flow_job *fj, const struct backend_object *o) {
    bool plain = fj->observed.reason == REASON_NONE || fj->observed.reason == REASON_BACKEND_ERROR;
    if (fj->observed.state != JOB_FAILED || !plain || o->exit != NULL || o->gone || fj->explained) {
        return false;
    }
    if (!loop_timer_active(&fj->explain)) {
        loop_timer_start(&fj->explain, EXPLAIN_MS);
    }
    return true;
}

static void fail_unexplained(void *ctx) {
    struct flow_job *fj = ctx;
    fj->explained = true;
    if (!job_state_terminal(fj->job->head->state)) {
        flow_move(fj->flow, fj->job,
                  &(struct job_change){.to = JOB_FAILED,
                                       .reason = REASON_BACKEND_ERROR,
                                       .message = fj->observed.message,
                                       .observed_ns = clock_wall(),
                                       .happened_ns = fj->observed.happened_ns});
    }
}

void flow_explain_init(struct flow_job *fj) {
    loop_timer_init(&fj->explain, fj->flow->loop, "flow explain", fail_unexplained, fj);
}

void flow_on_object(struct flow *f, const struct backend_object *o,
                    void (*fact_fn)(void *ctx, const struct backend_fact *), void *ctx) {
    struct job *job = job_table_by_uid(f->table, o->uid);
    if (job == NULL || job->head == NULL || job_state_terminal(job->head->state)) {
        return; // made a moment ago and asked for again when it is journaled; or over
    }
    struct flow_job *fj = flow_job_of(f, job);
    struct job_role_count roles[ROLES_MAX];
    char text[MESSAGE_MAX];
    observe(f, fj, o);
    if (waits_for_reason(fj, o)) {
        return;
    }
    struct backend_fact fact = {
        .uid = o->uid,
        .state = fj->observed.state != JOB_STATE_NONE ? fj->observed.state : job->head->state,
        .reason = fj->observed.state != JOB_STATE_NONE ? fj->observed.reason : job->head->reason,
        .message = fj->observed.state != JOB_STATE_NONE ? fj->observed.message : job->head->message,
        .roles = roles,
        .role_count = count_roles(job, o, roles),
        .restarts = o->restarts,
        .happened_ns = fj->observed.happened_ns,
    };
    if (o->gone) {
        fact.state = JOB_CANCELED;
        fact.reason = REASON_DELETED_EXTERNALLY;
        fact.message = "its object was deleted in the cluster";
    } else if (is_canceled(fj, o)) {
        fact.state = JOB_CANCELED;
    } else if (fact.state == JOB_PENDING || fact.state == JOB_STARTING) {
        explain_waiting(o, &fact);
    } else if (fact.state == JOB_RUNNING) {
        explain_running(o, text, sizeof text, &fact);
    } else if (fact.state == JOB_FAILED) {
        explain_failed(o, &fact);
    } else if (fact.state == JOB_SUSPENDED && !o->asked_suspended) {
        fact.state = JOB_PENDING; // resumed, and the operator has not written so yet
        fact.reason = REASON_RESUMED;
        fact.message = "resumed, waits for the operator";
    } else if (fact.state == JOB_SUSPENDED) {
        explain_suspended(job, &fact);
    }
    fact_fn(ctx, &fact);
}
