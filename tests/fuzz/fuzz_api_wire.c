// Bytes as a client sends them, to each request of the contract. The first byte picks the request. What is refused has
// an error that is fit for the wire; what is taken has kept its promises.
#include "api/api.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_text(const char *text) {
    return text != NULL && str_utf8_valid(text, strlen(text)) == strlen(text);
}

static bool submit(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_submit r = {0};
    bool ok = api_decode_submit(a, data, n, &r, err);
    assert(!ok || (r.spec != NULL && is_text(r.request_id) && is_text(r.spec->json)));
    job_spec_unref(r.spec);
    return ok;
}

static bool submit_watch(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_submit_watch r = {0};
    bool ok = api_decode_submit_watch(a, data, n, &r, err);
    assert(!ok || (r.heartbeat_s >= 1 && r.heartbeat_s <= 60));
    job_spec_unref(r.submit.spec);
    return ok;
}

static bool render(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_render r = {0};
    bool ok = api_decode_render(a, data, n, &r, err);
    assert(!ok || is_text(r.target));
    job_spec_unref(r.spec);
    return ok;
}

static bool get(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_get r = {0};
    return api_decode_get(a, data, n, &r, err);
}

static bool list(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_list r = {0};
    bool ok = api_decode_list(a, data, n, &r, err);
    assert(!ok || (r.page_size >= 1 && r.page_size <= 1000));
    job_selector_free(r.selector);
    return ok;
}

static bool watch(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_watch r = {0};
    bool ok = api_decode_watch(a, data, n, &r, err);
    assert(!ok || (r.args.heartbeat_s >= 1 && r.args.heartbeat_s <= 60));
    job_selector_free(r.args.take_selector);
    return ok;
}

static bool cancel(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_cancel r = {0};
    bool ok = api_decode_cancel(a, data, n, &r, err);
    assert(!ok || r.grace_s >= -1);
    return ok;
}

static bool delete (struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_job r = {0};
    return api_decode_delete(a, data, n, &r, err);
}

static bool suspend(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_job r = {0};
    return api_decode_suspend(a, data, n, &r, err);
}

static bool logs(struct arena *a, const void *data, size_t n, struct err *err) {
    struct api_logs r = {0};
    bool ok = api_decode_logs(a, data, n, &r, err);
    assert(!ok || (r.limit_bytes >= 0 && r.query.index >= -1 && r.query.tail_lines >= -1));
    return ok;
}

static bool reflect(struct arena *a, const void *data, size_t n, struct err *err) {
    CLEANUP(str_done) struct str out = STR_INIT;
    (void)a;
    return api_reflect(data, n, &out, err);
}

static bool health(struct arena *a, const void *data, size_t n, struct err *err) {
    const char *service = NULL;
    bool ok = api_decode_health(a, data, n, &service, err);
    assert(!ok || is_text(service));
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool (*const requests[])(struct arena *, const void *, size_t, struct err *) = {
        submit, submit_watch, render, get, list, watch, cancel, delete, suspend, logs, reflect, health};
    if (size == 0) {
        return 0;
    }
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    bool ok = requests[data[0] % ARRAY_LEN(requests)](&a, data + 1, size - 1, &err);
    assert(ok == !err_set(&err));
    if (!ok) {
        CLEANUP(str_done) struct str status = STR_INIT;
        assert(err.reason != NULL && is_text(err.message));
        api_encode_status(&err, &status);
        assert(status.len != 0 && status.len <= 8192);
    }
    return 0;
}
