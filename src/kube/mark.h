// What marks an object of the cluster as a job's: labels and annotations, put into what a runtime rendered. Pure.
#ifndef KUBE_MARK_H
#define KUBE_MARK_H

#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>

enum { KUBE_SPEC_NOTE_MAX = 64 * 1024 }; // a longer spec is not put on the object; annotations have 256 KiB in all

struct kube_mark {
    const char *uid;        // the job's
    const char *namespace_; // of the object, when the runtime gave none
    const char *request_id; // NULL: none
    const char *spec_hash;  // NULL: none
    const char *spec_json;  // NULL: none
};

// Appends the object with the mark: its own labels and annotations, and the uid as a label on every pod template
// in it ("template" with "spec.containers", at any depth), so that its pods are found by one watch.
void kube_mark_object(struct str *out, const struct json *object, const struct kube_mark *mark);

#endif
