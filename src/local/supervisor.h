// The supervisor's own structs. Private to local/.
#ifndef LOCAL_SUPERVISOR_H
#define LOCAL_SUPERVISOR_H

#include "base/hash.h"
#include "base/list.h"
#include "local/logfile.h"
#include "local/wire.h"
#include "loop/loop.h"

#include <sys/resource.h>
#include <sys/types.h>

struct rank {
    struct list live; // supervisor.live, while its process is
    struct attempt *attempt;
    uint32_t number;
    pid_t pid; // 0: none, it was refused
    bool ended;
    int status;
    int64_t started_ns, ended_ns; // wall
    char *refused;                // why it could not be started
    char *note;                   // the daemon's
    struct loop_child child;
    struct loop_io pipe;
    struct log_writer log;
};

struct attempt {
    struct list link;      // supervisor.attempts
    struct list ending;    // supervisor.ending, when only what its ranks left behind is waited for
    struct attempt *older; // of the same job
    struct supervisor *supervisor;
    char uid[WIRE_UID_MAX + 1];
    uint32_t number, total;
    struct rank **ranks; // [total]; NULL: not spawned yet
    uint32_t present, ended_count;
    bool stopping, gone, forgotten;
    char *why;                // the daemon's reason to stop it
    int64_t kill_at_ns;       // mono
    int64_t again_ms;         // between one KILL and the next
    struct loop_timer killer; // when to send KILL
};

struct supervisor {
    struct loop *loop;
    char *directory, *logs;
    int lock_fd, listen_fd, client_fd;
    struct loop_io listen, client;
    struct loop_signal term, hangup, interrupt;
    struct loop_timer idle;
    struct loop_child any;
    struct loop_task sweep, flush;
    struct str in, out;
    size_t sent; // of out
    struct list attempts, ending, live;
    size_t live_count;
    struct hash by_uid; // the newest attempt of a job
    struct rlimit files;
    bool leaving;
};

// talk.c
bool talk_listen(struct supervisor *s);
void talk_close(struct supervisor *s);
void talk_say_rank(struct supervisor *s, const struct rank *r);
void talk_say_exit(struct supervisor *s, const struct rank *r);
void talk_say_gone(struct supervisor *s, const struct attempt *a);
void talk_start_idle(struct supervisor *s);
// attempt.c
void attempt_spawn(struct supervisor *s, const struct wire_spawn *spawn);
void attempt_stop(struct attempt *a, int64_t grace_ms, const char *why);
void attempt_forget(struct supervisor *s, const char *uid, uint32_t number); // and older ones
void attempt_check(struct attempt *a);                                       // whether it is gone
void attempt_free(struct attempt *a);
struct attempt *attempt_find(const struct supervisor *s, const char *uid, uint32_t number);
// reach.c: what belongs to an attempt
bool reach_strangers(const struct supervisor *s);         // whether anything is there that is no rank
size_t reach_signal(const struct attempt *a, int signal); // all of the attempt's; returns how many there are
// spawn.c
// Starts the program; false with a sentence in ret_why. ret_pipe is the read end of its output. files: its limit.
bool spawn_process(const struct wire_spawn *spawn, const struct rlimit *files, pid_t *ret_pid, int *ret_pipe,
                   char **ret_why);

#endif
