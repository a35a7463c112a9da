#include "cli/pump.h"

#include "base/fd.h"
#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MESSAGES_MAX = 256, STOP_LOOK_MS = 200 };

struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t room;
    struct message *first, **last;
    size_t count;
    int fd; // eventfd: not zero while count is not
};

struct pump {
    struct mailbox *box;
    struct feed *feed;
    int source;
    atomic_bool stop;
    pthread_t thread;
};

struct mailbox *mailbox_new(void) {
    struct mailbox *box = NEW(struct mailbox);
    pthread_mutex_init(&box->lock, NULL);
    pthread_cond_init(&box->room, NULL);
    box->last = &box->first;
    box->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return box;
}

void mailbox_free(struct mailbox *box) {
    if (box == NULL) {
        return;
    }
    for (struct message *m = mailbox_take(box); m != NULL; m = mailbox_take(box)) {
        message_free(m);
    }
    fd_close(&box->fd);
    pthread_cond_destroy(&box->room);
    pthread_mutex_destroy(&box->lock);
    mem_free(box);
}

int mailbox_fd(const struct mailbox *box) {
    return box->fd;
}

struct message *mailbox_take(struct mailbox *box) {
    pthread_mutex_lock(&box->lock);
    struct message *m = box->first;
    if (m != NULL) {
        box->first = m->next;
        box->last = box->first != NULL ? box->last : &box->first;
        m->next = NULL;
        if (box->count-- == MESSAGES_MAX) {
            pthread_cond_broadcast(&box->room);
        }
    }
    if (box->count == 0) {
        uint64_t drained;
        (void)!read(box->fd, &drained, sizeof drained);
    }
    pthread_mutex_unlock(&box->lock);
    return m;
}

static void put(struct pump *p, struct message *m) {
    struct mailbox *box = p->box;
    m->source = p->source;
    pthread_mutex_lock(&box->lock);
    while (box->count >= MESSAGES_MAX && !atomic_load(&p->stop)) {
        pthread_cond_wait(&box->room, &box->lock);
    }
    *box->last = m;
    box->last = &m->next;
    if (box->count++ == 0) {
        const uint64_t one = 1;
        (void)!write(box->fd, &one, sizeof one);
    }
    pthread_mutex_unlock(&box->lock);
}

static void *run(void *ctx) {
    struct pump *p = ctx;
    while (!atomic_load(&p->stop)) {
        struct message *m = feed_next(p->feed, STOP_LOOK_MS);
        if (m != NULL) {
            bool last = m->kind == FEED_END || m->kind == FEED_FAILED;
            put(p, m);
            if (last) {
                break;
            }
        }
    }
    return NULL;
}

struct pump *pump_start(struct mailbox *box, struct feed *feed, int source) {
    struct pump *p = NEW(struct pump);
    *p = (struct pump){.box = box, .feed = feed, .source = source};
    int failed = pthread_create(&p->thread, NULL, run, p);
    assert(failed == 0);
    (void)failed;
    return p;
}

void pump_stop(struct pump *p) {
    if (p == NULL) {
        return;
    }
    pthread_mutex_lock(&p->box->lock);
    atomic_store(&p->stop, true);
    pthread_cond_broadcast(&p->box->room);
    pthread_mutex_unlock(&p->box->lock);
    pthread_join(p->thread, NULL);
    feed_free(p->feed);
    mem_free(p);
}
