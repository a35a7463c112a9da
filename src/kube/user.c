// The fields of a cluster and of a user.
#include "kube/user.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

static bool has_scheme(const char *url, const char *const *schemes) {
    for (; *schemes != NULL; schemes++) {
        size_t n = strlen(*schemes);
        if (strncmp(url, *schemes, n) == 0 && strncmp(url + n, "://", 3) == 0 && url[n + 3] != '\0') {
            return true;
        }
    }
    return false;
}

// ---- Cluster

bool kube_read_cluster(struct kube_cluster *to, const struct kube_entry *e, struct err *err) {
    static const char *const server_schemes[] = {"https", "http", NULL};
    static const char *const proxy_schemes[] = {"http", "https", "socks5", "socks5h", NULL};
    struct http_endpoint_config *endpoint = &to->endpoint;
    if (!kube_entry_line(e, "server", &endpoint->url, err) ||
        !kube_entry_line(e, "tls-server-name", &endpoint->server_name, err) ||
        !kube_entry_line(e, "proxy-url", &endpoint->proxy, err) ||
        !kube_entry_bool(e, "insecure-skip-tls-verify", &endpoint->insecure, err) ||
        !kube_entry_bool(e, "disable-compression", &to->no_compression, err) ||
        !kube_entry_pem(e, "certificate-authority", &endpoint->ca, err)) {
        return false;
    }
    if (endpoint->url == NULL) {
        return kube_entry_fail(e, e->node, err, "has no server: an address such as https://host:6443");
    }
    if (!has_scheme(endpoint->url, server_schemes)) {
        return kube_entry_fail(e, json_get(e->node, "server"), err,
                               "server must be an address such as https://host:6443");
    }
    if (endpoint->proxy != NULL && !has_scheme(endpoint->proxy, proxy_schemes)) {
        return kube_entry_fail(e, json_get(e->node, "proxy-url"), err,
                               "proxy-url must start with http://, https://, socks5:// or socks5h://");
    }
    if (endpoint->insecure && (endpoint->ca.file != NULL || endpoint->ca.text != NULL)) {
        return kube_entry_fail(e, json_get(e->node, "insecure-skip-tls-verify"), err,
                               "insecure-skip-tls-verify and a certificate-authority exclude each other");
    }
    return true;
}

// ---- Impersonation

struct headers {
    const struct kube_entry *entry;
    struct http_header *list;
    size_t count, cap;
};

static void add_header(struct headers *h, const char *name, const char *value) {
    if (h->count == h->cap) {
        size_t cap = h->cap != 0 ? 2 * h->cap : 8;
        struct http_header *list = ARENA_NEW_ARRAY(h->entry->arena, struct http_header, cap);
        for (size_t i = 0; i < h->count; i++) {
            list[i] = h->list[i];
        }
        h->list = list;
        h->cap = cap;
    }
    h->list[h->count++] = (struct http_header){name, value};
}

static bool add_list(struct headers *h, const char *name, const struct json *list, const char *field, struct err *err) {
    JSON_EACH (node, list) {
        const char *text = json_string(node, NULL);
        if (text == NULL || !kube_is_line(text)) {
            return kube_entry_fail(h->entry, node, err, "%s must be a list of texts of one line", field);
        }
        if (h->count == HTTP_HEADER_COUNT_MAX / 2) {
            return kube_entry_fail(h->entry, node, err, "%s: more than %d groups and extras", field,
                                   HTTP_HEADER_COUNT_MAX / 2);
        }
        add_header(h, name, arena_strdup(h->entry->arena, text));
    }
    return true;
}

// A header's name may not hold all that a key of act-as-user-extra may. The server reads it in lower case.
static const char *extra_name(struct arena *arena, const char *key) {
    CLEANUP(str_done) struct str name = STR_INIT;
    str_add(&name, "Impersonate-Extra-");
    for (; *key != '\0'; key++) {
        unsigned char c = (unsigned char)*key;
        if (c < 0x80 && (isalnum(c) || strchr("!#$&'*+-.^_`|~", c) != NULL)) {
            str_add_char(&name, (char)tolower(c));
        } else {
            str_printf(&name, "%%%02X", (unsigned)c);
        }
    }
    return arena_strdup(arena, str_text(&name));
}

static bool read_impersonation(struct kube_cluster *to, const struct kube_entry *e, struct err *err) {
    struct headers h = {.entry = e};
    const char *user = NULL;
    const char *uid = NULL;
    const struct json *groups = NULL;
    const struct json *extra = NULL;
    if (!kube_entry_line(e, "act-as", &user, err) || !kube_entry_line(e, "act-as-uid", &uid, err) ||
        !kube_entry_children(e, "act-as-groups", JSON_ARRAY, &groups, err) ||
        !kube_entry_children(e, "act-as-user-extra", JSON_OBJECT, &extra, err)) {
        return false;
    }
    if (user != NULL) {
        add_header(&h, "Impersonate-User", user);
    }
    if (uid != NULL) {
        add_header(&h, "Impersonate-Uid", uid);
    }
    if (!add_list(&h, "Impersonate-Group", groups, "act-as-groups", err)) {
        return false;
    }
    JSON_EACH (values, extra) {
        if (values->type != JSON_ARRAY || values->key[0] == '\0') {
            return kube_entry_fail(e, values, err, "act-as-user-extra must be a mapping of names to lists of texts");
        }
        if (!add_list(&h, extra_name(e->arena, values->key), values, "act-as-user-extra", err)) {
            return false;
        }
    }
    if (h.count > 0 && user == NULL) {
        return kube_entry_fail(e, e->node, err,
                               "act-as-uid, act-as-groups and act-as-user-extra need act-as, the user to act as");
    }
    to->impersonation = h.list;
    to->impersonation_count = h.count;
    return true;
}

// ---- User

static bool has_pem(const struct http_pem *pem) {
    return pem->file != NULL || pem->text != NULL;
}

bool kube_read_user(struct kube_cluster *to, const struct kube_entry *e, const struct kube_entry *cluster,
                    struct err *err) {
    const struct json *removed = json_get(e->node, "auth-provider");
    if (removed != NULL && removed->type != JSON_NULL) {
        return kube_entry_fail(e, removed, err,
                               "auth-provider is no longer known to Kubernetes: use exec with the provider's plugin");
    }
    if (!kube_entry_pem(e, "client-certificate", &to->endpoint.cert, err) ||
        !kube_entry_pem(e, "client-key", &to->endpoint.key, err) || !kube_entry_line(e, "token", &to->token, err) ||
        !kube_entry_path(e, "tokenFile", &to->token_file, err) || !kube_entry_text(e, "username", &to->username, err) ||
        !kube_entry_text(e, "password", &to->password, err) || !read_impersonation(to, e, err) ||
        !kube_read_exec(to, e, cluster, err)) {
        return false;
    }
    if (has_pem(&to->endpoint.cert) != has_pem(&to->endpoint.key)) {
        return kube_entry_fail(e, e->node, err, "client-certificate and client-key go together, and one is missing");
    }
    if ((to->token != NULL || to->token_file != NULL) && (to->username != NULL || to->password != NULL)) {
        return kube_entry_fail(e, e->node, err, "has a token and a username or password: only one of the two");
    }
    if (to->username != NULL && strchr(to->username, ':') != NULL) {
        return kube_entry_fail(e, json_get(e->node, "username"), err, "username must not have a colon in it");
    }
    return true;
}
