// Finding the files, and the entries that count: of several files, and of several documents in one, the first that has
// an entry or a current-context wins.
#include "kube/kubeconfig.h"

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/entry.h"
#include "kube/user.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 16, NAMES_SHOWN = 8 };

struct document {
    struct document *next;
    const char *file, *directory;
    const struct json *tree;
};

struct config {
    struct arena arena; // of the trees: what is not chosen goes with it, secrets and all
    struct document *first, **end;
    struct str files; // all that were looked for, for errors
};

struct kind {
    const char *list, *part;
};
static const struct kind contexts = {"contexts", "context"};
static const struct kind clusters = {"clusters", "cluster"};
static const struct kind users = {"users", "user"};

// ---- Reading

static bool bad(const struct document *d, const struct json *at, struct err *err, const char *what) {
    return err_fail(err, ERR_INVALID, "BAD_KUBECONFIG", "kubeconfig %s, line %u: %s", d->file, (unsigned)at->line,
                    what);
}

static bool check_list(const struct document *d, const struct kind *kind, struct hash *names, struct err *err) {
    const struct json *list = json_get(d->tree, kind->list);
    if (list == NULL || list->type == JSON_NULL) {
        return true;
    }
    CLEANUP(mem_free_ptr)
    char *shape = mem_printf("%s must be a list of {name: TEXT, %s: {...}}", kind->list, kind->part);
    if (list->type != JSON_ARRAY) {
        return bad(d, list, err, shape);
    }
    JSON_EACH (one, list) {
        const char *name = json_string(json_get(one, "name"), "");
        const struct json *part = json_get(one, kind->part);
        if (name[0] == '\0' || (part != NULL && part->type != JSON_OBJECT && part->type != JSON_NULL)) {
            return bad(d, one, err, shape);
        }
        if (hash_put(names, name, (void *)(uintptr_t)one) != NULL) {
            CLEANUP(mem_free_ptr) char *twice = mem_printf("%s has the name \"%.100s\" twice", kind->list, name);
            return bad(d, one, err, twice);
        }
    }
    return true;
}

static bool check_document(const struct document *d, struct err *err) {
    const struct kind *const kinds[] = {&contexts, &clusters, &users};
    if (d->tree->type != JSON_OBJECT) {
        return bad(d, d->tree, err, "must be a mapping with clusters, users, contexts and current-context");
    }
    const struct json *kind = json_get(d->tree, "kind");
    const struct json *current = json_get(d->tree, "current-context");
    if (kind != NULL && kind->type != JSON_NULL && !str_same(json_string(kind, NULL), "Config")) {
        return bad(d, kind, err, "kind must be Config");
    }
    if (current != NULL && current->type != JSON_NULL && current->type != JSON_STRING) {
        return bad(d, current, err, "current-context must be text: put it in quotes");
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        CLEANUP(hash_done) struct hash names = HASH_INIT;
        if (!check_list(d, kinds[i], &names, err)) {
            return false;
        }
    }
    return true;
}

// The parser's own sentence may quote the file; where it stopped may be told.
static bool bad_yaml(const char *file, const struct err *parser, struct err *err) {
    size_t n = str_starts(parser->message, "line ") ? strcspn(parser->message, ":") : 0;
    return err_fail(err, ERR_INVALID, "BAD_KUBECONFIG", "kubeconfig %s%s%.*s: is not YAML that can be read", file,
                    n > 0 ? ", " : "", (int)n, parser->message);
}

static const char *directory_of(struct arena *a, const char *file) {
    const char *slash = strrchr(file, '/');
    const char *directory = slash != NULL ? arena_strndup(a, file, (size_t)(slash - file)) : ".";
    if (file[0] == '/') {
        return directory;
    }
    char *here = getcwd(NULL, 0); // later on it may be another one
    directory = here != NULL ? arena_printf(a, "%s/%s", here, directory) : directory;
    free(here); // NOLINT: from the C library
    return directory;
}

