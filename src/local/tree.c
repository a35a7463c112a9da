#include "local/tree.h"

#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRON_MAX = 4 * 1024 * 1024, STEP_BYTES = 8192 };

struct process {
    pid_t pid, parent, session;
    bool zombie, known;
    const void *owner;
};

struct table {
    struct process *items;
    size_t count, cap;
};

static bool read_proc(pid_t pid, const char *what, struct str *ret) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = -1;
    str_clear(ret);
    while (fd >= 0 && ret->len < ENVIRON_MAX) {
        str_reserve(ret, STEP_BYTES);
        got = read(fd, ret->data + ret->len, STEP_BYTES - 1);
        if (got <= 0) {
            break;
        }
        ret->len += (size_t)got;
    }
    if (fd >= 0) {
        close(fd);
        ret->data[ret->len] = '\0';
    }
    return got >= 0;
}

// ---- The table of all processes

static bool read_stat(pid_t pid, struct str *buffer, struct process *ret) {
    const char *after = read_proc(pid, "stat", buffer) ? strrchr(str_text(buffer), ')') : NULL; // a name may hold any
    char state;
    int parent;
    int session;
    if (after == NULL || sscanf(after + 1, " %c %d %*d %d", &state, &parent, &session) != 3) {
        return false;
    }
    *ret = (struct process){.pid = pid, .parent = parent, .session = session, .zombie = state == 'Z' || state == 'X'};
    return true;
}

static int by_pid(const void *a, const void *b) {
    const struct process *x = a;
    const struct process *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void read_table(struct table *t) {
    DIR *dir = opendir("/proc");
    const struct dirent *e;
    CLEANUP(str_done) struct str buffer = STR_INIT;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        int64_t pid;
        struct process p;
        if (!str_to_int64(e->d_name, 2, INT32_MAX, &pid) || !read_stat((pid_t)pid, &buffer, &p)) {
            continue;
        }
        if (t->count == t->cap) {
            t->cap = t->cap * 2 + 256;
            t->items = mem_realloc_array(t->items, t->cap, sizeof *t->items);
        }
        t->items[t->count++] = p;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (t->count != 0) {
        qsort(t->items, t->count, sizeof *t->items, by_pid);
    }
}

static struct process *find(const struct table *t, pid_t pid) {
    const struct process key = {.pid = pid};
    return t->count != 0 ? bsearch(&key, t->items, t->count, sizeof key, by_pid) : NULL;
}

// What descends from somebody's process is that one's: passes until nothing changes, as many as the tree is deep.
static void inherit(const struct table *t) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < t->count; i++) {
            struct process *p = &t->items[i];
            const struct process *parent = p->known ? NULL : find(t, p->parent);
            if (parent != NULL && parent->known) {
                p->known = changed = true;
                p->owner = parent->owner;
            }
        }
    }
}

static size_t signal_owned(const struct table *t, const void *wanted, int number) {
    size_t found = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct process *p = &t->items[i];
        if (p->known && p->owner == wanted && !p->zombie && p->pid != getpid()) {
            found++;
            if (number != 0) {
                (void)kill(p->pid, number);
            }
        }
    }
    return found;
}

// ---- Questions

size_t tree_signal(tree_owner_fn *owner, void *ctx, const void *wanted, int number) {
    struct table t = {0};
    read_table(&t);
    for (size_t i = 0; i < t.count; i++) {
        struct process *p = &t.items[i];
        if (p->parent == getpid() && !p->zombie) {
            p->known = true;
            p->owner = owner(ctx, p->pid, p->session);
        }
    }
    inherit(&t);
    size_t found = signal_owned(&t, wanted, number);
    mem_free(t.items);
    return found;
}

static int by_number(const void *a, const void *b) {
    pid_t x = *(const pid_t *)a;
    pid_t y = *(const pid_t *)b;
    return x < y ? -1 : x > y;
}

bool tree_has_strangers(const pid_t *pids, size_t count) {
    char path[64];
    CLEANUP(str_done) struct str buffer = STR_INIT;
    snprintf(path, sizeof path, "task/%d/children", (int)getpid());
    if (!read_proc(getpid(), path, &buffer)) {
        return true; // a kernel without this file: look properly
    }
    const char *p = str_text(&buffer);
    for (;;) {
        char *end;
        pid_t pid = (pid_t)strtol(p, &end, 10);
        if (end == p) {
            return false;
        }
        if (count == 0 || bsearch(&pid, pids, count, sizeof pid, by_number) == NULL) {
            return true;
        }
        p = end;
    }
}

static const char *value_in(const struct str *environment, const char *name) {
    size_t n = strlen(name);
    const char *end = str_text(environment) + environment->len;
    for (const char *p = str_text(environment); p < end; p += strlen(p) + 1) {
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            return p + n + 1;
        }
    }
    return NULL;
}

bool tree_env(pid_t pid, const char *name, char *ret, size_t max) {
    CLEANUP(str_done) struct str buffer = STR_INIT;
    const char *value = read_proc(pid, "environ", &buffer) ? value_in(&buffer, name) : NULL;
    return value != NULL && (size_t)snprintf(ret, max, "%s", value) < max;
}

size_t tree_kill_marked(const char *name, const char *value) {
    struct table t = {0};
    CLEANUP(str_done) struct str buffer = STR_INIT;
    read_table(&t);
    for (size_t i = 0; i < t.count; i++) {
        struct process *p = &t.items[i];
        p->known =
            p->pid != getpid() && read_proc(p->pid, "environ", &buffer) && str_same(value_in(&buffer, name), value);
        p->owner = p->known ? &t : NULL;
    }
    inherit(&t);
    size_t found = signal_owned(&t, &t, SIGKILL);
    mem_free(t.items);
    return found;
}
