// From the table's outbox to the journal, and from a commit to everything that waited for it.
//
// A new job is a batch of its own that may fail: then the job has never been and its client is told. Everything else
// must get in: the store keeps trying, and nothing is published before it is written.
#include "flow/internal.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>

struct commit {
    struct list link; // flow.commits
    struct flow *flow;
    struct job_event **events;
    size_t count, cap;
};

static struct commit *commit_new(struct flow *f) {
    struct commit *c = NEW(struct commit);
    c->flow = f;
    list_push(&f->commits, &c->link);
    return c;
}

static void commit_add(struct commit *c, struct job_event *take_event) {
    if (c->count == c->cap) {
        c->cap = c->cap != 0 ? c->cap * 2 : 1;
        c->events = mem_realloc_array(c->events, c->cap, sizeof(struct job_event *));
    }
    c->events[c->count++] = take_event;
}

static void commit_free(struct commit *c) {
    for (size_t i = 0; i < c->count; i++) {
        job_event_unref(c->events[i]);
    }
    list_remove(&c->link);
    mem_free(c->events);
    mem_free(c);
}

// The store writes them still, and calls back no more.
void flow_journal_leave(struct flow *f) {
    LIST_EACH (node, &f->commits) {
        commit_free(CONTAINER_OF(node, struct commit, link));
    }
}

// What follows from an event that is now durable and visible.
static void published(struct flow *f, struct job_event *e) {
    struct job *job = e->job;
    struct flow_job *fj = job->flow;
    if (e->kind == JOB_EVENT_DELETED) {
        struct backend *b = flow_backend_find(f, job->backend);
        if (b != NULL) {
            b->ops->remove(b, job->uid);
        }
    } else if (job_state_terminal(e->state)) {
        int64_t ttl = job->spec != NULL ? job->spec->ttl_ns : -1;
        if (fj != NULL && fj->handed_over) {
            fj->backend->ops->settled(fj->backend, job->uid);
        }
        if (fj != NULL) {
            loop_timer_stop(&fj->start_deadline);
            flow_logs_terminal(fj);
        }
        flow_retention_add(f, job, ttl);
    } else if (fj != NULL && !fj->handed_over) {
        flow_hand_over(f, job);
    }
    if (fj != NULL) {
        flow_waiters_run(fj);
    }
    if (job_state_terminal(e->state)) {
        fj = job->flow;
        if (fj != NULL && fj->delete_forced && e->kind != JOB_EVENT_DELETED) {
            flow_delete_now(f, job);
        }
        job_spec_unref(TAKE(job->spec));
        flow_job_drop(job);
    }
}

static void on_committed(void *ctx, int64_t first_sequence, const struct err *err) {
    struct commit *c = ctx;
    struct flow *f = c->flow;
    if (err != NULL) { // only a new job's batch can fail
        struct job *job = job_ref(c->events[0]->job);
        struct flow_job *fj = job->flow;
        flow_waiters_fail(fj, err);
        job_table_forget(f->table, job);
        flow_job_drop(job);
        job_unref(job);
        commit_free(c);
        return;
    }
    for (size_t i = 0; i < c->count; i++) {
        job_table_commit(f->table, c->events[i], first_sequence + (int64_t)i);
    }
    for (size_t i = 0; i < c->count; i++) {
        published(f, c->events[i]);
    }
    commit_free(c);
}

static void send(struct flow *f, struct commit *take_commit, struct store_batch *take_batch, bool may_fail) {
    store_commit(f->store, take_batch, may_fail, on_committed, take_commit);
}

static void put_event(struct store_batch *batch, const struct job_event *e, bool with_job) {
    struct arena a;
    arena_init(&a, 0);
    struct store_transition row;
    flow_row_from_event(e, &a, &row);
    if (with_job) {
        struct store_job job_row;
        flow_row_from_job(e->job, &job_row);
        store_batch_add_job(batch, &job_row);
    }
    store_batch_add_transition(batch, &row);
    arena_done(&a);
}

void flow_journal_flush(void *ctx) {
    struct flow *f = ctx;
    struct commit *rest = NULL;
    struct store_batch *rest_batch = NULL;
    struct job_event *e;
    while ((e = job_table_outbox_pop(f->table)) != NULL) {
        if (e->job_sequence == 1 && e->kind == JOB_EVENT_TRANSITION) {
            struct commit *c = commit_new(f);
            struct store_batch *batch = store_batch_new();
            put_event(batch, e, true);
            commit_add(c, e);
            send(f, c, batch, true);
            continue;
        }
        if (rest == NULL) {
            rest = commit_new(f);
            rest_batch = store_batch_new();
        }
        put_event(rest_batch, e, false);
        commit_add(rest, e);
    }
    if (rest != NULL) {
        send(f, rest, rest_batch, false);
    }
}

void flow_waiters_run(struct flow_job *fj) {
    LIST_EACH (node, &fj->waiters) {
        struct flow_op *op = CONTAINER_OF(node, struct flow_op, link);
        if (op->ready(op)) {
            list_remove(&op->link);
            op->answer(op, NULL);
            mem_free(op);
        }
    }
}

void flow_waiters_fail(struct flow_job *fj, const struct err *err) {
    struct list *node;
    while (fj != NULL && (node = list_pop(&fj->waiters)) != NULL) {
        struct flow_op *op = CONTAINER_OF(node, struct flow_op, link);
        op->answer(op, err);
        mem_free(op);
    }
}

void flow_op_cancel(struct flow_op *op) {
    if (op->cancel != NULL) {
        op->cancel(op);
        return;
    }
    list_remove(&op->link);
    mem_free(op);
}

void flow_move(struct flow *f, struct job *job, struct job_change *change) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (!job_move(f->table, job, change, &err)) {
        log_error("flow", "job %s: %s, ignoring", job->uid, err.message);
    }
}
