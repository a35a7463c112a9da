// A server: its checked configuration, its pools, and the turn in which the work on its calls is done.
#include "http/internal.h"

#include "base/fd.h"
#include "base/mem.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

enum {
    PEM_MAX = 1024 * 1024,
    CONNECTIONS = 8,
    REQUESTS = 1024,
    STREAMS = 4096,
    // libcurl queues without an order of its own what does not fit its connections, so it gets little to queue
    IN_POOL_MAX = 64,
    IDLE_CONNECTION_SECONDS = 60, // less than servers keep theirs, so that a request seldom meets one that is closing
    KEEPALIVE_IDLE_SECONDS = 30,
    KEEPALIVE_INTERVAL_SECONDS = 10,
    KEEPALIVE_COUNT = 3,
    UNACKED_MS = 30 * 1000,
};

// ---- Configuration

struct url_parts {
    char *scheme, *user, *password, *host, *port, *path, *query, *fragment;
};

static void url_parts_done(struct url_parts *parts) {
    char **all = &parts->scheme;
    for (size_t i = 0; i < sizeof *parts / sizeof *all; i++) {
        curl_free(all[i]);
    }
}

static bool url_split(const char *text, struct url_parts *parts) {
    const struct {
        CURLUPart part;
        char **to;
        bool must;
    } wanted[] = {
        {CURLUPART_SCHEME, &parts->scheme, true}, {CURLUPART_HOST, &parts->host, true},
        {CURLUPART_PORT, &parts->port, true},     {CURLUPART_PATH, &parts->path, true},
        {CURLUPART_USER, &parts->user, false},    {CURLUPART_PASSWORD, &parts->password, false},
        {CURLUPART_QUERY, &parts->query, false},  {CURLUPART_FRAGMENT, &parts->fragment, false},
    };
    CURLU *url = curl_url();
    bool ok = url != NULL && curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
    for (size_t i = 0; i < ARRAY_LEN(wanted) && ok; i++) {
        ok = curl_url_get(url, wanted[i].part, wanted[i].to, CURLU_DEFAULT_PORT) == CURLUE_OK || !wanted[i].must;
    }
    curl_url_cleanup(url);
    return ok;
}

static bool name_valid(const char *name) {
    return *name != '\0' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")] == '\0';
}

static bool set_address(struct http_endpoint *endpoint, const struct http_endpoint_config *config, struct err *err) {
    CLEANUP(url_parts_done) struct url_parts url = {0};
    if (config->url == NULL || !url_split(config->url, &url)) {
        return err_fail(err, ERR_INVALID, "BAD_URL", "the server's address is no URL such as https://host:6443");
    }
    bool tls = str_same(url.scheme, "https");
    if (!tls && !str_same(url.scheme, "http")) {
        return err_fail(err, ERR_INVALID, "BAD_URL", "the server's address starts with %s://: it must be http or https",
                        url.scheme);
    }
    if (url.user != NULL || url.password != NULL || url.query != NULL || url.fragment != NULL) {
        return err_fail(err, ERR_INVALID, "BAD_URL",
                        "the server's address must not have a user, a query or a fragment");
    }
    for (size_t n = strlen(url.path); n > 0 && url.path[n - 1] == '/'; n--) {
        url.path[n - 1] = '\0';
    }
    const char *name = url.host;
    if (tls && config->server_name != NULL) {
        if (!name_valid(config->server_name)) {
            return err_fail(err, ERR_INVALID, "BAD_SERVER_NAME", "the TLS server name is no host name");
        }
        // libcurl takes the name of the URL for SNI and for checking: so that is the name, and it is led elsewhere.
        name = config->server_name;
        CLEANUP(mem_free_ptr) char *route = mem_printf("::%s:%s", url.host, url.port);
        endpoint->connect_to = curl_slist_append(NULL, route);
        endpoint->host = mem_printf("%s:%s", url.host, url.port);
    }
    endpoint->base = mem_printf("%s://%s:%s%s", url.scheme, name, url.port, url.path);
    return true;
}

