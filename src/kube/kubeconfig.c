#include "kube/kubeconfig.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1024 * 1024 };

static int sextet(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

// The text that a *-data field holds in base64, or NULL.
static bool decode(struct arena *a, const struct json *node, const char *field, const char **ret, struct err *err) {
    const char *text = json_string(node, NULL);
    uint32_t bits = 0;
    int have = 0;
    if (text == NULL) {
        return true;
    }
    char *out = arena_alloc(a, strlen(text) + 1);
    size_t n = 0;
    for (; *text != '\0' && *text != '='; text++) {
        int six = sextet(*text);
        if (six < 0 && strchr("\r\n ", *text) == NULL) {
            return err_fail(err, ERR_INVALID, "BAD_KUBECONFIG", "%s is not base64", field);
        }
        bits = six < 0 ? bits : bits << 6 | (uint32_t)six;
        have += six < 0 ? 0 : 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (char)(bits >> have & 0xff);
        }
    }
    *ret = out;
    return true;
}

static const struct json *named(const struct json *list, const char *name, const char *what) {
    JSON_EACH (one, list) {
        if (str_same(json_string(json_get(one, "name"), ""), name)) {
            return json_get(one, what);
        }
    }
    return NULL;
}

// A file that is named relatively lies beside the kubeconfig.
static const char *beside(struct arena *a, const char *config, const struct json *node) {
    const char *name = json_string(node, NULL);
    const char *slash = strrchr(config, '/');
    if (name == NULL || name[0] == '/' || slash == NULL) {
        return name;
    }
    return arena_printf(a, "%.*s/%s", (int)(slash - config), config, name);
}

static bool read_pem(struct kube_cluster *c, const char *path, const struct json *node, const char *field,
                     struct http_pem *ret, struct err *err) {
    CLEANUP(mem_free_ptr) char *data = mem_printf("%s-data", field);
    ret->file = beside(&c->arena, path, json_get(node, field));
    return decode(&c->arena, json_get(node, data), data, &ret->text, err);
}

static bool read_cluster(struct kube_cluster *c, const char *path, const struct json *cluster, const struct json *user,
                         struct err *err) {
    c->endpoint.url = json_string(json_get(cluster, "server"), NULL);
    if (c->endpoint.url == NULL) {
        return err_fail(err, ERR_INVALID, "BAD_KUBECONFIG", "the context's cluster has no server");
    }
    c->endpoint.insecure = json_bool(json_get(cluster, "insecure-skip-tls-verify"), false);
    c->endpoint.server_name = json_string(json_get(cluster, "tls-server-name"), NULL);
    c->endpoint.proxy = json_string(json_get(cluster, "proxy-url"), NULL);
    c->endpoint.user_agent = "trainerd/" TRAINERD_VERSION;
    c->token = json_string(json_get(user, "token"), NULL);
    return read_pem(c, path, cluster, "certificate-authority", &c->endpoint.ca, err) &&
           read_pem(c, path, user, "client-certificate", &c->endpoint.cert, err) &&
           read_pem(c, path, user, "client-key", &c->endpoint.key, err);
}

static bool read_config(struct kube_cluster *c, const char *path, const char *context, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *tree = NULL;
    if (!fd_read_file(path, FILE_MAX, &text, err) ||
        !json_parse_yaml(&c->arena, str_text(&text), text.len, &json_limits_default, &tree, err)) {
        return false;
    }
    const char *name = context != NULL ? context : json_string(json_get(tree, "current-context"), "");
    const struct json *chosen = named(json_get(tree, "contexts"), name, "context");
    if (chosen == NULL) {
        return err_fail(err, ERR_INVALID, "BAD_KUBECONFIG",
                        name[0] != '\0' ? "there is no context %s" : "there is no current-context: name one%s", name);
    }
    const struct json *cluster =
        named(json_get(tree, "clusters"), json_string(json_get(chosen, "cluster"), ""), "cluster");
    const struct json *user = named(json_get(tree, "users"), json_string(json_get(chosen, "user"), ""), "user");
    c->namespace_ = json_string(json_get(chosen, "namespace"), NULL);
    return read_cluster(c, path, cluster, user, err);
}

static char *default_path(void) {
    const char *given = getenv("KUBECONFIG");
    const char *home = getenv("HOME");
    if (given != NULL && given[0] != '\0') {
        return mem_strndup(given, strcspn(given, ":"));
    }
    return mem_printf("%s/.kube/config", home != NULL ? home : "");
}

bool kube_cluster_load(const char *path, const char *context, struct kube_cluster **ret, struct err *err) {
    CLEANUP(mem_free_ptr) char *file = path != NULL ? mem_strdup(path) : default_path();
    struct kube_cluster *c = NEW(struct kube_cluster);
    arena_init(&c->arena, 0);
    if (!read_config(c, file, context, err)) {
        err_wrap(err, "kubeconfig %s", file);
        kube_cluster_free(c);
        return false;
    }
    *ret = c;
    return true;
}

void kube_cluster_free(struct kube_cluster *c) {
    if (c != NULL) {
        arena_done(&c->arena);
        mem_free(c);
    }
}
