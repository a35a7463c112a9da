// Finding and ending every process of a job, whatever it did with groups and sessions.
#ifndef LOCAL_TREE_H
#define LOCAL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Sends signal (0: only counts) to every process whose environment has NAME=VALUE, and to all descendants of those and
// of pids. Returns how many there were. Zombies do not count.
size_t tree_signal(const char *name, const char *value, const pid_t *pids, size_t pid_count, int signal);
// Whether this process has a child that is none of pids: something that was left behind.
bool tree_has_strangers(const pid_t *pids, size_t pid_count);

#endif
