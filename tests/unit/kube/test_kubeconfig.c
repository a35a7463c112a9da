#include "kube/kubeconfig.h"

#include "json/json.h"

#include "files.h"

TestSuite(kubeconfig, .init = setup, .fini = teardown);

#define SECRET "Hush-Hush"
#define PEM "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"
#define PEM64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFVSkQKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
#define KEY "-----BEGIN PRIVATE KEY-----\n" SECRET "\n-----END PRIVATE KEY-----\n"
#define KEY64 "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCkh1c2gtSHVzaAotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg=="

// A whole kubeconfig with one context c, of cluster k with these fields and user u with those.
#define CONFIG(cluster, user)                                                                                          \
    "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"        \
    "clusters:\n- name: k\n  cluster: " cluster "\nusers:\n- name: u\n  user: " user "\n"
#define SERVER "{server: 'https://h:6443'}"

static struct kube_cluster *load(const char *path, const char *context) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct kube_cluster *c = NULL;
    cr_assert(kube_cluster_load(path, context, &c, &err), "%s", err.message);
    cr_assert_not_null(c);
    return c;
}

// The error's text, good until the next one.
static const char *refuse(const char *path, const char *context) {
    static char text[2000];
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct kube_cluster *c = NULL;
    bool ok = kube_cluster_load(path, context, &c, &err);
    cr_assert(!ok && c == NULL, "accepted");
    cr_assert(err.code == ERR_INVALID || err.code == ERR_NOT_FOUND || err.code == ERR_EXHAUSTED ||
                  err.code == ERR_PRECONDITION,
              "%d %s", err.code, err.message);
    cr_assert_null(strstr(err.message, SECRET), "a secret: %s", err.message);
    snprintf(text, sizeof text, "%s", err.message);
    return text;
}

static void same(const char *a, const char *b) {
    cr_assert(a == b || (a != NULL && b != NULL && strcmp(a, b) == 0), "%s, not %s", a != NULL ? a : "NULL",
              b != NULL ? b : "NULL");
}

Test(kubeconfig, every_field) {
    put_file("config", 0600,
             "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: dev\nextensions: []\n"
             "contexts:\n- name: other\n  context: {cluster: x, user: x}\n"
             "- name: dev\n  context:\n    cluster: k\n    user: u\n    namespace: team\n"
             "clusters:\n- name: k\n  cluster:\n    server: https://10.0.0.1:6443/prefix\n"
             "    tls-server-name: api.internal\n    certificate-authority-data: " PEM64 "\n"
             "    certificate-authority: /not/used\n    proxy-url: socks5://proxy:1080\n"
             "    disable-compression: true\n    unknown: {a: b}\n"
             "users:\n- name: u\n  user:\n    client-certificate-data: " PEM64 "\n    client-key-data: " KEY64 "\n"
             "    token: \"  " SECRET "\\n\"\n    act-as: jane\n    act-as-uid: '7'\n    act-as-groups: [a, b c]\n"
             "    act-as-user-extra:\n      Scopes: [view, develop]\n      acme.com/some thing%: [\"1\"]\n");
    struct kube_cluster *c = load(path_of("config"), NULL);
    same(c->endpoint.url, "https://10.0.0.1:6443/prefix");
    same(c->endpoint.server_name, "api.internal");
    same(c->endpoint.proxy, "socks5://proxy:1080");
    same(c->endpoint.ca.text, PEM);
    same(c->endpoint.ca.file, NULL);
    same(c->endpoint.cert.text, PEM);
    same(c->endpoint.key.text, KEY);
    cr_assert(!c->endpoint.insecure && c->no_compression);
    same(c->namespace_, "team");
    same(c->token, SECRET);
    cr_assert(c->token_file == NULL && c->username == NULL && c->password == NULL && c->exec == NULL);
    static const struct http_header headers[] = {{"Impersonate-User", "jane"},
                                                 {"Impersonate-Uid", "7"},
                                                 {"Impersonate-Group", "a"},
                                                 {"Impersonate-Group", "b c"},
                                                 {"Impersonate-Extra-scopes", "view"},
                                                 {"Impersonate-Extra-scopes", "develop"},
                                                 {"Impersonate-Extra-acme.com%2Fsome%20thing%25", "1"}};
    cr_assert_eq(c->impersonation_count, ARRAY_LEN(headers));
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        same(c->impersonation[i].name, headers[i].name);
        same(c->impersonation[i].value, headers[i].value);
    }
    kube_cluster_free(c);
}

