// The program of a user that says who the user is: what it is called with.
#include "kube/user.h"

#include "base/fd.h"
#include "base/str.h"
#include "kube/base64.h"

#include <string.h>

#define GROUP "client.authentication.k8s.io/"
#define EXTENSION GROUP "exec"

enum { WORDS_MAX = 1000 };

// The kubeconfig's data about the cluster, in the form that the program is to get.
static void add_extension(struct json_writer *w, const struct kube_entry *cluster) {
    JSON_EACH (one, json_get(cluster->node, "extensions")) {
        if (str_same(json_string(json_get(one, "name"), NULL), EXTENSION) && json_get(one, "extension") != NULL) {
            json_key(w, "config");
            json_add_node(w, json_get(one, "extension"));
            return;
        }
    }
}

static bool add_ca(struct json_writer *w, const struct http_pem *ca, const struct kube_entry *cluster,
                   struct err *err) {
    CLEANUP(str_done) struct str pem = STR_INIT;
    CLEANUP(str_done) struct str data = STR_INIT;
    if (ca->text != NULL) {
        str_add(&pem, ca->text);
    } else if (ca->file == NULL) {
        return true;
    } else if (!fd_read_file(ca->file, KUBE_CONFIG_FILE_MAX, &pem, err)) {
        err_wrap(err, "kubeconfig %s, line %u: cluster \"%.100s\": certificate-authority", cluster->file,
                 (unsigned)cluster->line, cluster->name);
        return false;
    }
    kube_base64_add(&data, str_text(&pem), pem.len);
    json_key(w, "certificate-authority-data");
    json_add_string(w, str_text(&data));
    return true;
}

static bool add_cluster(struct json_writer *w, const struct kube_cluster *c, const struct kube_entry *cluster,
                        struct err *err) {
    const struct {
        const char *key, *text;
    } texts[] = {
        {"server", c->endpoint.url}, {"tls-server-name", c->endpoint.server_name}, {"proxy-url", c->endpoint.proxy}};
    const struct {
        const char *key;
        bool yes;
    } flags[] = {{"insecure-skip-tls-verify", c->endpoint.insecure}, {"disable-compression", c->no_compression}};
    json_key(w, "cluster");
    json_begin_object(w);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].text != NULL) {
            json_key(w, texts[i].key);
            json_add_string(w, texts[i].text);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (flags[i].yes) {
            json_key(w, flags[i].key);
            json_add_bool(w, true);
        }
    }
    if (!add_ca(w, &c->endpoint.ca, cluster, err)) {
        return false;
    }
    add_extension(w, cluster);
    json_end_object(w);
    return true;
}

static bool make_info(struct kube_exec *exec, const struct kube_cluster *c, bool with_cluster,
                      const struct kube_entry *e, const struct kube_entry *cluster, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    struct json_writer w;
    json_writer_init(&w, &text);
    json_begin_object(&w);
    json_key(&w, "apiVersion");
    json_add_string(&w, exec->api_version);
    json_key(&w, "kind");
    json_add_string(&w, "ExecCredential");
    json_key(&w, "spec");
    json_begin_object(&w);
    if (with_cluster && !add_cluster(&w, c, cluster, err)) {
        return false;
    }
    json_key(&w, "interactive");
    json_add_bool(&w, false); // nobody is there to be asked
    json_end_object(&w);
    json_end_object(&w);
    if (!json_writer_ok(&w)) {
        return kube_entry_fail(e, e->node, err, "the extension " EXTENSION " of the cluster is too deep");
    }
    exec->info = arena_strdup(e->arena, str_text(&text));
    return true;
}

