// Responses: what flow knows to bytes. Messages are built on an arena that lives as long as the call.
#include "api/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include "trainer/v1/service.pb-c.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_BYTES_MAX = 900 * 1024 };

// protobuf-c's structs hold char *, and never write through them while packing.
static char *text(const char *t) {
    return (char *)(uintptr_t)(t != NULL ? t : "");
}

static Google__Protobuf__Timestamp *timestamp(struct arena *a, int64_t wall_ns) {
    if (wall_ns == 0) {
        return NULL;
    }
    Google__Protobuf__Timestamp *t = ARENA_NEW(a, Google__Protobuf__Timestamp);
    google__protobuf__timestamp__init(t);
    t->seconds = wall_ns / CLOCK_SECOND;
    t->nanos = (int32_t)(wall_ns % CLOCK_SECOND);
    return t;
}

static const char *signal_text(struct arena *a, int number) {
    const char *name = number > 0 ? sigabbrev_np(number) : NULL;
    return number == 0 ? "" : name != NULL ? arena_printf(a, "SIG%s", name) : arena_printf(a, "signal %d", number);
}

static Trainer__V1__ExitInfo *exit_info(struct arena *a, const struct job_exit *x) {
    if (!x->present) {
        return NULL;
    }
    Trainer__V1__ExitInfo *m = ARENA_NEW(a, Trainer__V1__ExitInfo);
    trainer__v1__exit_info__init(m);
    m->role = text(x->role);
    m->index = x->index;
    m->rank = x->rank;
    m->exit_code = x->exit_code;
    m->signal = x->signal;
    m->signal_name = text(signal_text(a, x->signal));
    m->node = text(x->node);
    m->message = text(x->message);
    m->attempt = x->attempt;
    return m;
}

static Trainer__V1__JobStatus *status(struct arena *a, const struct job_event *e) {
    Trainer__V1__JobStatus *m = ARENA_NEW(a, Trainer__V1__JobStatus);
    trainer__v1__job_status__init(m);
    m->state = (Trainer__V1__Job__State)e->state;
    m->reason = (Trainer__V1__JobStatus__Reason)e->reason;
    m->message = text(e->message);
    m->sequence = e->sequence;
    m->job_sequence = e->job_sequence;
    m->attempt = e->attempt;
    m->restarts = e->restarts;
    m->exit = exit_info(a, &e->exit);
    m->roles = ARENA_NEW_ARRAY(a, Trainer__V1__RoleStatus *, e->role_count);
    for (size_t i = 0; i < e->role_count; i++) {
        Trainer__V1__RoleStatus *r = ARENA_NEW(a, Trainer__V1__RoleStatus);
        trainer__v1__role_status__init(r);
        r->name = text(e->roles[i].name);
        r->desired = e->roles[i].desired;
        r->pending = e->roles[i].pending;
        r->running = e->roles[i].running;
        r->succeeded = e->roles[i].succeeded;
        r->failed = e->roles[i].failed;
        m->roles[m->n_roles++] = r;
    }
    m->observe_time = timestamp(a, e->observed_ns);
    m->event_time = timestamp(a, e->happened_ns);
    m->start_time = timestamp(a, e->started_ns);
    m->end_time = timestamp(a, e->ended_ns);
    m->inferred = e->inferred;
    return m;
}

static size_t labels_of(struct arena *a, const struct json *object, Trainer__V1__Job__LabelsEntry ***ret) {
    size_t n = 0;
    *ret = ARENA_NEW_ARRAY(a, Trainer__V1__Job__LabelsEntry *, object != NULL ? object->count : 0);
    JSON_EACH (l, object) {
        Trainer__V1__Job__LabelsEntry *e = ARENA_NEW(a, Trainer__V1__Job__LabelsEntry);
        trainer__v1__job__labels_entry__init(e);
        e->key = text(l->key);
        e->value = text(l->text);
        (*ret)[n++] = e;
    }
    return n;
}