Test(kubeconfig, files_are_meant_from_the_directory_of_theirs) {
    put_file("sub/config", 0600,
             CONFIG("{server: 'http://h', certificate-authority: ca.crt}",
                    "{client-certificate: pki/me.crt, client-key: /abs/me.key, tokenFile: ../token, token: fixed}"));
    struct kube_cluster *c = load(path_of("sub/config"), NULL);
    same(c->endpoint.ca.file, path_of("sub/ca.crt"));
    same(c->endpoint.cert.file, path_of("sub/pki/me.crt"));
    same(c->endpoint.key.file, "/abs/me.key");
    same(c->token_file, path_of("sub/../token"));
    same(c->token, "fixed");
    kube_cluster_free(c);
    cr_assert_eq(chdir(dir), 0); // a relative file too, and for good
    c = load("sub/config", NULL);
    same(c->endpoint.ca.file, path_of("sub/ca.crt"));
    kube_cluster_free(c);
    cr_assert_eq(chdir("/"), 0);
}

Test(kubeconfig, users_that_are_nobody) {
    static const char *const nobody[] = {"null", "{}", "", "{token: null, tokenFile: '', exec: null, act-as-groups: }"};
    for (size_t i = 0; i < ARRAY_LEN(nobody); i++) {
        char text[1000];
        snprintf(text, sizeof text, "%s%s\n",
                 "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                 "clusters: [{name: k, cluster: {server: 'https://h'}}]\nusers:\n- name: u\n  user: ",
                 nobody[i]);
        struct kube_cluster *c = load(put_file("config", 0600, text), NULL);
        cr_assert(c->token == NULL && c->token_file == NULL && c->username == NULL && c->exec == NULL &&
                  c->impersonation_count == 0 && c->endpoint.cert.file == NULL && c->endpoint.cert.text == NULL);
        kube_cluster_free(c);
    }
    struct kube_cluster *c = load(put_file("config", 0600,
                                           "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
                                           "clusters: [{name: k, cluster: {server: 'https://h'}}]\nusers: null\n"),
                                  NULL);
    same(c->endpoint.url, "https://h");
    kube_cluster_free(c);
}

Test(kubeconfig, several_files_the_first_wins_whole_entries) {
    char list[800];
    put_file("a", 0600,
             "clusters:\n- name: k\n  cluster: {server: 'https://first'}\n"
             "contexts:\n- name: x\n  context: {cluster: k, user: u, namespace: from-a}\n");
    put_file("b/b", 0600,
             "current-context: y\nclusters:\n- name: k\n  cluster: {server: 'https://second', tls-server-name: n}\n"
             "- name: l\n  cluster: {server: 'https://l'}\n"
             "users:\n- name: u\n  user: {tokenFile: t}\n"
             "contexts:\n- name: x\n  context: {cluster: l, user: u}\n- name: y\n  context: {cluster: k, user: u}\n");
    put_file("empty", 0600, "");
    put_file("late", 0600, "current-context: x\n---\n{\"clusters\": [{\"name\": \"k\", \"cluster\": null}]}\n");
    snprintf(list, sizeof list, "%s:%s::%s:%s:%s:%s:", path_of("absent"), path_of("a"), path_of("empty"),
             path_of("b/b"), path_of("late"), path_of("a"));
    setenv("KUBECONFIG", list, 1);
    struct kube_cluster *c = load(NULL, NULL); // y, as b/b is the first that says one
    same(c->endpoint.url, "https://first");
    same(c->endpoint.server_name, NULL); // nothing of the second entry is mixed in
    same(c->token_file, path_of("b/t"));
    same(c->namespace_, NULL);
    kube_cluster_free(c);
    c = load(NULL, "x");
    same(c->endpoint.url, "https://first");
    same(c->namespace_, "from-a");
    kube_cluster_free(c);
    c = load(path_of("b/b"), "x"); // an explicit file is the only one
    same(c->endpoint.url, "https://l");
    same(c->namespace_, NULL);
    kube_cluster_free(c);
}

