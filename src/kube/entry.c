#include "kube/entry.h"

#include "base/mem.h"
#include "base/str.h"
#include "kube/base64.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool kube_entry_fail(const struct kube_entry *e, const struct json *at, struct err *err, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_fail(err, ERR_INVALID, "BAD_KUBECONFIG", "kubeconfig %s, line %u: %s \"%.100s\": %s", e->file,
                    (unsigned)(at != NULL ? at->line : e->line), e->kind, e->name, text);
}

bool kube_entry_text(const struct kube_entry *e, const char *field, const char **ret, struct err *err) {
    const struct json *node = json_get(e->node, field);
    const char *text = json_string(node, NULL);
    if (node != NULL && node->type != JSON_NULL && text == NULL) {
        return kube_entry_fail(e, node, err, "%s is %s and must be text: put it in quotes", field,
                               json_type_name(node->type));
    }
    *ret = str_is_empty(text) ? NULL : arena_strdup(e->arena, text);
    return true;
}

bool kube_entry_bool(const struct kube_entry *e, const char *field, bool *ret, struct err *err) {
    const struct json *node = json_get(e->node, field);
    if (node != NULL && node->type != JSON_NULL && node->type != JSON_BOOL) {
        return kube_entry_fail(e, node, err, "%s must be true or false, not %s", field, json_type_name(node->type));
    }
    *ret = json_bool(node, false);
    return true;
}

bool kube_is_line(const char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

bool kube_entry_line(const struct kube_entry *e, const char *field, const char **ret, struct err *err) {
    static const char blank[] = " \t\r\n";
    const char *text = NULL;
    if (!kube_entry_text(e, field, &text, err)) {
        return false;
    }
    *ret = NULL;
    if (text == NULL || text[strspn(text, blank)] == '\0') {
        return true;
    }
    text += strspn(text, blank);
    size_t n = strlen(text);
    while (strchr(blank, text[n - 1]) != NULL) {
        n--;
    }
    const char *line = arena_strndup(e->arena, text, n);
    if (!kube_is_line(line)) {
        return kube_entry_fail(e, json_get(e->node, field), err, "%s must be one line without control characters",
                               field);
    }
    *ret = line;
    return true;
}

const char *kube_in_directory(struct arena *arena, const char *directory, const char *path) {
    return path[0] == '/' ? arena_strdup(arena, path) : arena_printf(arena, "%s/%s", directory, path);
}

bool kube_entry_path(const struct kube_entry *e, const char *field, const char **ret, struct err *err) {
    const char *path = NULL;
    if (!kube_entry_text(e, field, &path, err)) {
        return false;
    }
    *ret = path != NULL ? kube_in_directory(e->arena, e->directory, path) : NULL;
    return true;
}

bool kube_entry_pem(const struct kube_entry *e, const char *field, struct http_pem *ret, struct err *err) {
    CLEANUP(mem_free_ptr) char *data = mem_printf("%s-data", field);
    CLEANUP(str_done) struct str pem = STR_INIT;
    const char *text = NULL;
    if (!kube_entry_text(e, data, &text, err) || !kube_entry_path(e, field, &ret->file, err)) {
        return false;
    }
    if (text == NULL) {
        return true;
    }
    const struct json *at = json_get(e->node, data);
    if (!kube_base64_decode(text, &pem)) {
        return kube_entry_fail(e, at, err, "%s is not base64: it must be the PEM file in base64", data);
    }
    if (strlen(str_text(&pem)) != pem.len || strstr(str_text(&pem), "-----BEGIN ") == NULL) {
        return kube_entry_fail(e, at, err, "%s is base64 of something that is not in PEM format", data);
    }
    *ret = (struct http_pem){.text = arena_strdup(e->arena, str_text(&pem))};
    return true;
}

bool kube_entry_children(const struct kube_entry *e, const char *field, enum json_type type, const struct json **ret,
                         struct err *err) {
    const struct json *node = json_get(e->node, field);
    if (node != NULL && node->type != JSON_NULL && node->type != type) {
        return kube_entry_fail(e, node, err, "%s must be %s", field, type == JSON_ARRAY ? "a list" : "a mapping");
    }
    *ret = node != NULL && node->type == type ? node : NULL;
    return true;
}
