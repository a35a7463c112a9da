// Every method that this server has. A new one is a file and a line.
#include "rpc/internal.h"

#include <string.h>

const struct rpc_method *const rpc_methods[] = {
    &rpc_method_submit,
    &rpc_method_submit_batch,
    &rpc_method_submit_and_watch,
    &rpc_method_render,
    &rpc_method_get,
    &rpc_method_list,
    &rpc_method_watch,
    &rpc_method_cancel,
    &rpc_method_delete,
    &rpc_method_suspend,
    &rpc_method_resume,
    &rpc_method_scale,
    &rpc_method_logs,
    &rpc_method_events,
    &rpc_method_report_metrics,
    &rpc_method_query_metrics,
    &rpc_method_list_runtimes,
    &rpc_method_get_runtime,
    &rpc_method_info,
    &rpc_method_health_check,
    &rpc_method_health_watch,
    &rpc_method_health_list,
    &rpc_method_reflect,
    &rpc_method_reflect_alpha,
    NULL,
};

size_t rpc_methods_count(void) {
    return ARRAY_LEN(rpc_methods) - 1;
}

const char *rpc_method_name(const struct rpc_method *m) {
    return strrchr(m->path, '/') + 1;
}
