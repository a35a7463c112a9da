// Requests: bytes to what flow takes.
#include "api/internal.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"

#include "trainer/v1/service.pb-c.h"

#include <string.h>

enum {
    PAGE_DEFAULT = 100,
    PAGE_MAX = 1000,
    HEARTBEAT_DEFAULT = 15,
    HEARTBEAT_MAX = 60,
    REQUEST_ID_MAX = 128,
    GRACE_MAX = 3600
};
enum { TAIL_MAX = 1000000, REASON_MAX = 1024, EVENTS_DEFAULT = 100, EVENTS_MAX = 1000 };

// ---- Pieces
// ------------------------------------------------------------------------------------------------------------------------

static bool read_spec(const Trainer__V1__JobSpec *spec, struct job_spec **ret, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    struct json_writer w;
    if (spec == NULL) {
        return err_violate(err, "spec", "is required");
    }
    json_writer_init(&w, &text);
    api_message_to_json(&spec->base, &w);
    if (!json_writer_ok(&w)) {
        return err_violate(err, "spec", "is nested deeper than 64 levels");
    }
    return job_spec_parse_text(str_text(&text), text.len, ret, err);
}

static bool check_request_id(const char *id, struct err *err) {
    size_t n = strlen(id);
    for (const char *p = id; *p != '\0'; p++) {
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f) {
            return err_violate(err, "request_id", "must be printable ASCII without spaces");
        }
    }
    return n <= REQUEST_ID_MAX ||
           err_violate(err, "request_id", "has %zu characters, at most %d are allowed", n, REQUEST_ID_MAX);
}

static struct flow_job_ref ref_of(const Trainer__V1__JobRef *ref) {
    return ref != NULL ? (struct flow_job_ref){.uid = ref->uid, .namespace_ = ref->namespace_, .name = ref->name}
                       : (struct flow_job_ref){0};
}

static bool read_selector(const Trainer__V1__JobSelector *s, struct job_selector **ret, struct err *err) {
    struct job_selector_args args = {0};
    if (s == NULL) {
        return job_selector_new(&args, ret, err);
    }
    args = (struct job_selector_args){.namespace_ = s->namespace_,
                                      .label_selector = s->label_selector,
                                      .group = s->group,
                                      .runtime = s->runtime,
                                      .name_contains = s->name_contains,
                                      .uids = (const char *const *)s->uids,
                                      .uid_count = s->n_uids};
    for (size_t i = 0; i < s->n_states; i++) {
        int state = (int)s->states[i];
        if (state < (int)JOB_PENDING || state > (int)JOB_CANCELED) {
            return err_violate(err, "selector.states", "%d is no state", state);
        }
        args.states |= 1U << state;
    }
    return job_selector_new(&args, ret, err);
}

static bool read_heartbeat(const Google__Protobuf__Int32Value *v, int32_t *ret, struct err *err) {
    *ret = v != NULL ? v->value : HEARTBEAT_DEFAULT;
    return (*ret >= 1 && *ret <= HEARTBEAT_MAX) ||
           err_violate(err, "heartbeat_seconds", "is %d, must be from 1 to %d", *ret, HEARTBEAT_MAX);
}

#define UNPACK(type, name)                                                                                             \
    const Trainer__V1__##type *name = api_unpack(&DESCRIPTOR, a, data, n, err);                                        \
    if (name == NULL) {                                                                                                \
        return false;                                                                                                  \
    }

// ---- Submit, Render
// -------------------------------------------------------------------------------------------------------------------

static bool read_submit(const Trainer__V1__SubmitRequest *m, struct api_submit *ret, struct err *err) {
    *ret = (struct api_submit){.request_id = m->request_id, .validate_only = m->validate_only != 0};
    return check_request_id(m->request_id, err) && read_spec(m->spec, &ret->spec, err);
}

