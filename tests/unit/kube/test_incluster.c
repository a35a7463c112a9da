#include "kube/kubeconfig.h"

#include "files.h"

TestSuite(incluster, .init = setup, .fini = teardown);

static void in_pod(const char *host, const char *port) {
    setenv("KUBERNETES_SERVICE_HOST", host, 1);
    setenv("KUBERNETES_SERVICE_PORT", port, 1);
}

static struct kube_cluster *load(void) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct kube_cluster *c = NULL;
    cr_assert(kube_cluster_load_pod(dir, &c, &err), "%s", err.message);
    return c;
}

static void refuse(enum err_code code, const char *said) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct kube_cluster *c = NULL;
    cr_assert(!kube_cluster_load_pod(dir, &c, &err) && c == NULL);
    cr_assert_eq(err.code, code, "%s", err.message);
    cr_assert(strstr(err.message, said) != NULL, "%s", err.message);
}

Test(incluster, addresses) {
    static const struct {
        const char *host, *port, *url;
    } rows[] = {
        {"10.96.0.1", "443", "https://10.96.0.1:443"},
        {"fd00:10:96::1", "6443", "https://[fd00:10:96::1]:6443"},
        {"kubernetes.default.svc", "1", "https://kubernetes.default.svc:1"},
    };
    put_file("token", 0600, "t");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        in_pod(rows[i].host, rows[i].port);
        struct kube_cluster *c = load();
        cr_assert_str_eq(c->endpoint.url, rows[i].url);
        kube_cluster_free(c);
    }
}

Test(incluster, account) {
    in_pod("10.96.0.1", "443");
    put_file("token", 0600, "t");
    struct kube_cluster *c = load();
    cr_assert_str_eq(c->token_file, path_of("token"));
    cr_assert_null(c->token); // only ever from the file, which changes
    cr_assert_null(c->endpoint.ca.file);
    cr_assert_null(c->namespace_);
    cr_assert(!c->endpoint.insecure && c->exec == NULL && c->username == NULL);
    kube_cluster_free(c);
    put_file("ca.crt", 0600, "x");
    put_file("namespace", 0600, " team-a\n");
    c = load();
    cr_assert_str_eq(c->endpoint.ca.file, path_of("ca.crt"));
    cr_assert_str_eq(c->namespace_, "team-a");
    kube_cluster_free(c);
    put_file("namespace", 0600, "\n");
    c = load();
    cr_assert_null(c->namespace_);
    kube_cluster_free(c);
}

Test(incluster, no_pod) {
    refuse(ERR_NOT_FOUND, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
    in_pod("10.96.0.1", "");
    refuse(ERR_NOT_FOUND, "are not set");
    in_pod("", "443");
    refuse(ERR_NOT_FOUND, "are not set");
    in_pod("10.96.0.1", "443");
    refuse(ERR_NOT_FOUND, "this pod has no service account: there is no /");
    put_file("token", 0600, "t");
    in_pod("10.96.0.1", "65536");
    refuse(ERR_INVALID, "KUBERNETES_SERVICE_PORT is not a port number");
    in_pod("h/evil?", "443");
    refuse(ERR_INVALID, "KUBERNETES_SERVICE_HOST is neither an address nor a host name");
}

// A kubeconfig that says something goes before the pod; one that says nothing does not.
Test(incluster, after_the_kubeconfig) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct kube_cluster *c = NULL;
    in_pod("10.96.0.1", "443");
    setenv("KUBECONFIG", put_file("config", 0600, "clusters: []\n"), 1);
    cr_assert(!kube_cluster_load(NULL, NULL, &c, &err));
    cr_assert(strstr(err.message, "this pod has no service account: there is no " KUBE_ACCOUNT_DIR "/token") != NULL,
              "%s", err.message);
    err_done(&err);
    cr_assert(!kube_cluster_load(path_of("config"), NULL, &c, &err)); // asked for by name: nothing else will do
    cr_assert(strstr(err.message, "has no current-context") != NULL, "%s", err.message);
    err_done(&err);
    setenv("KUBECONFIG", put_file("config", 0600, "users: [{name: u}]\n"), 1);
    cr_assert(!kube_cluster_load(NULL, NULL, &c, &err));
    cr_assert(strstr(err.message, "has no current-context") != NULL, "%s", err.message);
}
