// Events: immutable, one block of memory each, shared by reference.
#include "job/internal.h"

#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <string.h>

struct job_event *job_event_ref(struct job_event *event) {
    event->refs++;
    return event;
}

void job_event_unref(struct job_event *event) {
    if (event == NULL) {
        return;
    }
    assert(event->refs > 0);
    if (--event->refs != 0) {
        return;
    }
    if (event->wire != NULL) {
        event->wire_free(event->wire);
    }
    job_unref(event->job);
    mem_free(event);
}

static size_t size_of(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

static const char *put(char **at, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    size_t n = strlen(text) + 1;
    char *copy = memcpy(*at, text, n);
    *at += n;
    return copy;
}

// What the new event will say, still pointing into the old one and the change.
static struct job_event draft(enum job_event_kind kind, const struct job_event *before,
                              const struct job_change *change) {
    struct job_event e = {.refs = 1, .kind = kind, .message = ""};
    if (before != NULL) {
        e = *before;
        e.refs = 1;
        e.kind = kind;
        e.wire = NULL;
        e.wire_free = NULL;
        e.sequence = 0;
    }
    e.from = before != NULL ? before->state : JOB_STATE_NONE;
    e.job_sequence = before != NULL ? before->job_sequence + 1 : 1;
    e.state = change->to;
    e.reason = change->reason;
    e.message = change->message != NULL ? change->message : "";
    e.attempt = change->attempt > 0 ? change->attempt : e.attempt;
    e.restarts = change->restarts > 0 ? change->restarts : e.restarts;
    if (change->exit != NULL) {
        e.exit = *change->exit;
    }
    if (change->roles != NULL) {
        e.roles = change->roles;
        e.role_count = change->role_count;
    }
    e.observed_ns = change->observed_ns;
    e.happened_ns = change->happened_ns != 0 ? change->happened_ns : change->observed_ns;
    e.inferred = change->inferred;
    if (e.started_ns == 0 && e.state == JOB_RUNNING) {
        e.started_ns = e.happened_ns;
    }
    if (e.ended_ns == 0 && job_state_terminal(e.state)) {
        e.ended_ns = e.happened_ns;
    }
    return e;
}

struct job_event *job_event_make(struct job *job, enum job_event_kind kind, const struct job_event *before,
                                 const struct job_change *change) {
    struct job_event e = draft(kind, before, change);
    size_t texts = size_of(e.message) + size_of(e.exit.role) + size_of(e.exit.node) + size_of(e.exit.message);
    for (size_t i = 0; i < e.role_count; i++) {
        texts += size_of(e.roles[i].name);
    }
    struct job_event *out = mem_alloc(sizeof *out + e.role_count * sizeof *e.roles + texts);
    struct job_role_count *roles = (struct job_role_count *)(out + 1);
    char *at = (char *)(roles + e.role_count);
    *out = e;
    out->job = job_ref(job);
    list_init(&out->outbox);
    for (size_t i = 0; i < e.role_count; i++) {
        roles[i] = e.roles[i];
        roles[i].name = put(&at, e.roles[i].name);
    }
    out->roles = e.role_count != 0 ? roles : NULL;
    out->message = put(&at, e.message);
    out->exit.role = put(&at, e.exit.role);
    out->exit.node = put(&at, e.exit.node);
    out->exit.message = put(&at, e.exit.message);
    return out;
}

static bool same_roles(const struct job_event *before, const struct job_change *change) {
    if (change->roles == NULL) {
        return true;
    }
    if (change->role_count != before->role_count) {
        return false;
    }
    for (size_t i = 0; i < change->role_count; i++) {
        const struct job_role_count *a = &before->roles[i];
        const struct job_role_count *b = &change->roles[i];
        if (!str_same(a->name, b->name) || a->desired != b->desired || a->pending != b->pending ||
            a->running != b->running || a->succeeded != b->succeeded || a->failed != b->failed) {
            return false;
        }
    }
    return true;
}

static bool same_exit(const struct job_event *before, const struct job_change *change) {
    const struct job_exit *a = &before->exit;
    const struct job_exit *b = change->exit;
    return b == NULL || (a->present == b->present && a->rank == b->rank && a->exit_code == b->exit_code &&
                         a->signal == b->signal && a->attempt == b->attempt);
}

bool job_event_says_nothing_new(const struct job_event *before, const struct job_change *change) {
    return before != NULL && before->state == change->to && before->reason == change->reason &&
           str_same(before->message, change->message != NULL ? change->message : "") &&
           (change->attempt <= 0 || change->attempt == before->attempt) &&
           (change->restarts <= 0 || change->restarts == before->restarts) && same_exit(before, change) &&
           same_roles(before, change);
}

struct job_event *job_event_restored(struct job *job, enum job_event_kind kind, enum job_state from,
                                     const struct job_change *change, int64_t sequence, int64_t job_sequence,
                                     int64_t started_ns, int64_t ended_ns) {
    struct job_event *e = job_event_make(job, kind, NULL, change);
    e->from = from;
    e->sequence = sequence;
    e->job_sequence = job_sequence;
    e->started_ns = started_ns;
    e->ended_ns = ended_ns;
    return e;
}
