// The plan of local processes: what every runtime shares is written here, so that a plugin adds only its own variables.
//
// Nothing of a plan is trusted: processes must belong to roles of the spec, ranks must come out without gaps, names of
// variables must be unique, templates must hold nothing but ${host} and ${port.NAME}.
#include "plugin/internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "job/quantity.h"

#include <string.h>

enum { VARIABLE_MAX = 128 * 1024, PORT_NAME_MAX = 63 }; // the kernel passes no longer string to a program

struct plan {
    const struct json *tree;
    struct arena arena;   // keys of `ports`
    struct hash ports;    // names seen
    struct str port_list; // JSON array, in the order of first use
    struct json_writer port_json;
    int64_t total;     // replicas of all roles
    bool *rank_taken;  // [total]
    bool *place_taken; // [total]: roles one after the other, their indexes in them
    int64_t processes;
    bool any_decides;

    // The process that is open, or role NULL.
    const struct json *role;
    int64_t index, rank;
    bool decides;
    int64_t cpu_milli, memory, gpu; // what it asks for; 0: nothing was said
    struct str argv, env;
    struct json_writer argv_json, env_json;
    struct arena names_arena;
    struct hash names; // of its variables

    // The variable that is built piece by piece, or variable NULL.
    const char *variable;
    struct str value;
    struct json_writer value_json;
};

static int64_t replicas(const struct json *role) {
    int64_t n;
    return json_int(json_get(role, "replicas"), &n) && n > 0 ? n : 0;
}

struct plan *plan_new(const struct json *tree) {
    struct plan *plan = NEW(struct plan);
    plan->tree = tree;
    json_writer_init(&plan->port_json, &plan->port_list);
    json_begin_array(&plan->port_json);
    JSON_EACH (role, json_get(tree, "roles")) {
        plan->total += replicas(role);
    }
    plan->rank_taken = mem_zalloc((size_t)plan->total);
    plan->place_taken = mem_zalloc((size_t)plan->total);
    return plan;
}

static void close_process(struct plan *plan) {
    str_done(&plan->argv);
    str_done(&plan->env);
    str_done(&plan->value);
    hash_done(&plan->names);
    plan->names = (struct hash)HASH_INIT;
    arena_done(&plan->names_arena);
    plan->role = NULL;
    plan->variable = NULL;
}

void plan_free(struct plan *plan) {
    if (plan == NULL) {
        return;
    }
    close_process(plan);
    hash_done(&plan->ports);
    str_done(&plan->port_list);
    arena_done(&plan->arena);
    mem_free(plan->rank_taken);
    mem_free(plan->place_taken);
    mem_free(plan);
}

// ---- Which calls are allowed now

static struct plan *plan_of(struct trainer_writer *w, const char *service) {
    if (w->plan == NULL) {
        writer_misuse(w, "called %s outside of plan_local", service);
    }
    return w->wrong[0] == '\0' && !w->too_large ? w->plan : NULL;
}

static struct plan *open_process(struct trainer_writer *w, const char *service) {
    struct plan *plan = plan_of(w, service);
    if (plan != NULL && (plan->role == NULL || plan->variable != NULL)) {
        writer_misuse(w, plan->role == NULL ? "called %s without an open process" : "called %s inside plan_env_begin",
                      service);
        return NULL;
    }
    return plan;
}

static bool room_for(struct trainer_writer *w, const struct plan *plan, size_t more) {
    return writer_room(w, plan->argv.len + plan->env.len + plan->value.len + more);
}

static bool text_ok(struct trainer_writer *w, const char *service, const char *text) {
    size_t n = text != NULL ? strlen(text) : 0;
    if (text == NULL || str_utf8_valid(text, n) != n) {
        writer_misuse(w, "gave %s %s", service, text == NULL ? "NULL" : "text that is not UTF-8");
        return false;
    }
    return true;
}

// ---- Processes

// Where a replica stands among all, or -1 when there is no such replica.
static int64_t place_of(const struct plan *plan, const struct json *role, int64_t index) {
    int64_t place = 0;
    JSON_EACH (one, json_get(plan->tree, "roles")) {
        if (one == role) {
            return index >= 0 && index < replicas(one) ? place + index : -1;
        }
        place += replicas(one);
    }
    return -1;
}

