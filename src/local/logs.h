// Readers of logs. Private to local/.
#ifndef LOCAL_LOGS_H
#define LOCAL_LOGS_H

#include "local/executor.h"
#include "local/logtoken.h"
#include "local/logview.h"

struct cursor {
    struct log_view view;
    uint32_t attempt, rank, index;
    char role[LOG_ROLE_MAX + 1];
    uint64_t offset;
    bool announced;
    bool placed;                // it is known where to begin
    bool stale, stale_segments; // its files have changed since they were looked at
    bool held;                  // what it has is no whole line yet, and nobody gave up on the rest
};

struct backend_log {
    struct list link; // log_dir.readers
    struct log_dir *dir;
    struct local *local;
    struct backend_log_query query;
    char *uid, *role, *path;
    uint32_t attempt_from, attempt_to;
    bool terminal, role_known, index_known;
    bool opened;             // cursors that come now are of processes that have just begun
    bool stale;              // some cursor is, or there are new logs
    bool new_logs;           // files came
    struct cursor **cursors; // by attempt, then rank; attempts that were read are not among them any more
    size_t count;
    struct log_token resume;
    struct loop_task wake_task;
    void (*wake)(void *ctx);
    void *ctx;
    struct str buffer, token;
    struct log_place *places; // of the token that is being made
};

// One inotify watch a directory, for all who read there.
struct log_dir {
    struct list link; // local.log_dirs
    struct list readers;
    int watch;
    char *path;
    uint32_t refs;
};

// logdir.c
struct log_dir *log_dir_ref(struct local *l, const char *path);
void log_dir_unref(struct local *l, struct log_dir *d);
// logfind.c: which logs there are
uint32_t logs_newest_attempt(const char *path); // 0: none
void logs_refresh(struct backend_log *r);
void logs_drop_cursor(struct backend_log *r, size_t at);

#endif