static bool read_file(struct config *c, const char *path, bool must, struct err *err) {
    static const struct json_limits limits = {.max_bytes = KUBE_CONFIG_FILE_MAX, .max_depth = 32, .max_nodes = 100000};
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(err_done) struct err why = ERR_INIT;
    const struct json *tree = NULL;
    size_t count = 0;
    if (!fd_read_file(path, KUBE_CONFIG_FILE_MAX, &text, &why)) {
        if (!must && why.code == ERR_NOT_FOUND) {
            return true;
        }
        err_move(err, &why);
        err_wrap(err, "kubeconfig");
        return false;
    }
    const char *file = arena_strdup(&c->arena, path);
    if (!json_parse_yaml_all(&c->arena, str_text(&text), text.len, &limits, &tree, &count, &why)) {
        return bad_yaml(file, &why, err);
    }
    for (; tree != NULL; tree = tree->next) {
        if (tree->type == JSON_NULL) {
            continue; // "---" and nothing
        }
        struct document *d = ARENA_NEW(&c->arena, struct document);
        *d = (struct document){.file = file, .directory = directory_of(&c->arena, file), .tree = tree};
        if (!check_document(d, err)) {
            return false;
        }
        *c->end = d;
        c->end = &d->next;
    }
    return true;
}

static bool read_list(struct config *c, const char *list, struct err *err) {
    CLEANUP(hash_done) struct hash seen = HASH_INIT;
    size_t files = 0;
    while (*list != '\0') {
        size_t n = strcspn(list, ":");
        char *path = arena_strndup(&c->arena, list, n);
        list += n + (list[n] == ':');
        if (n == 0 || hash_put(&seen, path, path) != NULL) {
            continue;
        }
        if (++files > FILES_MAX) {
            return err_fail(err, ERR_INVALID, "BAD_KUBECONFIG", "KUBECONFIG names more than %d files", FILES_MAX);
        }
        if (!read_file(c, path, false, err)) {
            return false;
        }
    }
    return true;
}

static bool read_files(struct config *c, const char *path, struct err *err) {
    const char *list = getenv("KUBECONFIG");
    const char *home = getenv("HOME");
    if (path != NULL) {
        str_add(&c->files, path);
        return read_file(c, path, true, err);
    }
    if (list != NULL && list[0] != '\0') {
        str_add(&c->files, list);
        return read_list(c, list, err);
    }
    if (home != NULL && home[0] != '\0') {
        str_printf(&c->files, "%s/.kube/config", home);
        return read_file(c, str_text(&c->files), false, err);
    }
    return true;
}

// ---- Choosing

static bool find(const struct config *c, const struct kind *kind, const char *name, struct arena *arena,
                 struct kube_entry *ret) {
    for (const struct document *d = c->first; d != NULL; d = d->next) {
        JSON_EACH (one, json_get(d->tree, kind->list)) {
            if (str_same(json_string(json_get(one, "name"), NULL), name)) {
                *ret = (struct kube_entry){.file = d->file,
                                           .directory = d->directory,
                                           .kind = kind->part,
                                           .name = name,
                                           .line = one->line,
                                           .node = json_get(one, kind->part),
                                           .arena = arena};
                return true;
            }
        }
    }
    return false;
}

// ": it has a, b", the names of the contexts, for who named none or a wrong one.
static void add_names(const struct config *c, struct str *out) {
    size_t n = 0;
    for (const struct document *d = c->first; d != NULL; d = d->next) {
        JSON_EACH (one, json_get(d->tree, contexts.list)) {
            if (n < NAMES_SHOWN) {
                str_printf(out, "%s\"%.100s\"", n == 0 ? ": it has " : ", ", json_string(json_get(one, "name"), ""));
            }
            n++;
        }
    }
    if (n == 0) {
        str_add(out, ": it has no context at all");
    } else if (n > NAMES_SHOWN) {
        str_printf(out, " and %zu more", n - NAMES_SHOWN);
    }
}

static const char *current_context(const struct config *c) {
    for (const struct document *d = c->first; d != NULL; d = d->next) {
        const char *name = json_string(json_get(d->tree, "current-context"), "");
        if (name[0] != '\0') {
            return name;
        }
    }
    return NULL;
}

