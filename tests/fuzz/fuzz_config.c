// A config file: accepted, every value is within its bounds and a second reading says the same; refused, the error is
// one line that names the file and is fit for a terminal.
#include "main/config.h"

#include "base/str.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char name[] = "file.yaml";

static void check_error(const struct err *err, bool names_file) {
    assert(err->code == ERR_INVALID && err->reason != NULL && err->message != NULL);
    assert(str_utf8_valid(err->message, strlen(err->message)) == strlen(err->message));
    assert(!names_file || str_starts(err->message, name));
}

static void check_values(const struct config *c) {
    const struct {
        int64_t value, min, max;
    } numbers[] = {
        {c->limits.max_jobs, 1, 100000000},
        {c->limits.max_active_jobs, 1, 10000000},
        {c->limits.max_watchers, 1, 10000000},
        {c->limits.max_log_streams, 1, 1000000},
        {c->limits.cancel_grace_s, 0, 3600},
        {c->limits.feed_events, 16, 10000000},
        {c->limits.retention_jobs, 0, 100000000},
        {c->limits.retention_transitions, 0, 1000000000},
        {c->retention_age_s, 0, INT64_C(3162240000)},
        {c->max_connections, 1, 1000000},
        {c->max_streams, 1, 1000000},
        {c->max_message, 65536, 64 * 1024 * 1024},
        {c->pending_calls, 16, 4096},
        {c->shutdown_grace_s, 0, 3600},
        {c->journal_max_bytes, 0, INT64_C(1) << 40},
        {c->cpu_milli, 0, 1000000000},
        {c->gpu, -1, 1024},
        {c->log_cap, 65536, INT64_C(1) << 40},
        {c->port_first, 1024, 65535},
        {c->port_last, 1024, 65535},
        {c->grace_s, 0, 3600},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        assert(numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].max);
    }
    const char *const texts[] = {c->state_dir,  c->socket,    c->listen,    c->plugin_dir,
                                 c->supervisor, c->log_level, c->local_name};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert(texts[i] != NULL && str_utf8_valid(texts[i], strlen(texts[i])) == strlen(texts[i]));
    }
    assert(c->plugins == NULL || c->plugins->type == JSON_OBJECT);
}

static void check_complete(struct config *c) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (!config_complete(c, &err)) {
        check_error(&err, false);
        return;
    }
    assert(!err_set(&err) && c->state_dir[0] == '/' && c->socket[0] != '\0');
    assert(c->port_first <= c->port_last && c->limits.max_spec_bytes == c->max_message);
    assert(c->limits.retention_age_ns == c->retention_age_s * INT64_C(1000000000));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(err_done) struct err again = ERR_INIT;
    struct config first;
    struct config second;
    config_init(&first);
    config_init(&second);
    bool ok = config_parse(&first, name, (const char *)data, size, &err);
    assert(ok == !err_set(&err));
    assert(config_parse(&second, name, (const char *)data, size, &again) == ok);
    assert(str_same(err.message, again.message));
    check_values(&first); // also when only a part was read
    if (ok) {
        check_complete(&first);
    } else {
        check_error(&err, true);
    }
    config_done(&first);
    config_done(&second);
    return 0;
}