// A sum that stays within what the numbers can hold: more than any machine has either way. times > 0.
static int64_t add_times(int64_t sum, int64_t value, int64_t times, int64_t most) {
    return value > (most - sum) / times ? most : sum + value * times;
}

static void add_resources(struct plan *plan, const struct json *role, int64_t times) {
    const struct json *resources = json_get(role, "resources");
    int64_t cpu = 0;
    int64_t memory = 0;
    int64_t gpu = 0;
    // Checked with the spec; what is not given stays 0.
    (void)quantity_milli(json_string(json_get(resources, "cpu"), "0"), &cpu);
    (void)quantity_whole(json_string(json_get(resources, "memory"), "0"), &memory);
    (void)json_int(json_get(resources, "gpu"), &gpu);
    plan->cpu_milli = add_times(plan->cpu_milli, cpu, times, INT64_MAX);
    plan->memory = add_times(plan->memory, memory, times, INT64_MAX);
    plan->gpu = add_times(plan->gpu, gpu, times, INT32_MAX);
}

static void host_process(struct trainer_writer *w, const struct trainer_value *value, int64_t index, int64_t rank,
                         int32_t decides) {
    const struct json *role = (const struct json *)(const void *)value;
    struct plan *plan = plan_of(w, "plan_process");
    if (plan == NULL) {
        return;
    }
    if (plan->role != NULL) {
        writer_misuse(w, "began a process inside another one");
        return;
    }
    int64_t place = place_of(plan, role, index);
    if (place < 0) {
        writer_misuse(w, "planned a process of an unknown role, or with index %lld beyond its replicas",
                      (long long)index);
        return;
    }
    if (rank < 0 || rank >= plan->total || plan->rank_taken[rank]) {
        writer_misuse(w, "planned rank %lld, which is taken or not below %lld", (long long)rank,
                      (long long)plan->total);
        return;
    }
    if (plan->place_taken[place]) {
        writer_misuse(w, "planned index %lld of a role twice", (long long)index);
        return;
    }
    plan->rank_taken[rank] = plan->place_taken[place] = true;
    plan->processes++;
    plan->any_decides |= decides != 0;
    plan->role = role;
    plan->index = index;
    plan->rank = rank;
    plan->decides = decides != 0;
    plan->cpu_milli = plan->memory = plan->gpu = 0;
    add_resources(plan, role, 1);
    json_writer_init(&plan->argv_json, &plan->argv);
    json_begin_array(&plan->argv_json);
    json_writer_init(&plan->env_json, &plan->env);
    json_begin_array(&plan->env_json);
}

static void host_arg(struct trainer_writer *w, const char *text) {
    struct plan *plan = open_process(w, "plan_arg");
    if (plan != NULL && text_ok(w, "plan_arg", text) && room_for(w, plan, strlen(text))) {
        json_add_string(&plan->argv_json, text);
    }
}

static void host_resources(struct trainer_writer *w, const struct trainer_value *role, int64_t times) {
    struct plan *plan = open_process(w, "plan_resources");
    if (plan != NULL && times > 0) {
        add_resources(plan, (const struct json *)(const void *)role, times);
    }
}

static void add_role_argv(struct trainer_writer *w, struct plan *plan) {
    static const char *const parts[] = {"command", "args"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        JSON_EACH (arg, json_get(plan->role, parts[i])) {
            if (room_for(w, plan, arg->length)) {
                json_add_node(&plan->argv_json, arg);
            }
        }
    }
}

static void add_role_env(struct trainer_writer *w, struct plan *plan) {
    JSON_EACH (one, json_get(plan->role, "env")) {
        const char *name = json_string(json_get(one, "name"), "");
        const char *value = json_string(json_get(one, "value"), "");
        if (hash_get(&plan->names, name) == NULL && room_for(w, plan, strlen(name) + strlen(value))) {
            json_begin_object(&plan->env_json);
            json_key(&plan->env_json, "name");
            json_add_string(&plan->env_json, name);
            json_key(&plan->env_json, "value");
            json_add_string(&plan->env_json, value);
            json_end_object(&plan->env_json);
        }
    }
}

