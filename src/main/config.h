// The daemon's configuration: defaults, a YAML file, command-line flags; each later one wins. One table knows every
// key.
#ifndef MAIN_CONFIG_H
#define MAIN_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "flow/flow.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct config {
    struct arena arena;    // texts live here
    const char *state_dir; // absolute
    const char *socket;    // path; "" is STATE_DIR/trainerd.sock; "none": none
    const char *listen;    // "HOST:PORT" or "none"
    const char *plugin_dir;
    const char *supervisor; // path of trainerd-supervisor
    const char *log_level;
    const struct json *plugins; // per plugin: name -> object; NULL: none
    int64_t max_connections, max_streams, max_message, pending_calls;
    int64_t shutdown_grace_s;
    int64_t journal_max_bytes;
    int64_t cpu_milli, gpu, log_cap, port_first, port_last, grace_s; // local
    const char *local_name;
    const char *kube_name, *kubeconfig, *kube_context, *kube_namespace; // kubernetes
    struct flow_limits limits;
    int64_t retention_age_s;
};

// Fills cfg from its defaults.
void config_init(struct config *cfg);
void config_done(struct config *cfg);
// Errors: ERR_INVALID "BAD_CONFIG" with "FILE: line L, column C: KEY: what is wrong and what would be right".
bool config_read_file(struct config *cfg, const char *path, struct err *err) MUST_CHECK;
bool config_parse(struct config *cfg, const char *name, const char *text, size_t n, struct err *err) MUST_CHECK;
// Command line. ret_exit: -1 to go on, otherwise the exit status (help, version, bad flags).
void config_read_flags(struct config *cfg, int argc, char **argv, int *ret_exit);
// Paths that depend on others, and what does not fit together.
bool config_complete(struct config *cfg, struct err *err) MUST_CHECK;
// The commented example, made from the same table.
void config_print_example(void);

#endif
