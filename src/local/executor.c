// The vtable of the local backend: commands note what is wanted, facts go up from the loop.
#include "local/executor.h"

#include "base/fd.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_MAX = 1024, ROLES_MAX = 32 };

static struct local *local_of(struct backend *b) {
    return CONTAINER_OF(b, struct local, base);
}

struct run *run_find(struct local *l, const char *uid) {
    return hash_get(&l->by_uid, uid);
}

// ---- Facts

static size_t count_roles(const struct run *r, struct job_role_count *out, size_t max) {
    size_t n = 0;
    for (size_t i = 0; i < r->plan->process_count; i++) {
        const struct plan_process *p = r->by_rank[i];
        size_t k = 0;
        while (k < n && strcmp(out[k].name, p->role) != 0) {
            k++;
        }
        if (k == max) {
            continue;
        }
        if (k == n) {
            out[n++] = (struct job_role_count){.name = p->role};
        }
        enum proc_state s = r->procs[i].state;
        out[k].desired++;
        out[k].pending += s == PROC_WAITING;
        out[k].running += s == PROC_RUNNING;
        out[k].succeeded += s == PROC_OK;
        out[k].failed += s == PROC_FAILED;
    }
    return n;
}

void run_fact(struct run *r, enum job_state state, enum job_reason reason, const char *fmt, ...) {
    char message[MESSAGE_MAX];
    struct job_role_count roles[ROLES_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    message[str_utf8_valid(message, strlen(message))] = '\0'; // it may have been cut within a character
    bool out = state != JOB_PENDING && state != JOB_SUSPENDED;
    bool now = !out || state == JOB_STARTING;
    const struct backend_fact fact = {.uid = r->uid,
                                      .state = state,
                                      .reason = reason,
                                      .message = message,
                                      .attempt = r->attempt,
                                      .restarts = r->restarts,
                                      .exit = r->exit.present ? &r->exit : NULL,
                                      .roles = out ? roles : NULL,
                                      .role_count = out ? count_roles(r, roles, ARRAY_LEN(roles)) : 0,
                                      .happened_ns = now ? 0 : r->happened_ns};
    r->local->sink.fact(r->local->sink.ctx, &fact);
}

// ---- Runs

static void op_submit(struct backend *b, const struct backend_start *start) {
    struct local *l = local_of(b);
    struct run *r = NEW(struct run);
    r->local = l;
    snprintf(r->uid, sizeof r->uid, "%s", start->uid);
    r->name = mem_strdup(start->name);
    r->namespace_ = mem_strdup(start->namespace_);
    r->plan = backend_plan_ref(start->plan);
    size_t n = r->plan->process_count;
    r->procs = mem_zalloc((n + 1) * sizeof *r->procs);
    r->by_rank = mem_zalloc((n + 1) * sizeof *r->by_rank);
    for (size_t i = 0; i < n; i++) {
        r->by_rank[r->plan->processes[i].rank] = &r->plan->processes[i];
    }
    r->fresh = r->gone = true;
    r->suspended = start->suspended;
    r->waiting = start->waiting;
    r->restarting = start->restarting;
    r->attempt = start->attempt;
    r->restarts = start->restarts;
    r->started_ns = start->deadline_from_ns;
    slots_need(l, r->plan, &r->cpu_milli, &r->gpus);
    list_init(&r->queued);
    loop_task_init(&r->step, run_step, r);
    loop_timer_init(&r->backoff, l->loop, "restart", run_next_attempt, r);
    loop_timer_init(&r->deadline, l->loop, "job deadline", run_deadline_passed, r);
    list_push(&l->runs, &r->link);
    hash_put(&l->by_uid, r->uid, r);
    loop_defer(l->loop, &r->step);
}

void run_free(struct run *r) {
    struct local *l = r->local;
    queue_remove(r);
    slots_release(r);
    ports_release(r);
    loop_timer_stop(&r->backoff);
    loop_timer_stop(&r->deadline);
    loop_task_cancel(&r->step);
    hash_remove(&l->by_uid, r->uid);
    list_remove(&r->link);
    run_reset_procs(r);
    mem_free(r->procs);
    mem_free(r->by_rank);
    mem_free(r->fail_message);
    mem_free(r->name);
    mem_free(r->namespace_);
    backend_plan_unref(r->plan);
    mem_free(r);
}

// ---- Commands

static void want(struct run *r, enum run_then what, int64_t grace_ms) {
    if (what >= r->wanted) {
        r->wanted = what;
        r->wanted_grace_ms = grace_ms;
    }
    r->resume_wanted = false;
    loop_defer(r->local->loop, &r->step);
}

static void op_cancel(struct backend *b, const char *uid, int64_t grace_ms) {
    struct run *r = run_find(local_of(b), uid);
    if (r != NULL) {
        want(r, THEN_CANCEL, grace_ms);
    }
}

static void op_fail(struct backend *b, const char *uid, enum job_reason reason, const char *message) {
    struct local *l = local_of(b);
    struct run *r = run_find(l, uid);
    if (r != NULL) {
        run_fail(r, reason, message);
        want(r, THEN_FAIL, l->options.grace_ms);
    }
}

static void op_suspend(struct backend *b, const char *uid) {
    struct local *l = local_of(b);
    struct run *r = run_find(l, uid);
    if (r != NULL) {
        want(r, THEN_SUSPEND, l->options.grace_ms);
    }
}

static void op_resume(struct backend *b, const char *uid) {
    struct run *r = run_find(local_of(b), uid);
    if (r != NULL) {
        r->resume_wanted = true;
        loop_defer(r->local->loop, &r->step);
    }
}

static void op_settled(struct backend *b, const char *uid) {
    struct local *l = local_of(b);
    struct run *r = run_find(l, uid);
    if (r == NULL) {
        return;
    }
    r->settled = true;
    if (r->attempt > 0) {
        client_forget(l, uid, r->attempt);
    }
    if (r->state != RUN_DONE) {
        want(r, THEN_CANCEL, l->options.grace_ms); // it was ended without us
    } else if (r->gone) {
        run_free(r);
    }
}

// ---- Removal, on a worker: a log directory may be large

struct removal {
    struct loop_work work;
    char *logs, *dir;
};

static void remove_run(struct loop_work *work) {
    struct removal *r = CONTAINER_OF(work, struct removal, work);
    const char *const trees[] = {r->logs, r->dir};
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        if (!fd_remove_tree(trees[i], &err)) {
            log_debug("local", "%s, ignoring", err.message);
        }
    }
}

