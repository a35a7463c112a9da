// Job files: one or several YAML or JSON documents, each a JobSpec or a Kubernetes object.
#ifndef CLI_DOCUMENT_H
#define CLI_DOCUMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>

struct cli;

struct document {
    const char *file;      // for messages
    const char *directory; // that the file is in, absolute
    const struct json *tree;
};

enum { DOCUMENTS_MAX = 1000 };

// path: "-" is stdin. Everything lives in cli's arena.
bool document_read(struct cli *cli, const char *path, struct document **ret, size_t *ret_count,
                   struct err *err) MUST_CHECK;
// The JobSpec as a JSON value: a Kubernetes object becomes its manifest; a working_dir that is "." or begins with "./"
// or "../" counts from the file's directory. The flags -n, --name and --backend win.
void document_write_spec(const struct cli *cli, const struct document *doc, struct json_writer *w);
// Puts file and line before the field paths of err's violations, where they point into the document.
void document_locate(const struct document *doc, struct err *err);

#endif