#define DESCRIPTOR trainer__v1__submit_request__descriptor
bool api_decode_submit(struct arena *a, const void *data, size_t n, struct api_submit *ret, struct err *err) {
    UNPACK(SubmitRequest, m)
    return read_submit(m, ret, err);
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__submit_and_watch_request__descriptor
bool api_decode_submit_watch(struct arena *a, const void *data, size_t n, struct api_submit_watch *ret,
                             struct err *err) {
    UNPACK(SubmitAndWatchRequest, m)
    *ret = (struct api_submit_watch){.until_terminal = m->until_terminal == NULL || m->until_terminal->value != 0};
    if (m->submit == NULL) {
        return err_violate(err, "submit", "is required");
    }
    if (m->submit->validate_only) {
        return err_violate(err, "submit.validate_only", "must be false: there would be nothing to watch");
    }
    return read_heartbeat(m->heartbeat_seconds, &ret->heartbeat_s, err) && read_submit(m->submit, &ret->submit, err);
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__render_request__descriptor
bool api_decode_render(struct arena *a, const void *data, size_t n, struct api_render *ret, struct err *err) {
    UNPACK(RenderRequest, m)
    *ret = (struct api_render){.target = m->target};
    return read_spec(m->spec, &ret->spec, err);
}
#undef DESCRIPTOR

// ---- Reading
// --------------------------------------------------------------------------------------------------------------------------

#define DESCRIPTOR trainer__v1__get_request__descriptor
bool api_decode_get(struct arena *a, const void *data, size_t n, struct api_get *ret, struct err *err) {
    UNPACK(GetRequest, m)
    *ret = (struct api_get){.job = ref_of(m->job), .full = m->full != 0};
    return true;
}
#undef DESCRIPTOR

// A page token: version, the selector's hash, the ordinal to continue below, and a checksum against typing.
enum { PAGE_TOKEN_BYTES = 1 + 8 + 8 + 4 };

void api_page_token(uint64_t selector_hash, int64_t before, char out[40]) {
    uint8_t bytes[PAGE_TOKEN_BYTES] = {1};
    memcpy(bytes + 1, &selector_hash, 8);
    memcpy(bytes + 9, &before, 8);
    uint32_t sum = (uint32_t)hash_bytes(bytes, 17);
    memcpy(bytes + 17, &sum, 4);
    id_base64url(bytes, sizeof bytes, out);
}

static bool read_page_token(const char *text, uint64_t selector_hash, int64_t *ret, struct err *err) {
    uint8_t bytes[PAGE_TOKEN_BYTES + 4];
    uint64_t hash;
    uint32_t sum;
    if (text[0] == '\0') {
        *ret = 0;
        return true;
    }
    bool ok = id_base64url_decode(text, bytes, sizeof bytes) == PAGE_TOKEN_BYTES && bytes[0] == 1;
    if (ok) {
        memcpy(&hash, bytes + 1, 8);
        memcpy(ret, bytes + 9, 8);
        memcpy(&sum, bytes + 17, 4);
        ok = sum == (uint32_t)hash_bytes(bytes, 17) && *ret > 0;
    }
    if (!ok) {
        return err_violate(err, "page_token", "is no token of List");
    }
    return hash == selector_hash ||
           err_violate(err, "page_token", "belongs to another selector; send the one that gave it");
}

#define DESCRIPTOR trainer__v1__list_request__descriptor
bool api_decode_list(struct arena *a, const void *data, size_t n, struct api_list *ret, struct err *err) {
    UNPACK(ListRequest, m)
    struct api_list out = {.full = m->full != 0};
    if (m->page_size < 0) {
        return err_violate(err, "page_size", "is %d, must not be negative", m->page_size);
    }
    out.page_size = m->page_size == 0 ? PAGE_DEFAULT : m->page_size > PAGE_MAX ? PAGE_MAX : (size_t)m->page_size;
    if (!read_selector(m->selector, &out.selector, err)) {
        return false;
    }
    if (!read_page_token(m->page_token, job_selector_hash(out.selector), &out.before, err)) {
        job_selector_free(out.selector);
        return false;
    }
    *ret = out;
    return true;
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__watch_request__descriptor
bool api_decode_watch(struct arena *a, const void *data, size_t n, struct api_watch *ret, struct err *err) {
    UNPACK(WatchRequest, m)
    struct api_watch out = {.full = m->full != 0,
                            .args = {.resume_token = m->resume_token,
                                     .resync = m->resync != 0,
                                     .until_terminal = m->until_terminal != 0,
                                     .skip_snapshot = m->skip_snapshot != 0}};
    if (!read_heartbeat(m->heartbeat_seconds, &out.args.heartbeat_s, err) ||
        !read_selector(m->selector, &out.args.take_selector, err)) {
        return false;
    }
    *ret = out;
    return true;
}
#undef DESCRIPTOR

// ---- Changing
// -------------------------------------------------------------------------------------------------------------------------

#define DESCRIPTOR trainer__v1__cancel_request__descriptor
bool api_decode_cancel(struct arena *a, const void *data, size_t n, struct api_cancel *ret, struct err *err) {
    UNPACK(CancelRequest, m)
    *ret = (struct api_cancel){
        .job = ref_of(m->job), .reason = m->reason, .grace_s = -1, .early_stopped = m->early_stopped != 0};
    if (strlen(m->reason) > REASON_MAX) {
        return err_violate(err, "reason", "is longer than %d bytes", REASON_MAX);
    }
    if (m->grace_seconds != NULL) {
        ret->grace_s = m->grace_seconds->value;
        if (ret->grace_s < 0 || ret->grace_s > GRACE_MAX) {
            return err_violate(err, "grace_seconds", "is %d, must be from 0 to %d", ret->grace_s, GRACE_MAX);
        }
    }
    return true;
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__delete_request__descriptor
bool api_decode_delete(struct arena *a, const void *data, size_t n, struct api_job *ret, struct err *err) {
    UNPACK(DeleteRequest, m)
    *ret = (struct api_job){.job = ref_of(m->job), .force = m->force != 0, .reason = ""};
    return true;
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__suspend_request__descriptor
bool api_decode_suspend(struct arena *a, const void *data, size_t n, struct api_job *ret, struct err *err) {
    UNPACK(SuspendRequest, m)
    *ret = (struct api_job){.job = ref_of(m->job), .reason = m->reason};
    return strlen(m->reason) <= REASON_MAX || err_violate(err, "reason", "is longer than %d bytes", REASON_MAX);
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__resume_request__descriptor
bool api_decode_resume(struct arena *a, const void *data, size_t n, struct api_job *ret, struct err *err) {
    UNPACK(ResumeRequest, m)
    *ret = (struct api_job){.job = ref_of(m->job), .reason = ""};
    return true;
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__scale_request__descriptor
bool api_decode_scale(struct arena *a, const void *data, size_t n, struct api_scale *ret, struct err *err) {
    UNPACK(ScaleRequest, m)
    *ret = (struct api_scale){.job = ref_of(m->job), .role = m->role, .replicas = m->replicas};
    return true;
}
#undef DESCRIPTOR

// ---- Logs, runtimes, info
// ---------------------------------------------------------------------------------------------------------------

static bool read_log_numbers(const Trainer__V1__LogsRequest *m, struct api_logs *out, struct err *err) {
    struct backend_log_query *q = &out->query;
    if (m->index != NULL) {
        q->index = m->index->value;
        if (m->role[0] == '\0') {
            err_violate(err, "index", "needs a role");
        } else if (q->index < 0) {
            err_violate(err, "index", "is %d, must not be negative", q->index);
        }
    }
    if (m->attempt < 0) {
        err_violate(err, "attempt", "is %d, must not be negative", m->attempt);
    }
    if (m->previous && m->attempt != 0) {
        err_violate(err, "previous", "may not be set together with attempt");
    }
    if (m->previous && m->follow) {
        err_violate(err, "previous", "may not be set together with follow: that attempt has ended");
    }
    q->attempt = m->previous ? -1 : m->attempt;
    if (m->tail_lines != NULL) {
        q->tail_lines = m->tail_lines->value;
        if (q->tail_lines < 0 || q->tail_lines > TAIL_MAX) {
            err_violate(err, "tail_lines", "is %lld, must be from 0 to %d", (long long)q->tail_lines, TAIL_MAX);
        }
    }
    if (m->limit_bytes < 0) {
        err_violate(err, "limit_bytes", "is %lld, must not be negative", (long long)m->limit_bytes);
    }
    out->limit_bytes = m->limit_bytes;
    return !err_set(err);
}

#define DESCRIPTOR trainer__v1__logs_request__descriptor
bool api_decode_logs(struct arena *a, const void *data, size_t n, struct api_logs *ret, struct err *err) {
    UNPACK(LogsRequest, m)
    struct api_logs out = {.job = ref_of(m->job),
                           .query = {.role = m->role[0] != '\0' ? m->role : NULL,
                                     .index = -1,
                                     .follow = m->follow != 0,
                                     .tail_lines = -1,
                                     .container = m->container,
                                     .resume = m->resume_token[0] != '\0' ? m->resume_token : NULL}};
    if (m->since != NULL) {
        out.query.since_ns = m->since->seconds * CLOCK_SECOND + m->since->nanos;
    }
    if (!read_log_numbers(m, &out, err)) {
        return false;
    }
    *ret = out;
    return true;
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__events_request__descriptor
bool api_decode_events(struct arena *a, const void *data, size_t n, struct api_events *ret, struct err *err) {
    UNPACK(EventsRequest, m)
    if (m->limit < 0 || m->limit > EVENTS_MAX) {
        return err_violate(err, "limit", "is %d, must be from 1 to %d, or 0 for %d", m->limit, EVENTS_MAX,
                           EVENTS_DEFAULT);
    }
    *ret = (struct api_events){.job = ref_of(m->job), .limit = (size_t)(m->limit != 0 ? m->limit : EVENTS_DEFAULT)};
    return true;
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__list_runtimes_request__descriptor
bool api_decode_list_runtimes(struct arena *a, const void *data, size_t n, const char **ret_backend, struct err *err) {
    UNPACK(ListRuntimesRequest, m)
    *ret_backend = m->backend;
    return true;
}
#undef DESCRIPTOR

#define DESCRIPTOR trainer__v1__get_runtime_request__descriptor
bool api_decode_get_runtime(struct arena *a, const void *data, size_t n, const char **ret_name, struct err *err) {
    UNPACK(GetRuntimeRequest, m)
    *ret_name = m->name;
    return m->name[0] != '\0' || err_violate(err, "name", "is required");
}
#undef DESCRIPTOR

bool api_decode_empty(const void *data, size_t n, struct err *err) {
    return api_wire_check(&trainer__v1__get_server_info_request__descriptor, data, n, err);
}
