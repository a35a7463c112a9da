// What the kernel tells this process: signals and the end of children.
#include "loop/internal.h"

#include "base/clock.h"

#include <string.h>

_Static_assert(sizeof(ev_signal) <= sizeof(((struct loop_signal *)0)->ev), "the watcher fits");
_Static_assert(sizeof(ev_child) <= sizeof(((struct loop_child *)0)->ev), "the watcher fits");

static ev_signal *signal_watcher(struct loop_signal *s) {
    return (ev_signal *)(void *)&s->ev;
}

static ev_child *child_watcher(struct loop_child *c) {
    return (ev_child *)(void *)&c->ev;
}

static void on_signal(struct ev_loop *ev UNUSED, ev_signal *w, int events UNUSED) {
    struct loop_signal *s = w->data;
    struct loop *loop = s->loop;
    LOOP_CALL(loop, "signal", s->fn(s->ctx, w->signum));
}

static void on_child(struct ev_loop *ev, ev_child *w, int events UNUSED) {
    struct loop_child *c = w->data;
    struct loop *loop = c->loop;
    ev_child_stop(ev, w);
    LOOP_CALL(loop, "child", c->fn(c->ctx, w->rstatus));
}

void loop_signal_start(struct loop_signal *s, struct loop *loop, int signal, void (*fn)(void *, int), void *ctx) {
    memset(s, 0, sizeof *s);
    s->loop = loop;
    s->fn = fn;
    s->ctx = ctx;
    ev_signal_init(signal_watcher(s), on_signal, signal);
    signal_watcher(s)->data = s;
    ev_signal_start(loop->ev, signal_watcher(s));
}

void loop_signal_stop(struct loop_signal *s) {
    if (s->loop != NULL) {
        ev_signal_stop(s->loop->ev, signal_watcher(s));
    }
}

void loop_child_start(struct loop_child *c, struct loop *loop, int pid, void (*fn)(void *, int), void *ctx) {
    memset(c, 0, sizeof *c);
    c->loop = loop;
    c->fn = fn;
    c->ctx = ctx;
    ev_child_init(child_watcher(c), on_child, pid, 0);
    child_watcher(c)->data = c;
    ev_child_start(loop->ev, child_watcher(c));
}

void loop_child_stop(struct loop_child *c) {
    if (c->loop != NULL) {
        ev_child_stop(c->loop->ev, child_watcher(c));
    }
}
