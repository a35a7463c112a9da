/* trainer_plugin.h: the border between trainerd and a runtime plugin. The only header a plugin includes.
 *
 * A plugin is a shared object that exports one function, trainer_plugin_describe, which returns a constant
 * descriptor. It teaches trainerd one runtime: its roles, its parameters, and how a job spec becomes local processes
 * (plan_local) or objects of a cluster (render), and how such an object's status reads (observe).
 *
 * Changelog of the ABI
 *   1.0  first version
 *   1.1  objects of a cluster: cluster_check ... kubeflow_observe
 *
 * Rules
 *   - C99 and C++. Only fixed-width types cross, and no type of any other library. Enumerations are uint32_t with named
 *     constants; unknown values must be tolerated.
 *   - All calls come on one thread, never at the same time, never re-entered. Host services do not call back.
 *   - validate, render and plan_local are pure: same input, same output, no clock, no files, no environment.
 *   - Inputs are borrowed for the call. Outputs are written into host objects. Nothing is freed across the border.
 *   - The descriptor and its strings live for ever. Plugins are never unloaded.
 *   - A plugin must not call exit, fork, waitpid(-1), setenv, chdir, umask or change signals.
 *   - Functions return 0, or TRAINER_FAILED after a call of host->fail.
 */
#ifndef TRAINER_PLUGIN_H
#define TRAINER_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRAINER_PLUGIN_MAGIC 0x54504c31u /* "TPL1" */
#define TRAINER_ABI_MAJOR 1u             /* must be equal */
#define TRAINER_ABI_MINOR 1u             /* the plugin's must not be greater than the host's */

/* Capabilities. The host refuses a plugin with an unknown bit in the low half (required of the host) and ignores
 * unknown ones in the high half (optional). */
#define TRAINER_CAP_LOCAL (UINT64_C(1) << 0)  /* has plan_local */
#define TRAINER_CAP_RENDER (UINT64_C(1) << 1) /* has render and observe */
#define TRAINER_CAP_ELASTIC (UINT64_C(1) << 32)
#define TRAINER_CAP_SCALE (UINT64_C(1) << 33)
#define TRAINER_CAP_SUSPEND (UINT64_C(1) << 34)

#define TRAINER_OK 0
#define TRAINER_FAILED (-1)

enum trainer_log_level { TRAINER_LOG_ERROR = 0, TRAINER_LOG_WARN = 1, TRAINER_LOG_INFO = 2, TRAINER_LOG_DEBUG = 3 };

/* Restart policies, as in the job spec. */
enum trainer_restart {
    TRAINER_RESTART_NEVER = 1,
    TRAINER_RESTART_ON_FAILURE = 2,
    TRAINER_RESTART_ALWAYS = 3,
    TRAINER_RESTART_EXIT_CODE = 4
};

struct trainer_value;  /* a node of a read-only JSON tree: the spec, parameters, an object of the cluster */
struct trainer_writer; /* builds JSON; the host checks it when the call returns */
struct trainer_errors; /* collects violations */
struct trainer_self;   /* the plugin's own state; may stay NULL */

/* Types of values. */
enum trainer_type {
    TRAINER_NULL = 0,
    TRAINER_BOOL = 1,
    TRAINER_NUMBER = 2,
    TRAINER_STRING = 3,
    TRAINER_ARRAY = 4,
    TRAINER_OBJECT = 5
};

/* What the host does for a plugin. Valid for ever; read members beyond the first version only after
 * TRAINER_HOST_HAS. Members are only ever appended. Text that crosses is UTF-8 and ends with NUL. */
struct trainer_host {
    uint32_t size; /* of this table, bytes */
    uint16_t abi_major, abi_minor;

    /* One line in the daemon's log, with the runtime's name. level: enum trainer_log_level. */
    void (*log)(const struct trainer_host *host, uint32_t level, const char *text);