static bool set_proxy(struct http_endpoint *endpoint, const char *proxy, struct err *err) {
    static const char *const schemes[] = {"http", "https", "socks5", "socks5h"};
    CLEANUP(url_parts_done) struct url_parts url = {0};
    bool known = proxy == NULL || *proxy == '\0';
    if (!known && url_split(proxy, &url)) {
        for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
            known = known || str_same(url.scheme, schemes[i]);
        }
    }
    if (!known) { // the text may hold a password
        return err_fail(err, ERR_INVALID, "BAD_PROXY", "the proxy is no http, https, socks5 or socks5h URL");
    }
    endpoint->proxy = mem_strdup(proxy);
    return true;
}

static bool set_pem(struct str *to, const struct http_pem *pem, const char *what, struct err *err) {
    if (pem->text != NULL) {
        str_add(to, pem->text);
    } else if (pem->file != NULL && !fd_read_file(pem->file, PEM_MAX, to, err)) {
        err_wrap(err, "%s", what);
        return false;
    }
    if ((pem->text != NULL || pem->file != NULL) && strstr(str_text(to), "-----BEGIN ") == NULL) {
        return err_fail(err, ERR_INVALID, "BAD_PEM", "%s is not in PEM format", what);
    }
    return true;
}

static bool set_trust(struct http_endpoint *endpoint, const struct http_endpoint_config *config, struct err *err) {
    if (!set_pem(&endpoint->ca, &config->ca, "the certificate authority", err) ||
        !set_pem(&endpoint->cert, &config->cert, "the client certificate", err) ||
        !set_pem(&endpoint->key, &config->key, "the key of the client certificate", err)) {
        return false;
    }
    if ((endpoint->cert.len == 0) != (endpoint->key.len == 0)) {
        return err_fail(err, ERR_INVALID, "BAD_CLIENT_CERTIFICATE", "a client certificate and its key go together");
    }
    if (config->insecure && endpoint->ca.len > 0) {
        return err_fail(err, ERR_INVALID, "INSECURE_WITH_CA", "a certificate authority is given, but not to be used");
    }
    endpoint->insecure = config->insecure;
    return true;
}

static void on_turn(void *ctx);

bool http_endpoint_new(struct http_client *client, const struct http_endpoint_config *config,
                       struct http_endpoint **ret, struct err *err) {
    struct http_endpoint *endpoint = NEW(struct http_endpoint);
    endpoint->client = client;
    endpoint->unix_path = mem_strdup(config->unix_path);
    endpoint->user_agent = mem_strdup(config->user_agent != NULL ? config->user_agent : "trainerd/" TRAINERD_VERSION);
    endpoint->max_connections = config->max_connections > 0 ? config->max_connections : CONNECTIONS;
    endpoint->max_requests = config->max_requests > 0 ? config->max_requests : REQUESTS;
    endpoint->max_streams = config->max_streams > 0 ? config->max_streams : STREAMS;
    list_init(&endpoint->retired);
    list_init(&endpoint->waiting);
    list_init(&endpoint->marked);
    loop_task_init(&endpoint->turn, on_turn, endpoint);
    list_push(&client->endpoints, &endpoint->link);
    if (!set_address(endpoint, config, err) || !set_proxy(endpoint, config->proxy, err) ||
        !set_trust(endpoint, config, err)) {
        http_endpoint_destroy(endpoint);
        return false;
    }
    *ret = endpoint;
    return true;
}

bool http_endpoint_set_header(struct http_endpoint *endpoint, const char *name, const char *value) {
    return http_header_set_put(&endpoint->headers, name, value);
}

void http_endpoint_free(struct http_endpoint *endpoint) {
    if (endpoint != NULL) {
        endpoint->given_up = true;
        http_endpoint_want_turn(endpoint);
    }
}

static void secret_done(struct str *s) {
    if (s->data != NULL) {
        explicit_bzero(s->data, s->len);
    }
    str_done(s);
}

void http_endpoint_destroy(struct http_endpoint *endpoint) {
    http_pool_free(endpoint->requests);
    http_pool_free(endpoint->streams);
    LIST_EACH (node, &endpoint->retired) {
        http_pool_free(CONTAINER_OF(node, struct pool, link));
    }
    loop_task_cancel(&endpoint->turn);
    list_remove(&endpoint->link);
    curl_slist_free_all(endpoint->connect_to);
    mem_free(endpoint->base);
    mem_free(endpoint->host);
    mem_free(endpoint->proxy);
    mem_free(endpoint->unix_path);
    mem_free(endpoint->user_agent);
    str_done(&endpoint->ca);
    str_done(&endpoint->cert);
    secret_done(&endpoint->key);
    http_header_set_done(&endpoint->headers);
    mem_free(endpoint);
}

