// Rows of the journal <-> events and changes of the job table.
#include "flow/internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "json/json.h"

#include <string.h>

static void put_exit(const struct job_exit *x, struct str *out) {
    struct json_writer w;
    json_writer_init(&w, out);
    json_begin_object(&w);
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"index", x->index}, {"rank", x->rank}, {"code", x->exit_code}, {"signal", x->signal}, {"attempt", x->attempt}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        json_key(&w, numbers[i].key);
        json_add_int(&w, numbers[i].value);
    }
    const struct { const char *key, *value; } words[] = {{"role", x->role}, {"node", x->node}, {"message", x->message}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (words[i].value != NULL) {
            json_key(&w, words[i].key);
            json_add_string(&w, words[i].value);
        }
    }
    json_end_object(&w);
}

static void put_roles(const struct job_role_count *roles, size_t n, struct str *out) {
    struct json_writer w;
    json_writer_init(&w, out);
    json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        const int64_t counts[] = {roles[i].desired, roles[i].pending, roles[i].running, roles[i].succeeded,
                                  roles[i].failed};
        json_begin_array(&w);
        json_add_string(&w, roles[i].name);
        for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
            json_add_int(&w, counts[k]);
        }
        json_end_array(&w);
    }
    json_end_array(&w);
}

static const char *into(struct arena *a, struct str *text) {
    const char *out = arena_strndup(a, str_text(text), text->len);
    str_clear(text);
    return out;
}

void flow_row_from_event(const struct job_event *e, struct arena *a, struct store_transition *ret) {
    CLEANUP(str_done) struct str text = STR_INIT;
    *ret = (struct store_transition){
        .uid = e->job->uid,
        .kind = e->kind == JOB_EVENT_DELETED ? STORE_DELETED : STORE_TRANSITION,
        .job_sequence = e->job_sequence,
        .from = (int32_t)e->from,
        .state = (int32_t)e->state,
        .reason = (int32_t)e->reason,
        .attempt = e->attempt,
        .restarts = e->restarts,
        .message = e->message,
        .observed_ns = e->observed_ns,
        .happened_ns = e->happened_ns,
        .started_ns = e->started_ns,
        .ended_ns = e->ended_ns,
        .inferred = e->inferred,
    };
    if (e->exit.present) {
        put_exit(&e->exit, &text);
        ret->exit_json = into(a, &text);
    }
    if (e->role_count != 0) {
        put_roles(e->roles, e->role_count, &text);
        ret->roles_json = into(a, &text);
    }
}

void flow_row_from_job(const struct job *job, struct store_job *ret) {
    *ret = (struct store_job){
        .uid = job->uid,
        .namespace_ = job->namespace_,
        .name = job->name,
        .runtime = job->runtime,
        .backend = job->backend,
        .target = job->target,
        .group = job->group,
        .request_id = job->request_id,
        .labels_json = job->labels_json,
        .warnings_json = job->warnings_json,
        .spec_hash = job->spec_hash,
        .spec_json = job->spec != NULL ? job->spec->json : "{}",
        .created_ns = job->created_ns,
        .ordinal = job->ordinal,
        .ttl_ns = job->spec != NULL ? job->spec->ttl_ns : -1,
        .external = job->external,
    };
}

static int32_t int_of(const struct json *node) {
    int64_t v = 0;
    return json_int(node, &v) ? (int32_t)v : 0;
}

static const struct json *parse(struct arena *a, const char *text) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    return text != NULL && json_parse(a, text, strlen(text), &json_limits_default, &tree, &err) ? tree : NULL;
}

void flow_change_from_row(const struct store_transition *row, struct arena *a, struct job_change *ret) {
    *ret = (struct job_change){
        .to = (enum job_state)row->state,
        .reason = (enum job_reason)row->reason,
        .message = row->message,
        .attempt = row->attempt,
        .restarts = row->restarts,
        .observed_ns = row->observed_ns,
        .happened_ns = row->happened_ns,
        .inferred = row->inferred,
    };
    const struct json *x = parse(a, row->exit_json);
    if (x != NULL) {
        struct job_exit *out = ARENA_NEW(a, struct job_exit);
        *out = (struct job_exit){.present = true,
                                 .index = int_of(json_get(x, "index")),
                                 .rank = int_of(json_get(x, "rank")),
                                 .exit_code = int_of(json_get(x, "code")),
                                 .signal = int_of(json_get(x, "signal")),
                                 .attempt = int_of(json_get(x, "attempt")),
                                 .role = json_string(json_get(x, "role"), NULL),
                                 .node = json_string(json_get(x, "node"), NULL),
                                 .message = json_string(json_get(x, "message"), NULL)};
        ret->exit = out;
    }
    const struct json *roles = parse(a, row->roles_json);
    if (roles != NULL && roles->count != 0) {
        struct job_role_count *out = ARENA_NEW_ARRAY(a, struct job_role_count, roles->count);
        JSON_EACH (r, roles) {
            out[ret->role_count++] = (struct job_role_count){.name = json_string(json_at(r, 0), ""),
                                                             .desired = int_of(json_at(r, 1)),
                                                             .pending = int_of(json_at(r, 2)),
                                                             .running = int_of(json_at(r, 3)),
                                                             .succeeded = int_of(json_at(r, 4)),
                                                             .failed = int_of(json_at(r, 5))};
        }
        ret->roles = out;
    }
}

// A row's job: the table's, or made from the row when it has been deleted.
static struct job *job_of_row(struct flow *f, const struct store_job *row) {
    struct job *job = job_table_by_uid(f->table, row->uid);
    if (job != NULL) {
        return job_ref(job);
    }
    struct job_new args;
    flow_job_from_row(row, &args);
    return job_table_detached(f->table, &args);
}

struct job_event *flow_event_from_row(struct flow *f, const struct store_transition *row,
                                      const struct store_job *job_row) {
    struct job *job = job_of_row(f, job_row);
    if (job->seen != NULL && job->seen->sequence == row->sequence) {
        struct job_event *e = job_event_ref(job->seen); // shares what was encoded for others
        job_unref(job);
        return e;
    }
    struct arena a;
    arena_init(&a, 0);
    struct job_change change;
    flow_change_from_row(row, &a, &change);
    struct job_event *e = job_event_restored(job, row->kind == STORE_DELETED ? JOB_EVENT_DELETED : JOB_EVENT_TRANSITION,
                                             (enum job_state)row->from, &change, row->sequence, row->job_sequence,
                                             row->started_ns, row->ended_ns);
    arena_done(&a);
    job_unref(job);
    return e;
}

void flow_job_from_row(const struct store_job *row, struct job_new *ret) {
    *ret = (struct job_new){.uid = row->uid,
                            .name = row->name,
                            .namespace_ = row->namespace_,
                            .runtime = row->runtime,
                            .backend = row->backend,
                            .target = row->target,
                            .group = row->group,
                            .labels_json = row->labels_json,
                            .request_id = row->request_id,
                            .spec_hash = row->spec_hash,
                            .warnings_json = row->warnings_json,
                            .created_ns = row->created_ns,
                            .ordinal = row->ordinal,
                            .external = row->external};
}
