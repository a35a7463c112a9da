// A flow with a real loop, a journal in a directory of its own, the runtime "process", and a backend that is a fake.
#ifndef TESTS_FLOW_SUPPORT_H
#define TESTS_FLOW_SUPPORT_H

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake_backend.h"
#include "flow/internal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT_MS = 20000 };

struct world {
    char directory[64];
    struct loop *loop;
    struct store *store;
    struct plugins *plugins;
    struct fake fake;
    struct backend *backends[1];
    struct flow *flow;
    struct flow_limits limits;
    // waiting
    bool (*ready)(void *ctx);
    void *ready_ctx;
    struct loop_timer look;
    int64_t until;
};

static inline void world_open(struct world *w) {
    struct err err = ERR_INIT;
    const struct store_options options = {.directory = w->directory};
    cr_assert(store_open(&options, w->loop, &w->store, &err), "%s", err.message);
    const struct flow_options flow = {.loop = w->loop,
                                      .store = w->store,
                                      .plugins = w->plugins,
                                      .backends = w->backends,
                                      .backend_count = 1,
                                      .limits = w->limits};
    cr_assert(flow_new(&flow, &w->flow, &err), "%s", err.message);
}

static inline void world_close(struct world *w) {
    flow_free(TAKE(w->flow));
    store_close(TAKE(w->store));
}

// As another process would find it: only the directory is the same.
static inline void world_reopen(struct world *w) {
    world_close(w);
    fake_done(&w->fake);
    fake_init(&w->fake);
    world_open(w);
}

static inline void world_begin(struct world *w) {
    struct err err = ERR_INIT;
    *w = (struct world){
        .directory = "/tmp/flow-test-XXXXXX",
        .limits = {.max_jobs = 1000,
                   .max_active_jobs = 1000,
                   .max_watchers = 100,
                   .max_log_streams = 100,
                   .feed_events = 1024,
                   .cancel_grace_s = 30},
    };
    log_set_level(LOG_ERROR);
    cr_assert_not_null(mkdtemp(w->directory));
    w->loop = loop_new();
    w->plugins = plugins_new();
    cr_assert(plugins_load(w->plugins, TRAINERD_BUILD_DIR "/plugins/process.so", NULL, &err), "%s", err.message);
    fake_init(&w->fake);
    w->backends[0] = &w->fake.backend;
}

static inline void world_new(struct world *w) {
    world_begin(w);
    world_open(w);
}

static inline void world_done(struct world *w) {
    struct err err = ERR_INIT;
    world_close(w);
    plugins_free(w->plugins);
    fake_done(&w->fake);
    loop_free(w->loop);
    cr_assert(fd_remove_tree(w->directory, &err), "%s", err.message);
}

// ---- Waiting

static inline void world_look(void *ctx) {
    struct world *w = ctx;
    if (w->ready(w->ready_ctx) || clock_mono() > w->until) {
        loop_stop(w->loop);
        return;
    }
    loop_timer_start(&w->look, 1);
}

static inline bool world_until(struct world *w, bool (*ready)(void *ctx), void *ctx, int64_t ms) {
    w->ready = ready;
    w->ready_ctx = ctx;
    w->until = clock_mono() + ms * CLOCK_MS;
    loop_timer_init(&w->look, w->loop, "look", world_look, w);
    loop_timer_start(&w->look, 0);
    loop_run(w->loop);
    loop_timer_stop(&w->look);
    return ready(ctx);
}

static inline bool nothing_under_way(void *ctx) {
    const struct world *w = ctx;
    return list_empty(&w->flow->commits) && !list_linked(&w->flow->flush.link);
}

// Everything that was decided is in the journal and published.
static inline void settle(struct world *w) {
    cr_assert(world_until(w, nothing_under_way, w, WAIT_MS), "the journal does not answer");
}

static inline bool never(void *ctx UNUSED) {
    return false;
}

static inline void let_pass(struct world *w, int64_t ms) {
    world_until(w, never, NULL, ms);
}

// ---- What the backend was told

// Since the last time it was asked.
static inline void expect_calls(struct world *w, const char *right, const char *when) {
    cr_expect_str_eq(str_text(&w->fake.calls), right, "%s: \"%s\" instead of \"%s\"", when, str_text(&w->fake.calls),
                     right);
    str_clear(&w->fake.calls);
}

