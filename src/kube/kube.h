// The Kubernetes backend: jobs as objects of a cluster. It keeps no state that the cluster would have to trust: what a
// job is stands on its object. Loop thread only.
#ifndef KUBE_KUBE_H
#define KUBE_KUBE_H

#include "backend/backend.h"
#include "base/err.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct kube_want { // a kind that some runtime makes
    const char *target, *kind;
};

struct kube_options {
    const char *name;              // of the backend
    const char *kubeconfig;        // path; NULL: as kubectl finds it, or in-cluster
    const char *context;           // NULL: the current one
    const char *namespace_;        // the only one that is watched; NULL: all
    const struct kube_want *wants; // borrowed for the call
    size_t want_count;
};

// Reads who the server is; talks to nobody yet.
bool kube_backend_new(const struct kube_options *options, struct loop *loop, struct backend **ret,
                      struct err *err) MUST_CHECK;

#endif
