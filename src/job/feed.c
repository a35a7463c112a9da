// A ring of the newest events. Sequences have no holes, so a place in it follows from a sequence.
#include "job/feed.h"

#include "base/mem.h"
#include "job/table.h"

#include <assert.h>

struct job_feed {
    struct job_event **ring;
    size_t cap, count;
    int64_t last;
    struct list armed; // job_feed_reader.link
};

struct job_feed *job_feed_new(size_t max_events, int64_t last_sequence) {
    assert(max_events != 0);
    struct job_feed *f = NEW(struct job_feed);
    f->cap = max_events;
    f->ring = mem_zalloc(max_events * sizeof(struct job_event *));
    f->last = last_sequence;
    list_init(&f->armed);
    return f;
}

static struct job_event **place(const struct job_feed *f, int64_t sequence) {
    return &f->ring[(uint64_t)sequence % f->cap];
}

void job_feed_free(struct job_feed *f) {
    if (f == NULL) {
        return;
    }
    for (int64_t s = job_feed_first(f); s <= f->last; s++) {
        job_event_unref(*place(f, s));
    }
    mem_free(f->ring);
    mem_free(f);
}

void job_feed_append(struct job_feed *f, struct job_event *event) {
    assert(event->sequence == f->last + 1);
    struct job_event **at = place(f, event->sequence);
    if (f->count == f->cap) {
        job_event_unref(*at);
    } else {
        f->count++;
    }
    *at = job_event_ref(event);
    f->last = event->sequence;
    struct list woken = LIST_INIT(woken);
    struct list *node;
    list_splice(&woken, &f->armed);
    while ((node = list_pop(&woken)) != NULL) {
        struct job_feed_reader *r = CONTAINER_OF(node, struct job_feed_reader, link);
        r->wake(r->ctx);
    }
}

int64_t job_feed_last(const struct job_feed *f) {
    return f->last;
}

int64_t job_feed_first(const struct job_feed *f) {
    return f->last + 1 - (int64_t)f->count;
}

struct job_event *job_feed_get(const struct job_feed *f, int64_t sequence) {
    return sequence >= job_feed_first(f) && sequence <= f->last ? *place(f, sequence) : NULL;
}

void job_feed_reader_init(struct job_feed_reader *r, void (*wake)(void *), void *ctx) {
    list_init(&r->link);
    r->wake = wake;
    r->ctx = ctx;
}

void job_feed_arm(struct job_feed *f, struct job_feed_reader *r) {
    if (!list_linked(&r->link)) {
        list_push(&f->armed, &r->link);
    }
}

void job_feed_disarm(struct job_feed_reader *r) {
    list_remove(&r->link);
}