Test(kubeconfig, several_documents_in_one_file) {
    struct kube_cluster *c = load(put_file("config", 0600,
                                           "---\n---\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                           "clusters: [{name: k, cluster: {server: 'https://first'}}]\n---\n"
                                           "current-context: c\nusers: [{name: u, user: {token: " SECRET "}}]\n"
                                           "clusters: [{name: k, cluster: {server: 'https://second'}}]\n"),
                                  NULL);
    same(c->endpoint.url, "https://first");
    same(c->token, SECRET);
    kube_cluster_free(c);
}

Test(kubeconfig, home_when_nothing_is_said) {
    put_file(".kube/config", 0600, CONFIG("{server: 'https://home'}", "{username: me, password: " SECRET "}"));
    struct kube_cluster *c = load(NULL, NULL);
    same(c->endpoint.url, "https://home");
    same(c->username, "me");
    same(c->password, SECRET);
    kube_cluster_free(c);
    setenv("KUBECONFIG", "", 1);
    kube_cluster_free(load(NULL, "c"));
}

Test(kubeconfig, exec_v1) {
    put_file("ca.crt", 0600, PEM);
    put_file("config", 0600,
             "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
             "clusters:\n- name: k\n  cluster:\n    server: https://h:1\n    certificate-authority: ca.crt\n"
             "    tls-server-name: n\n    proxy-url: http://p:3128\n    disable-compression: true\n"
             "    extensions:\n    - name: other\n      extension: no\n"
             "    - name: client.authentication.k8s.io/exec\n      extension: {audience: [a, 1]}\n"
             "users:\n- name: u\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
             "      command: ./bin/plugin\n      args: [get, '7']\n      interactiveMode: IfAvailable\n"
             "      env:\n      - {name: A, value: " SECRET "}\n      - {name: B, value: ''}\n"
             "      provideClusterInfo: true\n      installHint: get it there\n");
    struct kube_cluster *c = load(path_of("config"), NULL);
    const struct kube_exec *e = c->exec;
    cr_assert_not_null(e);
    same(e->argv[0], path_of("./bin/plugin"));
    same(e->argv[1], "get");
    same(e->argv[2], "7");
    same(e->argv[3], NULL);
    same(e->env[0], "A=" SECRET);
    same(e->env[1], "B=");
    same(e->env[2], NULL);
    same(e->install_hint, "get it there");
    same(e->api_version, "client.authentication.k8s.io/v1");
    same(e->info, "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"spec\":{"
                  "\"cluster\":{\"server\":\"https://h:1\",\"tls-server-name\":\"n\",\"proxy-url\":\"http://p:3128\","
                  "\"disable-compression\":true,\"certificate-authority-data\":\"" PEM64 "\","
                  "\"config\":{\"audience\":[\"a\",1]}},\"interactive\":false}}");
    kube_cluster_free(c);
    c = load(put_file("config", 0600,
                      CONFIG(SERVER, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, "
                                     "args: null, env: null}}")),
             NULL);
    same(c->exec->argv[0], "aws"); // a bare name is for PATH
    same(c->exec->argv[1], NULL);
    same(c->exec->env[0], NULL);
    same(c->exec->info, "{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\","
                        "\"spec\":{\"interactive\":false}}");
    kube_cluster_free(c);
}

