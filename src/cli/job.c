#include "cli/job.h"

#include "base/clock.h"
#include "cli/internal.h"

#include <inttypes.h>
#include <string.h>

const char *job_state(const struct json *status) {
    return json_string(json_get(status, "state"), "UNKNOWN");
}

const char *job_reason(const struct json *status) {
    return json_string(json_get(status, "reason"), "");
}

bool job_is_terminal(const struct json *status) {
    const char *state = job_state(status);
    return str_same(state, "SUCCEEDED") || str_same(state, "FAILED") || str_same(state, "CANCELED");
}

int job_exit_status(const struct json *status) {
    const char *state = job_state(status);
    if (str_same(state, "SUCCEEDED")) {
        return CLI_OK;
    }
    if (str_same(state, "CANCELED")) {
        return CLI_CANCELED;
    }
    int64_t signal = call_int(json_path(status, "exit.signal"));
    int64_t code = call_int(json_path(status, "exit.exit_code"));
    if (signal > 0 && signal < 128) {
        return (int)(128 + signal);
    }
    return code > 0 && code < 256 ? (int)code : CLI_FAILED; // failed without a process that did: a deadline, say
}

void job_add_roles(struct str *out, const struct json *status) {
    const char *separator = "";
    JSON_EACH (role, json_get(status, "roles")) {
        int64_t good = call_int(json_get(role, "running")) + call_int(json_get(role, "succeeded"));
        str_printf(out, "%s%s %" PRId64 "/%" PRId64, separator, json_string(json_get(role, "name"), "?"), good,
                   call_int(json_get(role, "desired")));
        separator = ", ";
    }
}

void job_add_exit(struct str *out, const struct json *exit) {
    int64_t signal = call_int(json_get(exit, "signal"));
    str_printf(out, "%s-%" PRId64 " ", json_string(json_get(exit, "role"), "?"), call_int(json_get(exit, "index")));
    if (signal != 0) {
        str_printf(out, "was killed by %s", json_string(json_get(exit, "signal_name"), "a signal"));
    } else {
        str_printf(out, "exited with code %" PRId64, call_int(json_get(exit, "exit_code")));
    }
    const char *node = json_string(json_get(exit, "node"), "");
    str_printf(out, "%s%s", node[0] != '\0' ? " on " : "", node);
}

void job_duration(const struct json *status, char out[TEXT_DURATION_MAX]) {
    int64_t start = 0;
    int64_t end = clock_wall();
    out[0] = '\0';
    if (call_time(json_get(status, "start_time"), &start)) {
        (void)call_time(json_get(status, "end_time"), &end); // until now while it is absent
        text_duration(end - start, out);
    }
}

void job_age(const struct json *time, char out[TEXT_DURATION_MAX]) {
    int64_t then;
    out[0] = '\0';
    if (call_time(time, &then)) {
        text_duration((clock_wall() - then) / CLOCK_SECOND * CLOCK_SECOND, out);
    }
}

// Reasons that say no more than the state that they come with.
static const char *telling_reason(const char *reason) {
    static const char *const plain[] = {"ACCEPTED", "STARTED", "ALL_RUNNING", "COMPLETED"};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if (str_same(plain[i], reason)) {
            return "";
        }
    }
    return reason;
}

void job_add_line(struct str *out, bool colours, const struct json *status) {
    CLEANUP(str_done) struct str padded = STR_INIT;
    CLEANUP(str_done) struct str roles = STR_INIT;
    CLEANUP(str_done) struct str safe = STR_INIT;
    const char *state = job_state(status);
    const char *reason = telling_reason(job_reason(status));
    const char *message = json_string(json_get(status, "message"), "");
    str_printf(&padded, "%-10s", state);
    text_colour(out, colours, text_state_colour(state), str_text(&padded));
    job_add_roles(&roles, status);
    str_printf(&safe, "%s%s", reason[0] != '\0' ? " " : "", reason);
    str_printf(&safe, "%s%s", message[0] == '\0' ? "" : (reason[0] != '\0' ? ": " : " "), message);
    str_printf(&safe, "%s%s%s", roles.len > 0 ? " [" : "", str_text(&roles), roles.len > 0 ? "]" : "");
    text_safe(out, str_text(&safe));
}