static void put_warnings(struct arena *a, const char *json, Trainer__V1__Job *m) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    if (json == NULL || !json_parse(a, json, strlen(json), &json_limits_default, &tree, &err)) {
        return;
    }
    m->warnings = ARENA_NEW_ARRAY(a, char *, tree->count);
    JSON_EACH (w, tree) {
        m->warnings[m->n_warnings++] = text(w->text);
    }
}

// The full view: the spec's text through the JSON mapping, which is how it came in.
static void put_spec(struct arena *a, const char *spec_json, Trainer__V1__Job *m) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str wire = STR_INIT;
    const struct json *tree = NULL;
    if (!json_parse(a, spec_json, strlen(spec_json), &json_limits_default, &tree, &err) ||
        !api_json_to_wire("trainer.v1.JobSpec", tree, &wire, &err)) {
        return;
    }
    m->spec = api_unpack(&trainer__v1__job_spec__descriptor, a, wire.data, wire.len, &err);
    const struct json *annotations = json_get(tree, "annotations");
    m->annotations =
        ARENA_NEW_ARRAY(a, Trainer__V1__Job__AnnotationsEntry *, annotations != NULL ? annotations->count : 0);
    JSON_EACH (x, annotations) {
        Trainer__V1__Job__AnnotationsEntry *e = ARENA_NEW(a, Trainer__V1__Job__AnnotationsEntry);
        trainer__v1__job__annotations_entry__init(e);
        e->key = text(x->key);
        e->value = text(x->text);
        m->annotations[m->n_annotations++] = e;
    }
}

static Trainer__V1__Job *job_message(struct arena *a, const struct job *job, const struct job_event *seen,
                                     const char *spec_json) {
    Trainer__V1__Job *m = ARENA_NEW(a, Trainer__V1__Job);
    trainer__v1__job__init(m);
    m->uid = text(job->uid);
    m->name = text(job->name);
    m->namespace_ = text(job->namespace_);
    m->runtime = text(job->runtime);
    m->backend = text(job->backend);
    m->target = text(job->target);
    m->group = text(job->group);
    m->n_labels = labels_of(a, job->labels, &m->labels);
    m->request_id = text(job->request_id);
    m->spec_hash = text(job->spec_hash);
    m->external = job->external;
    m->create_time = timestamp(a, job->created_ns);
    put_warnings(a, job->warnings_json, m);
    m->status = seen != NULL ? status(a, seen) : NULL;
    if (spec_json != NULL) {
        put_spec(a, spec_json, m);
    }
    return m;
}

void api_encode_job(const struct job *job, const char *spec_json, struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    api_pack(&job_message(&a, job, job->seen, spec_json)->base, out);
}

// ---- Submit
// ------------------------------------------------------------------------------------------------------------------------

static char **texts(struct arena *a, const char *const *from, size_t n) {
    char **out = ARENA_NEW_ARRAY(a, char *, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = text(from[i]);
    }
    return out;
}

// validate_only: what the job would be.
static Trainer__V1__Job *draft(struct arena *a, const struct flow_submitted *r) {
    Trainer__V1__Job *m = ARENA_NEW(a, Trainer__V1__Job);
    trainer__v1__job__init(m);
    m->name = text(r->name);
    m->namespace_ = text(r->spec->namespace_);
    m->runtime = text(r->spec->runtime);
    m->backend = text(r->backend);
    m->target = text(r->target);
    m->group = text(r->spec->group);
    m->n_labels = labels_of(a, r->spec->labels, &m->labels);
    m->spec_hash = text(r->spec->hash);
    put_spec(a, r->spec->json, m);
    return m;
}

static Trainer__V1__Job *submitted_job(struct arena *a, const struct flow_submitted *r) {
    return r->job != NULL ? job_message(a, r->job, r->job->seen, NULL) : draft(a, r);
}

void api_encode_submit(const struct flow_submitted *r, struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    Trainer__V1__SubmitResponse m = TRAINER__V1__SUBMIT_RESPONSE__INIT;
    m.job = submitted_job(&a, r);
    m.duplicate = r->duplicate;
    m.warnings = texts(&a, r->warnings, r->warning_count);
    m.n_warnings = r->warning_count;
    api_pack(&m.base, out);
}

