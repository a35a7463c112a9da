// What kube/ has to know of the kinds of objects that jobs become: a table, one row a target.
//
// Everything else about a kind is the runtime's (render, observe). Pure.
#ifndef KUBE_KINDS_H
#define KUBE_KINDS_H

#include <stdbool.h>

struct kube_target {
    const char *name;    // as plugins name it: "kubeflow.org/v1"; also the apiVersion
    const char *suspend; // path of the field that stops an object and keeps it: "spec.runPolicy.suspend"
    // Labels that the operator puts on the pods it makes.
    const char *role_label, *index_label;
    // The condition that the operator writes first. Until it is there nobody has picked the object up.
    const char *first_condition;
};

// What can be scaled of a kind: one role, by one field. Kinds that are not there keep the size they were made with.
struct kube_scale {
    const char *target, *kind;
    const char *role; // canonical
    const char *path; // of the number in the object
};
const struct kube_scale *kube_scale_find(const char *target, const char *kind); // NULL: nothing

const struct kube_target *kube_target_find(const char *name); // NULL when unknown
const struct kube_target *kube_target_at(unsigned index);     // NULL behind the last

// Labels and annotations by which a job is found again in the cluster, whoever looks.
#define KUBE_LABEL_MANAGED "app.kubernetes.io/managed-by" // "trainerd"; on the object
#define KUBE_LABEL_UID "trainerd/job-uid"                 // on the object and its pods
#define KUBE_NOTE_REQUEST "trainerd/request-id"           // annotations of the object
#define KUBE_NOTE_HASH "trainerd/spec-hash"
#define KUBE_NOTE_SPEC "trainerd/spec" // the job spec as JSON, when it is small enough
#define KUBE_NOTE_CANCEL "trainerd/cancel"
#define KUBE_MANAGER "trainerd"

#endif
