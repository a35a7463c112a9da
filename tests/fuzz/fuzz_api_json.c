// JSON to a message and back: what is taken reads back from what was written, and says the same.
#include "api/api.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const messages[] = {
    "trainer.v1.JobSpec",      "trainer.v1.SubmitRequest", "trainer.v1.WatchResponse",       "trainer.v1.Job",
    "trainer.v1.LogsResponse", "trainer.v1.ListRequest",   "trainer.v1.QueryMetricsResponse"};
static const struct json_limits limits = {.max_bytes = 256 * 1024, .max_depth = 64, .max_nodes = 20000};

static bool to_bytes(const char *message, const char *text, size_t n, struct str *out, struct err *err) {
    CLEANUP(arena_done) struct arena a = {0};
    const struct json *tree = NULL;
    return json_parse(&a, text, n, &limits, &tree, err) && api_json_to_wire(message, tree, out, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    const char *message = messages[data[0] % ARRAY_LEN(messages)];
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str bytes = STR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(str_done) struct str again = STR_INIT;
    CLEANUP(str_done) struct str text_again = STR_INIT;
    if (!to_bytes(message, (const char *)data + 1, size - 1, &bytes, &err)) {
        assert(err_set(&err) && str_utf8_valid(err.message, strlen(err.message)) == strlen(err.message));
        return 0;
    }
    bool written = api_wire_to_json(message, bytes.data, bytes.len, &text, &err);
    assert(written);
    bool read = to_bytes(message, str_text(&text), text.len, &again, &err);
    assert(read);
    bool twice = api_wire_to_json(message, again.data, again.len, &text_again, &err);
    assert(twice && strcmp(str_text(&text), str_text(&text_again)) == 0);
    return 0;
}
