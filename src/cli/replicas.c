#include "cli/replicas.h"

#include "base/mem.h"
#include "cli/internal.h"

#include <string.h>
#include <strings.h>

// The role that --workers counts.
static const struct json *main_role(const struct json *roles) {
    const struct json *last = NULL;
    JSON_EACH (role, roles) {
        if (str_same_nocase(json_string(json_get(role, "name"), ""), "worker")) {
            return role;
        }
        last = role;
    }
    return last;
}

static bool is_required(const struct json *role) {
    return json_bool(json_get(role, "required"), false);
}

// The role that is there once and comes before all workers: a master, chief or launcher. Runtimes that can do without
// one still have it here, as their users know it.
static bool is_leader(const struct json *roles, const struct json *role) {
    return role == json_at(roles, 0) && role != main_role(roles) && call_int(json_get(role, "max_replicas")) == 1;
}

static bool any_leader(const struct json *roles) {
    JSON_EACH (role, roles) {
        if (is_leader(roles, role) || (is_required(role) && role != main_role(roles))) {
            return true;
        }
    }
    return false;
}

static int64_t at_least_one(const struct json *role) {
    int64_t min = call_int(json_get(role, "min_replicas"));
    return min > 1 ? min : 1;
}

// "--replicas ps=2"; -1: not given. The last one counts.
static int64_t named_replicas(const struct cli *cli, const char *role) {
    int64_t replicas = -1;
    size_t at = 0;
    for (const char *text = args_next(&cli->args, "replicas", &at); text != NULL;
         text = args_next(&cli->args, "replicas", &at)) {
        size_t n = strcspn(text, "=");
        if (n == strlen(role) && strncasecmp(text, role, n) == 0) {
            (void)str_to_int64(text + n + 1, 0, 10000, &replicas); // replicas_check has seen it
        }
    }
    return replicas;
}

bool replicas_check(const struct cli *cli, const struct json *roles, struct err *err) {
    const char *names[64];
    size_t n = 0;
    JSON_EACH (role, roles) {
        if (n < ARRAY_LEN(names)) {
            names[n++] = json_string(json_get(role, "name"), "");
        }
    }
    size_t at = 0;
    for (const char *text = args_next(&cli->args, "replicas", &at); text != NULL;
         text = args_next(&cli->args, "replicas", &at)) {
        CLEANUP(mem_free_ptr) char *role = mem_strndup(text, strcspn(text, "="));
        int64_t replicas;
        size_t i = 0;
        while (i < n && !str_same_nocase(names[i], role)) {
            i++;
        }
        if (i == n) {
            const char *nearest = str_nearest(role, names, n);
            return err_fail(err, ERR_INVALID, "USAGE", "--replicas: the runtime has no role \"%s\"%s%s%s", role,
                            nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                            nearest != NULL ? "?" : "");
        }
        if (text[strlen(role)] != '=' || !str_to_int64(text + strlen(role) + 1, 0, 10000, &replicas)) {
            return err_fail(err, ERR_INVALID, "USAGE", "--replicas: \"%s\" is not ROLE=N with N from 0 to 10000", text);
        }
    }
    return true;
}

int64_t replicas_of(const struct cli *cli, const struct json *roles, const struct json *role, int64_t workers) {
    int64_t named = named_replicas(cli, json_string(json_get(role, "name"), ""));
    if (named >= 0) {
        return named;
    }
    if (role == main_role(roles)) {
        bool needed = is_required(role) || !any_leader(roles);
        return workers >= 0 ? workers : (needed ? at_least_one(role) : 0);
    }
    return is_required(role) || is_leader(roles, role) ? at_least_one(role) : 0;
}