static bool choose_context(const struct config *c, const char *wanted, struct arena *arena, struct kube_entry *ret,
                           struct err *err) {
    const char *name = wanted == NULL || wanted[0] == '\0' ? current_context(c) : wanted;
    if (name != NULL && find(c, &contexts, name, arena, ret)) {
        return true;
    }
    CLEANUP(str_done) struct str names = STR_INIT;
    add_names(c, &names);
    if (name == NULL) {
        return err_fail(err, ERR_INVALID, "NO_CONTEXT", "kubeconfig %s has no current-context, and none is asked for%s",
                        str_text(&c->files), str_text(&names));
    }
    return err_fail(err, ERR_INVALID, "NO_CONTEXT", "kubeconfig %s has no context \"%.100s\"%s", str_text(&c->files),
                    name, str_text(&names));
}

// The entry that the context names, or an empty one when it names none.
static bool follow(const struct config *c, const struct kube_entry *context, const struct kind *kind,
                   struct kube_entry *ret, struct err *err) {
    const char *name = NULL;
    *ret = *context;
    ret->node = NULL;
    if (!kube_entry_text(context, kind->part, &name, err) || name == NULL) {
        return !err_set(err);
    }
    return find(c, kind, name, context->arena, ret) ||
           kube_entry_fail(context, json_get(context->node, kind->part), err, "there is no %s \"%.100s\" in %s",
                           kind->part, name, kind->list);
}

static bool fill(struct kube_cluster *to, const struct config *c, const char *wanted, struct err *err) {
    struct kube_entry context = {.file = NULL};
    struct kube_entry cluster = {.file = NULL};
    struct kube_entry user = {.file = NULL};
    if (!choose_context(c, wanted, &to->arena, &context, err) || !follow(c, &context, &clusters, &cluster, err) ||
        !follow(c, &context, &users, &user, err) || !kube_entry_line(&context, "namespace", &to->namespace_, err)) {
        return false;
    }
    if (json_string(json_get(context.node, "cluster"), "")[0] == '\0') {
        return kube_entry_fail(&context, context.node, err, "names no cluster");
    }
    return kube_read_cluster(to, &cluster, err) && kube_read_user(to, &user, &cluster, err);
}

static bool says_nothing(const struct config *c) {
    for (const struct document *d = c->first; d != NULL; d = d->next) {
        if (json_at(json_get(d->tree, contexts.list), 0) != NULL ||
            json_at(json_get(d->tree, clusters.list), 0) != NULL || json_at(json_get(d->tree, users.list), 0) != NULL) {
            return false;
        }
    }
    return current_context(c) == NULL;
}

// ---- The doors

static bool load_pod(const struct config *c, struct kube_cluster **ret, struct err *err) {
    CLEANUP(err_done) struct err why = ERR_INIT;
    if (kube_cluster_load_pod(KUBE_ACCOUNT_DIR, ret, &why)) {
        return true;
    }
    if (why.code != ERR_NOT_FOUND) {
        err_move(err, &why);
        return false;
    }
    return err_fail(err, ERR_NOT_FOUND, "NO_KUBECONFIG", "there is no kubeconfig (%s is missing or empty), and %s",
                    c->files.len > 0 ? str_text(&c->files) : "neither KUBECONFIG nor HOME is set, a file", why.message);
}

static bool load_files(const struct config *c, const char *context, struct kube_cluster **ret, struct err *err) {
    struct kube_cluster *cluster = NEW(struct kube_cluster);
    arena_init(&cluster->arena, 0);
    if (!fill(cluster, c, context, err)) {
        kube_cluster_free(cluster);
        return false;
    }
    *ret = cluster;
    return true;
}

bool kube_cluster_load(const char *path, const char *context, struct kube_cluster **ret, struct err *err) {
    struct config c = {.files = STR_INIT};
    c.end = &c.first;
    arena_init(&c.arena, 0);
    bool ok = read_files(&c, path, err);
    if (ok && path == NULL && str_is_empty(context) && says_nothing(&c)) {
        ok = load_pod(&c, ret, err);
    } else if (ok) {
        ok = load_files(&c, context, ret, err);
    }
    str_done(&c.files);
    arena_done(&c.arena);
    return ok;
}

void kube_cluster_free(struct kube_cluster *cluster) {
    if (cluster != NULL) {
        arena_done(&cluster->arena);
        mem_free(cluster);
    }
}
