// A job spec as one runtime sees it: roles by the runtime's own names and in its order, defaults filled; and what can
// be checked from the descriptor alone.
#include "plugin/internal.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 64, NAME_LIMIT = 63 };

const char *restart_name(uint32_t restart) {
    static const char *const names[] = {
        [TRAINER_RESTART_NEVER] = "NEVER",
        [TRAINER_RESTART_ON_FAILURE] = "ON_FAILURE",
        [TRAINER_RESTART_ALWAYS] = "ALWAYS",
        [TRAINER_RESTART_EXIT_CODE] = "EXIT_CODE",
    };
    return names[restart];
}

// ---- Roles

static const struct trainer_role *find_role(const struct trainer_plugin *p, const char *name) {
    for (const struct trainer_role *role = p->roles; role->name != NULL; role++) {
        if (str_same_nocase(role->name, name)) {
            return role;
        }
    }
    return NULL;
}

// "master (required, at most 1), worker": what every complaint about roles ends with.
static void describe_roles(const struct trainer_plugin *p, struct str *out) {
    for (const struct trainer_role *role = p->roles; role->name != NULL; role++) {
        str_printf(out, "%s%s", role == p->roles ? "" : ", ", role->name);
        const char *open = " (";
        if (role->required != 0) {
            str_printf(out, "%srequired", open);
            open = ", ";
        }
        if (role->min_replicas > 1) {
            str_printf(out, "%sat least %u", open, role->min_replicas);
            open = ", ";
        }
        if (role->max_replicas != 0) {
            str_printf(out, "%sat most %u", open, role->max_replicas);
            open = ", ";
        }
        str_add(out, open[0] == ',' ? ")" : "");
    }
}

static const char *nearest_role(const struct trainer_plugin *p, const char *wrong) {
    const char *names[64];
    size_t n = 0;
    for (const struct trainer_role *role = p->roles; role->name != NULL && n < ARRAY_LEN(names); role++) {
        names[n++] = role->name;
    }
    return str_nearest(wrong, names, n);
}

static size_t position_of(const struct job_spec *spec, size_t index) {
    size_t position = 0;
    JSON_EACH (role, json_get(spec->tree, "roles")) {
        if (role == spec->roles[index].tree) {
            return position;
        }
        position++;
    }
    return index;
}

static char *role_field(const struct job_spec *spec, size_t index, const char *member) {
    return mem_printf("roles[%zu].%s", position_of(spec, index), member);
}

static bool is_second(const struct trainer_plugin *p, const struct job_spec *spec, size_t index) {
    for (size_t i = 0; i < index; i++) {
        if (find_role(p, spec->roles[i].name) == find_role(p, spec->roles[index].name)) {
            return true;
        }
    }
    return false;
}

static void unknown_role(const struct trainer_plugin *p, const struct job_spec *spec, size_t index, const char *known,
                         struct err *err) {
    const char *name = spec->roles[index].name;
    const char *nearest = nearest_role(p, name);
    CLEANUP(mem_free_ptr) char *field = role_field(spec, index, "name");
    err_violate(err, field, "runtime %s has no role \"%.*s\"%s%s%s (roles: %s)", p->name, text_cut(name, SHOWN_MAX),
                name, nearest != NULL ? ", did you mean \"" : "", nearest != NULL ? nearest : "",
                nearest != NULL ? "\"?" : "", known);
}

static void check_role(const struct trainer_plugin *p, const struct job_spec *spec, size_t index, struct err *err) {
    const struct trainer_role *role = find_role(p, spec->roles[index].name);
    int64_t n = spec->roles[index].replicas;
    bool second = role != NULL && is_second(p, spec, index);
    bool many = role != NULL && role->max_replicas != 0 && n > (int64_t)role->max_replicas;
    bool few = role != NULL && n < (int64_t)role->min_replicas;
    if (role != NULL && !second && !many && !few) {
        return;
    }
    CLEANUP(str_done) struct str known = STR_INIT;
    CLEANUP(mem_free_ptr) char *replicas = role_field(spec, index, "replicas");
    describe_roles(p, &known);
    if (role == NULL) {
        unknown_role(p, spec, index, str_text(&known), err);
        return;
    }
    if (second) {
        CLEANUP(mem_free_ptr) char *field = role_field(spec, index, "name");
        err_violate(err, field, "role %s is given twice (roles: %s)", role->name, str_text(&known));
    }
    if (many || few) {
        err_violate(err, replicas, "role %s takes at %s %u, not %lld (roles: %s)", role->name, many ? "most" : "least",
                    many ? role->max_replicas : role->min_replicas, (long long)n, str_text(&known));
    }
}

static bool has_role(const struct trainer_plugin *p, const struct job_spec *spec, const struct trainer_role *role) {
    for (size_t i = 0; i < spec->role_count; i++) {
        if (find_role(p, spec->roles[i].name) == role) {
            return true;
        }
    }
    return false;
}

static void check_roles(const struct trainer_plugin *p, const struct job_spec *spec, struct err *err) {
    for (size_t i = 0; i < spec->role_count; i++) {
        check_role(p, spec, i, err);
    }
    for (const struct trainer_role *role = p->roles; role->name != NULL; role++) {
        if (role->required != 0 && !has_role(p, spec, role)) {
            CLEANUP(str_done) struct str known = STR_INIT;
            describe_roles(p, &known);
            err_violate(err, "roles", "runtime %s needs a role %s (roles: %s)", p->name, role->name, str_text(&known));
        }
    }
}

// ---- Reserved environment. Names only: values never come into an error.