    /* Reports what is wrong: field is a path in the spec as the plugin sees it ("roles[0].replicas", "params.slots"),
     * or "" for the whole; the host turns the index of a role into the user's. text says what would be right. May be
     * called several times. Returns TRAINER_FAILED. */
    int32_t (*fail)(struct trainer_errors *errors, const char *field, const char *text);
    /* The same with the first %s in text replaced by arg. */
    int32_t (*fail_with)(struct trainer_errors *errors, const char *field, const char *text, const char *arg);

    /* Reading. NULL values and wrong types give NULL, the fallback or 0. Strings live as long as the value.
     * Paths: "roles[name=master].replicas", "run_policy.backoff_limit", "params.x", "status.conditions[type=Failed]".
     */
    const struct trainer_value *(*get)(const struct trainer_value *value, const char *path);
    const struct trainer_value *(*first)(const struct trainer_value *value); /* child of an array or object, or NULL */
    const struct trainer_value *(*next)(const struct trainer_value *value);  /* the child after this one, or NULL */
    size_t (*count)(const struct trainer_value *value);
    uint32_t (*type)(const struct trainer_value *value);   /* enum trainer_type */
    const char *(*key)(const struct trainer_value *value); /* in its object, or NULL */
    const char *(*text)(const struct trainer_value *value, const char *fallback);
    int64_t (*integer)(const struct trainer_value *value, int64_t fallback);
    double (*number)(const struct trainer_value *value, double fallback);
    int32_t (*boolean)(const struct trainer_value *value, int32_t fallback);
    /* Replicas of a role of a spec, 0 when it is not there; role NULL: of all roles. */
    int64_t (*replicas)(const struct trainer_value *spec, const char *role);

    /* Writing JSON, in render, observe and between plan_env_begin and plan_env_end. Misuse (a value without key,
     * unbalanced ends, text that is not UTF-8, more than the host takes) is remembered and fails the call. */
    void (*begin_object)(struct trainer_writer *w);
    void (*end_object)(struct trainer_writer *w);
    void (*begin_array)(struct trainer_writer *w);
    void (*end_array)(struct trainer_writer *w);
    void (*put_key)(struct trainer_writer *w, const char *key);
    void (*put_text)(struct trainer_writer *w, const char *text);
    void (*put_integer)(struct trainer_writer *w, int64_t value);
    void (*put_number)(struct trainer_writer *w, double value);
    void (*put_boolean)(struct trainer_writer *w, int32_t value);
    void (*put_value)(struct trainer_writer *w, const struct trainer_value *value); /* a copy of a tree */

    /* ---- The plan of local processes: what all runtimes share ----------------------------------------------------
     *
     * A template is a text in which ${host} and ${port.NAME} are replaced at start by this machine's address and by a
     * free port, the same one everywhere in the job for the same NAME ([a-z0-9-]). Everything else passes byte for
     * byte. User text never belongs into a template.
     *
     * plan_process begins one process of a role: the role's own command, environment, directory, resources and restart
     * policy. index: 0..replicas-1 in the role; rank: 0.. in the job, without gaps at the end.
     *   decides: the job succeeds when all processes that decide have exited 0. At least one must. */
    void (*plan_process)(struct trainer_writer *w, const struct trainer_value *role, int64_t index, int64_t rank,
                         int32_t decides);
    /* Puts an argument before the role's own command, in the order of the calls: a launcher and its flags. */
    void (*plan_arg)(struct trainer_writer *w, const char *text);
    /* The process also stands for `times` replicas of this role: what they ask for (cpu, memory, gpu) is added. */
    void (*plan_resources)(struct trainer_writer *w, const struct trainer_value *role, int64_t times);
    /* A variable that the runtime sets. It wins over one that the user gives and reserved_env lets pass. */
    void (*plan_env)(struct trainer_writer *w, const char *name, const char *text);
    void (*plan_env_integer)(struct trainer_writer *w, const char *name, int64_t value);
    void (*plan_env_template)(struct trainer_writer *w, const char *name, const char *text);
    /* A template that is built piece by piece: plan_env_add appends as it is; the writing functions above append JSON.
     */
    void (*plan_env_begin)(struct trainer_writer *w, const char *name);
    void (*plan_env_add)(struct trainer_writer *w, const char *text);
    void (*plan_env_end)(struct trainer_writer *w);
    void (*plan_process_end)(struct trainer_writer *w);

