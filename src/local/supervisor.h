// The supervisor's own structs. Private to local/.
#ifndef LOCAL_SUPERVISOR_H
#define LOCAL_SUPERVISOR_H

#include "base/hash.h"
#include "base/list.h"
#include "local/logfile.h"
#include "local/wire.h"
#include "loop/loop.h"

#include <sys/types.h>

struct supervisor;

struct rank {
    struct list link; // attempt.ranks
    struct attempt *attempt;
    uint32_t number;
    pid_t pid; // 0: none, it was refused
    bool ended;
    int status;
    int64_t ended_ns;
    char *refused; // why it could not be started
    char *note;
    struct loop_child child;
    struct loop_io pipe;
    struct log_writer log;
};

struct attempt {
    struct list link; // supervisor.attempts
    struct supervisor *supervisor;
    char key[48]; // uid/attempt
    char uid[33];
    uint32_t number, total;
    struct list ranks;
    uint32_t ended_count;
    bool stopping, gone, forgotten;
    int signal;               // the next one
    struct loop_timer sooner; // when to send it
};

struct supervisor {
    struct loop *loop;
    char *directory, *logs;
    int lock_fd, listen_fd, client_fd;
    struct loop_io listen, client;
    struct loop_signal term, hangup, interrupt;
    struct loop_timer idle;
    struct loop_child any;
    struct loop_task sweep;
    struct str in, out;
    struct list attempts;
    struct hash by_key;
    bool leaving;
};

// supervisor_say.c
void supervisor_say_rank(struct supervisor *s, const struct rank *r);
void supervisor_say_exit(struct supervisor *s, const struct rank *r);
void supervisor_say_gone(struct supervisor *s, const struct attempt *a);
void supervisor_flush(struct supervisor *s);
// attempt.c
void attempt_spawn(struct supervisor *s, struct wire_reader *r);
void attempt_stop(struct attempt *a, int64_t grace_ms);
void attempt_check(struct attempt *a); // whether it is gone
void attempt_free(struct attempt *a);
struct attempt *attempt_find(struct supervisor *s, const char *uid, uint32_t number);
// spawn.c
// Starts the program; false with a sentence in ret_why. ret_pipe is the read end of its output.
bool spawn_process(const char *const *argv, const char *const *env, const char *cwd, pid_t *ret_pid, int *ret_pipe,
                   char **ret_why);

#endif
