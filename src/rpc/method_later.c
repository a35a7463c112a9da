// Of the contract, and not live in this version: METHOD_NOT_LIVE.
#include "rpc/internal.h"

const struct rpc_method rpc_method_submit_batch = {"/trainer.v1.TrainerService/SubmitBatch", RPC_UNARY, NULL};
const struct rpc_method rpc_method_report_metrics = {"/trainer.v1.TrainerService/ReportMetrics", RPC_UNARY, NULL};
const struct rpc_method rpc_method_query_metrics = {"/trainer.v1.TrainerService/QueryMetrics", RPC_UNARY, NULL};
