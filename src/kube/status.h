// What the API server says when it does not do what it was asked: metav1.Status to our errors. Pure.
#ifndef KUBE_STATUS_H
#define KUBE_STATUS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

// http: the status code. body: what came with it, perhaps a Status, perhaps anything. what: "create PyTorchJob x", for
// the message. retry_after_s: of the answer's header, 0 when none. Fills err; its reason is KUBE_ and the Status's
// reason in upper snake, "KUBE_ALREADY_EXISTS", or by the code. Violations name the fields that the causes name.
void kube_status_error(struct err *err, int http, const char *body, size_t n, int64_t retry_after_s, const char *what);

#endif
