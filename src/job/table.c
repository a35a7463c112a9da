// The table: who exists, in which order, and the one way to move a job.
#include "job/internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "job/feed.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job_table {
    struct job_feed *feed;
    struct hash by_uid, by_name, by_request;
    struct hash interned; // texts that many jobs share; values are their own keys
    struct job **order;   // by ordinal, ascending; NULL where one was deleted
    size_t order_count, order_cap, holes;
    int64_t next_ordinal;
    size_t count, active;
    struct list leaving; // job.link: deleted, and the journal does not have it yet
    struct list outbox;  // job_event.outbox
    void (*on_outbox)(void *ctx);
    void *on_outbox_ctx;
    uint64_t illegal_moves;
};

// One block holds the job and the texts that are its own; the keys of the two maps are kept in it, ready made.
struct entry {
    struct job job;
    const char *name_key;    // namespace/name
    const char *request_key; // namespace/request, or NULL
    struct arena arena;
};

static struct entry *entry_of(struct job *job) {
    return CONTAINER_OF(job, struct entry, job);
}

struct job *job_ref(struct job *job) {
    job->refs++;
    return job;
}

void job_unref(struct job *job) {
    if (job == NULL) {
        return;
    }
    assert(job->refs > 0);
    if (--job->refs != 0) {
        return;
    }
    struct entry *e = entry_of(job);
    job_spec_unref(job->spec);
    arena_done(&e->arena);
    mem_free(e);
}

// ---- Table
// ---------------------------------------------------------------------------------------------------------------------

struct job_table *job_table_new(struct job_feed *feed) {
    struct job_table *t = NEW(struct job_table);
    t->feed = feed;
    t->next_ordinal = 1;
    list_init(&t->leaving);
    list_init(&t->outbox);
    return t;
}

// A job and its events refer to each other: letting go of the events is what ends a job.
static void drop_events(struct job *job) {
    job_ref(job);
    job_event_unref(TAKE(job->head));
    job_event_unref(TAKE(job->seen));
    job_unref(job);
}

void job_table_free(struct job_table *t) {
    if (t == NULL) {
        return;
    }
    struct job_event *e;
    while ((e = job_table_outbox_pop(t)) != NULL) {
        job_event_unref(e);
    }
    for (size_t i = 0; i < t->order_count; i++) {
        if (t->order[i] != NULL) {
            list_push(&t->leaving, &t->order[i]->link);
        }
    }
    struct list *node;
    while ((node = list_pop(&t->leaving)) != NULL) {
        struct job *job = CONTAINER_OF(node, struct job, link);
        drop_events(job);
        job_unref(job);
    }
    hash_done(&t->by_uid);
    hash_done(&t->by_name);
    hash_done(&t->by_request);
    char *text;
    for (size_t at = 0; (text = hash_next(&t->interned, &at)) != NULL;) {
        mem_free(text);
    }
    hash_done(&t->interned);
    mem_free(t->order);
    mem_free(t);
}

static const char *intern(struct job_table *t, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    char *known = hash_get(&t->interned, text);
    if (known == NULL) {
        known = mem_strdup(text);
        hash_put(&t->interned, known, known);
    }
    return known;
}

static const struct json *parse_labels(struct arena *a, const char *text) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    return text != NULL && json_parse(a, text, strlen(text), &json_limits_default, &tree, &err) ? tree : NULL;
}

