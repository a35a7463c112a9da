// The identity that requests carry now: from a fixed token, a password, a token file that is read again, or a program.
//
// Loop thread only. Files are read by a worker and programs run on their own: nothing blocks. However many wait, there
// is one reading or one run at a time. Tokens and keys are never logged and never in an error.
#ifndef KUBE_CREDENTIAL_H
#define KUBE_CREDENTIAL_H

#include "base/err.h"
#include "base/list.h"
#include "kube/kubeconfig.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct kube_credential;

struct kube_identity {
    const char *authorization; // value of the header; NULL: none
    // A client certificate of the program's, instead of the endpoint's own; NULL: none. Connections made with another
    // one must not be used any longer: that takes a new endpoint.
    const char *cert_pem, *key_pem;
    uint64_t generation;             // another one for each other identity, from 1
    uint64_t certificate_generation; // another one for each other certificate; 0: there was none yet
};

struct kube_credential_limits { // 0: the default
    int64_t reread_ms;          // age at which a token file is read again, 60 s
    int64_t exec_ms;            // most time for the program, 60 s
};

// cluster must outlive it. limits may be NULL.
struct kube_credential *kube_credential_new(struct loop *loop, const struct kube_cluster *cluster,
                                            const struct kube_credential_limits *limits);
// Who waits hears nothing any more. Not from within a callback of it.
void kube_credential_free(struct kube_credential *credential);

// Embedded by who waits; zeroed at first. One question at a time.
struct kube_credential_wait {
    struct list link;
    // Exactly one of the two is given, valid during the call.
    void (*fn)(void *ctx, const struct kube_identity *identity, const struct err *err);
    void *ctx;
};
// Answers from the loop, never from within this call. Errors are UNAUTHENTICATED, or DEADLINE when the program took
// too long.
void kube_credential_get(struct kube_credential *credential, struct kube_credential_wait *wait);
void kube_credential_cancel(struct kube_credential_wait *wait); // no callback follows; harmless when there is none due
// The same without waiting, until the loop is next entered; NULL: it must be asked for with kube_credential_get.
const struct kube_identity *kube_credential_now(const struct kube_credential *credential);
// The server answered 401 to the identity of that generation: the next question gets a fresh one. Of another
// generation: it is fresh already, and nothing happens.
void kube_credential_rejected(struct kube_credential *credential, uint64_t generation);

#endif
