// C core's own log, on our lines.
#include "rpc/internal.h"

#include "base/log.h"

#include <grpc/support/log.h>

static void write_line(gpr_log_func_args *args) {
    if (args->severity == GPR_LOG_SEVERITY_ERROR) {
        log_error("grpc", "%s", args->message);
    } else {
        log_debug("grpc", "%s", args->message);
    }
}

void rpc_log_to_ours(void) {
    gpr_set_log_function(write_line);
    gpr_set_log_verbosity(log_enabled(LOG_DEBUG) ? GPR_LOG_SEVERITY_INFO : GPR_LOG_SEVERITY_ERROR);
}
