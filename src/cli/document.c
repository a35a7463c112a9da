#include "cli/document.h"

#include "base/fd.h"
#include "base/mem.h"
#include "cli/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 16 * 1024 * 1024 };

static bool read_stdin(struct str *ret, struct err *err) {
    char buffer[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) != 0) {
        if (n < 0 && errno != EINTR) {
            return err_fail_errno(err, ERR_INVALID, "BAD_FILE", errno, "stdin");
        }
        str_add_bytes(ret, buffer, n > 0 ? (size_t)n : 0);
        if (ret->len > FILE_MAX) {
            return err_fail(err, ERR_INVALID, "BAD_FILE", "stdin: more than %d bytes", (int)FILE_MAX);
        }
    }
    return true;
}

static const char *directory_of(struct arena *a, const char *path) {
    char full[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *directory = slash == NULL ? "." : arena_strndup(a, path, (size_t)(slash - path) + 1);
    return arena_strdup(a, realpath(directory, full) != NULL ? full : "/");
}

bool document_read(struct cli *cli, const char *path, struct document **ret, size_t *ret_count, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json_limits limits = {.max_bytes = FILE_MAX, .max_depth = 64, .max_nodes = 1000000};
    const struct json *first = NULL;
    size_t count = 0;
    bool is_stdin = str_same(path, "-");
    const char *file = is_stdin ? "stdin" : path;
    if (!(is_stdin ? read_stdin(&text, err) : fd_read_file(path, FILE_MAX, &text, err))) {
        return false;
    }
    if (!json_parse_yaml_all(&cli->arena, str_text(&text), text.len, &limits, &first, &count, err)) {
        err_wrap(err, "%s", file);
        return false;
    }
    *ret = ARENA_NEW_ARRAY(&cli->arena, struct document, count + 1);
    *ret_count = 0;
    const char *directory = directory_of(&cli->arena, is_stdin ? "." : path);
    for (const struct json *tree = first; tree != NULL; tree = tree->next) {
        if (tree->type == JSON_NULL) {
            continue; // nothing between two "---"
        }
        if (tree->type != JSON_OBJECT) {
            return err_fail(err, ERR_INVALID, "BAD_FILE", "%s:%u: a job must be a mapping, not %s", file, tree->line,
                            json_type_name(tree->type));
        }
        (*ret)[(*ret_count)++] = (struct document){.file = file, .directory = directory, .tree = tree};
    }
    return *ret_count > 0 || err_fail(err, ERR_INVALID, "BAD_FILE", "%s: there is no job in it", file);
}

// ---- JobSpec

static bool is_manifest(const struct json *tree) {
    return json_get(tree, "apiVersion") != NULL && json_get(tree, "kind") != NULL;
}

struct override {
    const char *field, *value;
};

static bool is_overridden(const struct override *o, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++) {
        if (o[i].value != NULL && str_same(o[i].field, key)) {
            return true;
        }
    }
    return false;
}

static void write_overrides(struct json_writer *w, const struct override *o, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (o[i].value != NULL) {
            json_key(w, o[i].field);
            json_add_string(w, o[i].value);
        }
    }
}

static bool is_relative_dir(const struct json *field) {
    const char *text = json_string(field, "");
    bool dir = str_same(field->key, "working_dir") || str_same(field->key, "workingDir");
    return dir && (str_same(text, ".") || str_starts(text, "./") || str_starts(text, "../"));
}

static void write_role(const struct document *doc, const struct json *role, struct json_writer *w) {
    json_begin_object(w);
    JSON_EACH (field, role) {
        json_key(w, field->key);
        if (is_relative_dir(field)) {
            CLEANUP(mem_free_ptr) char *path = mem_printf("%s/%s", doc->directory, field->text);
            char full[PATH_MAX];
            json_add_string(w, realpath(path, full) != NULL ? full : path);
        } else {
            json_add_node(w, field);
        }
    }
    json_end_object(w);
}

