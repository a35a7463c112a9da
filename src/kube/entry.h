// One entry of a kubeconfig and its fields: text, yes or no, files, and PEM that is a file or in the field itself.
#ifndef KUBE_ENTRY_H
#define KUBE_ENTRY_H

#include "base/arena.h"
#include "base/err.h"
#include "http/http.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

enum { KUBE_CONFIG_FILE_MAX = 1024 * 1024 };

struct kube_entry {
    const char *file, *directory; // of the kubeconfig; absolute directory
    const char *kind, *name;      // "user", "dev"
    uint32_t line;
    const struct json *node; // NULL, JSON null or an object
    struct arena *arena;     // where values are copied to
};

// "kubeconfig FILE, line N: user "dev": ...". at: the node that is wrong, or NULL for the entry as a whole.
bool kube_entry_fail(const struct kube_entry *entry, const struct json *at, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
// A field that is absent, null or empty gives NULL and false. true is also the answer for those.
bool kube_entry_text(const struct kube_entry *entry, const char *field, const char **ret, struct err *err) MUST_CHECK;
bool kube_entry_bool(const struct kube_entry *entry, const char *field, bool *ret, struct err *err) MUST_CHECK;
// Text that goes into a header or an environment: without blanks around it, and without control characters.
bool kube_entry_line(const struct kube_entry *entry, const char *field, const char **ret, struct err *err) MUST_CHECK;
// A file's name; a relative one is meant from the kubeconfig's directory.
bool kube_entry_path(const struct kube_entry *entry, const char *field, const char **ret, struct err *err) MUST_CHECK;
// FIELD-data, which is base64 and wins, or the file of FIELD.
bool kube_entry_pem(const struct kube_entry *entry, const char *field, struct http_pem *ret,
                    struct err *err) MUST_CHECK;
// The field as a list or map of things; NULL when absent or null.
bool kube_entry_children(const struct kube_entry *entry, const char *field, enum json_type type,
                         const struct json **ret, struct err *err) MUST_CHECK;

bool kube_is_line(const char *text); // no control characters: one line that is fit for a header
const char *kube_in_directory(struct arena *arena, const char *directory, const char *path);

#endif
