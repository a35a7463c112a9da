// What the pods of a job say: who waits for what, who runs, who failed first. Pure: from the API's pod objects.
#ifndef KUBE_PODS_H
#define KUBE_PODS_H

#include "base/list.h"
#include "job/state.h"
#include "job/table.h"
#include "kube/kinds.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kube_pod_phase { POD_PENDING, POD_INITIALIZING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED };

// One pod, as far as it matters. Owned by its holder.
struct kube_pod {
    struct list link; // of the job's pods
    char *name, *uid, *role, *node;
    char *container; // the main one: the annotation's, else the first
    int32_t index;   // -1: unknown
    enum kube_pod_phase phase;
    bool terminating;
    int32_t restarts; // of all containers
    // Why it does not run (or runs badly): REASON_NONE when there is nothing to say. "pod x: container y: ..."
    enum job_reason reason;
    char *message;
    // The end of the first container that failed, or present = false.
    struct job_exit exit; // texts of it are owned here too
    int64_t ended_ns;     // 0: unknown
};

// A new one from the API's object; NULL when it is no pod of a job.
struct kube_pod *kube_pod_read(const struct json *object, const struct kube_target *target);
void kube_pod_free(struct kube_pod *pod);                               // NULL is fine
bool kube_pod_same(const struct kube_pod *a, const struct kube_pod *b); // says the same to a reader

// All pods of a job in one look.
struct kube_situation {
    enum job_reason reason;      // the gravest; REASON_NONE: all is well
    const char *message;         // borrowed of a pod
    const struct job_exit *exit; // the first failure by time, or NULL; borrowed
    int32_t pods, restarts;
    int32_t active;                  // that run, will run, or are not gone yet
    struct job_role_count roles[16]; // names borrowed; desired is not known here
    size_t role_count;
};
void kube_situation_read(const struct list *pods, struct kube_situation *ret);

#endif
