#include "kube/kinds.h"

#include "base/str.h"

#include <stddef.h>

static const struct kube_target targets[] = {
    {.name = "kubeflow.org/v1",
     .suspend = "spec.runPolicy.suspend",
     .role_label = "training.kubeflow.org/replica-type",
     .index_label = "training.kubeflow.org/replica-index",
     .first_condition = "Created"},
};

static const struct kube_scale scales[] = {
    {"kubeflow.org/v1", "PyTorchJob", "worker", "spec.pytorchReplicaSpecs.Worker.replicas"},
    {"kubeflow.org/v1", "JAXJob", "worker", "spec.jaxReplicaSpecs.Worker.replicas"},
    {"kubeflow.org/v1", "PaddleJob", "worker", "spec.paddleReplicaSpecs.Worker.replicas"},
};

const struct kube_target *kube_target_at(unsigned index) {
    return index < sizeof targets / sizeof targets[0] ? &targets[index] : NULL;
}

const struct kube_target *kube_target_find(const char *name) {
    const struct kube_target *t;
    for (unsigned i = 0; (t = kube_target_at(i)) != NULL; i++) {
        if (str_same(t->name, name)) {
            return t;
        }
    }
    return NULL;
}

const struct kube_scale *kube_scale_find(const char *target, const char *kind) {
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        if (str_same(scales[i].target, target) && str_same(scales[i].kind, kind)) {
            return &scales[i];
        }
    }
    return NULL;
}
