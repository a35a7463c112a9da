// The contract's messages <-> the daemon's own structs. The only door to protobuf-c and to generated code.
//
// Decoding: bytes from a client are first checked as a whole (well-formed, depth, UTF-8, no NUL in strings, no
// unknown fields, a cap on what they may cost), then unpacked into an arena. Errors are INVALID_ARGUMENT with field
// paths in the JSON names' spelling of the .proto (snake_case): "spec.roles[0].name". Encoding appends packed bytes to
// a str. What a decoded struct points to lives in the arena it was given.
#ifndef API_API_H
#define API_API_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "flow/flow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- Requests (trainer.v1.*Request)
// --------------------------------------------------------------------------------------

struct api_submit {
    struct job_spec *spec;  // the caller unrefs
    const char *request_id; // "" when none
    bool validate_only;
};
bool api_decode_submit(struct arena *a, const void *data, size_t n, struct api_submit *ret, struct err *err) MUST_CHECK;

struct api_submit_watch {
    struct api_submit submit;
    bool until_terminal;
    int32_t heartbeat_s;
};
bool api_decode_submit_watch(struct arena *a, const void *data, size_t n, struct api_submit_watch *ret,
                             struct err *err) MUST_CHECK;

struct api_render {
    struct job_spec *spec; // the caller unrefs
    const char *target;    // "" default, "*" all
};
bool api_decode_render(struct arena *a, const void *data, size_t n, struct api_render *ret, struct err *err) MUST_CHECK;

struct api_get {
    struct flow_job_ref job;
    bool full;
};
bool api_decode_get(struct arena *a, const void *data, size_t n, struct api_get *ret, struct err *err) MUST_CHECK;

struct api_list {
    struct job_selector *selector; // the caller frees
    int64_t before;                // from the page token; 0: first page
    size_t page_size;              // 1..1000
    bool full;
};
// A token of another selector is INVALID_ARGUMENT.
bool api_decode_list(struct arena *a, const void *data, size_t n, struct api_list *ret, struct err *err) MUST_CHECK;

struct api_watch {
    struct flow_watch_args args; // selector: the caller frees or hands on
    bool full;
};
bool api_decode_watch(struct arena *a, const void *data, size_t n, struct api_watch *ret, struct err *err) MUST_CHECK;

struct api_cancel {
    struct flow_job_ref job;
    const char *reason;
    int32_t grace_s; // -1: default
    bool early_stopped;
};
bool api_decode_cancel(struct arena *a, const void *data, size_t n, struct api_cancel *ret, struct err *err) MUST_CHECK;

struct api_job { // Delete (force), Suspend (reason), Resume
    struct flow_job_ref job;
    bool force;
    const char *reason;
};
bool api_decode_delete(struct arena *a, const void *data, size_t n, struct api_job *ret, struct err *err) MUST_CHECK;
bool api_decode_suspend(struct arena *a, const void *data, size_t n, struct api_job *ret, struct err *err) MUST_CHECK;
bool api_decode_resume(struct arena *a, const void *data, size_t n, struct api_job *ret, struct err *err) MUST_CHECK;

struct api_scale {
    struct flow_job_ref job;
    const char *role; // "": the one that can
    int32_t replicas;
};
bool api_decode_scale(struct arena *a, const void *data, size_t n, struct api_scale *ret, struct err *err) MUST_CHECK;

struct api_logs {
    struct flow_job_ref job;
    struct backend_log_query query; // uid unset
    int64_t limit_bytes;            // 0: none
};
bool api_decode_logs(struct arena *a, const void *data, size_t n, struct api_logs *ret, struct err *err) MUST_CHECK;
struct api_events {
    struct flow_job_ref job;
    size_t limit; // 1..1000
};
bool api_decode_events(struct arena *a, const void *data, size_t n, struct api_events *ret, struct err *err) MUST_CHECK;
bool api_decode_list_runtimes(struct arena *a, const void *data, size_t n, const char **ret_backend,
                              struct err *err) MUST_CHECK;