struct job *job_table_detached(struct job_table *t, const struct job_new *args) {
    struct entry *e = NEW(struct entry);
    struct job *job = &e->job;
    arena_init(&e->arena, 0);
    job->refs = 1;
    list_init(&job->link);
    list_init(&job->owner);
    snprintf(job->uid, sizeof job->uid, "%s", args->uid);
    snprintf(job->spec_hash, sizeof job->spec_hash, "%s", args->spec_hash != NULL ? args->spec_hash : "");
    job->namespace_ = intern(t, args->namespace_);
    job->runtime = intern(t, args->runtime);
    job->backend = intern(t, args->backend);
    job->target = intern(t, args->target);
    job->group = intern(t, args->group);
    e->name_key = arena_printf(&e->arena, "%s/%s", args->namespace_, args->name);
    job->name = strchr(e->name_key, '/') + 1;
    if (args->request_id != NULL) {
        e->request_key = arena_printf(&e->arena, "%s/%s", args->namespace_, args->request_id);
        job->request_id = strchr(e->request_key, '/') + 1;
    }
    job->labels_json = arena_strdup(&e->arena, args->labels_json);
    job->labels = parse_labels(&e->arena, job->labels_json);
    job->warnings_json = arena_strdup(&e->arena, args->warnings_json);
    job->created_ns = args->created_ns;
    job->ordinal = args->ordinal;
    job->external = args->external;
    job->spec = args->spec != NULL ? job_spec_ref(args->spec) : NULL;
    return job;
}

static void append(struct job_table *t, struct job *job) {
    if (t->order_count == t->order_cap) {
        t->order_cap = t->order_cap != 0 ? t->order_cap * 2 : 64;
        t->order = mem_realloc_array(t->order, t->order_cap, sizeof(struct job *));
    }
    t->order[t->order_count++] = job;
}

struct job *job_table_add(struct job_table *t, const struct job_new *args) {
    struct job *job = job_table_detached(t, args);
    struct entry *e = entry_of(job);
    if (job->ordinal == 0) {
        job->ordinal = t->next_ordinal;
    }
    assert(job->ordinal >= t->next_ordinal); // also on load: rows come by ordinal
    t->next_ordinal = job->ordinal + 1;
    append(t, job);
    hash_put(&t->by_uid, job->uid, job);
    hash_put(&t->by_name, e->name_key, job);
    if (e->request_key != NULL) {
        hash_put(&t->by_request, e->request_key, job);
    }
    t->count++;
    t->active++; // until it is restored or moved to an end
    return job;
}

struct job *job_table_by_uid(const struct job_table *t, const char *uid) {
    return hash_get(&t->by_uid, uid);
}

static struct job *by_pair(const struct hash *h, const char *namespace_, const char *text) {
    CLEANUP(mem_free_ptr) char *key = mem_printf("%s/%s", namespace_, text);
    return hash_get(h, key);
}

struct job *job_table_by_name(const struct job_table *t, const char *namespace_, const char *name) {
    return by_pair(&t->by_name, namespace_, name);
}

struct job *job_table_by_request(const struct job_table *t, const char *namespace_, const char *request_id) {
    return by_pair(&t->by_request, namespace_, request_id);
}

size_t job_table_count(const struct job_table *t) {
    return t->count;
}

size_t job_table_active_count(const struct job_table *t) {
    return t->active;
}

uint64_t job_table_illegal_moves(const struct job_table *t) {
    return t->illegal_moves;
}

// ---- Order
// -----------------------------------------------------------------------------------------------------------------------

