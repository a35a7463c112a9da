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

struct process {
    pid_t pid, parent;
    bool wanted, zombie;
};

struct table {
    struct process *items;
    size_t count, cap;
};

static ssize_t read_proc(pid_t pid, const char *what, char **buffer, size_t *cap) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    size_t n = 0;
    ssize_t got;
    do {
        if (*cap - n < 4096) {
            *cap = *cap * 2 + 8192;
            *buffer = mem_realloc_array(*buffer, *cap, 1);
        }
        got = read(fd, *buffer + n, *cap - n - 1);
        n += got > 0 ? (size_t)got : 0;
    } while (got > 0 && n < 4 * 1024 * 1024);
    close(fd);
    (*buffer)[n] = '\0';
    return (ssize_t)n;
}

static bool has_mark(pid_t pid, const char *mark, char **buffer, size_t *cap) {
    ssize_t n = read_proc(pid, "environ", buffer, cap);
    size_t length = strlen(mark);
    for (const char *p = *buffer; n > 0 && p < *buffer + n; p += strlen(p) + 1) {
        if (strncmp(p, mark, length + 1) == 0) {
            return true;
        }
    }
    return false;
}

static bool among(pid_t pid, const pid_t *pids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (pids[i] == pid) {
            return true;
        }
    }
    return false;
}

static void look(struct table *t, const char *mark, const pid_t *pids, size_t pid_count) {
    DIR *dir = opendir("/proc");
    const struct dirent *e;
    char *buffer = NULL;
    size_t cap = 0;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        int64_t pid;
        if (!str_to_int64(e->d_name, 2, INT32_MAX, &pid) || read_proc((pid_t)pid, "stat", &buffer, &cap) <= 0) {
            continue;
        }
        const char *after = strrchr(buffer, ')'); // the name may hold anything
        char state = 'Z';
        int parent = 0;
        if (after == NULL || sscanf(after + 1, " %c %d", &state, &parent) != 2) {
            continue;
        }
        if (t->count == t->cap) {
            t->cap = t->cap * 2 + 64;
            t->items = mem_realloc_array(t->items, t->cap, sizeof *t->items);
        }
        t->items[t->count++] =
            (struct process){.pid = (pid_t)pid,
                             .parent = (pid_t)parent,
                             .zombie = state == 'Z' || state == 'X',
                             .wanted = among((pid_t)pid, pids, pid_count) || has_mark((pid_t)pid, mark, &buffer, &cap)};
    }
    if (dir != NULL) {
        closedir(dir);
    }
    mem_free(buffer);
}

// Descendants of what is wanted are wanted: passes until nothing changes, which is as often as the tree is deep.
static void spread(struct table *t) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < t->count; i++) {
            for (size_t k = 0; !t->items[i].wanted && k < t->count; k++) {
                if (t->items[k].wanted && t->items[k].pid == t->items[i].parent && t->items[k].pid != getpid()) {
                    t->items[i].wanted = changed = true;
                }
            }
        }
    }
}

size_t tree_signal(const char *name, const char *value, const pid_t *pids, size_t pid_count, int signal_number) {
    struct table t = {0};
    size_t found = 0;
    CLEANUP(mem_free_ptr) char *mark = mem_printf("%s=%s", name, value);
    look(&t, mark, pids, pid_count);
    spread(&t);
    for (size_t i = 0; i < t.count; i++) {
        if (t.items[i].wanted && !t.items[i].zombie && t.items[i].pid != getpid()) {
            found++;
            if (signal_number != 0) {
                (void)kill(t.items[i].pid, signal_number);
            }
        }
    }
    mem_free(t.items);
    return found;
}

bool tree_has_strangers(const pid_t *pids, size_t pid_count) {
    char path[64];
    char *buffer = NULL;
    size_t cap = 0;
    bool found = false;
    snprintf(path, sizeof path, "task/%d/children", (int)getpid());
    if (read_proc(getpid(), path, &buffer, &cap) < 0) {
        mem_free(buffer);
        return true; // a kernel without this file: look properly
    }
    for (char *p = buffer; !found && *p != '\0';) {
        char *end;
        long pid = strtol(p, &end, 10);
        if (end == p) {
            break;
        }
        found = !among((pid_t)pid, pids, pid_count);
        p = end;
    }
    mem_free(buffer);
    return found;
}
