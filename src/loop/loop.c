#include "loop/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

// The default loop, because only that one reaps children. One at a time in a process.
struct loop *loop_new(void) {
    struct loop *loop = NEW(struct loop);
    loop->ev = ev_default_loop(EVFLAG_NOENV);
    if (loop->ev == NULL) {
        abort(); // no epoll, no daemon
    }
    assert(ev_userdata(loop->ev) == NULL);
    ev_set_userdata(loop->ev, loop);
    loop_mailbox_init(loop);
    loop_deferred_init(loop);
    return loop;
}

void loop_free(struct loop *loop) {
    if (loop == NULL) {
        return;
    }
    do { // each of the three may give the others something to do
        loop_workers_done(loop);
        loop_deliver(loop);
        loop_deferred_run(loop);
    } while (loop->workers != NULL || !loop_mailbox_empty(loop) || !list_empty(&loop->deferred));
    loop_mailbox_done(loop);
    loop_deferred_done(loop);
    ev_set_userdata(loop->ev, NULL);
    ev_loop_destroy(loop->ev);
    mem_free(loop);
}

void loop_run(struct loop *loop) {
    ev_run(loop->ev, 0);
}

void loop_stop(struct loop *loop) {
    ev_break(loop->ev, EVBREAK_ALL);
}

void loop_note_time(struct loop *loop, const char *name, int64_t took_ns) {
    if (took_ns <= LOOP_SLOW_MS * CLOCK_MS) {
        return;
    }
    int64_t now = clock_mono();
    if (now - loop->slow_logged_ns > CLOCK_SECOND) { // one line a second says enough
        loop->slow_logged_ns = now;
        log_warn("loop", "%s took %lld ms", name, (long long)(took_ns / CLOCK_MS));
    }
}
