// C core's own log, on our lines.
#include "rpc/internal.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#include <grpc/support/log.h>
#include <string.h>

enum { SLOTS = 16 };

// C core's log function has no context, and is called from its threads: the one place that may not be without.
// A slot holds what was written last, a text's hash and the second; two texts in one slot are both written.
static bool is_repeated(const char *text) {
    static _Atomic uint64_t written[SLOTS];
    uint64_t hash = hash_bytes(text, strlen(text));
    uint64_t second = (uint64_t)(clock_mono() / CLOCK_SECOND);
    uint64_t key = hash << 32 | (uint32_t)(second + 1);
    return atomic_exchange_explicit(&written[hash % SLOTS], key, memory_order_relaxed) == key;
}

static void write_line(gpr_log_func_args *args) {
    if (args->severity != GPR_LOG_SEVERITY_ERROR) {
        log_debug("grpc", "%s", args->message);
    } else if (!is_repeated(args->message)) {
        log_warn("grpc", "%s", args->message);
    }
}

void rpc_log_to_ours(void) {
    gpr_set_log_function(write_line);
    gpr_set_log_verbosity(log_enabled(LOG_DEBUG) ? GPR_LOG_SEVERITY_INFO : GPR_LOG_SEVERITY_ERROR);
}
