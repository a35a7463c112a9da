// Filling a kube_cluster from the entries that a context chose.
#ifndef KUBE_USER_H
#define KUBE_USER_H

#include "kube/entry.h"
#include "kube/kubeconfig.h"

bool kube_read_cluster(struct kube_cluster *to, const struct kube_entry *entry, struct err *err) MUST_CHECK;
// After the cluster: a program may be told which one it is for.
bool kube_read_user(struct kube_cluster *to, const struct kube_entry *user, const struct kube_entry *cluster,
                    struct err *err) MUST_CHECK;
bool kube_read_exec(struct kube_cluster *to, const struct kube_entry *user, const struct kube_entry *cluster,
                    struct err *err) MUST_CHECK;

#endif
