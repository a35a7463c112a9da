// The checks of a descriptor, before anything else of the plugin runs. In order: what tells whether the rest can be
// read at all, then each member. Each refusal is one sentence: what was expected, what was found.
#include "plugin/internal.h"

#include "base/str.h"

#include <string.h>

enum {
    NAME_MAX_LEN = 63,
    ROLE_NAME_MAX = 32,
    TEXT_MAX = 4096,
    ROLES_MAX = 64,
    TARGETS_MAX = 32,
    RESERVED_MAX = 256,
    SCHEMA_MAX = 64 * 1024,
};

#define CAPS_REQUIRED UINT64_C(0xffffffff)
#define CAPS_KNOWN (TRAINER_CAP_LOCAL | TRAINER_CAP_RENDER)
// The first version of every struct that crosses: no plugin can have less.
#define DESCRIPTOR_MIN (offsetof(struct trainer_plugin, spare) + sizeof(((struct trainer_plugin *)0)->spare))
#define FUNCTIONS_MIN (offsetof(struct trainer_functions, observe) + sizeof(((struct trainer_functions *)0)->observe))

#define REFUSE(err, ...) err_fail((err), ERR_PRECONDITION, "BAD_PLUGIN", __VA_ARGS__)

// A text of the plugin as it may stand in a message.
static const char *shown(const char *text) {
    return text_line_valid(text, TEXT_MAX) ? text : "(not a text)";
}

// ---- What must hold before the other members are read

static bool check_head(const struct trainer_plugin *p, struct err *err) {
    if (p->magic != TRAINER_PLUGIN_MAGIC) {
        return REFUSE(err, "magic %08x, expected %08x: this is not a descriptor of trainerd", p->magic,
                      TRAINER_PLUGIN_MAGIC);
    }
    if (p->abi_major != TRAINER_ABI_MAJOR || p->abi_minor > TRAINER_ABI_MINOR) {
        return REFUSE(err, "abi %u.%u, this host has %u.%u", p->abi_major, p->abi_minor, TRAINER_ABI_MAJOR,
                      TRAINER_ABI_MINOR);
    }
    if (p->size < DESCRIPTOR_MIN || p->size > sizeof(struct trainer_plugin)) {
        return REFUSE(err, "descriptor of %u bytes, expected %zu to %zu", p->size, DESCRIPTOR_MIN,
                      sizeof(struct trainer_plugin));
    }
    if (p->flags != 0 || p->reserved_zero != 0) {
        return REFUSE(err, "flags %u and reserved_zero %u, expected 0", p->flags, p->reserved_zero);
    }
    for (size_t i = 0; i < ARRAY_LEN(p->spare); i++) {
        if (p->spare[i] != NULL) {
            return REFUSE(err, "spare[%zu] is set, expected zero", i);
        }
    }
    uint64_t unknown = p->capabilities & CAPS_REQUIRED & ~CAPS_KNOWN;
    if (unknown != 0) {
        return REFUSE(err, "capability bits %#llx, which this host does not know and the plugin requires",
                      (unsigned long long)unknown);
    }
    return true;
}

static bool check_sizes(const struct trainer_plugin *p, struct err *err) {
    const struct {
        const char *name;
        uint32_t found;
        size_t least, most;
    } sizes[] = {
        {"role_size", p->role_size, sizeof(struct trainer_role), sizeof(struct trainer_role)},
        {"target_size", p->target_size, sizeof(struct trainer_target), sizeof(struct trainer_target)},
        {"functions_size", p->functions_size, FUNCTIONS_MIN, sizeof(struct trainer_functions)},
    };
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        if (sizes[i].found < sizes[i].least || sizes[i].found > sizes[i].most) {
            return REFUSE(err, "%s %u, expected %zu to %zu", sizes[i].name, sizes[i].found, sizes[i].least,
                          sizes[i].most);
        }
    }
    return true;
}