// Index of the first entry whose ordinal is not below; holes take the side of their next neighbour to the left.
static size_t lower_bound(const struct job_table *t, int64_t ordinal) {
    size_t low = 0;
    size_t high = t->order_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t probe = middle;
        while (probe > low && t->order[probe] == NULL) {
            probe--;
        }
        if (t->order[probe] != NULL && t->order[probe]->ordinal >= ordinal) {
            high = probe;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

struct job *job_table_next_older(const struct job_table *t, int64_t before) {
    size_t i = before == 0 ? t->order_count : lower_bound(t, before);
    while (i > 0) {
        if (t->order[--i] != NULL) {
            return t->order[i];
        }
    }
    return NULL;
}

// Closes the holes when they are half of it: each deletion pays a constant share.
static void close_holes(struct job_table *t) {
    if (++t->holes * 2 < t->order_count || t->order_count < 64) {
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < t->order_count; i++) {
        if (t->order[i] != NULL) {
            t->order[n++] = t->order[i];
        }
    }
    t->order_count = n;
    t->holes = 0;
}

static void take_out(struct job_table *t, struct job *job) {
    struct entry *e = entry_of(job);
    hash_remove(&t->by_uid, job->uid);
    if (hash_get(&t->by_name, e->name_key) == job) {
        hash_remove(&t->by_name, e->name_key);
    }
    if (e->request_key != NULL && hash_get(&t->by_request, e->request_key) == job) {
        hash_remove(&t->by_request, e->request_key);
    }
    size_t i = lower_bound(t, job->ordinal);
    while (t->order[i] != job) {
        i++; // over holes
    }
    t->order[i] = NULL;
    close_holes(t);
    t->count--;
    job->deleted = true;
}

// ---- Moves
// -----------------------------------------------------------------------------------------------------------------------

static void put_head(struct job_table *t, struct job *job, struct job_event *take_event) {
    job_event_unref(job->head);
    job->head = take_event;
    bool was_empty = list_empty(&t->outbox);
    list_push(&t->outbox, &job_event_ref(take_event)->outbox);
    if (was_empty && t->on_outbox != NULL) {
        t->on_outbox(t->on_outbox_ctx);
    }
}

bool job_move(struct job_table *t, struct job *job, const struct job_change *change, struct err *err) {
    enum job_state from = job->head != NULL ? job->head->state : JOB_STATE_NONE;
    if (!job_move_legal(from, change->to)) {
        t->illegal_moves++;
        return err_fail(err, ERR_PRECONDITION, "ILLEGAL_MOVE", "a job cannot go from %s to %s", job_state_name(from),
                        job_state_name(change->to));
    }
    if (job_event_says_nothing_new(job->head, change)) {
        return true;
    }
    put_head(t, job, job_event_make(job, JOB_EVENT_TRANSITION, job->head, change));
    t->active -= job_state_terminal(change->to);
    return true;
}

void job_table_delete(struct job_table *t, struct job *job, int64_t now_ns) {
    const struct job_event *head = job->head;
    assert(!job->deleted && head != NULL);
    t->active -= !job_state_terminal(head->state);
    put_head(t, job,
             job_event_make(
                 job, JOB_EVENT_DELETED, head,
                 &(struct job_change){
                     .to = head->state, .reason = head->reason, .message = head->message, .observed_ns = now_ns}));
    take_out(t, job);
    list_push(&t->leaving, &job->link);
}

void job_table_forget(struct job_table *t, struct job *job) {
    LIST_EACH (node, &t->outbox) {
        struct job_event *e = CONTAINER_OF(node, struct job_event, outbox);
        if (e->job == job) {
            list_remove(node);
            job_event_unref(e);
        }
    }
    t->active -= job->head == NULL || !job_state_terminal(job->head->state);
    take_out(t, job);
    drop_events(job);
    job_unref(job);
}

struct job_event *job_table_outbox_pop(struct job_table *t) {
    struct list *node = list_pop(&t->outbox);
    return node != NULL ? CONTAINER_OF(node, struct job_event, outbox) : NULL;
}

void job_table_on_outbox(struct job_table *t, void (*fn)(void *ctx), void *ctx) {
    t->on_outbox = fn;
    t->on_outbox_ctx = ctx;
}

void job_table_commit(struct job_table *t, struct job_event *event, int64_t sequence) {
    struct job *job = event->job;
    event->sequence = sequence;
    if (job->seen == NULL || job->seen->job_sequence < event->job_sequence) {
        job_event_unref(job->seen);
        job->seen = job_event_ref(event);
    }
    job_feed_append(t->feed, event);
    if (event->kind == JOB_EVENT_DELETED) { // the caller's event keeps it alive as long as it needs
        list_remove(&job->link);
        drop_events(job);
        job_unref(job);
    }
}

void job_table_restore(struct job_table *t, struct job *job, const struct job_change *change, int64_t sequence,
                       int64_t job_sequence, int64_t started_ns, int64_t ended_ns) {
    struct job_event *e = job_event_restored(job, JOB_EVENT_TRANSITION, JOB_STATE_NONE, change, sequence, job_sequence,
                                             started_ns, ended_ns);
    assert(job->head == NULL);
    job->head = e;
    job->seen = job_event_ref(e);
    t->active -= job_state_terminal(e->state);
}
