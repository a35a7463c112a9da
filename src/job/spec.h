// The job spec: parsed, checked, defaulted, sealed. From the proto's JSON mapping as a tree.
//
// A spec is immutable after job_spec_parse and shared by reference count; everything in it lives in its arena.
// `tree` is the normalised spec (defaults filled, role names as given): what is journaled, hashed and given to
// plugins. Loop thread only.
#ifndef JOB_SPEC_H
#define JOB_SPEC_H

#include "base/arena.h"
#include "base/err.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum restart_policy { RESTART_DEFAULT, RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS, RESTART_EXIT_CODE };
enum clean_pods { CLEAN_RUNNING = 1, CLEAN_ALL = 2, CLEAN_NONE = 3 };
enum dependency_on { ON_SUCCEEDED = 1, ON_FAILED = 2, ON_TERMINAL = 3 };

struct spec_env {
    const char *name, *value; // value NULL: value_from in the tree
};

struct spec_role {
    const char *name;        // as given; the plugin's canonical name after flow has matched it
    int32_t replicas;        // >= 1: roles with 0 are left out
    const char *const *argv; // command then args, NULL-terminated
    size_t argc;
    const struct spec_env *env;
    size_t env_count;
    const char *working_dir; // NULL: default
    int64_t cpu_milli;       // 0: not given
    int64_t memory_bytes;    // 0: not given
    int32_t gpu;
    enum restart_policy restart;
    const struct json *tree; // the role's object, for everything else
};

struct spec_dependency {
    const char *job;
    enum dependency_on on;
};

struct job_spec {
    uint32_t refs;
    struct arena arena;
    const struct json *tree; // normalised
    const char *json;        // its canonical text
    char hash[65];           // SHA-256 of `json`, hex

    const char *name, *name_prefix; // exactly one is set
    const char *namespace_;
    const char *runtime;
    const char *backend, *target, *group;    // NULL when not given
    const struct json *labels, *annotations; // objects or NULL
    const struct json *params;               // object or NULL
    const char *manifest;                    // NULL when not given
    struct spec_role *roles;
    size_t role_count;
    const struct spec_dependency *depends_on;
    size_t depends_on_count;

    // run policy
    int64_t active_deadline_ns; // 0: none
    int64_t ttl_ns;             // -1: the server's retention
    int64_t start_deadline_ns;  // 0: none
    int32_t backoff_limit;
    enum clean_pods clean_pods;
    bool suspend;
    // elastic; max 0: not elastic
    int32_t elastic_min, elastic_max;
};

// Parses and checks everything that holds for every runtime (names, quantities, env, ports, volumes, labels,
// bounds, sizes). All violations are reported at once with their field paths ("roles[1].resources.memory").
// Never puts env values into an error. `tree` is copied.
bool job_spec_parse(const struct json *tree, struct job_spec **ret, struct err *err) MUST_CHECK;
// From the journal's text (already valid once; still checked).
bool job_spec_parse_text(const char *json, size_t n, struct job_spec **ret, struct err *err) MUST_CHECK;
struct job_spec *job_spec_ref(struct job_spec *spec);
void job_spec_unref(struct job_spec *spec);

// Rules shared with other rooms.
enum { JOB_NAME_MAX = 63, JOB_NAME_PREFIX_MAX = 54 };
bool job_name_valid(const char *name, size_t max); // DNS-1035 label
bool job_namespace_valid(const char *name);        // DNS-1123 label
bool job_env_name_valid(const char *name);

#endif
