// Who the API server is and who we are: read once from kubeconfig files, or from what a pod finds in its cluster.
//
// Errors name file, line, entry and field and say what would be right. They hold names of contexts, clusters and users,
// never any other value of a kubeconfig.
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "http/http.h"

#include <stdbool.h>
#include <stddef.h>

#define KUBE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct kube_exec {           // a program that says who we are
    const char *const *argv; // NULL at the end; a path is absolute, a bare name is for PATH
    const char *const *env;  // NAME=value, on top of ours; NULL at the end
    const char *api_version; // client.authentication.k8s.io/v1 or v1beta1
    const char *info;        // KUBERNETES_EXEC_INFO, whole
    const char *install_hint;
};

struct kube_cluster {
    struct arena arena;                   // everything lives here
    struct http_endpoint_config endpoint; // server, CA, client certificate, server name, proxy
    const char *namespace_;               // of the context or the pod; NULL: none
    bool no_compression;
    // What the Authorization header is made of, the first that is there; credential.h does it. None: anonymous, or the
    // certificate says it.
    const char *token_file; // read again and again; `token` stands in while it cannot be read
    const char *token;
    const char *username, *password;
    const struct kube_exec *exec;
    // Headers of every request, when we act as somebody else. A name may be there several times.
    const struct http_header *impersonation;
    size_t impersonation_count;
};

// path NULL: the files of $KUBECONFIG, else ~/.kube/config; when none of them says anything and no context is asked
// for, the pod's service account. context NULL: the current one.
bool kube_cluster_load(const char *path, const char *context, struct kube_cluster **ret, struct err *err) MUST_CHECK;
// The server of $KUBERNETES_SERVICE_HOST and _PORT, and token, ca.crt and namespace in that directory.
// ERR_NOT_FOUND: this is no pod of a cluster, or one without a service account.
bool kube_cluster_load_pod(const char *account_dir, struct kube_cluster **ret, struct err *err) MUST_CHECK;
void kube_cluster_free(struct kube_cluster *cluster); // NULL is fine

#endif
