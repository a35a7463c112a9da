// What a pod finds in its cluster: the API server's address in the environment, its service account in a directory.
#include "kube/kubeconfig.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMESPACE_MAX = 4096 };

static bool find_server(struct kube_cluster *c, struct err *err) {
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    int64_t number = 0;
    if (host == NULL || host[0] == '\0' || str_is_empty(port)) {
        return err_fail(err, ERR_NOT_FOUND, "NOT_IN_A_POD",
                        "this is no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
    }
    if (!str_to_int64(port, 1, 65535, &number)) {
        return err_fail(err, ERR_INVALID, "BAD_POD", "KUBERNETES_SERVICE_PORT is not a port number");
    }
    if (host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:")] != '\0') {
        return err_fail(err, ERR_INVALID, "BAD_POD", "KUBERNETES_SERVICE_HOST is neither an address nor a host name");
    }
    bool v6 = strchr(host, ':') != NULL;
    c->endpoint.url = arena_printf(&c->arena, v6 ? "https://[%s]:%d" : "https://%s:%d", host, (int)number);
    return true;
}

static bool read_namespace(struct kube_cluster *c, const char *dir, struct err *err) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/namespace", dir);
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(err_done) struct err why = ERR_INIT;
    if (!fd_read_file(path, NAMESPACE_MAX, &text, &why)) {
        if (why.code == ERR_NOT_FOUND) {
            return true;
        }
        err_move(err, &why);
        return false;
    }
    const char *begin = str_text(&text) + strspn(str_text(&text), " \t\r\n");
    size_t n = strcspn(begin, " \t\r\n");
    c->namespace_ = n > 0 ? arena_strndup(&c->arena, begin, n) : NULL;
    return true;
}

static bool fill(struct kube_cluster *c, const char *dir, struct err *err) {
    if (!find_server(c, err)) {
        return false;
    }
    c->token_file = arena_printf(&c->arena, "%s/token", dir);
    if (access(c->token_file, F_OK) != 0) {
        return err_fail(err, ERR_NOT_FOUND, "NO_SERVICE_ACCOUNT",
                        "this pod has no service account: there is no %s, see automountServiceAccountToken",
                        c->token_file);
    }
    const char *ca = arena_printf(&c->arena, "%s/ca.crt", dir);
    c->endpoint.ca.file = access(ca, F_OK) == 0 ? ca : NULL; // else those that the system trusts
    return read_namespace(c, dir, err);
}

bool kube_cluster_load_pod(const char *account_dir, struct kube_cluster **ret, struct err *err) {
    struct kube_cluster *c = NEW(struct kube_cluster);
    arena_init(&c->arena, 0);
    if (!fill(c, account_dir, err)) {
        kube_cluster_free(c);
        return false;
    }
    *ret = c;
    return true;
}
