// What the files of loop/ share, and the only place that includes libev.
#ifndef LOOP_INTERNAL_H
#define LOOP_INTERNAL_H

#include "loop/loop.h"

#include <ev.h>
#include <pthread.h>

struct worker_pool;

struct loop {
    struct ev_loop *ev;
    // mailbox: the only part that other threads touch
    pthread_mutex_t mailbox_lock;
    struct list mailbox;
    ev_async mailbox_wake;
    struct list arrived; // out of the mailbox, on their way; not local, so that a callback may call loop_deliver
    // deferred calls
    struct list deferred;
    ev_prepare before_sleep;
    ev_idle no_sleep; // active only while calls are deferred, so that the loop does not sleep on them
    struct worker_pool *workers;
    int64_t slow_logged_ns;
};

// Every callback goes through this: it measures, and names what was slow.
#define LOOP_CALL(loop, name, call)                                                                                    \
    do {                                                                                                               \
        int64_t loop_call_begin = clock_mono();                                                                        \
        call;                                                                                                          \
        loop_note_time((loop), (name), clock_mono() - loop_call_begin);                                                \
    } while (0)
void loop_note_time(struct loop *loop, const char *name, int64_t took_ns);

void loop_mailbox_init(struct loop *loop);
void loop_mailbox_done(struct loop *loop);
bool loop_mailbox_empty(struct loop *loop);
void loop_deferred_init(struct loop *loop);
void loop_deferred_run(struct loop *loop);
void loop_deferred_done(struct loop *loop);
void loop_workers_done(struct loop *loop);

#endif
