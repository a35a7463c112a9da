// Keeps up with one kind of object of the cluster: list, then watch, for ever, with nothing missed and nothing twice.
//
// Rules as in client-go's reflector: the list's version is where the watch begins; bookmarks move it; an orderly end
// goes on from the last version; "gone" (in either form) lists again; a list that follows a gap is told as a
// difference by uid, so that what ended or vanished meanwhile is told once. Versions are opaque.
// Loop thread only. Callbacks come from the loop.
#ifndef KUBE_REFLECTOR_H
#define KUBE_REFLECTOR_H

#include "kube/client.h"
#include "loop/loop.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct reflector_handler {
    // A new object or a new version of one. Valid during the call.
    void (*object)(void *ctx, const struct json *object);
    // It is gone. object: its last version, or NULL when that is not known (it went in a gap).
    void (*gone)(void *ctx, const char *uid, const struct json *object);
    void (*listed)(void *ctx); // a list is complete: everything that exists has been told
    // It does not keep up at present (problem), or does again (NULL). Repeated only when it changes.
    void (*health)(void *ctx, const char *problem);
};

struct reflector_options {
    struct loop *loop;
    struct kube_client *client;
    const char *path;     // "/apis/kubeflow.org/v1/pytorchjobs", or with a namespace
    const char *selector; // label selector, or NULL
    const char *fields;   // field selector, or NULL
    const char *what;     // "PyTorchJobs", for logs and errors
    const struct reflector_handler *handler;
    void *ctx;
};

struct reflector;
struct reflector *reflector_new(const struct reflector_options *options); // begins at once
void reflector_free(struct reflector *r);
const char *reflector_problem(const struct reflector *r); // why it does not keep up; NULL: it does, or r is NULL
bool reflector_listed(const struct reflector *r);         // has had a complete list

struct reflector_counts { // since the beginning; for tests and metrics
    int64_t lists, watches, events, bookmarks, gone;
};
void reflector_counts(const struct reflector *r, struct reflector_counts *ret);

#endif