Test(kubeconfig, refused_with_place_and_remedy) {
#define EXEC(fields) CONFIG(SERVER, "{exec: {command: p, " fields "}}")
#define V1 "apiVersion: client.authentication.k8s.io/v1"
    static const struct {
        const char *text, *said;
    } rows[] = {
        // the file
        {"token: \"" SECRET, "config, line 1, column 18: is not YAML that can be read"},
        {"a: !!int " SECRET "\n", "config, line 1, column 4: is not YAML that can be read"},
        {"a: *" SECRET "\n", "is not YAML that can be read"},
        {SECRET "\n", "config, line 1: must be a mapping with clusters, users, contexts and current-context"},
        {"a: \xff\n", "is not YAML that can be read"},
        {"\nkind: Pod\n", "config, line 2: kind must be Config"},
        {"current-context: 7\n", "line 1: current-context must be text: put it in quotes"},
        {"clusters: {}\n", "line 1: clusters must be a list of {name: TEXT, cluster: {...}}"},
        {"users:\n- name: u\n- user: {}\n", "line 3: users must be a list of {name: TEXT, user: {...}}"},
        {"users: [{name: u, user: " SECRET "}]\n", "line 1: users must be a list of"},
        {"users: [{name: 7, user: {}}]\n", "line 1: users must be a list of"},
        {"contexts:\n- name: c\n- name: d\n- name: c\n", "line 4: contexts has the name \"c\" twice"},
        // the context
        {"", "has no current-context, and none is asked for: it has no context at all"},
        {"contexts: [{name: a}, {name: b}]", "none is asked for: it has \"a\", \"b\""},
        {"current-context: x\ncontexts: [{name: a}]", "has no context \"x\": it has \"a\""},
        {"current-context: x\ncontexts: [{name: x}]", "line 2: context \"x\": names no cluster"},
        {"current-context: x\ncontexts:\n- name: x\n  context:\n    cluster: k",
         "line 5: context \"x\": there is no cluster \"k\" in clusters"},
        {"current-context: x\ncontexts:\n- name: x\n  context:\n    user: u",
         "line 5: context \"x\": there is no user \"u\" in users"},
        {"current-context: x\ncontexts:\n- name: x\n  context: {cluster: 7}",
         "line 4: context \"x\": cluster is a number and must be text: put it in quotes"},
        // the cluster
        {CONFIG("null", "null"), "line 7: cluster \"k\": has no server: an address such as https://host:6443"},
        {CONFIG("{server: 'ftp://x'}", "null"), "line 7: cluster \"k\": server must be an address"},
        {CONFIG("{server: '" SECRET ":6443'}", "null"), "line 7: cluster \"k\": server must be an address"},
        {CONFIG("{server: 'https://'}", "null"), "server must be an address"},
        {CONFIG("{server: 'https://h', proxy-url: 'ftp://u:" SECRET "@p'}", "null"),
         "line 7: cluster \"k\": proxy-url must start with http://, https://, socks5:// or socks5h://"},
        {CONFIG("{server: 'https://h', insecure-skip-tls-verify: true, certificate-authority: x}", "null"),
         "line 7: cluster \"k\": insecure-skip-tls-verify and a certificate-authority exclude each other"},
        {CONFIG("{server: 'https://h', insecure-skip-tls-verify: true, certificate-authority-data: " PEM64 "}", "null"),
         "exclude each other"},
        {CONFIG("{server: 'https://h', insecure-skip-tls-verify: 'yes'}", "null"),
         "insecure-skip-tls-verify must be true or false, not a text"},
        {CONFIG("{server: 'https://h', certificate-authority-data: '" SECRET "!'}", "null"),
         "certificate-authority-data is not base64: it must be the PEM file in base64"},
        {CONFIG("{server: 'https://h', certificate-authority-data: 'QUJD'}", "null"),
         "certificate-authority-data is base64 of something that is not in PEM format"},
        // the user
        {CONFIG(SERVER, "{token: 12345}"), "line 10: user \"u\": token is a number and must be text: put it in quotes"},
        {CONFIG(SERVER, "{token: \"" SECRET "\\nX-Evil: 1\"}"), "user \"u\": token must be one line without control"},
        {CONFIG(SERVER, "{tokenFile: [a]}"), "tokenFile is a"},
        {CONFIG(SERVER, "{token: " SECRET ", username: me}"), "has a token and a username or password"},
        {CONFIG(SERVER, "{tokenFile: x, password: " SECRET "}"), "has a token and a username or password"},
        {CONFIG(SERVER, "{username: 'a:b', password: " SECRET "}"), "username must not have a colon"},
        {CONFIG(SERVER, "{client-certificate: x}"), "client-certificate and client-key go together"},
        {CONFIG(SERVER, "{client-key-data: " KEY64 "}"), "client-certificate and client-key go together"},
        {CONFIG(SERVER, "{client-certificate: x, client-key-data: " SECRET "}"), "client-key-data is not base64"},
        {CONFIG(SERVER, "{client-certificate: x, client-key-data: " KEY64 "A}"), "client-key-data is not base64"},
        {CONFIG(SERVER, "{auth-provider: {name: gcp}}"), "auth-provider is no longer known to Kubernetes: use exec"},
        {CONFIG(SERVER, "{act-as-groups: [a]}"), "need act-as, the user to act as"},
        {CONFIG(SERVER, "{act-as-uid: u}"), "need act-as, the user to act as"},
        {CONFIG(SERVER, "{act-as: u, act-as-groups: a}"), "act-as-groups must be a list"},
        {CONFIG(SERVER, "{act-as: u, act-as-groups: [\"a\\nb\"]}"),
         "act-as-groups must be a list of texts of one line"},
        {CONFIG(SERVER, "{act-as: u, act-as-user-extra: {k: v}}"), "must be a mapping of names to lists of texts"},
        {CONFIG(SERVER, "{act-as: u, act-as-user-extra: [k]}"), "act-as-user-extra must be a mapping"},
        // the program
        {CONFIG(SERVER, "{exec: " SECRET "}"), "line 10: user \"u\": exec must be a mapping"},
        {CONFIG(SERVER, "{exec: {" V1 "}}"), "line 10: exec of user \"u\": has no command: the program to run"},
        {EXEC("interactiveMode: Never"), "apiVersion must be client.authentication.k8s.io/v1 or client.auth"},
        {EXEC("apiVersion: client.authentication.k8s.io/v1alpha1"), "apiVersion must be client.authentication"},
        {EXEC(V1), "interactiveMode must be Never or IfAvailable"},
        {EXEC(V1 ", interactiveMode: " SECRET), "interactiveMode must be Never or IfAvailable"},
        {EXEC(V1 ", interactiveMode: Always"), "interactiveMode Always needs somebody at a terminal"},
        {EXEC(V1 ", interactiveMode: Never, args: [1]"), "args must be a list of texts: put numbers in quotes"},
        {EXEC(V1 ", interactiveMode: Never, env: [{name: A}]"), "env must be a list of {name: TEXT, value: TEXT}"},
        {EXEC(V1 ", interactiveMode: Never, env: [{name: A=B, value: " SECRET "}]"), "env must be a list of"},
        {EXEC(V1 ", interactiveMode: Never, provideClusterInfo: 1"), "provideClusterInfo must be true or false"},
        {CONFIG("{server: 'https://h', certificate-authority: nowhere}",
                "{exec: {command: p, " V1 ", interactiveMode: Never, provideClusterInfo: true}}"),
         "cluster \"k\": certificate-authority: cannot open /"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *said = refuse(put_file("config", 0600, rows[i].text), NULL);
        cr_expect(strstr(said, rows[i].said) != NULL, "%s\n  gave: %s\n  not:  %s", rows[i].text, said, rows[i].said);
        cr_expect(strstr(said, "/config") != NULL, "%s", said);
    }
}

Test(kubeconfig, files_that_are_not_there_or_too_much) {
    cr_assert_not_null(strstr(refuse(path_of("absent"), NULL), "kubeconfig: cannot open /"));
    cr_assert_not_null(strstr(refuse(NULL, NULL), "there is no kubeconfig ("));
    cr_assert_not_null(strstr(refuse(NULL, NULL), "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"));
    cr_assert_not_null(strstr(refuse(NULL, "c"), "/.kube/config has no context \"c\": it has no context at all"));
    unsetenv("HOME");
    cr_assert_not_null(strstr(refuse(NULL, NULL), "neither KUBECONFIG nor HOME is set"));

    char *big = mem_alloc(1024 * 1024 + 2);
    memset(big, '#', 1024 * 1024);
    big[1024 * 1024] = '\0';
    put_file("config", 0600, big);
    cr_assert_not_null(strstr(refuse(path_of("config"), NULL), "has no current-context")); // one long comment
    big[1024 * 1024] = '#';
    big[1024 * 1024 + 1] = '\0';
    put_file("config", 0600, big);
    cr_assert_not_null(strstr(refuse(path_of("config"), NULL), "config is larger than 1048576 bytes"));
    mem_free(big);

    struct str list = STR_INIT;
    put_file("config", 0600, CONFIG(SERVER, "null"));
    for (int i = 0; i < 16; i++) {
        str_printf(&list, "%s/%d:%s:", dir, i % 15, path_of("config")); // each once, however often it is named
    }
    setenv("KUBECONFIG", str_text(&list), 1);
    kube_cluster_free(load(NULL, NULL));
    str_printf(&list, "%s/17", dir);
    setenv("KUBECONFIG", str_text(&list), 1);
    cr_assert_not_null(strstr(refuse(NULL, NULL), "KUBECONFIG names more than 16 files"));
    str_done(&list);
}