// ---- Submit

struct answer {
    int count;
    struct job *job; // a reference
    struct err err;
    char name[80];
    bool duplicate;
    struct str warnings; // a line each
    struct flow_op *op;
};

static inline void answer_done(struct answer *a) {
    job_unref(a->job);
    err_done(&a->err);
    str_done(&a->warnings);
    *a = (struct answer){0};
}

static inline void on_submitted(void *ctx, const struct flow_submitted *result, const struct err *err) {
    struct answer *a = ctx;
    a->count++;
    if (err != NULL) {
        err_copy(&a->err, err);
        return;
    }
    a->job = result->job != NULL ? job_ref(result->job) : NULL;
    a->duplicate = result->duplicate;
    snprintf(a->name, sizeof a->name, "%s", result->name);
    for (size_t i = 0; i < result->warning_count; i++) {
        str_printf(&a->warnings, "%s\n", result->warnings[i]);
    }
}

static inline struct job_spec *spec_of(const char *yaml) {
    struct err err = ERR_INIT;
    struct job_spec *spec = NULL;
    struct arena a = {0};
    const struct json *tree = NULL;
    cr_assert(json_parse_yaml(&a, yaml, strlen(yaml), &json_limits_default, &tree, &err), "%s", err.message);
    cr_assert(job_spec_parse(tree, &spec, &err), "%s\n%s", err.message, yaml);
    arena_done(&a);
    return spec;
}

// Answered or not: as it is after the call.
static inline void submit_start(struct world *w, const char *yaml, const char *request_id, bool validate_only,
                                struct answer *a) {
    struct job_spec *spec = spec_of(yaml);
    *a = (struct answer){0};
    a->op = flow_submit(w->flow, spec, request_id, validate_only, on_submitted, a);
    job_spec_unref(spec);
    cr_assert((a->op == NULL) == (a->count == 1), "NULL exactly when it answered at once");
}

static inline bool is_answered(void *ctx) {
    return ((const struct answer *)ctx)->count != 0;
}

static inline void submit(struct world *w, const char *yaml, const char *request_id, struct answer *a) {
    submit_start(w, yaml, request_id, false, a);
    cr_assert(world_until(w, is_answered, a, WAIT_MS), "no answer");
    settle(w);
    cr_assert_eq(a->count, 1);
}

#define JOB(name) "{runtime: process, name: " name ", roles: [{name: worker, command: [train]}]}"

// A job that is accepted and with its backend. Borrowed: as long as the table has it.
static inline struct job *submit_job(struct world *w, const char *yaml) {
    struct answer a;
    submit(w, yaml, NULL, &a);
    cr_assert_null(a.err.message, "%s", a.err.message);
    struct job *job = a.job;
    answer_done(&a);
    str_clear(&w->fake.calls);
    return job;
}

// ---- Commands

static inline void on_changed(void *ctx, struct job *job, const struct err *err) {
    struct answer *a = ctx;
    a->count++;
    if (err != NULL) {
        err_copy(&a->err, err);
    } else {
        a->job = job_ref(job);
    }
}

// ---- Facts

static inline void fact_with(struct world *w, const struct backend_fact *fact) {
    w->fake.sink.fact(w->fake.sink.ctx, fact);
    settle(w);
}

static inline void fact(struct world *w, const struct job *job, enum job_state state, enum job_reason reason) {
    fact_with(w, &(struct backend_fact){.uid = job->uid, .state = state, .reason = reason, .attempt = 1});
}

// By the shortest way. The backend's calls are forgotten.
static inline void bring_to(struct world *w, struct job *job, enum job_state state) {
    if (state == JOB_CANCELING) {
        struct answer a = {0};
        flow_cancel(w->flow, job, NULL, -1, false, on_changed, &a);
        settle(w);
        answer_done(&a);
    } else if (state != JOB_PENDING) {
        fact(w, job, state, REASON_NONE);
    }
    cr_assert_eq(job->seen->state, state);
    str_clear(&w->fake.calls);
}

