// What a process gets: its environment, and nothing of the daemon's but where it lives.
#include "local/executor.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern char **environ;

// ${host} and ${port.NAME} of a template.
static void expand(const struct run *r, const char *text, struct str *out) {
    for (const char *p = text; *p != '\0';) {
        const char *open = strstr(p, "${");
        const char *close = open != NULL ? strchr(open, '}') : NULL;
        if (close == NULL) {
            str_add(out, p);
            return;
        }
        str_add_bytes(out, p, (size_t)(open - p));
        size_t n = (size_t)(close - open - 2);
        const char *name = open + 2;
        if (n == 4 && memcmp(name, "host", 4) == 0) {
            str_add(out, "127.0.0.1");
        }
        for (size_t i = 0; i < r->plan->port_count; i++) {
            const char *port = r->plan->ports[i];
            if (n == strlen(port) + 5 && memcmp(name, "port.", 5) == 0 && memcmp(name + 5, port, n - 5) == 0) {
                str_printf(out, "%d", r->ports[i]);
            }
        }
        p = close + 1;
    }
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
    for (const int32_t *id = r->procs[p->rank].gpus; id != NULL && *id >= 0; id++) {
        str_printf(&ids, "%s%d", ids.len == 0 ? "" : ",", *id);
    }
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

void env_put_spawn(const struct run *r, const struct plan_process *p, const char *note, struct str *out) {
    CLEANUP(mem_free_ptr) char *own = mem_printf("%s/%s", r->local->work_dir, r->uid);
    size_t mark;
    if (p->working_dir == NULL) {
        (void)mkdir(own, 0700); // if it cannot be made, the start says so
    }
    wire_begin(out, WIRE_SPAWN, &mark);
    wire_text(out, r->uid);
    wire_u32(out, (uint32_t)r->attempt);
    wire_u32(out, (uint32_t)p->rank);
    wire_u32(out, (uint32_t)r->plan->process_count);
    wire_text(out, p->role);
    wire_u32(out, (uint32_t)p->index);
    wire_text(out, note);
    wire_u64(out, (uint64_t)r->local->options.log_cap_bytes);
    wire_text(out, p->working_dir != NULL ? p->working_dir : own);
    wire_u32(out, (uint32_t)p->argc);
    for (size_t i = 0; i < p->argc; i++) {
        wire_text(out, p->argv[i]);
    }
    put_env(r, p, out);
    wire_end(out, mark);
}