bool api_decode_get_runtime(struct arena *a, const void *data, size_t n, const char **ret_name,
                            struct err *err) MUST_CHECK;
bool api_decode_empty(const void *data, size_t n, struct err *err) MUST_CHECK; // GetServerInfo

// ---- Responses
// -----------------------------------------------------------------------------------------------------------

// spec_json: for the full view, or NULL. The job's state is job->seen.
void api_encode_job(const struct job *job, const char *spec_json, struct str *out); // trainer.v1.Job
void api_encode_submit(const struct flow_submitted *result, struct str *out);
void api_encode_render(const struct flow_rendered *items, size_t n, const char *const *warnings, size_t warning_count,
                       struct str *out);
// specs: one a job or NULL; selector_hash goes into the page token. Stays below 1 MiB: ret_used jobs were taken, and
// the token continues behind them.
void api_encode_list(const struct flow_page *page, const char *const *specs, uint64_t selector_hash, size_t *ret_used,
                     struct str *out);
void api_encode_deleted(const char *uid, struct str *out);
// One WatchResponse. For transitions and deletions the bytes are made once per event and kept in event->wire:
// returned borrowed in *ret_data; everything else is appended to scratch and returned from there.
void api_encode_watch(enum flow_watch_kind kind, const struct flow_watch_item *item, const char *spec_json,
                      struct str *scratch, const void **ret_data, size_t *ret_len);
void api_encode_submitted(const struct flow_submitted *result, const char *token, struct str *out);
void api_encode_log(const struct backend_log_item *item, struct str *out);
void api_encode_log_heartbeat(struct str *out);
void api_encode_events(const struct backend_event *events, size_t n, struct str *out);
struct api_method_live {
    const char *name;
    bool live;
};
void api_encode_runtimes(struct flow *f, const char *backend, struct str *out);
void api_encode_runtime(struct flow *f, const struct runtime *r, struct str *out);
void api_encode_server_info(struct flow *f, const struct api_method_live *methods, size_t method_count,
                            struct str *out);

// google.rpc.Status for grpc-status-details-bin: message byte-identical to err->message. Kept below 6 KiB by leaving
// out violations at the end.
void api_encode_status(const struct err *err, struct str *out);

// ---- Health and reflection
// ---------------------------------------------------------------------------------------------

bool api_decode_health(struct arena *a, const void *data, size_t n, const char **ret_service,
                       struct err *err) MUST_CHECK;
void api_encode_health(int32_t serving_status, struct str *out); // 1 SERVING, 2 NOT_SERVING, 3 SERVICE_UNKNOWN
// One ServerReflectionRequest -> one ServerReflectionResponse (v1 and v1alpha have the same bytes).
bool api_reflect(const void *data, size_t n, struct str *out, struct err *err) MUST_CHECK;

// ---- JSON, driven by the descriptors
// -------------------------------------------------------------------------------------

// message: full name, "trainer.v1.JobSpec". The proto3 JSON mapping; field names are written in snake_case as in the
// .proto, and read in snake_case or lowerCamelCase. Unknown fields, wrong types, duplicate map keys are errors with
// their path and the nearest name; enums by name (any case) or number.
bool api_json_to_wire(const char *message, const struct json *tree, struct str *out, struct err *err) MUST_CHECK;
// Appends JSON text; fields that have their default are left out.
bool api_wire_to_json(const char *message, const void *data, size_t n, struct str *out, struct err *err) MUST_CHECK;
// Input and output of a method of TrainerService by its short name, "Submit"; NULL when unknown.
const char *api_method_input(const char *method);
const char *api_method_output(const char *method);
bool api_method_streams(const char *method);
// Names of the methods of TrainerService, NULL-terminated.
const char *const *api_methods(void);

// Error text and violations of a google.rpc.Status, for clients.
bool api_decode_status(const void *data, size_t n, struct err *ret_status, struct err *err) MUST_CHECK;

#endif
