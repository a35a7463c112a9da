// Threads: with every signal blocked, so that signals arrive at the loop; and a small pool for work on copies.
#include "loop/internal.h"

#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>

enum { WORKERS = 2 };

struct loop_thread {
    pthread_t id;
    const char *name;
    void (*run)(void *ctx);
    void *ctx;
};

static void *thread_main(void *arg) {
    struct loop_thread *t = arg;
    pthread_setname_np(pthread_self(), t->name);
    t->run(t->ctx);
    return NULL;
}

struct loop_thread *loop_thread_new(const char *name, void (*run)(void *ctx), void *ctx) {
    struct loop_thread *t = NEW(struct loop_thread);
    sigset_t all;
    sigset_t before;
    *t = (struct loop_thread){.name = name, .run = run, .ctx = ctx};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&t->id, NULL, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        abort();
    }
    return t;
}

void loop_thread_join(struct loop_thread *thread) {
    pthread_join(thread->id, NULL);
    mem_free(thread);
}

// ---- Workers -----------------------------------------------------------------------------------------------------

struct worker_pool {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct list queue; // loop_work.message.link
    bool stopping;
    struct loop_thread *threads[WORKERS];
};

static struct loop_work *next_work(struct worker_pool *p) {
    pthread_mutex_lock(&p->lock);
    while (list_empty(&p->queue) && !p->stopping) {
        pthread_cond_wait(&p->more, &p->lock);
    }
    struct list *node = list_pop(&p->queue);
    pthread_mutex_unlock(&p->lock);
    return node != NULL ? CONTAINER_OF(node, struct loop_work, message.link) : NULL;
}

static void work(void *ctx) {
    struct loop_work *w;
    while ((w = next_work(ctx)) != NULL) {
        w->run(w);
        loop_post(w->loop, &w->message);
    }
}

static void on_done(struct loop_message *message) {
    struct loop_work *w = CONTAINER_OF(message, struct loop_work, message);
    w->done(w);
}

static struct worker_pool *pool_new(void) {
    struct worker_pool *p = NEW(struct worker_pool);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    list_init(&p->queue);
    for (size_t i = 0; i < WORKERS; i++) {
        p->threads[i] = loop_thread_new("worker", work, p);
    }
    return p;
}

void loop_work_start(struct loop *loop, struct loop_work *w) {
    if (loop->workers == NULL) {
        loop->workers = pool_new();
    }
    struct worker_pool *p = loop->workers;
    w->loop = loop;
    w->message.fn = on_done;
    pthread_mutex_lock(&p->lock);
    list_push(&p->queue, &w->message.link);
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
}

// Finishes what is queued: done() is promised for all of it.
void loop_workers_done(struct loop *loop) {
    struct worker_pool *p = loop->workers;
    if (p == NULL) {
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->more);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < WORKERS; i++) {
        loop_thread_join(p->threads[i]);
    }
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
    loop->workers = NULL;
}
