// All loaded plugins, by name of their runtime, and the files that were refused.
#include "plugin/internal.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PLUGINS_MAX = 256 };

struct plugins {
    struct entry *entries[PLUGINS_MAX]; // by name
    size_t count;
    struct plugin_failure *failures;
    size_t failure_count;
    struct arena arena; // texts of failures
    const char *host_program;
};

#define REFUSE(err, ...) err_fail((err), ERR_PRECONDITION, "BAD_PLUGIN", __VA_ARGS__)

struct plugins *plugins_new(void) {
    return NEW(struct plugins);
}

void entry_free(struct entry *e) {
    arena_done(&e->arena);
    mem_free(e);
}

void plugins_free(struct plugins *p) {
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->count; i++) {
        struct entry *e = p->entries[i];
        if (e->isolate == NULL && e->functions->destroy != NULL) {
            e->functions->destroy(e->runtime.self);
        }
        isolate_stop(e->isolate);
        entry_free(e);
    }
    mem_free(p->failures);
    arena_done(&p->arena);
    mem_free(p);
}

void plugins_set_host(struct plugins *p, const char *program) {
    p->host_program = arena_strdup(&p->arena, program);
}

// ---- One file

static bool check_new_file(const struct plugins *p, const struct stat *st, struct err *err) {
    for (size_t i = 0; i < p->count; i++) {
        const struct entry *e = p->entries[i];
        if (e->device == st->st_dev && e->inode == st->st_ino) {
            return REFUSE(err, "is the same file as %s, which is loaded", e->runtime.file);
        }
    }
    return p->count < PLUGINS_MAX || REFUSE(err, "is one too many: at most %d plugins are loaded", PLUGINS_MAX);
}

static bool check_new_name(const struct plugins *p, const struct trainer_plugin *plugin, struct err *err) {
    const struct runtime *same = plugins_find(p, plugin->name);
    return same == NULL || REFUSE(err, "runtime \"%s\" is already provided by %s", plugin->name, same->file);
}

// The schema was checked with the descriptor: this cannot fail any more. A plugin without one takes no parameters.
static const struct json *parse_schema(struct arena *a, const char *text) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *schema = NULL;
    const char *source = text != NULL ? text : "{\"type\":\"object\",\"additionalProperties\":false}";
    return json_parse(a, source, strlen(source), &json_limits_default, &schema, &err) ? schema : NULL;
}

struct entry *entry_new(const char *path, const struct trainer_plugin *plugin) {
    const char *slash = strrchr(path, '/');
    struct entry *e = NEW(struct entry);
    arena_init(&e->arena, 0);
    e->functions = plugin->functions;
    host_table(&e->host);
    e->runtime = (struct runtime){
        .plugin = plugin,
        .path = arena_strdup(&e->arena, path),
        .file = arena_strdup(&e->arena, slash != NULL ? slash + 1 : path),
        .params_schema = parse_schema(&e->arena, plugin->params_schema),
    };
    snprintf(e->runtime.abi, sizeof e->runtime.abi, "%u.%u", plugin->abi_major, plugin->abi_minor);
    return e;
}

static void insert(struct plugins *p, struct entry *e) {
    size_t at = p->count++;
    while (at > 0 && strcmp(p->entries[at - 1]->runtime.plugin->name, e->runtime.plugin->name) > 0) {
        p->entries[at] = p->entries[at - 1];
        at--;
    }
    p->entries[at] = e;
}

// config: the plugin's own, or one object by name in configs.
static bool load(struct plugins *p, const char *path, const struct json *config, const struct json *configs,
                 struct err *err) {
    struct stat st;
    const struct trainer_plugin *plugin = NULL;
    if (!load_check_file(path, &st, err) || !check_new_file(p, &st, err) || !load_open(path, &plugin, err) ||
        !check_new_name(p, plugin, err)) {
        return false;
    }
    struct entry *e = entry_new(path, plugin);
    e->device = st.st_dev;
    e->inode = st.st_ino;
    config = configs != NULL ? json_get(configs, plugin->name) : config;
    e->runtime.isolated = json_bool(json_get(config, "isolate"), false);
    if (!(e->runtime.isolated ? isolate_start(e, p->host_program, config, err) : call_create(e, config, err))) {
        entry_free(e);
        return false;
    }
    insert(p, e);
    return true;
}

bool plugins_load(struct plugins *p, const char *path, const struct json *config, struct err *err) {
    return load(p, path, config, NULL, err);
}

// ---- A directory

static int is_plugin_file(const struct dirent *d) {
    return d->d_name[0] != '.' && str_ends(d->d_name, ".so");
}

static void remember_failure(struct plugins *p, const char *file, const char *message) {
    p->failures = mem_realloc_array(p->failures, p->failure_count + 1, sizeof *p->failures);
    p->failures[p->failure_count++] =
        (struct plugin_failure){.file = arena_strdup(&p->arena, file), .message = arena_strdup(&p->arena, message)};
}

bool plugins_load_directory(struct plugins *p, const char *directory, const struct json *configs, struct err *err) {
    struct dirent **names = NULL;
    int n = scandir(directory, &names, is_plugin_file, alphasort);
    if (n < 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "PLUGIN_DIRECTORY", errno, "cannot read %s", directory);
    }
    for (int i = 0; i < n; i++) {
        CLEANUP(err_done) struct err bad = ERR_INIT;
        CLEANUP(mem_free_ptr) char *path = mem_printf("%s/%s", directory, names[i]->d_name);
        if (!load(p, path, NULL, configs, &bad)) {
            log_warn("plugin", "%s: %s, ignoring it", names[i]->d_name, bad.message);
            remember_failure(p, names[i]->d_name, bad.message);
        }
        free(names[i]);
    }
    free(names);
    return true;
}

// ---- Looking up

static int by_name(const void *name, const void *slot) {
    const struct entry *const *e = slot;
    return strcmp(name, (*e)->runtime.plugin->name);
}

const struct runtime *plugins_find(const struct plugins *p, const char *name) {
    if (name == NULL) {
        return NULL;
    }
    struct entry *const *slot = bsearch(name, p->entries, p->count, sizeof p->entries[0], by_name);
    return slot != NULL ? &(*slot)->runtime : NULL;
}

size_t plugins_count(const struct plugins *p) {
    return p->count;
}

const struct runtime *plugins_at(const struct plugins *p, size_t index) {
    return index < p->count ? &p->entries[index]->runtime : NULL;
}

size_t plugins_failures(const struct plugins *p, const struct plugin_failure **ret) {
    *ret = p->failures;
    return p->failure_count;
}

const char *plugins_nearest(const struct plugins *p, const char *wrong) {
    const char *names[PLUGINS_MAX];
    for (size_t i = 0; i < p->count; i++) {
        names[i] = p->entries[i]->runtime.plugin->name;
    }
    return str_nearest(wrong, names, p->count);
}
