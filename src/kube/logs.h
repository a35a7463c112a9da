// Logs of pods through the API server: a reader that is pulled. Nobody outside includes this.
#ifndef KUBE_LOGS_H
#define KUBE_LOGS_H

#include "backend/backend.h"

bool kube_logs_open(struct backend *b, const struct backend_log_query *query, bool job_terminal,
                    void (*wake)(void *ctx), void *ctx, struct backend_log **ret, struct err *err);
enum backend_log_result kube_logs_read(struct backend_log *log, struct backend_log_item *ret, struct err *err);
void kube_logs_terminal(struct backend_log *log);
void kube_logs_close(struct backend_log *log);

struct kube_job;
void kube_logs_update(struct kube_job *j); // its pods have changed
void kube_logs_leave(struct kube_job *j);  // it is forgotten: what has been read is still given, then the readers end

#endif
