// Loading and hosting runtime plugins. The only door to dlopen. Loop thread only; everything is loaded at start.
//
// A runtime is what the rest of the daemon sees of a plugin: plain data and four calls. Nothing is ever unloaded.
#ifndef PLUGIN_PLUGIN_H
#define PLUGIN_PLUGIN_H

#include "base/err.h"
#include "base/str.h"
#include "job/spec.h"
#include "trainer_plugin.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

struct plugins; // the registry

struct runtime {
    const struct trainer_plugin *plugin; // its constant descriptor; read through TRAINER_PLUGIN_HAS
    const char *file;                    // base name
    const char *path;
    char abi[16];                     // "1.0"
    const struct json *params_schema; // parsed; of a plugin without parameters: one that allows none
    struct trainer_self *self;
    bool isolated; // runs in a process of its own
};

struct plugin_failure {
    const char *file, *message;
};

struct plugins *plugins_new(void);
void plugins_free(struct plugins *p); // calls destroy; never dlcloses

// The program that runs isolated plugins. Default: trainerd-plugin-host beside this program, or where it is installed.
void plugins_set_host(struct plugins *p, const char *program);

// Loads one file: regular, owned by root or this user, not writable by group or others; deduplicated by device and
// inode. Everything in the descriptor is checked before any other code of the plugin runs. Each refusal is one sentence
// with what was expected and what was found: "abi 2.1, this host has 1.0". config: the plugin's object or NULL; with
// `isolate: true` in it all calls but the description run in a process of the plugin's own: a crash there fails one
// request, and the next one finds it started again.
bool plugins_load(struct plugins *p, const char *path, const struct json *config, struct err *err) MUST_CHECK;
// Loads every *.so of a directory, in order of name; a bad one is remembered as a failure and logged. False only
// when the directory cannot be read.
bool plugins_load_directory(struct plugins *p, const char *directory, const struct json *configs,
                            struct err *err) MUST_CHECK;
// Checks a descriptor alone, as plugins_load does after dlopen (for the fuzzer and plugin-check).
bool plugins_check_descriptor(const struct trainer_plugin *plugin, struct err *err) MUST_CHECK;

const struct runtime *plugins_find(const struct plugins *p, const char *name); // NULL when unknown
size_t plugins_count(const struct plugins *p);
const struct runtime *plugins_at(const struct plugins *p, size_t index); // by name
size_t plugins_failures(const struct plugins *p, const struct plugin_failure **ret);
const char *plugins_nearest(const struct plugins *p, const char *wrong); // "did you mean", or NULL

// The runtime's view of a spec. Roles are matched without regard to case and made canonical, required roles and
// replica bounds, reserved environment and parameters are checked, then the plugin's own validate runs. All violations
// at once. ret_tree: the spec with canonical role names, in the arena; what plan and render take.
bool runtime_validate(const struct runtime *r, const struct job_spec *spec, struct arena *a,
                      const struct json **ret_tree, struct err *err) MUST_CHECK;
// Appends the plan as JSON: {"processes": [{"role", "index", "rank", "decides", "argv": [...],
// "env": [{"name", "value"} | {"name", "template"}], "working_dir", "restart", "cpu", "memory", "gpu"}], "ports":
// [...]}. working_dir, cpu and memory only where the role gives them.
bool runtime_plan_local(const struct runtime *r, const struct json *tree, struct str *out, struct err *err) MUST_CHECK;
bool runtime_render(const struct runtime *r, const struct json *tree, const char *target, struct str *out,
                    struct err *err) MUST_CHECK;
bool runtime_observe(const struct runtime *r, const struct json *object, const char *target, struct str *out,
                     struct err *err) MUST_CHECK;
bool runtime_has_target(const struct runtime *r, const char *target);
// Longest job name that this target takes with these roles: 63 less what the target adds. spec NULL: with one replica
// of each role.
int32_t runtime_name_limit(const struct runtime *r, const struct job_spec *spec, const char *target);

// JSON schema, the part that parameters use: type, properties, required, additionalProperties, enum, minimum, maximum,
// minLength, maxLength, pattern (POSIX extended, without references to groups; what its counts repeat comes to at most
// 200,000 characters), items, minItems, maxItems; annotations are ignored. field is the path prefix ("params").
bool schema_check(const struct json *schema, const struct json *value, const char *field, struct err *err) MUST_CHECK;

// The whole of the program that runs one isolated plugin. Returns its exit status.
int plugin_host_main(int argc, char **argv);

#endif
