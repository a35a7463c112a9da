// Messages from other threads. Under the lock only links move; the loop is woken only when the box was empty.
#include "loop/internal.h"

#include "base/clock.h"

void loop_deliver(struct loop *loop) {
    struct list *node;
    pthread_mutex_lock(&loop->mailbox_lock);
    list_splice(&loop->arrived, &loop->mailbox);
    pthread_mutex_unlock(&loop->mailbox_lock);
    while ((node = list_pop(&loop->arrived)) != NULL) {
        struct loop_message *m = CONTAINER_OF(node, struct loop_message, link);
        LOOP_CALL(loop, "message", m->fn(m));
    }
}

bool loop_mailbox_empty(struct loop *loop) {
    pthread_mutex_lock(&loop->mailbox_lock);
    bool empty = list_empty(&loop->mailbox);
    pthread_mutex_unlock(&loop->mailbox_lock);
    return empty;
}

static void on_wake(struct ev_loop *ev, ev_async *w UNUSED, int events UNUSED) {
    loop_deliver(ev_userdata(ev));
}

void loop_mailbox_init(struct loop *loop) {
    pthread_mutex_init(&loop->mailbox_lock, NULL);
    list_init(&loop->mailbox);
    list_init(&loop->arrived);
    ev_async_init(&loop->mailbox_wake, on_wake);
    ev_async_start(loop->ev, &loop->mailbox_wake);
}

void loop_mailbox_done(struct loop *loop) {
    ev_async_stop(loop->ev, &loop->mailbox_wake);
    pthread_mutex_destroy(&loop->mailbox_lock);
}

void loop_post(struct loop *loop, struct loop_message *message) {
    pthread_mutex_lock(&loop->mailbox_lock);
    bool was_empty = list_empty(&loop->mailbox);
    list_push(&loop->mailbox, &message->link);
    pthread_mutex_unlock(&loop->mailbox_lock);
    if (was_empty) {
        ev_async_send(loop->ev, &loop->mailbox_wake);
    }
}