// ---- What libcurl is told of it

// Keepalives find a peer that is gone while nothing is sent, this finds one while something is.
static int set_socket(void *ctx UNUSED, curl_socket_t fd, curlsocktype purpose UNUSED) {
    int count = KEEPALIVE_COUNT;
    unsigned unacked = UNACKED_MS;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count); // a unix socket refuses: nothing is lost
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked, sizeof unacked);
    return CURL_SOCKOPT_OK;
}

static void set_blob(CURL *easy, CURLoption option, const struct str *s) {
    if (s->len > 0) {
        struct curl_blob blob = {.data = s->data, .len = s->len, .flags = CURL_BLOB_NOCOPY};
        curl_easy_setopt(easy, option, &blob);
    }
}

static void set_tls(const struct http_endpoint *endpoint, CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, endpoint->insecure ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, endpoint->insecure ? 0L : 2L);
    // Either the given authorities or the system's file, never its directory besides: with that, libcurl would read the
    // file again for each connection, which takes 50 ms.
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (endpoint->insecure) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
    }
    set_blob(easy, CURLOPT_CAINFO_BLOB, &endpoint->ca);
    set_blob(easy, CURLOPT_SSLCERT_BLOB, &endpoint->cert);
    set_blob(easy, CURLOPT_SSLKEY_BLOB, &endpoint->key);
    curl_easy_setopt(easy, CURLOPT_KEYPASSWD, ""); // else OpenSSL asks at the terminal for that of an encrypted key
}

void http_endpoint_settings(const struct http_endpoint *endpoint, CURL *easy, bool stream) {
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); // else ending a call waits for the thread that resolves its name
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, endpoint->user_agent);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)IDLE_CONNECTION_SECONDS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_SECONDS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_SECONDS);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, set_socket);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, endpoint->connect_to);
    if (endpoint->proxy != NULL) {
        curl_easy_setopt(easy, CURLOPT_PROXY, endpoint->proxy);
    }
    if (endpoint->unix_path != NULL) {
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint->unix_path);
    }
    set_tls(endpoint, easy);
    if (stream) {
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    } else {
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L); // rather join a connection that is being made than make another
    }
}

// ---- Pools and the turn

struct pool *http_endpoint_pool(struct http_endpoint *endpoint, bool stream) {
    struct pool **pool = stream ? &endpoint->streams : &endpoint->requests;
    if (*pool == NULL) {
        *pool = http_pool_new(endpoint, stream);
    }
    return *pool;
}

void http_endpoint_retire(struct http_endpoint *endpoint, struct pool *pool) {
    if (pool == endpoint->requests) {
        endpoint->requests = NULL;
        list_push(&endpoint->retired, &pool->link);
    }
}

void http_endpoint_want_turn(struct http_endpoint *endpoint) {
    loop_defer(endpoint->client->loop, &endpoint->turn);
}

static void start_waiting(struct http_endpoint *endpoint) {
    LIST_EACH (node, &endpoint->waiting) {
        struct http_call *call = CONTAINER_OF(node, struct http_call, link);
        bool room = call->stream || endpoint->in_pool < IN_POOL_MAX;
        if (room && !call->gone && call->failure == HTTP_OK) {
            http_call_start(call);
        }
    }
}

static void on_turn(void *ctx) {
    struct http_endpoint *endpoint = ctx;
    struct list now; // what is marked meanwhile waits for the next turn
    list_init(&now);
    list_splice(&now, &endpoint->marked);
    for (struct list *node; (node = list_pop(&now)) != NULL;) {
        http_call_work(CONTAINER_OF(node, struct http_call, marked));
    }
    start_waiting(endpoint);
    LIST_EACH (node, &endpoint->retired) {
        struct pool *pool = CONTAINER_OF(node, struct pool, link);
        if (list_empty(&pool->calls)) {
            http_pool_free(pool);
        }
    }
    if (endpoint->given_up && endpoint->request_count + endpoint->stream_count == 0) {
        http_endpoint_destroy(endpoint);
    }
}