void api_encode_submitted(const struct flow_submitted *r, const char *token, struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    Trainer__V1__Submitted s = TRAINER__V1__SUBMITTED__INIT;
    s.job = submitted_job(&a, r);
    s.duplicate = r->duplicate;
    s.warnings = texts(&a, r->warnings, r->warning_count);
    s.n_warnings = r->warning_count;
    Trainer__V1__WatchResponse m = TRAINER__V1__WATCH_RESPONSE__INIT;
    m.message_case = TRAINER__V1__WATCH_RESPONSE__MESSAGE_SUBMITTED;
    m.submitted = &s;
    m.resume_token = text(token);
    api_pack(&m.base, out);
}

void api_encode_render(const struct flow_rendered *items, size_t n, const char *const *warnings, size_t warning_count,
                       struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    Trainer__V1__RenderResponse m = TRAINER__V1__RENDER_RESPONSE__INIT;
    m.rendered = ARENA_NEW_ARRAY(&a, Trainer__V1__Rendered *, n);
    for (size_t i = 0; i < n; i++) {
        Trainer__V1__Rendered *r = ARENA_NEW(&a, Trainer__V1__Rendered);
        trainer__v1__rendered__init(r);
        r->target = text(items[i].target);
        r->kind = text(items[i].kind);
        r->json = text(items[i].json);
        r->error = text(items[i].error);
        r->chosen = items[i].chosen;
        m.rendered[m.n_rendered++] = r;
    }
    m.warnings = texts(&a, warnings, warning_count);
    m.n_warnings = warning_count;
    api_pack(&m.base, out);
}

// ---- List
// --------------------------------------------------------------------------------------------------------------------------

void api_encode_list(const struct flow_page *page, const char *const *specs, uint64_t selector_hash, size_t *ret_used,
                     struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    Trainer__V1__ListResponse m = TRAINER__V1__LIST_RESPONSE__INIT;
    char token[40] = "";
    size_t bytes = 0;
    m.jobs = ARENA_NEW_ARRAY(&a, Trainer__V1__Job *, page->count);
    for (size_t i = 0; i < page->count; i++) {
        Trainer__V1__Job *job = job_message(&a, page->jobs[i], page->jobs[i]->seen, specs != NULL ? specs[i] : NULL);
        bytes += trainer__v1__job__get_packed_size(job);
        if (bytes > LIST_BYTES_MAX && i != 0) { // below every client's default of 4 MiB, whatever the jobs carry
            break;
        }
        m.jobs[m.n_jobs++] = job;
    }
    *ret_used = m.n_jobs;
    if (m.n_jobs < page->count || page->next != 0) {
        api_page_token(selector_hash, page->jobs[m.n_jobs - 1]->ordinal, token);
    }
    m.next_page_token = token;
    m.total = page->total;
    m.sequence = page->sequence;
    api_pack(&m.base, out);
}

void api_encode_deleted(const char *uid, struct str *out) {
    Trainer__V1__DeleteResponse m = TRAINER__V1__DELETE_RESPONSE__INIT;
    m.uid = text(uid);
    api_pack(&m.base, out);
}

// ---- Watch
// -------------------------------------------------------------------------------------------------------------------------

struct wire {
    size_t length;
    char data[];
};

static void put_transition(struct arena *a, const struct job_event *e, Trainer__V1__WatchResponse *m) {
    Trainer__V1__Transition *t = ARENA_NEW(a, Trainer__V1__Transition);
    trainer__v1__transition__init(t);
    t->uid = text(e->job->uid);
    t->name = text(e->job->name);
    t->namespace_ = text(e->job->namespace_);
    t->sequence = e->sequence;
    t->job_sequence = e->job_sequence;
    t->from = (Trainer__V1__Job__State)e->from;
    t->to = (Trainer__V1__Job__State)e->state;
    t->status = status(a, e);
    m->message_case = TRAINER__V1__WATCH_RESPONSE__MESSAGE_TRANSITION;
    m->transition = t;
}

