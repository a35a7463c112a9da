// Finding and ending every process of a job, whatever it did with groups and sessions. Linux: /proc.
#ifndef LOCAL_TREE_H
#define LOCAL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Whose the child of this process is; what descends from it is the same one's.
typedef const void *tree_owner_fn(void *ctx, pid_t child, pid_t session);

// Sends signal (0: only counts) to every descendant of this process that is `wanted`'s. This process is a subreaper:
// whatever a job starts descends from it, and what lost its parents is its child. Returns how many there were.
size_t tree_signal(tree_owner_fn *owner, void *ctx, const void *wanted, int signal);
// Whether this process has a child that is none of pids (ascending): something that was left behind.
bool tree_has_strangers(const pid_t *pids, size_t count);
// Value of a variable in the environment that a process was started with; false: it has none, or cannot be read.
bool tree_env(pid_t pid, const char *name, char *ret, size_t max);
// KILL for all processes whose environment has name=value, and what descends from them. For what a subreaper left
// behind when it was killed itself. Returns how many there were.
size_t tree_kill_marked(const char *name, const char *value);

#endif
