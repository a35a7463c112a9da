// Between the loop and the file: the queue, the thread that works it off, and the way back.
#include "store/internal.h"

#include "base/mem.h"
#include "base/str.h"

#include <time.h>

// ---- On the store thread ------------------------------------------------------------------------------------------

static void wait_until(struct store *s, int64_t mono) {
    struct timespec at = {.tv_sec = mono / CLOCK_SECOND, .tv_nsec = mono % CLOCK_SECOND};
    pthread_cond_timedwait(&s->more, &s->lock, &at);
}

static bool in_trouble(const struct store *s) {
    return err_set(&s->trouble);
}

static bool time_to_retry(const struct store *s) {
    return in_trouble(s) && clock_mono() >= s->retry_ns;
}

// Takes all there is, at once: that is the group. Returns whether it is the last.
static bool take_queue(struct store *s, struct list *ret) {
    pthread_mutex_lock(&s->lock);
    while (list_empty(&s->queue) && !s->closing && !time_to_retry(s)) {
        if (in_trouble(s)) {
            wait_until(s, s->retry_ns);
        } else {
            pthread_cond_wait(&s->more, &s->lock);
        }
    }
    list_splice(ret, &s->queue);
    bool closing = s->closing;
    pthread_mutex_unlock(&s->lock);
    return closing;
}

static void work(struct store *s, struct request *r, bool closing) {
    if (r->kind == REQUEST_TRANSITIONS) {
        store_do_transitions(s, r);
    } else if (r->kind == REQUEST_SPEC) {
        store_do_spec(s, r);
    } else if (!closing && store_do_trim(s, r)) {
        store_enqueue(s, r); // the rest of it, behind what has come meanwhile
        return;
    }
    store_answer(r);
}

static void work_all(struct store *s, struct list *requests, bool closing) {
    struct list group = LIST_INIT(group);
    struct list *node;
    while ((node = list_pop(requests)) != NULL) {
        struct request *r = CONTAINER_OF(node, struct request, link);
        if (r->kind == REQUEST_COMMIT) {
            list_push(&group, node);
            continue;
        }
        store_write_group(s, &group);
        work(s, r, closing);
    }
    store_write_group(s, &group);
}

static void thread_main(void *ctx) {
    struct store *s = ctx;
    bool closing;
    do {
        struct list requests = LIST_INIT(requests);
        closing = take_queue(s, &requests);
        work_all(s, &requests, closing);
        if (time_to_retry(s) || (closing && in_trouble(s))) {
            store_write_again(s);
        }
    } while (!closing);
}

void store_answer(struct request *take_request) {
    loop_post(take_request->store->loop, &take_request->message);
}

// ---- On the loop thread -------------------------------------------------------------------------------------------

static void on_commit(struct store *s, struct request *r, const struct err *err) {
    if (err != NULL) {
        r->done_commit(r->ctx, 0, err);
        return;
    }
    for (size_t i = 0; i < r->batch->job_count; i++) {
        store_used_add(s, &r->batch->jobs[i]);
    }
    s->newest = r->first_sequence + (int64_t)r->batch->transition_count - 1;
    r->done_commit(r->ctx, r->first_sequence, NULL);
}

static void on_transitions(struct request *r, const struct err *err) {
    for (size_t i = 0; i < r->row_count && !r->canceled; i++) {
        r->each(r->ctx, &r->rows[i].transition, &r->rows[i].job);
    }
    if (!r->canceled) {
        r->done_rows(r->ctx, err);
    }
}

static void on_trim(struct store *s, struct request *r) {
    for (size_t i = 0; i < r->purged_count; i++) {
        store_used_purge(s, &r->purged[i]);
    }
    if (r->done_trim != NULL) {
        r->done_trim(r->ctx, r->removed);
    }
}

static void on_answer(struct loop_message *message) {
    struct request *r = CONTAINER_OF(message, struct request, message);
    const struct err *err = err_set(&r->err) ? &r->err : NULL;
    struct store *s = r->store;
    if (!s->closing && !r->canceled) {
        switch (r->kind) {
        case REQUEST_COMMIT:
            on_commit(s, r, err);
            break;
        case REQUEST_TRANSITIONS:
            on_transitions(r, err);
            break;
        case REQUEST_SPEC:
            r->done_spec(r->ctx, r->spec, err);
            break;
        case REQUEST_TRIM:
            on_trim(s, r);
            break;
        }
    }
    store_request_free(r);
}

void store_request_free(struct request *r) {
    store_batch_free(r->batch);
    err_done(&r->err);
    arena_done(&r->arena);
    mem_free(r->rows);
    mem_free(r->uid);
    mem_free(r->purged);
    mem_free(r);
}

void store_enqueue(struct store *s, struct request *take_request) {
    if (s->thread == NULL) { // not before the loop thread has loaded the file
        s->thread = loop_thread_new("journal", thread_main, s);
    }
    take_request->message.fn = on_answer;
    pthread_mutex_lock(&s->lock);
    list_push(&s->queue, &take_request->link);
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
}

static void free_all(struct list *requests) {
    struct list *node;
    while ((node = list_pop(requests)) != NULL) {
        store_request_free(CONTAINER_OF(node, struct request, link));
    }
}

void store_thread_end(struct store *s) {
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    if (s->thread != NULL) {
        loop_thread_join(s->thread);
        loop_deliver(s->loop); // what it posted last is freed here, while the store is still there
    }
    free_all(&s->queue);
    free_all(&s->waiting); // could not be written to the last
}

void store_commit(struct store *s, struct store_batch *take_batch, bool may_fail,
                  void (*done)(void *ctx, int64_t first_sequence, const struct err *err), void *ctx) {
    struct request *r = NEW(struct request);
    *r = (struct request){
        .store = s, .kind = REQUEST_COMMIT, .ctx = ctx, .batch = take_batch, .may_fail = may_fail, .done_commit = done};
    store_enqueue(s, r);
}

// ---- Health -------------------------------------------------------------------------------------------------------

struct health {
    struct loop_message message;
    struct store *store;
    char *problem;
    bool full;
};

static void on_health(struct loop_message *message) {
    struct health *h = CONTAINER_OF(message, struct health, message);
    struct store *s = h->store;
    if (!s->closing && !str_same(s->problem, h->problem)) {
        mem_free(s->problem);
        s->problem = TAKE(h->problem);
        s->full = h->full;
        if (s->on_health != NULL) {
            s->on_health(s->on_health_ctx, s->problem);
        }
    }
    mem_free(h->problem);
    mem_free(h);
}

void store_say_health(struct store *s, const struct err *trouble) {
    struct health *h = NEW(struct health);
    *h = (struct health){.message.fn = on_health,
                         .store = s,
                         .problem = trouble != NULL ? mem_strdup(trouble->message) : NULL,
                         .full = trouble != NULL && trouble->code == ERR_EXHAUSTED};
    loop_post(s->loop, &h->message);
}
