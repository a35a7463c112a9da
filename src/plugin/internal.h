// What the files of plugin/ share. Nobody outside includes this.
#ifndef PLUGIN_INTERNAL_H
#define PLUGIN_INTERNAL_H

#include "plugin/plugin.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"

#include <sys/types.h>

enum {
    PLUGIN_BUDGET_MS = 50,            // a call that takes longer is logged
    PLUGIN_OUTPUT_MAX = 1024 * 1024,  // what render and observe may write
    PLUGIN_PLAN_MAX = 4 * 1024 * 1024 // of a plan, the users' commands and environment with it
};

// One loaded plugin. The host table is the plugin's own, so that a log line knows whose it is.
struct isolate;

struct entry {
    struct runtime runtime;
    struct trainer_host host;
    const struct trainer_functions *functions;
    struct isolate *isolate; // NULL: calls run in this process
    struct arena arena;      // path, file, schema
    dev_t device;
    ino_t inode;
};

// ---- The opaque types of the ABI. trainer_value is a struct json.

struct trainer_errors {
    struct err *err;
    const struct json *tree; // the canonical spec of the call, or NULL: maps "roles[i]" to the user's index
    bool failed;             // fail was called
};

struct plan;

struct trainer_writer {
    struct str out;
    size_t limit;
    struct json_writer json;
    struct json_writer *to; // where values go at present; NULL: nowhere, a plan takes processes only
    struct plan *plan;      // NULL: a free document
    bool too_large;
    char wrong[160]; // the first misuse, "" when none
};

// text.c
// Length for %.*s: at most max bytes of the text and never half a character. For what comes from outside.
int text_cut(const char *text, size_t max);
bool text_line_valid(const char *text, size_t max); // not empty, at most max bytes, printable UTF-8
bool text_name_valid(const char *name, size_t max); // [a-z][a-z0-9-]*, at most max bytes

// pattern.c
bool pattern_is_fit(const char *text); // well formed, and cheap enough to be compiled and matched
bool pattern_matches(const char *pattern, const char *text);

// host.c
void host_table(struct trainer_host *ret);
void writer_init(struct trainer_writer *w, size_t limit);
void writer_done(struct trainer_writer *w);
void writer_misuse(struct trainer_writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3); // keeps the first
struct json_writer *writer_target(struct trainer_writer *w, size_t more); // where a piece goes, or NULL: nowhere
bool writer_room(struct trainer_writer *w, size_t more); // false, latched, when `more` bytes would pass the limit

// plan.c: the plan services of the table, and the document around them
void plan_services(struct trainer_host *ret);
struct plan *plan_new(const struct json *tree);
void plan_free(struct plan *plan);
// Writes the end of the document. A rule that the plan as a whole breaks is then in w->wrong.
void plan_finish(struct plan *plan, struct trainer_writer *w);

// object.c, pod.c, conditions.c: the services for objects of a cluster
void object_services(struct trainer_host *ret);
void pod_template_add(struct str *out, const struct json *role, const char *container); // JSON text
void conditions_observe(struct json_writer *w, const struct json *object);
// overlay.c: base with over merged into it, by the rules of strategic merge
void overlay_merge(struct json_writer *w, const struct json *base, const struct json *over);

// load.c
struct stat;
// Regular, owned by root or this user, not writable by group or others. Runs nothing of it.
bool load_check_file(const char *path, struct stat *ret, struct err *err) MUST_CHECK;
// Opens it for good and gives its descriptor, checked.
bool load_open(const char *path, const struct trainer_plugin **ret, struct err *err) MUST_CHECK;

// call.c: the plugin's functions, in this process
enum call_kind { CALL_VALIDATE, CALL_PLAN_LOCAL, CALL_RENDER, CALL_OBSERVE };
const char *call_name(enum call_kind kind); // "plan_local"
bool call_create(struct entry *e, const struct json *config, struct err *err) MUST_CHECK;
// in: the canonical spec, or for CALL_OBSERVE the object. target: of RENDER and OBSERVE. Appends to out but for
// VALIDATE.
bool call_direct(const struct entry *e, enum call_kind kind, const struct json *in, const char *target, struct str *out,
                 struct err *err) MUST_CHECK;
bool call_fault(const struct entry *e, const char *function, const char *what, struct err *err); // INTERNAL; false

// isolate.c: the same in a process of its own, which is started again after a crash. Blocks for at most 2 s.
// Starts it and lets it run create. program: NULL for the one beside this program.
bool isolate_start(struct entry *e, const char *program, const struct json *config, struct err *err) MUST_CHECK;
bool isolate_call(const struct entry *e, enum call_kind kind, const struct json *in, const char *target,
                  struct str *out, struct err *err) MUST_CHECK;
void isolate_stop(struct isolate *i); // NULL is fine

// wire.c: what the two processes say to each other: a length and JSON
enum { WIRE_FD = 3, WIRE_MAX = 32 * 1024 * 1024 };
enum wire_result { WIRE_OK, WIRE_CLOSED, WIRE_TIMEOUT };
enum wire_result wire_send(int fd, const struct str *text, int64_t deadline);         // mono; 0: none
enum wire_result wire_receive(int fd, struct str *ret, int64_t deadline);             // replaces the content of ret
void wire_put_error(struct json_writer *w, const struct err *err);                    // members of an open object
void wire_take_error(const struct json *answer, const char *plugin, struct err *err); // fills err

// registry.c
struct entry *entry_new(const char *path, const struct trainer_plugin *plugin);
void entry_free(struct entry *e);

// spec.c
// Roles and reserved environment checked, violations added; the canonical tree.
const struct json *spec_canonical(const struct runtime *r, const struct job_spec *spec, struct arena *a,
                                  struct err *err);
const char *restart_name(uint32_t restart); // "ON_FAILURE"

// schema.c
// Whether a schema uses only what schema_check knows.
bool schema_verify(const struct json *schema, struct err *err) MUST_CHECK;

#endif
