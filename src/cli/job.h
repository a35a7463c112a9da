// What a Job or JobStatus tree says, in words for people.
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "base/str.h"
#include "cli/text.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

const char *job_state(const struct json *status);  // "RUNNING", or "UNKNOWN"
const char *job_reason(const struct json *status); // "QUEUED", or ""
bool job_is_terminal(const struct json *status);
// What a verb that followed the job ends with: 0, the failing process's exit code or 128 + signal, 130 for CANCELED.
int job_exit_status(const struct json *status);
void job_add_roles(struct str *out, const struct json *status); // "master 1/1, worker 1/2"
void job_add_exit(struct str *out, const struct json *exit);    // "worker-1 exited with code 3"
// From start to end, or until now while it runs; "" before the start.
void job_duration(const struct json *status, char out[TEXT_DURATION_MAX]);
void job_age(const struct json *time, char out[TEXT_DURATION_MAX]); // "" when absent
// State, reason, message and roles as one line, made safe.
void job_add_line(struct str *out, bool colours, const struct json *status);

#endif