    /* ---- Objects of a cluster: what all runtimes share (1.1) -------------------------------------------------------
     *
     * Reports what a cluster would leave hanging, for every role: no image, a name that is no DNS-1035 label. Returns
     * TRAINER_OK or TRAINER_FAILED; render calls it first. */
    int32_t (*cluster_check)(const struct trainer_value *spec, struct trainer_errors *errors);
    /* Begins an object: apiVersion, kind, metadata (the job's name, namespace, labels, annotations; its queue as
     * Kueue's label), and leaves its "spec" open. A spec without a name shows NAME_PREFIX-00000. */
    void (*object_begin)(struct trainer_writer *w, const struct trainer_value *spec, const char *api_version,
                         const char *kind);
    void (*object_end)(struct trainer_writer *w);
    /* A PodTemplateSpec as a value: the role's container under this name, everything else of the role, and its
     * pod_overlay merged last by the rules of strategic merge. */
    void (*pod_template)(struct trainer_writer *w, const struct trainer_value *role, const char *container);
    /* The member "runPolicy" of a kubeflow.org/v1 kind: cleanPodPolicy (default Running), backoffLimit (default 3),
     * activeDeadlineSeconds, suspend, schedulingPolicy. The time to live is the daemon's own affair. */
    void (*kubeflow_run_policy)(struct trainer_writer *w, const struct trainer_value *spec);
    /* The member `name`, e.g. "pytorchReplicaSpecs": every role with replicas, restartPolicy and template. A role's key
     * is its name with a capital, and PS. */
    void (*kubeflow_replicas)(struct trainer_writer *w, const struct trainer_value *spec, const char *name,
                              const char *container);
    /* The whole of observe for a kubeflow.org/v1 kind. What observe writes is an object:
     *   "state"     PENDING, RUNNING, RESTARTING, SUSPENDED, SUCCEEDED, FAILED; mandatory
     *   "reason"    a reason of the contract, e.g. "COMPLETED", "DEADLINE_EXCEEDED"; BACKEND_ERROR when only the
     *               message says more
     *   "message"   the operator's
     *   "happened"  when the operator says that it came so, RFC 3339; or left out */
    void (*kubeflow_observe)(struct trainer_writer *w, const struct trainer_value *object);
};

#define TRAINER_HOST_HAS(host, member) (offsetof(struct trainer_host, member) + sizeof((host)->member) <= (host)->size)

/* A role of the runtime. Arrays end with a NULL name. */
struct trainer_role {
    const char *name; /* canonical, as users write it: "master", "ps"; [a-z][a-z0-9-]{0,31} */
    const char *description;
    uint32_t required;                   /* 1: the spec must have it */
    uint32_t min_replicas, max_replicas; /* where the role is there; max 0: no limit */
    uint32_t restart;                    /* default: enum trainer_restart */
};

/* A form that a job of this runtime can take, in order of preference. Arrays end with a NULL name. */
struct trainer_target {
    const char *name; /* "local" (needs TRAINER_CAP_LOCAL), "kubeflow.org/v1", ... (need TRAINER_CAP_RENDER) */
    const char *kind; /* "processes", "PyTorchJob", ... */
    /* What the target adds to the job's name for the longest name it makes, with ${role} and ${index} for the role
     * and the largest index in it: "-${role}-${index}". "" if nothing. Names may have 63 characters in all. */
    const char *name_suffix;
};

/* The plugin's functions. One marked [needs CAP] is mandatory with that capability and otherwise ignored.
 *
 * spec: the job spec as in the job file, normalised: roles are in the order of the descriptor's table, have canonical
 * names, at least one replica and a restart policy ("NEVER", "ON_FAILURE", "ALWAYS", "EXIT_CODE"); a role's `position`
 * is where the user wrote it. */