static inline void expect_reason(const struct err *err, enum err_code code, const char *reason, const char *when) {
    cr_expect_eq(err->code, code, "%s: %s: %s", when, err_code_name(err->code), err->message);
    cr_expect(str_same(err->reason, reason), "%s: %s instead of %s", when, err->reason, reason);
}

// ---- Watch

struct watching {
    struct world *world;
    struct flow_watch *watch;
    bool may_have; // there may be something
    int pulls;     // how many more items are taken; -1: all
    struct str text;
    char token[48]; // of the last item
    const char *right;
};

static inline void on_wake(void *ctx) {
    ((struct watching *)ctx)->may_have = true;
}

static inline void watch_write(struct watching *v, enum flow_watch_kind kind, const struct flow_watch_item *item,
                               const struct err *err) {
    const struct job_event *e = item->event;
    struct str *out = &v->text;
    str_add(out, out->len != 0 ? " " : "");
    switch (kind) {
    case WATCH_SNAPSHOT:
        str_printf(out, "=%s/%lld:%s", e->job->name, (long long)e->job_sequence, job_state_name(e->state));
        break;
    case WATCH_SNAPSHOT_END:
        str_printf(out, "end@%lld#%lld", (long long)item->sequence, (long long)item->jobs);
        break;
    case WATCH_TRANSITION:
        str_printf(out, "%lld:%s/%lld:%s", (long long)e->sequence, e->job->name, (long long)e->job_sequence,
                   job_state_name(e->state));
        break;
    case WATCH_DELETED:
        str_printf(out, "%lld:%s/%lld:gone", (long long)e->sequence, e->job->name, (long long)e->job_sequence);
        break;
    case WATCH_HEARTBEAT:
        str_printf(out, "beat@%lld", (long long)item->sequence);
        break;
    case WATCH_RESYNC:
        str_printf(out, "resync@%lld", (long long)item->sequence);
        break;
    case WATCH_END:
        str_add(out, "over");
        break;
    default:
        str_printf(out, "failed:%s", err->reason);
        break;
    }
    if (item->token[0] != '\0') {
        snprintf(v->token, sizeof v->token, "%s", item->token);
    }
}

// Takes what there is.
static inline void watch_pull(struct watching *v) {
    while (v->may_have && v->pulls != 0) {
        struct flow_watch_item item;
        struct err err = ERR_INIT;
        enum flow_watch_kind kind = flow_watch_next(v->watch, &item, &err);
        if (kind == WATCH_WAIT) {
            v->may_have = false;
            return;
        }
        watch_write(v, kind, &item, &err);
        err_done(&err);
        v->pulls -= v->pulls > 0;
        if (kind == WATCH_END || kind == WATCH_FAILED) {
            v->pulls = 0;
        }
    }
}

static inline bool watch_has_all(void *ctx) {
    struct watching *v = ctx;
    watch_pull(v);
    return v->text.len >= strlen(v->right);
}

// All of it and no more; then it is forgotten.
static inline void expect_watch(struct watching *v, const char *right) {
    v->right = right;
    world_until(v->world, watch_has_all, v, WAIT_MS);
    settle(v->world);
    watch_pull(v);
    cr_expect_str_eq(str_text(&v->text), right, "\"%s\" instead of \"%s\"", str_text(&v->text), right);
    str_clear(&v->text);
}

static inline bool watch_try(struct world *w, const struct flow_watch_args *args, const struct job_selector_args *which,
                             struct watching *v, struct err *err) {
    struct flow_watch_args with = *args;
    struct err selector = ERR_INIT;
    cr_assert(job_selector_new(which, &with.take_selector, &selector), "%s", selector.message);
    with.heartbeat_s = args->heartbeat_s != 0 ? args->heartbeat_s : 60;
    *v = (struct watching){.world = w, .may_have = true, .pulls = -1};
    return flow_watch_open(w->flow, &with, on_wake, v, &v->watch, err);
}

static inline void watch_open(struct world *w, const struct flow_watch_args *args,
                              const struct job_selector_args *which, struct watching *v) {
    struct err err = ERR_INIT;
    cr_assert(watch_try(w, args, which, v, &err), "%s", err.message);
}

static inline void watch_close(struct watching *v) {
    flow_watch_close(v->watch);
    str_done(&v->text);
}

#define ALL (&(const struct job_selector_args){0})

#endif
