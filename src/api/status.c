// Errors as google.rpc.Status with its details, both ways.
#include "api/internal.h"

#include "base/mem.h"

#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"

#include <string.h>

enum { STATUS_BYTES_MAX = 6 * 1024, DETAILS_MAX = 6 };

static const char type_prefix[] = "type.googleapis.com/";

struct details {
    struct arena *arena;
    Google__Protobuf__Any *items[DETAILS_MAX];
    size_t count;
};

static char *text(const char *t) {
    return (char *)(uintptr_t)(t != NULL ? t : "");
}

static void add(struct details *d, const ProtobufCMessage *m) {
    CLEANUP(str_done) struct str bytes = STR_INIT;
    Google__Protobuf__Any *any = ARENA_NEW(d->arena, Google__Protobuf__Any);
    google__protobuf__any__init(any);
    api_pack(m, &bytes);
    any->type_url = arena_printf(d->arena, "%s%s", type_prefix, m->descriptor->name);
    any->value.len = bytes.len;
    any->value.data = (uint8_t *)arena_strndup(d->arena, str_text(&bytes), bytes.len);
    d->items[d->count++] = any;
}

static void add_error_info(struct details *d, const struct err *err) {
    Google__Rpc__ErrorInfo m = GOOGLE__RPC__ERROR_INFO__INIT;
    Google__Rpc__ErrorInfo__MetadataEntry entries[ARRAY_LEN(err->facts)];
    Google__Rpc__ErrorInfo__MetadataEntry *pointers[ARRAY_LEN(err->facts)];
    m.reason = text(err->reason);
    m.domain = text("trainerd");
    for (size_t i = 0; i < err->fact_count; i++) {
        google__rpc__error_info__metadata_entry__init(&entries[i]);
        entries[i].key = text(err->facts[i].key);
        entries[i].value = text(err->facts[i].value);
        pointers[i] = &entries[i];
    }
    m.metadata = pointers;
    m.n_metadata = err->fact_count;
    add(d, &m.base);
}

static void add_bad_request(struct details *d, const struct err *err, size_t count) {
    Google__Rpc__BadRequest m = GOOGLE__RPC__BAD_REQUEST__INIT;
    m.field_violations = ARENA_NEW_ARRAY(d->arena, Google__Rpc__BadRequest__FieldViolation *, count);
    for (size_t i = 0; i < count; i++) {
        Google__Rpc__BadRequest__FieldViolation *v = ARENA_NEW(d->arena, Google__Rpc__BadRequest__FieldViolation);
        google__rpc__bad_request__field_violation__init(v);
        v->field = text(err->violations[i].field);
        v->description = text(err->violations[i].description);
        m.field_violations[m.n_field_violations++] = v;
    }
    add(d, &m.base);
}

static void add_quota(struct details *d, const struct err *err) {
    Google__Rpc__QuotaFailure m = GOOGLE__RPC__QUOTA_FAILURE__INIT;
    Google__Rpc__QuotaFailure__Violation v = GOOGLE__RPC__QUOTA_FAILURE__VIOLATION__INIT;
    Google__Rpc__QuotaFailure__Violation *list[] = {&v};
    v.subject = text(err->fact_count != 0 ? err->facts[0].value : "");
    v.description = text(err->message);
    m.violations = list;
    m.n_violations = 1;
    add(d, &m.base);
}

static void add_retry(struct details *d, int64_t ms) {
    Google__Rpc__RetryInfo m = GOOGLE__RPC__RETRY_INFO__INIT;
    Google__Protobuf__Duration delay = GOOGLE__PROTOBUF__DURATION__INIT;
    delay.seconds = ms / 1000;
    delay.nanos = (int32_t)(ms % 1000 * 1000000);
    m.retry_delay = &delay;
    add(d, &m.base);
}

static void add_resource(struct details *d, const struct err *err) {
    Google__Rpc__ResourceInfo m = GOOGLE__RPC__RESOURCE_INFO__INIT;
    m.resource_type = text(err->resource_type);
    m.resource_name = text(err->resource_name);
    m.description = text(err->message);
    add(d, &m.base);
}

static void encode(const struct err *err, size_t violations, struct str *out) {
    CLEANUP(arena_done) struct arena a = {0};
    struct details d = {.arena = &a};
    Google__Rpc__Status m = GOOGLE__RPC__STATUS__INIT;
    add_error_info(&d, err);
    if (violations != 0) {
        add_bad_request(&d, err, violations);
    }
    if (str_same(err->reason, "LIMIT_REACHED")) {
        add_quota(&d, err);
    }
    if (err->retry_after_ms > 0) {
        add_retry(&d, err->retry_after_ms);
    }
    if (err->resource_type != NULL) {
        add_resource(&d, err);
    }
    m.code = (int32_t)err->code;
    m.message = text(err->message);
    m.details = d.items;
    m.n_details = d.count;
    api_pack(&m.base, out);
}

void api_encode_status(const struct err *err, struct str *out) {
    size_t before = out->len;
    size_t violations = err->violation_count < ERR_VIOLATIONS_MAX ? err->violation_count : ERR_VIOLATIONS_MAX;
    for (;; violations /= 2) { // a trailer beyond the client's limit would lose the error itself
        out->len = before;
        encode(err, violations, out);
        if (out->len - before <= STATUS_BYTES_MAX || violations == 0) {
            return;
        }
    }
}

// ---- For clients
// -------------------------------------------------------------------------------------------------------------------

static void read_detail(const Google__Protobuf__Any *any, struct err *ret) {
    if (str_ends(any->type_url, "/google.rpc.ErrorInfo")) {
        Google__Rpc__ErrorInfo *m = google__rpc__error_info__unpack(NULL, any->value.len, any->value.data);
        if (m != NULL) {
            err_set_reason(ret, m->reason);
            google__rpc__error_info__free_unpacked(m, NULL);
        }
        return;
    }
    if (!str_ends(any->type_url, "/google.rpc.BadRequest")) {
        return;
    }
    Google__Rpc__BadRequest *m = google__rpc__bad_request__unpack(NULL, any->value.len, any->value.data);
    for (size_t i = 0; m != NULL && i < m->n_field_violations && i < ERR_VIOLATIONS_MAX; i++) {
        CLEANUP(mem_free_ptr) char *message = mem_strdup(ret->message);
        err_violate(ret, m->field_violations[i]->field, "%s", m->field_violations[i]->description);
        mem_free(ret->message);
        ret->message = TAKE(message); // the server's own sentence stands
    }
    if (m != NULL) {
        google__rpc__bad_request__free_unpacked(m, NULL);
    }
}

bool api_decode_status(const void *data, size_t n, struct err *ret_status, struct err *err) {
    Google__Rpc__Status *m = google__rpc__status__unpack(NULL, n, data);
    if (m == NULL) {
        return err_fail(err, ERR_DATA_LOSS, "BAD_MESSAGE", "the status details cannot be read");
    }
    bool ok = m->code > 0 && m->code <= ERR_UNAUTHENTICATED;
    if (ok) {
        err_fail(ret_status, (enum err_code)m->code, "OTHER", "%s", m->message);
        for (size_t i = 0; i < m->n_details; i++) {
            read_detail(m->details[i], ret_status);
        }
    } else {
        err_fail(err, ERR_DATA_LOSS, "BAD_MESSAGE", "the status details have code %d", m->code);
    }
    google__rpc__status__free_unpacked(m, NULL);
    return ok;
}