static void add_text(struct json_writer *json, const char *key, const struct json *text) {
    if (!str_is_empty(json_string(text, NULL))) {
        json_key(json, key);
        json_add_string(json, text->text);
    }
}

static void add_quantity(struct json_writer *json, const char *key, int64_t value, const char *unit) {
    if (value != 0) {
        CLEANUP(mem_free_ptr) char *text = mem_printf("%lld%s", (long long)value, unit);
        json_key(json, key);
        json_add_string(json, text);
    }
}

static void add_process(struct trainer_writer *w, const struct plan *plan) {
    struct json_writer *json = &w->json;
    json_begin_object(json);
    add_text(json, "role", json_get(plan->role, "name"));
    json_key(json, "index");
    json_add_int(json, plan->index);
    json_key(json, "rank");
    json_add_int(json, plan->rank);
    json_key(json, "decides");
    json_add_bool(json, plan->decides);
    json_key(json, "argv");
    json_add_raw(json, str_text(&plan->argv));
    json_key(json, "env");
    json_add_raw(json, str_text(&plan->env));
    add_text(json, "working_dir", json_get(plan->role, "working_dir"));
    add_text(json, "restart", json_get(plan->role, "restart_policy"));
    add_quantity(json, "cpu", plan->cpu_milli, "m");
    add_quantity(json, "memory", plan->memory, "");
    json_key(json, "gpu");
    json_add_int(json, plan->gpu);
    json_end_object(json);
}

static void host_process_end(struct trainer_writer *w) {
    struct plan *plan = open_process(w, "plan_process_end");
    if (plan == NULL) {
        return;
    }
    add_role_argv(w, plan);
    add_role_env(w, plan);
    json_end_array(&plan->argv_json);
    json_end_array(&plan->env_json);
    if (room_for(w, plan, 0)) {
        add_process(w, plan);
    }
    close_process(plan);
}

// ---- Variables

static bool add_port(struct trainer_writer *w, struct plan *plan, const char *name, size_t n) {
    if (n == 0 || n > PORT_NAME_MAX || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") < n) {
        writer_misuse(w, "used a port name that is not [a-z0-9-] of at most %d bytes", PORT_NAME_MAX);
        return false;
    }
    char *key = arena_strndup(&plan->arena, name, n);
    if (hash_get(&plan->ports, key) == NULL) {
        hash_put(&plan->ports, key, key);
        json_add_string(&plan->port_json, key);
    }
    return true;
}

// Notes the ports of a template. ret_any: whether there is anything to replace.
static bool scan_template(struct trainer_writer *w, struct plan *plan, const char *text, bool *ret_any) {
    static const char host[] = "${host}";
    static const char port[] = "${port.";
    *ret_any = false;
    for (const char *at = strstr(text, "${"); at != NULL; at = strstr(at + 2, "${")) {
        const char *end = strchr(at, '}');
        *ret_any = true;
        if (str_starts(at, host)) {
            continue;
        }
        if (!str_starts(at, port) || end == NULL) {
            writer_misuse(w, "used \"%.*s\" in a template, which knows ${host} and ${port.NAME}", text_cut(at, 40), at);
            return false;
        }
        const char *name = at + strlen(port);
        if (!add_port(w, plan, name, (size_t)(end - name))) {
            return false;
        }
    }
    return true;
}

// Takes the name: valid and for the first time in this process.
static bool take_name(struct trainer_writer *w, struct plan *plan, const char *name) {
    if (!text_line_valid(name, 256) || !job_env_name_valid(name)) {
        writer_misuse(w, "set a variable whose name is not valid");
        return false;
    }
    if (hash_get(&plan->names, name) != NULL) {
        writer_misuse(w, "set the variable %s twice", name);
        return false;
    }
    char *key = arena_strdup(&plan->names_arena, name);
    hash_put(&plan->names, key, key);
    return true;
}