static void remove_done(struct loop_work *work) {
    struct removal *r = CONTAINER_OF(work, struct removal, work);
    mem_free(r->logs);
    mem_free(r->dir);
    mem_free(r);
}

static void op_remove(struct backend *b, const char *uid) {
    struct local *l = local_of(b);
    struct removal *r = NEW(struct removal);
    client_stop(l, uid, 0, 0, ""); // what clean_pods NONE has left of it
    r->work.run = remove_run;
    r->work.done = remove_done;
    r->logs = mem_printf("%s/%s", l->logs_dir, uid);
    r->dir = mem_printf("%s/%s", l->work_dir, uid);
    loop_work_start(l->loop, &r->work);
}

// ---- Check

static bool op_check(struct backend *b, const struct backend_plan *plan, void (*warn)(void *ctx, const char *text),
                     void *ctx, struct err *err) {
    for (size_t i = 0; i < plan->process_count; i++) {
        const struct plan_process *p = &plan->processes[i];
        if (p->index == 0 && p->memory_bytes != 0) {
            CLEANUP(mem_free_ptr)
            char *text = mem_printf("resources.memory of role %s is not enforced on the local backend", p->role);
            warn(ctx, text);
        }
    }
    return slots_check(local_of(b), plan, err);
}

static void op_info(struct backend *b, struct backend_info *ret) {
    const struct local *l = local_of(b);
    *ret = (struct backend_info){.healthy = l->problem == NULL,
                                 .message = l->problem != NULL ? l->problem : "",
                                 .cpu_slots_milli = l->cpu_total,
                                 .cpu_slots_used_milli = l->cpu_used,
                                 .gpu_slots = l->gpu_total,
                                 .gpu_slots_used = l->gpu_used,
                                 .queued_jobs = l->queued,
                                 .running_jobs = l->running};
}

// ---- Life

static void op_start(struct backend *b, const struct backend_sink *sink) {
    struct local *l = local_of(b);
    l->sink = *sink;
    client_ask(l);
}

static void op_stop(struct backend *b) {
    struct local *l = local_of(b);
    LIST_EACH (node, &l->runs) {
        run_free(CONTAINER_OF(node, struct run, link));
    }
    loop_task_cancel(&l->kick);
    loop_timer_stop(&l->say_queue);
    client_close(l);
    logs_done(l);
}

static void op_free(struct backend *b) {
    struct local *l = local_of(b);
    hash_done(&l->by_uid);
    mem_free(l->gpu_taken);
    mem_free(l->port_taken);
    mem_free(l->logs_dir);
    mem_free(l->work_dir);
    mem_free((char *)(uintptr_t)l->options.state_dir);
    mem_free((char *)(uintptr_t)l->options.supervisor_path);
    mem_free((char *)(uintptr_t)l->base.name);
    mem_free(l);
}

static const char *const targets[] = {"local", NULL};

static const struct backend_ops ops = {
    .kind = "local",
    .targets = targets,
    .start = op_start,
    .check = op_check,
    .submit = op_submit,
    .cancel = op_cancel,
    .fail = op_fail,
    .suspend = op_suspend,
    .resume = op_resume,
    .settled = op_settled,
    .remove = op_remove,
    .logs_open = local_logs_open,
    .logs_read = local_logs_read,
    .logs_terminal = local_logs_terminal,
    .logs_close = local_logs_close,
    .info = op_info,
    .stop = op_stop,
    .free = op_free,
};

// The directory by its one true name: it marks processes, so every daemon must spell it alike.
static bool make_directories(struct local *l, const char *state_dir, struct err *err) {
    if (!fd_make_dirs(state_dir, 0700, err)) {
        return false;
    }
    char *real = realpath(state_dir, NULL);
    l->options.state_dir = real != NULL ? mem_strdup(real) : mem_strdup(state_dir);
    free(real);
    l->logs_dir = mem_printf("%s/logs", l->options.state_dir);
    l->work_dir = mem_printf("%s/work", l->options.state_dir);
    return fd_make_dirs(l->logs_dir, 0700, err) && fd_make_dirs(l->work_dir, 0700, err);
}

bool local_backend_new(const struct local_options *options, struct loop *loop, struct backend **ret, struct err *err) {
    struct local *l = NEW(struct local);
    l->base = (struct backend){.name = mem_strdup(options->name), .ops = &ops};
    l->loop = loop;
    l->options = *options;
    l->options.state_dir = NULL;
    l->options.supervisor_path = mem_strdup(options->supervisor_path);
    l->fd = l->inotify = -1;
    list_init(&l->runs);
    list_init(&l->queue);
    loop_task_init(&l->kick, queue_kick, l);
    loop_timer_init(&l->say_queue, loop, "queue positions", queue_kick, l);
    ports_init(l);
    slots_init(l);
    if (!make_directories(l, options->state_dir, err) || !client_connect(l, err)) {
        op_free(&l->base);
        return false;
    }
    logs_init(l);
    *ret = &l->base;
    return true;
}