static bool reserved(const struct trainer_plugin *p, const char *name) {
    for (size_t i = 0; p->reserved_env != NULL && p->reserved_env[i] != NULL; i++) {
        const char *pattern = p->reserved_env[i];
        size_t n = strlen(pattern);
        bool prefix = pattern[n - 1] == '*';
        if (prefix ? strncmp(name, pattern, n - 1) == 0 : strcmp(name, pattern) == 0) {
            return true;
        }
    }
    return false;
}

static void check_env(const struct trainer_plugin *p, const struct job_spec *spec, struct err *err) {
    for (size_t i = 0; i < spec->role_count; i++) {
        for (size_t k = 0; k < spec->roles[i].env_count; k++) {
            const char *name = spec->roles[i].env[k].name;
            if (reserved(p, name)) {
                CLEANUP(mem_free_ptr) char *member = mem_printf("env[%zu].name", k);
                CLEANUP(mem_free_ptr) char *field = role_field(spec, i, member);
                err_violate(err, field, "%s is set by runtime %s", name, p->name);
            }
        }
    }
}

// ---- The canonical tree. Nodes are copied where they change and shared where they do not.

static void append(struct json *parent, struct json **tail, struct json *child) {
    child->next = NULL;
    if (*tail == NULL) {
        parent->first = child;
    } else {
        (*tail)->next = child;
    }
    *tail = child;
    parent->count++;
}

static struct json *copy_node(struct arena *a, const struct json *node) {
    struct json *copy = ARENA_NEW(a, struct json);
    *copy = *node;
    return copy;
}

static struct json *make_text(struct arena *a, enum json_type type, const char *key, const char *text) {
    struct json *node = ARENA_NEW(a, struct json);
    *node = (struct json){.type = type, .key = key, .text = text, .length = strlen(text)};
    return node;
}

static struct json *canonical_role(struct arena *a, const struct trainer_role *role, const struct spec_role *given,
                                   size_t position) {
    static const char *const replaced[] = {"name", "replicas", "restart_policy", "position"};
    uint32_t restart = given->restart == RESTART_DEFAULT ? role->restart : (uint32_t)given->restart;
    struct json *out = ARENA_NEW(a, struct json);
    struct json *tail = NULL;
    out->type = JSON_OBJECT;
    append(out, &tail, make_text(a, JSON_STRING, "name", role->name));
    append(out, &tail, make_text(a, JSON_NUMBER, "replicas", arena_printf(a, "%d", given->replicas)));
    append(out, &tail, make_text(a, JSON_STRING, "restart_policy", restart_name(restart)));
    append(out, &tail, make_text(a, JSON_NUMBER, "position", arena_printf(a, "%zu", position)));
    JSON_EACH (member, given->tree) {
        bool skip = false;
        for (size_t i = 0; i < ARRAY_LEN(replaced); i++) {
            skip |= str_same(member->key, replaced[i]);
        }
        if (!skip) {
            append(out, &tail, copy_node(a, member));
        }
    }
    return out;
}

static struct json *canonical_roles(const struct trainer_plugin *p, const struct job_spec *spec, struct arena *a) {
    struct json *out = ARENA_NEW(a, struct json);
    struct json *tail = NULL;
    *out = (struct json){.type = JSON_ARRAY, .key = "roles"};
    for (const struct trainer_role *role = p->roles; role->name != NULL; role++) {
        for (size_t i = 0; i < spec->role_count; i++) {
            if (find_role(p, spec->roles[i].name) == role) {
                append(out, &tail, canonical_role(a, role, &spec->roles[i], position_of(spec, i)));
            }
        }
    }
    return out;
}

const struct json *spec_canonical(const struct runtime *r, const struct job_spec *spec, struct arena *a,
                                  struct err *err) {
    const struct trainer_plugin *p = r->plugin;
    check_roles(p, spec, err);
    check_env(p, spec, err);
    struct json *out = ARENA_NEW(a, struct json);
    struct json *tail = NULL;
    out->type = JSON_OBJECT;
    JSON_EACH (member, spec->tree) {
        if (!str_same(member->key, "roles")) {
            append(out, &tail, copy_node(a, member));
        }
    }
    append(out, &tail, canonical_roles(p, spec, a));
    return out;
}

// ---- Names

// Length of a target's suffix for one role and its largest index.
static int suffix_length(const char *suffix, const char *role, int32_t last_index) {
    char index[16];
    int length = (int)strlen(suffix);
    int digits = snprintf(index, sizeof index, "%d", last_index);
    for (const char *at = strstr(suffix, "${"); at != NULL; at = strstr(at + 2, "${")) {
        bool is_role = str_starts(at, "${role}");
        length += is_role ? (int)strlen(role) - (int)strlen("${role}") : digits - (int)strlen("${index}");
    }
    return length;
}

int32_t runtime_name_limit(const struct runtime *r, const struct job_spec *spec, const char *target) {
    const struct trainer_target *t = r->plugin->targets;
    while (t->name != NULL && !str_same(t->name, target)) {
        t++;
    }
    int longest = 0;
    for (size_t i = 0; t->name != NULL && spec != NULL && i < spec->role_count; i++) {
        const struct trainer_role *role = find_role(r->plugin, spec->roles[i].name);
        int n =
            suffix_length(t->name_suffix, role != NULL ? role->name : spec->roles[i].name, spec->roles[i].replicas - 1);
        longest = n > longest ? n : longest;
    }
    for (const struct trainer_role *role = r->plugin->roles; t->name != NULL && spec == NULL && role->name != NULL;
         role++) {
        int n = suffix_length(t->name_suffix, role->name, 0);
        longest = n > longest ? n : longest;
    }
    return NAME_LIMIT - longest;
}