static void write_field(const struct document *doc, const struct json *field, struct json_writer *w) {
    json_key(w, field->key);
    if (!str_same(field->key, "roles") || field->type != JSON_ARRAY) {
        json_add_node(w, field);
        return;
    }
    json_begin_array(w);
    JSON_EACH (role, field) {
        if (role->type == JSON_OBJECT) {
            write_role(doc, role, w);
        } else {
            json_add_node(w, role);
        }
    }
    json_end_array(w);
}

void document_write_spec(const struct cli *cli, const struct document *doc, struct json_writer *w) {
    const struct override overrides[] = {{"namespace", args_text(&cli->args, "namespace", NULL)},
                                         {"name", args_text(&cli->args, "name", NULL)},
                                         {"backend", args_text(&cli->args, "backend", NULL)}};
    const size_t n = ARRAY_LEN(overrides);
    json_begin_object(w);
    if (is_manifest(doc->tree)) {
        CLEANUP(str_done) struct str manifest = STR_INIT;
        json_write(&manifest, doc->tree);
        json_key(w, "manifest");
        json_add_string(w, str_text(&manifest));
    } else {
        JSON_EACH (field, doc->tree) {
            if (!is_overridden(overrides, n, field->key)) {
                write_field(doc, field, w);
            }
        }
    }
    write_overrides(w, overrides, n);
    json_end_object(w);
}

// ---- Field paths

// snake_case equals its lowerCamelCase.
static bool same_field(const char *key, const char *name, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++, k++) {
        char c = name[i];
        if (c == '_' && key[k] != '_' && i + 1 < n) {
            c = name[++i];
            c = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        }
        if (key[k] != c) {
            return false;
        }
    }
    return key[k] == '\0';
}

static const struct json *child_named(const struct json *node, const char *name, size_t n) {
    JSON_EACH (child, node) {
        if (child->key != NULL && same_field(child->key, name, n)) {
            return child;
        }
    }
    return NULL;
}

// "[3]", "[\"a.b/c\"]" or "[key]" at *path, which moves behind it.
static const struct json *child_in_brackets(const struct json *node, const char **path) {
    const char *from = *path + 1;
    const char *to = strchr(from, ']');
    if (to == NULL) {
        return NULL;
    }
    *path = to + 1;
    if (node != NULL && node->type == JSON_ARRAY) {
        CLEANUP(mem_free_ptr) char *digits = mem_strndup(from, (size_t)(to - from));
        int64_t index;
        return str_to_int64(digits, 0, INT32_MAX, &index) ? json_at(node, (size_t)index) : NULL;
    }
    bool quoted = to - from >= 2 && *from == '"';
    return child_named(node, from + quoted, (size_t)(to - from) - 2 * (size_t)quoted);
}

// The node that the path names, or the nearest one around it that is there.
static const struct json *locate(const struct json *root, const char *path) {
    const struct json *node = root;
    while (*path != '\0') {
        const struct json *child;
        path += *path == '.';
        if (*path == '[') {
            child = child_in_brackets(node, &path);
        } else {
            size_t n = strcspn(path, ".[");
            child = child_named(node, path, n);
            path += n;
        }
        if (child == NULL) {
            return node;
        }
        node = child;
    }
    return node;
}

static const char *inside_document(const char *field) {
    static const char *const outer[] = {"submit.", "spec.", "manifest."};
    for (size_t i = 0; i < ARRAY_LEN(outer); i++) {
        field += str_starts(field, outer[i]) ? strlen(outer[i]) : 0;
    }
    return field;
}

void document_locate(const struct document *doc, struct err *err) {
    size_t n = err->violation_count < ERR_VIOLATIONS_MAX ? err->violation_count : ERR_VIOLATIONS_MAX;
    for (size_t i = 0; i < n; i++) {
        struct err_violation *v = &err->violations[i];
        const char *field = inside_document(v->field);
        const struct json *node = locate(doc->tree, field);
        char *located = mem_printf("%s:%u: %s", doc->file, node->line, field);
        mem_free(v->field);
        v->field = located;
    }
}