static void put_deleted(struct arena *a, const struct job_event *e, Trainer__V1__WatchResponse *m) {
    Trainer__V1__JobDeleted *d = ARENA_NEW(a, Trainer__V1__JobDeleted);
    trainer__v1__job_deleted__init(d);
    d->uid = text(e->job->uid);
    d->name = text(e->job->name);
    d->namespace_ = text(e->job->namespace_);
    d->sequence = e->sequence;
    d->job_sequence = e->job_sequence;
    m->message_case = TRAINER__V1__WATCH_RESPONSE__MESSAGE_DELETED;
    m->deleted = d;
}

static void put_heartbeat(struct arena *a, int64_t position, Trainer__V1__WatchResponse *m) {
    Trainer__V1__Heartbeat *h = ARENA_NEW(a, Trainer__V1__Heartbeat);
    trainer__v1__heartbeat__init(h);
    h->position = position;
    h->server_time = timestamp(a, clock_wall());
    m->message_case = TRAINER__V1__WATCH_RESPONSE__MESSAGE_HEARTBEAT;
    m->heartbeat = h;
}

static void put_resync(struct arena *a, const struct flow_watch_item *item, Trainer__V1__WatchResponse *m) {
    Trainer__V1__Resync *r = ARENA_NEW(a, Trainer__V1__Resync);
    trainer__v1__resync__init(r);
    r->message = text(item->message);
    r->oldest_sequence = item->sequence;
    m->message_case = TRAINER__V1__WATCH_RESPONSE__MESSAGE_RESYNC;
    m->resync = r;
}

static void put_snapshot_end(struct arena *a, const struct flow_watch_item *item, Trainer__V1__WatchResponse *m) {
    Trainer__V1__SnapshotEnd *s = ARENA_NEW(a, Trainer__V1__SnapshotEnd);
    trainer__v1__snapshot_end__init(s);
    s->sequence = item->sequence;
    s->jobs = item->jobs;
    m->message_case = TRAINER__V1__WATCH_RESPONSE__MESSAGE_SNAPSHOT_END;
    m->snapshot_end = s;
}

static void fill(struct arena *a, enum flow_watch_kind kind, const struct flow_watch_item *item, const char *spec_json,
                 Trainer__V1__WatchResponse *m) {
    switch (kind) {
    case WATCH_TRANSITION:
        put_transition(a, item->event, m);
        return;
    case WATCH_DELETED:
        put_deleted(a, item->event, m);
        return;
    case WATCH_SNAPSHOT:
        m->message_case = TRAINER__V1__WATCH_RESPONSE__MESSAGE_SNAPSHOT;
        m->snapshot = job_message(a, item->event->job, item->event, spec_json);
        return;
    case WATCH_SNAPSHOT_END:
        put_snapshot_end(a, item, m);
        return;
    case WATCH_HEARTBEAT:
        put_heartbeat(a, item->sequence, m);
        return;
    case WATCH_RESYNC:
        put_resync(a, item, m);
        return;
    default:
        return;
    }
}

void api_encode_watch(enum flow_watch_kind kind, const struct flow_watch_item *item, const char *spec_json,
                      struct str *scratch, const void **ret_data, size_t *ret_len) {
    bool shared = kind == WATCH_TRANSITION || kind == WATCH_DELETED;
    struct job_event *e = item->event;
    if (shared && e->wire != NULL) {
        const struct wire *w = e->wire;
        *ret_data = w->data;
        *ret_len = w->length;
        return;
    }
    CLEANUP(arena_done) struct arena a = {0};
    Trainer__V1__WatchResponse m = TRAINER__V1__WATCH_RESPONSE__INIT;
    m.resume_token = text(item->token);
    fill(&a, kind, item, spec_json, &m);
    if (!shared) {
        size_t before = scratch->len;
        api_pack(&m.base, scratch);
        *ret_data = scratch->data + before;
        *ret_len = scratch->len - before;
        return;
    }
    size_t n = trainer__v1__watch_response__get_packed_size(&m);
    struct wire *w = mem_alloc(sizeof *w + n);
    w->length = trainer__v1__watch_response__pack(&m, (uint8_t *)w->data);
    e->wire = w;
    e->wire_free = mem_free;
    *ret_data = w->data;
    *ret_len = w->length;
}