static bool check_texts(const struct trainer_plugin *p, struct err *err) {
    if (p->name == NULL || !text_name_valid(p->name, NAME_MAX_LEN)) {
        return REFUSE(err, "name \"%.80s\", expected [a-z][a-z0-9-]* of at most 63 bytes", shown(p->name));
    }
    const struct {
        const char *name, *text;
        bool optional;
    } texts[] = {
        {"version", p->version, false},
        {"built_with", p->built_with, false},
        {"description", p->description, false},
        {"main_container", p->main_container, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!(texts[i].optional && texts[i].text == NULL) && !text_line_valid(texts[i].text, TEXT_MAX)) {
            return REFUSE(err, "%s is missing or not one line of text of at most %d bytes", texts[i].name, TEXT_MAX);
        }
    }
    return true;
}

static bool check_functions(const struct trainer_plugin *p, struct err *err) {
    if (p->functions == NULL) {
        return REFUSE(err, "functions is NULL, expected a table");
    }
    bool local = (p->capabilities & TRAINER_CAP_LOCAL) != 0;
    bool render = (p->capabilities & TRAINER_CAP_RENDER) != 0;
    const struct {
        const char *name, *why;
        bool missing;
    } mandatory[] = {
        {"validate", "it is mandatory", p->functions->validate == NULL},
        {"plan_local", "capability LOCAL needs it", local && p->functions->plan_local == NULL},
        {"render", "capability RENDER needs it", render && p->functions->render == NULL},
        {"observe", "capability RENDER needs it", render && p->functions->observe == NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(mandatory); i++) {
        if (mandatory[i].missing) {
            return REFUSE(err, "function %s is missing, %s", mandatory[i].name, mandatory[i].why);
        }
    }
    return true;
}

// ---- Tables

static bool check_role(const struct trainer_plugin *p, size_t at, struct err *err) {
    const struct trainer_role *role = &p->roles[at];
    if (!text_name_valid(role->name, ROLE_NAME_MAX)) {
        return REFUSE(err, "roles[%zu].name \"%.80s\", expected [a-z][a-z0-9-]* of at most %d bytes", at,
                      shown(role->name), ROLE_NAME_MAX);
    }
    for (size_t i = 0; i < at; i++) {
        if (str_same(p->roles[i].name, role->name)) {
            return REFUSE(err, "role \"%s\" is in the table twice", role->name);
        }
    }
    if (!text_line_valid(role->description, TEXT_MAX)) {
        return REFUSE(err, "role \"%s\" has no description, expected one line of text", role->name);
    }
    if (role->required > 1) {
        return REFUSE(err, "role \"%s\" has required %u, expected 0 or 1", role->name, role->required);
    }
    if (role->max_replicas != 0 && role->min_replicas > role->max_replicas) {
        return REFUSE(err, "role \"%s\" has min_replicas %u above max_replicas %u", role->name, role->min_replicas,
                      role->max_replicas);
    }
    if (role->restart < TRAINER_RESTART_NEVER || role->restart > TRAINER_RESTART_EXIT_CODE) {
        return REFUSE(err, "role \"%s\" has restart policy %u, expected %d to %d", role->name, role->restart,
                      TRAINER_RESTART_NEVER, TRAINER_RESTART_EXIT_CODE);
    }
    return true;
}

static bool check_roles(const struct trainer_plugin *p, struct err *err) {
    size_t n = 0;
    while (p->roles != NULL && n <= ROLES_MAX && p->roles[n].name != NULL) {
        if (!check_role(p, n, err)) {
            return false;
        }
        n++;
    }
    if (n == 0) {
        return REFUSE(err, "no roles, expected at least one");
    }
    return n <= ROLES_MAX || REFUSE(err, "more than %d roles", ROLES_MAX);
}

// Placeholders of a name suffix: ${role} and ${index} only.
static bool suffix_valid(const char *suffix) {
    if (suffix[0] != '\0' && !text_line_valid(suffix, NAME_MAX_LEN)) {
        return false;
    }
    for (const char *at = strchr(suffix, '$'); at != NULL; at = strchr(at + 1, '$')) {
        if (!str_starts(at, "${role}") && !str_starts(at, "${index}")) {
            return false;
        }
    }
    return true;
}

static bool check_target(const struct trainer_plugin *p, size_t at, struct err *err) {
    const struct trainer_target *t = &p->targets[at];
    if (!text_line_valid(t->name, NAME_MAX_LEN) || !text_line_valid(t->kind, NAME_MAX_LEN)) {
        return REFUSE(err, "targets[%zu] has a name or kind that is not a text of at most %d bytes", at, NAME_MAX_LEN);
    }
    for (size_t i = 0; i < at; i++) {
        if (str_same(p->targets[i].name, t->name)) {
            return REFUSE(err, "target \"%s\" is in the table twice", t->name);
        }
    }
    if (t->name_suffix == NULL || !suffix_valid(t->name_suffix)) {
        return REFUSE(err, "target \"%s\" has a bad name_suffix, expected text with ${role} and ${index} or \"\"",
                      t->name);
    }
    bool local = str_same(t->name, "local");
    if ((p->capabilities & (local ? TRAINER_CAP_LOCAL : TRAINER_CAP_RENDER)) == 0) {
        return REFUSE(err, "target \"%s\" without capability %s", t->name, local ? "LOCAL" : "RENDER");
    }
    return true;
}

static bool check_targets(const struct trainer_plugin *p, struct err *err) {
    size_t n = 0;
    while (p->targets != NULL && n <= TARGETS_MAX && p->targets[n].name != NULL) {
        if (!check_target(p, n, err)) {
            return false;
        }
        n++;
    }
    if (n == 0) {
        return REFUSE(err, "no targets, expected at least one");
    }
    return n <= TARGETS_MAX || REFUSE(err, "more than %d targets", TARGETS_MAX);
}

static bool reserved_valid(const char *name) {
    size_t n = strnlen(name, NAME_MAX_LEN + 1);
    if (n > 0 && n <= NAME_MAX_LEN && name[n - 1] == '*') {
        n--; // a prefix
    }
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return n > 0 && n <= NAME_MAX_LEN && strspn(name, allowed) >= n;
}

static bool check_reserved_env(const struct trainer_plugin *p, struct err *err) {
    size_t n = 0;
    while (p->reserved_env != NULL && n <= RESERVED_MAX && p->reserved_env[n] != NULL) {
        if (!reserved_valid(p->reserved_env[n])) {
            return REFUSE(err, "reserved_env[%zu] \"%.80s\", expected a name of [A-Za-z0-9_], or a prefix and *", n,
                          shown(p->reserved_env[n]));
        }
        n++;
    }
    return n <= RESERVED_MAX || REFUSE(err, "more than %d names in reserved_env", RESERVED_MAX);
}

static bool check_schema(const struct trainer_plugin *p, struct err *err) {
    if (p->params_schema == NULL) {
        return true;
    }
    size_t n = strnlen(p->params_schema, SCHEMA_MAX + 1);
    if (n > SCHEMA_MAX) {
        return REFUSE(err, "params_schema is longer than %d bytes", SCHEMA_MAX);
    }
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err bad = ERR_INIT;
    const struct json *schema = NULL;
    if (!json_parse(&a, p->params_schema, n, &json_limits_default, &schema, &bad) || !schema_verify(schema, &bad)) {
        return REFUSE(err, "params_schema: %s", bad.message);
    }
    return true;
}

bool plugins_check_descriptor(const struct trainer_plugin *p, struct err *err) {
    static bool (*const checks[])(const struct trainer_plugin *, struct err *) = {
        check_head,  check_sizes,   check_texts,        check_functions,
        check_roles, check_targets, check_reserved_env, check_schema,
    };
    if (p == NULL) {
        return REFUSE(err, "trainer_plugin_describe returned NULL");
    }
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (!checks[i](p, err)) {
            return false;
        }
    }
    return true;
}
