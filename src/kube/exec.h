// One run of a program that says who we are, and what it answered.
#ifndef KUBE_EXEC_H
#define KUBE_EXEC_H

#include "base/err.h"
#include "kube/kubeconfig.h"
#include "loop/loop.h"

#include <stdint.h>

struct kube_exec_run;

struct kube_exec_answer {           // valid during the callback
    const char *token;              // one line; NULL: none
    const char *cert_pem, *key_pem; // both or none
    int64_t expires;                // wall; 0: never
};

// Calls done once, later, with one of the two, unless stopped. NULL: err says why.
struct kube_exec_run *kube_exec_start(struct loop *loop, const struct kube_exec *exec, int64_t timeout_ms,
                                      void (*done)(void *ctx, const struct kube_exec_answer *answer,
                                                   const struct err *err),
                                      void *ctx, struct err *err);
void kube_exec_stop(struct kube_exec_run *run); // no callback

#endif
