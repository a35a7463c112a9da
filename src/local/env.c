// What a process gets: its environment, and nothing of the daemon's but where it lives.
#include "local/executor.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Adds what a name in a template stands for; false: it is not ours, and stays as it is.
static bool add_named(const struct run *r, const char *name, size_t n, struct str *out) {
    static const char port[] = "port.";
    if (n == 4 && memcmp(name, "host", n) == 0) {
        str_add(out, "127.0.0.1");
        return true;
    }
    for (size_t i = 0; i < r->plan->port_count; i++) {
        size_t length = strlen(r->plan->ports[i]);
        if (n == length + sizeof port - 1 && memcmp(name, port, sizeof port - 1) == 0 &&
            memcmp(name + sizeof port - 1, r->plan->ports[i], length) == 0) {
            str_printf(out, "%d", r->ports[i]);
            return true;
        }
    }
    return false;
}

// ${host} and ${port.NAME} of a template.
static void expand(const struct run *r, const char *text, struct str *out) {
    const char *p = text;
    const char *open;
    while ((open = strstr(p, "${")) != NULL) {
        size_t n = strcspn(open + 2, "}");
        str_add_bytes(out, p, (size_t)(open - p));
        if (open[2 + n] == '}' && add_named(r, open + 2, n, out)) {
            p = open + 2 + n + 1;
        } else {
            str_add_bytes(out, open, 2);
            p = open + 2;
        }
    }
    str_add(out, p);
}

struct list_of {
    struct str *out;
    uint32_t count;
};

static void put(struct list_of *l, const char *name, const char *value) {
    CLEANUP(mem_free_ptr) char *text = mem_printf("%s=%s", name, value);
    wire_text(l->out, text);
    l->count++;
}

static bool in_plan(const struct plan_process *p, const char *name) {
    for (size_t i = 0; i < p->env_count; i++) {
        if (strcmp(p->env[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_base(struct list_of *l, const struct plan_process *p) {
    static const struct {
        const char *name, *fallback;
    } kept[] = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                {"HOME", "/"},
                {"USER", NULL},
                {"LOGNAME", NULL},
                {"LANG", "C.UTF-8"},
                {"TZ", NULL},
                {"TMPDIR", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const char *value = getenv(kept[i].name);
        value = value != NULL ? value : kept[i].fallback;
        if (value != NULL && !in_plan(p, kept[i].name)) {
            put(l, kept[i].name, value);
        }
    }
}

static void put_job(struct list_of *l, const struct run *r, const struct plan_process *p) {
    char attempt[16];
    char rank[16];
    char index[16];
    snprintf(attempt, sizeof attempt, "%d", r->attempt);
    snprintf(rank, sizeof rank, "%d", p->rank);
    snprintf(index, sizeof index, "%d", p->index);
    const struct {
        const char *name, *value;
    } vars[] = {{"TRAINERD_JOB_UID", r->uid},
                {"TRAINERD_JOB_NAME", r->name},
                {"TRAINERD_NAMESPACE", r->namespace_},
                {"TRAINERD_ATTEMPT", attempt},
                {"TRAINERD_RANK", rank},
                {"TRAINERD_ROLE", p->role},
                {"TRAINERD_INDEX", index},
                {"TRAINERD_SUPERVISOR", r->local->options.state_dir}};
    for (size_t i = 0; i < ARRAY_LEN(vars); i++) {
        put(l, vars[i].name, vars[i].value);
    }
}

static void put_gpus(struct list_of *l, const struct run *r, const struct plan_process *p) {
    CLEANUP(str_done) struct str ids = STR_INIT;
    slots_note(r, (uint32_t)p->rank, &ids);
    if (!in_plan(p, "CUDA_VISIBLE_DEVICES")) {
        put(l, "CUDA_VISIBLE_DEVICES", str_text(&ids));
    }
}

static void put_env(const struct run *r, const struct plan_process *p, struct str *out) {
    struct str body = STR_INIT;
    struct list_of l = {.out = &body};
    put_base(&l, p);
    put_job(&l, r, p);
    put_gpus(&l, r, p);
    for (size_t i = 0; i < p->env_count; i++) {
        const struct plan_env *e = &p->env[i];
        CLEANUP(str_done) struct str value = STR_INIT;
        if (strncmp(e->name, "TRAINERD_", 9) == 0) {
            continue; // these say who it is; nobody else may
        }
        if (e->is_template) {
            expand(r, e->value, &value);
        }
        put(&l, e->name, e->is_template ? str_text(&value) : e->value);
    }
    wire_u32(out, l.count);
    str_add_bytes(out, body.data, body.len);
    str_done(&body);
}

static void put_argv(const struct run *r, const struct plan_process *p, struct str *out) {
    wire_u32(out, (uint32_t)p->argc);
    for (size_t i = 0; i < p->argc; i++) {
        CLEANUP(str_done) struct str text = STR_INIT;
        if (p->argv_is_template) {
            expand(r, p->argv[i], &text);
        }
        wire_text(out, p->argv_is_template ? str_text(&text) : p->argv[i]);
    }
}

// What the supervisor keeps for the next daemon: "ports;gpus".
static void put_note(const struct run *r, const struct plan_process *p, struct str *out) {
    CLEANUP(str_done) struct str note = STR_INIT;
    ports_note(r, &note);
    str_add_char(&note, ';');
    slots_note(r, (uint32_t)p->rank, &note);
    wire_text(out, str_text(&note));
}

bool env_put_spawn(const struct run *r, const struct plan_process *p, struct str *out) {
    CLEANUP(mem_free_ptr) char *own = mem_printf("%s/%s", r->local->work_dir, r->uid);
    size_t mark;
    wire_begin(out, WIRE_SPAWN, &mark);
    wire_text(out, r->uid);
    wire_u32(out, (uint32_t)r->attempt);
    wire_u32(out, (uint32_t)p->rank);
    wire_u32(out, (uint32_t)r->plan->process_count);
    wire_text(out, p->role);
    wire_u32(out, (uint32_t)p->index);
    put_note(r, p, out);
    wire_u64(out, (uint64_t)r->local->options.log_cap_bytes);
    wire_text(out, p->working_dir != NULL ? p->working_dir : own);
    wire_u32(out, p->working_dir == NULL);
    put_argv(r, p, out);
    put_env(r, p, out);
    return wire_end(out, mark);
}
