#include "loop/internal.h"

#include "base/clock.h"

#include <string.h>

_Static_assert(sizeof(ev_timer) <= sizeof(((struct loop_timer *)0)->ev), "the watcher fits");

static ev_timer *watcher(struct loop_timer *t) {
    return (ev_timer *)(void *)&t->ev;
}

static void on_timer(struct ev_loop *ev UNUSED, ev_timer *w, int events UNUSED) {
    struct loop_timer *t = w->data;
    struct loop *loop = t->loop;
    const char *name = t->name;
    LOOP_CALL(loop, name, t->fn(t->ctx)); // t may be gone afterwards
}

void loop_timer_init(struct loop_timer *t, struct loop *loop, const char *name, void (*fn)(void *), void *ctx) {
    memset(t, 0, sizeof *t);
    t->loop = loop;
    t->name = name;
    t->fn = fn;
    t->ctx = ctx;
    ev_init(watcher(t), on_timer);
    watcher(t)->data = t;
}

void loop_timer_start(struct loop_timer *t, int64_t after_ms) {
    struct ev_loop *ev = t->loop->ev;
    ev_timer_stop(ev, watcher(t));
    ev_now_update(ev); // libev counts from when it looked at the clock last; after a long callback that is the past
    ev_timer_set(watcher(t), (double)(after_ms > 0 ? after_ms : 0) / 1000.0, 0.);
    ev_timer_start(ev, watcher(t));
}

void loop_timer_stop(struct loop_timer *t) {
    if (t->loop != NULL) {
        ev_timer_stop(t->loop->ev, watcher(t));
    }
}

bool loop_timer_active(const struct loop_timer *t) {
    return ev_is_active((const ev_timer *)(const void *)&t->ev);
}