static bool read_args(struct kube_exec *exec, const struct kube_entry *e, const char *command, struct err *err) {
    const struct json *args = NULL;
    if (!kube_entry_children(e, "args", JSON_ARRAY, &args, err)) {
        return false;
    }
    size_t count = args != NULL ? args->count : 0;
    if (count > WORDS_MAX) {
        return kube_entry_fail(e, args, err, "args: more than %d", WORDS_MAX);
    }
    const char **argv = ARENA_NEW_ARRAY(e->arena, const char *, count + 2);
    size_t n = 0;
    argv[n++] = strchr(command, '/') != NULL ? kube_in_directory(e->arena, e->directory, command) : command;
    JSON_EACH (node, args) {
        argv[n] = arena_strdup(e->arena, json_string(node, NULL));
        if (argv[n++] == NULL) {
            return kube_entry_fail(e, node, err, "args must be a list of texts: put numbers in quotes");
        }
    }
    exec->argv = argv;
    return true;
}

static bool read_env(struct kube_exec *exec, const struct kube_entry *e, struct err *err) {
    const struct json *list = NULL;
    if (!kube_entry_children(e, "env", JSON_ARRAY, &list, err)) {
        return false;
    }
    size_t count = list != NULL ? list->count : 0;
    if (count > WORDS_MAX) {
        return kube_entry_fail(e, list, err, "env: more than %d", WORDS_MAX);
    }
    const char **env = ARENA_NEW_ARRAY(e->arena, const char *, count + 1);
    size_t n = 0;
    JSON_EACH (node, list) {
        const char *name = json_string(json_get(node, "name"), "");
        const char *value = json_string(json_get(node, "value"), NULL);
        if (name[0] == '\0' || strchr(name, '=') != NULL || value == NULL) {
            return kube_entry_fail(e, node, err, "env must be a list of {name: TEXT, value: TEXT}: quote numbers");
        }
        env[n++] = arena_printf(e->arena, "%s=%s", name, value);
    }
    exec->env = env;
    return true;
}

// Nobody sits at a daemon's terminal.
static bool check_interactive(const struct kube_entry *e, bool must, struct err *err) {
    const struct json *node = json_get(e->node, "interactiveMode");
    const char *mode = NULL;
    if (!kube_entry_text(e, "interactiveMode", &mode, err)) {
        return false;
    }
    if (mode == NULL ? !must : str_same(mode, "Never") || str_same(mode, "IfAvailable")) {
        return true;
    }
    if (str_same(mode, "Always")) {
        return kube_entry_fail(e, node, err,
                               "interactiveMode Always needs somebody at a terminal, and a daemon has none: use a "
                               "plugin that can do without, or a token");
    }
    return kube_entry_fail(e, node != NULL ? node : e->node, err, "interactiveMode must be Never or IfAvailable");
}

bool kube_read_exec(struct kube_cluster *to, const struct kube_entry *user, const struct kube_entry *cluster,
                    struct err *err) {
    struct kube_entry e = *user;
    struct kube_exec *exec = ARENA_NEW(e.arena, struct kube_exec);
    const char *command = NULL;
    bool with_cluster = false;
    if (!kube_entry_children(user, "exec", JSON_OBJECT, &e.node, err)) {
        return false;
    }
    if (e.node == NULL) {
        return true;
    }
    e.kind = "exec of user";
    if (!kube_entry_text(&e, "command", &command, err) || !kube_entry_text(&e, "apiVersion", &exec->api_version, err) ||
        !kube_entry_text(&e, "installHint", &exec->install_hint, err) ||
        !kube_entry_bool(&e, "provideClusterInfo", &with_cluster, err)) {
        return false;
    }
    if (command == NULL) {
        return kube_entry_fail(&e, e.node, err, "has no command: the program to run");
    }
    bool v1 = str_same(exec->api_version, GROUP "v1");
    if (!v1 && !str_same(exec->api_version, GROUP "v1beta1")) {
        return kube_entry_fail(&e, e.node, err, "apiVersion must be " GROUP "v1 or " GROUP "v1beta1");
    }
    to->exec = exec;
    return check_interactive(&e, v1, err) && read_args(exec, &e, command, err) && read_env(exec, &e, err) &&
           make_info(exec, to, with_cluster, &e, cluster, err);
}
