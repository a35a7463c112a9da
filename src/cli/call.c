#include "api/api.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_TIMEOUT_MS = 60000 };

const struct json_limits call_limits = {.max_bytes = 64 * 1024 * 1024, .max_depth = 128, .max_nodes = 4000000};

bool call_unary(struct cli *cli, const char *method, const struct str *request, struct arena *a,
                const struct json **ret, struct err *err) {
    CLEANUP(str_done) struct str wire = STR_INIT;
    CLEANUP(str_done) struct str answer = STR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *tree;
    if (!server_find(cli, err) || !server_check(cli, err) ||
        !json_parse(a, str_text(request), request->len, &call_limits, &tree, err) ||
        !api_json_to_wire(api_method_input(method), tree, &wire, err)) {
        return false;
    }
    CLEANUP(mem_free_ptr) char *path = mem_printf("/trainer.v1.TrainerService/%s", method);
    int64_t start = clock_mono();
    bool ok = rpc_client_call(cli->client, path, str_text(&wire), wire.len, CALL_TIMEOUT_MS, &answer, err);
    if (cli->verbose) {
        cli_note(cli, "%s: %s, %" PRId64 " ms", method, ok ? "OK" : err_code_name(err->code),
                 (clock_mono() - start) / CLOCK_MS);
    }
    return ok && api_wire_to_json(api_method_output(method), str_text(&answer), answer.len, &text, err) &&
           json_parse(a, str_text(&text), text.len, &call_limits, ret, err);
}

bool call_is_uid(const char *text) {
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

void call_write_ref(const struct cli *cli, struct json_writer *w, const char *job) {
    json_begin_object(w);
    if (call_is_uid(job)) {
        json_key(w, "uid");
        json_add_string(w, job);
    } else {
        json_key(w, "namespace");
        json_add_string(w, cli->name_space);
        json_key(w, "name");
        json_add_string(w, job);
    }
    json_end_object(w);
}

bool call_find_uid(struct cli *cli, const char *job, struct arena *a, const char **ret, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    struct json_writer w;
    const struct json *answer;
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "job");
    call_write_ref(cli, &w, job);
    json_end_object(&w);
    if (!call_unary(cli, "Get", &request, a, &answer, err)) {
        return false;
    }
    *ret = json_string(json_get(answer, "uid"), "");
    return true;
}

int64_t call_int(const struct json *node) {
    int64_t value = 0;
    if (node != NULL && (node->type == JSON_STRING || node->type == JSON_NUMBER)) {
        (void)str_to_int64(node->text, INT64_MIN, INT64_MAX, &value); // 0 stays where it is no number
    }
    return value;
}

bool call_time(const struct json *node, int64_t *ret_wall) {
    const char *text = json_string(node, NULL);
    return text != NULL && clock_parse(text, ret_wall);
}