// ---- Logs
// --------------------------------------------------------------------------------------------------------------------------

static void put_chunk(struct arena *a, const struct backend_log_item *i, Trainer__V1__LogsResponse *m) {
    Trainer__V1__LogChunk *c = ARENA_NEW(a, Trainer__V1__LogChunk);
    trainer__v1__log_chunk__init(c);
    c->role = text(i->role);
    c->index = i->index;
    c->rank = i->rank;
    c->attempt = i->attempt;
    c->container = text(i->container);
    c->data = (ProtobufCBinaryData){.len = i->length, .data = (uint8_t *)(uintptr_t)i->data};
    c->offset = i->offset;
    c->time = timestamp(a, i->time_ns);
    m->message_case = TRAINER__V1__LOGS_RESPONSE__MESSAGE_CHUNK;
    m->chunk = c;
}

static void put_attempt(struct arena *a, const struct backend_log_item *i, Trainer__V1__LogsResponse *m) {
    Trainer__V1__LogAttempt *t = ARENA_NEW(a, Trainer__V1__LogAttempt);
    trainer__v1__log_attempt__init(t);
    t->role = text(i->role);
    t->index = i->index;
    t->rank = i->rank;
    t->attempt = i->attempt;
    m->message_case = TRAINER__V1__LOGS_RESPONSE__MESSAGE_ATTEMPT;
    m->attempt = t;
}

static void put_gap(struct arena *a, const struct backend_log_item *i, Trainer__V1__LogsResponse *m) {
    Trainer__V1__LogGap *g = ARENA_NEW(a, Trainer__V1__LogGap);
    trainer__v1__log_gap__init(g);
    g->role = text(i->role);
    g->index = i->index;
    g->rank = i->rank;
    g->attempt = i->attempt;
    g->from_offset = i->offset;
    g->to_offset = i->to_offset;
    g->message = text(i->message);
    m->message_case = TRAINER__V1__LOGS_RESPONSE__MESSAGE_GAP;
    m->gap = g;
}

void api_encode_log(const struct backend_log_item *item, struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    Trainer__V1__LogsResponse m = TRAINER__V1__LOGS_RESPONSE__INIT;
    static void (*const put[])(struct arena *, const struct backend_log_item *, Trainer__V1__LogsResponse *) = {
        [LOG_ITEM_CHUNK] = put_chunk, [LOG_ITEM_ATTEMPT] = put_attempt, [LOG_ITEM_GAP] = put_gap};
    put[item->kind](&a, item, &m);
    m.resume_token = text(item->resume);
    api_pack(&m.base, out);
}

void api_encode_log_heartbeat(struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    Trainer__V1__LogHeartbeat h = TRAINER__V1__LOG_HEARTBEAT__INIT;
    h.server_time = timestamp(&a, clock_wall());
    Trainer__V1__LogsResponse m = TRAINER__V1__LOGS_RESPONSE__INIT;
    m.message_case = TRAINER__V1__LOGS_RESPONSE__MESSAGE_HEARTBEAT;
    m.heartbeat = &h;
    api_pack(&m.base, out);
}

// ---- Events
// ------------------------------------------------------------------------------------------------------------------------

void api_encode_events(const struct backend_event *events, size_t n, struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    Trainer__V1__EventsResponse m = TRAINER__V1__EVENTS_RESPONSE__INIT;
    m.events = ARENA_NEW_ARRAY(&a, Trainer__V1__ClusterEvent *, n);
    for (size_t i = 0; i < n; i++) {
        Trainer__V1__ClusterEvent *e = ARENA_NEW(&a, Trainer__V1__ClusterEvent);
        trainer__v1__cluster_event__init(e);
        e->first_time = timestamp(&a, events[i].first_ns);
        e->last_time = timestamp(&a, events[i].last_ns);
        e->count = events[i].count;
        e->type = text(events[i].type);
        e->reason = text(events[i].reason);
        e->message = text(events[i].message);
        e->object = text(events[i].object);
        e->source = text(events[i].source);
        m.events[m.n_events++] = e;
    }
    api_pack(&m.base, out);
}
