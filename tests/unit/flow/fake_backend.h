// A backend that runs nothing: it writes down what it is told, says what a test makes it say, and fails when asked to.
#ifndef TESTS_FLOW_FAKE_BACKEND_H
#define TESTS_FLOW_FAKE_BACKEND_H

#include "backend/backend.h"
#include "base/attr.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

struct fake {
    struct backend backend;
    struct backend_sink sink;
    bool started;
    struct str calls;         // "submit:NAME cancel:NAME/MS ...", by job name
    struct str start;         // what the last submit said besides
    struct hash names;        // uid -> name, owned
    int can_fail;             // calls so far that could have failed
    int fail_at;              // which of them fails, from 1; 0: none
    const char *warning;      // of check
    size_t open_logs;         // readers that are not closed
    struct backend_log *logs; // the newest reader
};

struct backend_log {
    struct fake *fake;
    void (*wake)(void *ctx);
    void *ctx;
    const char *text; // the next chunk; NULL: nothing yet
    bool over;        // the job is
};

static inline struct fake *fake_of(struct backend *b) {
    return CONTAINER_OF(b, struct fake, backend);
}

static inline const char *fake_name(struct fake *f, const char *uid) {
    const char *name = hash_get(&f->names, uid);
    return name != NULL ? name : "?";
}

static inline void fake_note(struct fake *f, const char *what, const char *uid, const char *more) {
    str_printf(&f->calls, "%s%s:%s%s", f->calls.len != 0 ? " " : "", what, fake_name(f, uid), more);
}

static inline bool fake_fails(struct fake *f, struct err *err) {
    return ++f->can_fail == f->fail_at && !err_fail(err, ERR_INTERNAL, "FAKE", "call %d fails", f->can_fail);
}

static inline void fake_start(struct backend *b, const struct backend_sink *sink) {
    fake_of(b)->sink = *sink;
    fake_of(b)->started = true;
}

static inline bool fake_check(struct backend *b, const struct backend_plan *plan UNUSED,
                              void (*warn)(void *ctx, const char *text), void *ctx, struct err *err) {
    struct fake *f = fake_of(b);
    if (f->warning != NULL) {
        warn(ctx, f->warning);
    }
    return !fake_fails(f, err);
}

static inline void fake_submit(struct backend *b, const struct backend_start *s) {
    struct fake *f = fake_of(b);
    if (hash_get(&f->names, s->uid) == NULL) {
        char *block = mem_printf("%s%c%s", s->uid, 0, s->name); // the key lives as long as the name
        hash_put(&f->names, block, block + strlen(block) + 1);
    }
    str_clear(&f->start);
    str_printf(&f->start, "%zu processes, attempt %d, restarts %d%s%s%s%s", s->plan->process_count, s->attempt,
               s->restarts, s->suspended ? ", suspended" : "", s->waiting ? ", waiting" : "",
               s->restarting ? ", restarting" : "", s->deadline_from_ns != 0 ? ", began" : "");
    fake_note(f, "submit", s->uid, "");
}

static inline void fake_cancel(struct backend *b, const char *uid, int64_t grace_ms) {
    CLEANUP(mem_free_ptr) char *grace = mem_printf("/%lld", (long long)grace_ms);
    fake_note(fake_of(b), "cancel", uid, grace);
}

static inline void fake_fail(struct backend *b, const char *uid, enum job_reason reason, const char *message UNUSED) {
    CLEANUP(mem_free_ptr) char *why = mem_printf("/%s", job_reason_name(reason));
    fake_note(fake_of(b), "fail", uid, why);
}

static inline void fake_suspend(struct backend *b, const char *uid) {
    fake_note(fake_of(b), "suspend", uid, "");
}

static inline void fake_resume(struct backend *b, const char *uid) {
    fake_note(fake_of(b), "resume", uid, "");
}

static inline void fake_settled(struct backend *b, const char *uid) {
    fake_note(fake_of(b), "settled", uid, "");
}

static inline void fake_remove(struct backend *b, const char *uid) {
    fake_note(fake_of(b), "remove", uid, "");
}

static inline bool fake_logs_open(struct backend *b, const struct backend_log_query *query, bool job_terminal,
                                  void (*wake)(void *ctx), void *ctx, struct backend_log **ret, struct err *err) {
    struct fake *f = fake_of(b);
    if (fake_fails(f, err)) {
        return false;
    }
    fake_note(f, "logs", query->uid, job_terminal ? "/over" : "");
    struct backend_log *log = NEW(struct backend_log);
    *log = (struct backend_log){.fake = f, .wake = wake, .ctx = ctx, .over = job_terminal};
    f->logs = log;
    f->open_logs++;
    *ret = log;
    return true;
}

static inline enum backend_log_result fake_logs_read(struct backend_log *log, struct backend_log_item *ret,
                                                     struct err *err) {
    if (fake_fails(log->fake, err)) {
        return LOG_READ_FAILED;
    }
    if (log->text == NULL) {
        return log->over ? LOG_READ_END : LOG_READ_WAIT;
    }
    *ret = (struct backend_log_item){.kind = LOG_ITEM_CHUNK, .data = log->text, .length = strlen(log->text)};
    log->text = NULL;
    return LOG_READ_ITEM;
}

static inline void fake_logs_terminal(struct backend_log *log) {
    log->over = true;
    log->wake(log->ctx);
}

static inline void fake_logs_close(struct backend_log *log) {
    log->fake->open_logs--;
    mem_free(log);
}

static inline void fake_info(struct backend *b UNUSED, struct backend_info *ret) {
    *ret = (struct backend_info){.healthy = true, .message = ""};
}

static inline void fake_nothing(struct backend *b UNUSED) {
}

static const char *const fake_targets[] = {"local", NULL};

static const struct backend_ops fake_ops = {
    .kind = "fake",
    .targets = fake_targets,
    .start = fake_start,
    .check = fake_check,
    .submit = fake_submit,
    .cancel = fake_cancel,
    .fail = fake_fail,
    .suspend = fake_suspend,
    .resume = fake_resume,
    .settled = fake_settled,
    .remove = fake_remove,
    .logs_open = fake_logs_open,
    .logs_read = fake_logs_read,
    .logs_terminal = fake_logs_terminal,
    .logs_close = fake_logs_close,
    .info = fake_info,
    .stop = fake_nothing,
    .free = fake_nothing,
};

static inline void fake_init(struct fake *f) {
    *f = (struct fake){.backend = {.name = "fake", .ops = &fake_ops}};
}

static inline void fake_done(struct fake *f) {
    char *name;
    for (size_t at = 0; (name = hash_next(&f->names, &at)) != NULL;) {
        mem_free(name - ID_UID_LEN - 1);
    }
    hash_done(&f->names);
    str_done(&f->calls);
    str_done(&f->start);
}

#endif
