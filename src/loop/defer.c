// Deferred calls: at the end of the turn, once each, in order. What is deferred by them runs in the next turn.
#include "loop/internal.h"

#include "base/clock.h"

void loop_deferred_run(struct loop *loop) {
    struct list batch = LIST_INIT(batch);
    struct list *node;
    list_splice(&batch, &loop->deferred);
    while ((node = list_pop(&batch)) != NULL) {
        struct loop_task *t = CONTAINER_OF(node, struct loop_task, link);
        LOOP_CALL(loop, "deferred", t->fn(t->ctx));
    }
    if (list_empty(&loop->deferred)) {
        ev_idle_stop(loop->ev, &loop->no_sleep);
    }
}

static void on_prepare(struct ev_loop *ev, ev_prepare *w UNUSED, int events UNUSED) {
    loop_deferred_run(ev_userdata(ev));
}

static void on_idle(struct ev_loop *ev UNUSED, ev_idle *w UNUSED, int events UNUSED) {
}

void loop_deferred_init(struct loop *loop) {
    list_init(&loop->deferred);
    ev_prepare_init(&loop->before_sleep, on_prepare);
    ev_prepare_start(loop->ev, &loop->before_sleep);
    ev_unref(loop->ev);
    ev_idle_init(&loop->no_sleep, on_idle);
}

void loop_deferred_done(struct loop *loop) {
    ev_ref(loop->ev);
    ev_prepare_stop(loop->ev, &loop->before_sleep);
}

void loop_task_init(struct loop_task *task, void (*fn)(void *), void *ctx) {
    list_init(&task->link);
    task->fn = fn;
    task->ctx = ctx;
}

void loop_defer(struct loop *loop, struct loop_task *task) {
    if (list_linked(&task->link)) {
        return;
    }
    list_push(&loop->deferred, &task->link);
    ev_idle_start(loop->ev, &loop->no_sleep);
}

void loop_task_cancel(struct loop_task *task) {
    if (task->fn != NULL) {
        list_remove(&task->link);
    }
}