static void add_variable(struct trainer_writer *w, struct plan *plan, const char *name, const char *text,
                         bool template) {
    size_t n = strlen(text);
    if (n > VARIABLE_MAX) {
        w->too_large = true;
    }
    if (!room_for(w, plan, n)) {
        return;
    }
    json_begin_object(&plan->env_json);
    json_key(&plan->env_json, "name");
    json_add_string(&plan->env_json, name);
    json_key(&plan->env_json, template ? "template" : "value");
    json_add_string(&plan->env_json, text);
    json_end_object(&plan->env_json);
}

static void host_env(struct trainer_writer *w, const char *name, const char *text) {
    struct plan *plan = open_process(w, "plan_env");
    if (plan != NULL && text_ok(w, "plan_env", text) && take_name(w, plan, name)) {
        add_variable(w, plan, name, text, false);
    }
}

static void host_env_integer(struct trainer_writer *w, const char *name, int64_t value) {
    CLEANUP(mem_free_ptr) char *text = mem_printf("%lld", (long long)value);
    host_env(w, name, text);
}

static void host_env_template(struct trainer_writer *w, const char *name, const char *text) {
    struct plan *plan = open_process(w, "plan_env_template");
    bool any;
    if (plan != NULL && text_ok(w, "plan_env_template", text) && take_name(w, plan, name) &&
        scan_template(w, plan, text, &any)) {
        add_variable(w, plan, name, text, any);
    }
}

static void host_env_begin(struct trainer_writer *w, const char *name) {
    struct plan *plan = open_process(w, "plan_env_begin");
    if (plan == NULL || !take_name(w, plan, name)) {
        return;
    }
    plan->variable = hash_get(&plan->names, name);
    json_writer_init(&plan->value_json, &plan->value);
    w->to = &plan->value_json;
}

static struct plan *open_variable(struct trainer_writer *w, const char *service) {
    struct plan *plan = plan_of(w, service);
    if (plan != NULL && plan->variable == NULL) {
        writer_misuse(w, "called %s without plan_env_begin", service);
        return NULL;
    }
    return plan;
}

static void host_env_add(struct trainer_writer *w, const char *text) {
    struct plan *plan = open_variable(w, "plan_env_add");
    if (plan != NULL && text_ok(w, "plan_env_add", text) && room_for(w, plan, strlen(text))) {
        str_add(&plan->value, text);
    }
}

static void host_env_end(struct trainer_writer *w) {
    struct plan *plan = open_variable(w, "plan_env_end");
    if (plan == NULL) {
        return;
    }
    bool any;
    w->to = NULL;
    if (!json_writer_ok(&plan->value_json)) {
        writer_misuse(w, "wrote JSON that is not well-formed into %s", plan->variable);
    } else if (scan_template(w, plan, str_text(&plan->value), &any)) {
        struct str value = plan->value; // its bytes are counted once, with the variable
        plan->value = (struct str)STR_INIT;
        add_variable(w, plan, plan->variable, str_text(&value), any);
        str_done(&value);
    }
    str_clear(&plan->value);
    plan->variable = NULL;
}

// ---- The whole

void plan_finish(struct plan *plan, struct trainer_writer *w) {
    if (plan->role != NULL) {
        writer_misuse(w, "left a process open");
    }
    if (plan->processes == 0) {
        writer_misuse(w, "planned no process");
    }
    for (int64_t i = 0; i < plan->processes; i++) {
        if (!plan->rank_taken[i]) {
            writer_misuse(w, "planned %lld processes and no rank %lld", (long long)plan->processes, (long long)i);
        }
    }
    if (!plan->any_decides) {
        writer_misuse(w, "planned no process that decides about success");
    }
    json_end_array(&plan->port_json);
    json_end_array(&w->json);
    json_key(&w->json, "ports");
    json_add_raw(&w->json, str_text(&plan->port_list));
    json_end_object(&w->json);
}

void plan_services(struct trainer_host *ret) {
    ret->plan_process = host_process;
    ret->plan_arg = host_arg;
    ret->plan_resources = host_resources;
    ret->plan_env = host_env;
    ret->plan_env_integer = host_env_integer;
    ret->plan_env_template = host_env_template;
    ret->plan_env_begin = host_env_begin;
    ret->plan_env_add = host_env_add;
    ret->plan_env_end = host_env_end;
    ret->plan_process_end = host_process_end;
}