struct trainer_functions {
    /* Optional. Makes the plugin's state; config is its object from the daemon's config or NULL. */
    int32_t (*create)(const struct trainer_host *host, const struct trainer_value *config, struct trainer_self **ret,
                      struct trainer_errors *errors);
    void (*destroy)(struct trainer_self *self); /* optional */
    /* Mandatory. The host has already checked everything that holds for all runtimes, the roles against the table
     * above, reserved_env, and the parameters against the schema. */
    int32_t (*validate)(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                        struct trainer_errors *errors);
    /* [needs LOCAL] Writes processes with plan_process ... plan_process_end, nothing else. */
    int32_t (*plan_local)(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors);
    /* [needs RENDER] Writes one object, or an array of objects in the order of their creation. */
    int32_t (*render)(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                      const char *target, struct trainer_writer *w, struct trainer_errors *errors);
    /* [needs RENDER] Reads one object of a target and writes what kubeflow_observe says. */
    int32_t (*observe)(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *object,
                       const char *target, struct trainer_writer *w, struct trainer_errors *errors);
};

struct trainer_plugin {
    /* Filled by TRAINER_PLUGIN_HEAD. */
    uint32_t magic;
    uint16_t abi_major, abi_minor;
    uint32_t size;  /* of this struct as the plugin was compiled */
    uint32_t flags; /* 0 */
    /* Sizes as the plugin was compiled, so that the tables can grow: of a role, a target, the function table. */
    uint32_t role_size, target_size, functions_size;
    uint32_t reserved_zero;
    const char *built_with;

    const char *name;    /* the runtime: [a-z][a-z0-9-]{0,62} */
    const char *version; /* of the plugin */
    const char *description;
    uint64_t capabilities;
    const struct trainer_role *roles;     /* at least one */
    const struct trainer_target *targets; /* at least one */
    const struct trainer_functions *functions;
    const char *params_schema;       /* JSON schema text, or NULL: no parameters are allowed */
    const char *const *reserved_env; /* names (or prefixes ending in '*') that users may not set; NULL-terminated; or
                                        NULL */
    const char *main_container;      /* name of the main container in a pod; or NULL */
    const void *spare[6];            /* must be zero */
};

#define TRAINER_PLUGIN_HAS(plugin, member)                                                                             \
    (offsetof(struct trainer_plugin, member) + sizeof((plugin)->member) <= (plugin)->size)
#define TRAINER_FUNCTIONS_HAS(plugin, member)                                                                          \
    (offsetof(struct trainer_functions, member) + sizeof((plugin)->functions->member) <= (plugin)->functions_size)

#if defined(__GNUC__)
#define TRAINER_EXPORT __attribute__((visibility("default")))
#define TRAINER_BUILT_WITH "gcc-compatible " __VERSION__
#else
#define TRAINER_EXPORT
#define TRAINER_BUILT_WITH "unknown compiler"
#endif

/* The head of a descriptor, so that an author cannot forget it:
 *   static const struct trainer_plugin plugin = {TRAINER_PLUGIN_HEAD, .name = "pytorch", ...}; */
#define TRAINER_PLUGIN_HEAD                                                                                            \
    .magic = TRAINER_PLUGIN_MAGIC, .abi_major = TRAINER_ABI_MAJOR, .abi_minor = TRAINER_ABI_MINOR,                     \
    .size = (uint32_t)sizeof(struct trainer_plugin), .flags = 0, .role_size = (uint32_t)sizeof(struct trainer_role),   \
    .target_size = (uint32_t)sizeof(struct trainer_target),                                                            \
    .functions_size = (uint32_t)sizeof(struct trainer_functions), .reserved_zero = 0, .built_with = TRAINER_BUILT_WITH

/* The one exported function. */
TRAINER_EXPORT const struct trainer_plugin *trainer_plugin_describe(void);

#ifdef __cplusplus
}
#endif

#endif
