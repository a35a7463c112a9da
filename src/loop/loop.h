// The event loop: the one thread that owns everything. The only door to libev.
//
// It is: timers, descriptors, signals, deferred calls, messages from other threads, a small worker pool.
// It is not: a place for blocking calls. A callback that takes longer than LOOP_SLOW_MS is logged by name.
// Every struct here is embedded in its user's struct, belongs to the loop thread, and must be stopped before its
// memory goes. Callbacks may start, stop and re-arm anything, including what is being called.
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "base/err.h"
#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOOP_SLOW_MS = 20 };

struct loop;

struct loop *loop_new(void);       // one per thread; aborts when the kernel refuses
void loop_free(struct loop *loop); // everything must be stopped; pending deferred calls are run first
void loop_run(struct loop *loop);  // until loop_stop
void loop_stop(struct loop *loop); // from the loop thread

// Timer. after_ms from the real present, not from the turn's cached time. One shot; re-arm in the callback.
struct loop_timer {
    struct loop *loop;
    const char *name; // for the slow log
    void (*fn)(void *ctx);
    void *ctx;
    union {
        void *align;
        char space[64];
    } ev; // libev's watcher
};
void loop_timer_init(struct loop_timer *t, struct loop *loop, const char *name, void (*fn)(void *), void *ctx);
void loop_timer_start(struct loop_timer *t, int64_t after_ms); // restarts when active
void loop_timer_stop(struct loop_timer *t);
bool loop_timer_active(const struct loop_timer *t);

// Descriptor readiness.
enum { LOOP_READ = 1, LOOP_WRITE = 2 };
struct loop_io {
    struct loop *loop;
    const char *name;
    void (*fn)(void *ctx, int events);
    void *ctx;
    int fd; // -1 when stopped
    union {
        void *align;
        char space[64];
    } ev;
};
void loop_io_init(struct loop_io *io, struct loop *loop, const char *name, void (*fn)(void *, int), void *ctx);
void loop_io_start(struct loop_io *io, int fd, int events); // restarts with new events when active
void loop_io_stop(struct loop_io *io);                      // before the descriptor is closed

// Signal, delivered on the loop. One watcher a signal.
struct loop_signal {
    struct loop *loop;
    void (*fn)(void *ctx, int signal);
    void *ctx;
    union {
        void *align;
        char space[64];
    } ev;
};
void loop_signal_start(struct loop_signal *s, struct loop *loop, int signal, void (*fn)(void *, int), void *ctx);
void loop_signal_stop(struct loop_signal *s);

// Deferred call: once, at the end of the present turn. For freeing what is on the stack, and for coalescing:
// posting a task that is already pending does nothing.
struct loop_task {
    struct list link;
    void (*fn)(void *ctx);
    void *ctx;
};
void loop_task_init(struct loop_task *task, void (*fn)(void *), void *ctx);
void loop_defer(struct loop *loop, struct loop_task *task);
void loop_task_cancel(struct loop_task *task);

// Message from any thread: fn runs on the loop thread. The node is the sender's and may be reused in fn.
// Order of one sender is kept. The loop is woken once for many.
struct loop_message {
    struct list link;
    void (*fn)(struct loop_message *message);
};
void loop_post(struct loop *loop, struct loop_message *message);
// Delivers what was posted so far at once: for shutdown, when a sender has been joined and its messages must not
// outlive it. From the loop thread, from within a message too.
void loop_deliver(struct loop *loop);

// Work on a small pool of threads (2): run() sees only what was copied into the struct around it; done() runs on
// the loop thread, always, exactly once.
struct loop_work {
    struct loop_message message;
    struct loop *loop;
    void (*run)(struct loop_work *work);
    void (*done)(struct loop_work *work);
};
void loop_work_start(struct loop *loop, struct loop_work *work);

// Child processes of this process (the default loop reaps). status as of waitpid.
struct loop_child {
    struct loop *loop;
    void (*fn)(void *ctx, int status);
    void *ctx;
    union {
        void *align;
        char space[64];
    } ev;
};
void loop_child_start(struct loop_child *c, struct loop *loop, int pid, void (*fn)(void *, int), void *ctx);
void loop_child_stop(struct loop_child *c);

// A program that is run for its answer: no input, no error output, a session of its own, our signals and descriptors
// not passed on. What it left running in its session is its own affair, unless it had to be killed.
struct loop_program;
struct loop_program_args {
    const char *const *argv; // NULL at the end; argv[0] without a slash is looked up in PATH
    const char *const *env;  // NULL at the end: all of it
    size_t max_output;
    int64_t timeout_ms;
};
enum loop_program_end { LOOP_PROGRAM_EXITED, LOOP_PROGRAM_TIMEOUT, LOOP_PROGRAM_TOO_LARGE };
struct loop_program_result { // valid during the callback
    enum loop_program_end end;
    int status; // as of waitpid; 0 when it was killed
    const char *output;
    size_t output_len;
};
// NULL: it cannot be started, *ret_errno says why; otherwise done is called once, later, and the program is gone.
struct loop_program *loop_program_start(struct loop *loop, const struct loop_program_args *args,
                                        void (*done)(void *ctx, const struct loop_program_result *result), void *ctx,
                                        int *ret_errno);
void loop_program_stop(struct loop_program *program); // kills it and its session; no callback

// A thread of its own, for the store and the completion queue. All signals are blocked in it.
struct loop_thread;
struct loop_thread *loop_thread_new(const char *name, void (*run)(void *ctx), void *ctx);
void loop_thread_join(struct loop_thread *thread); // joins and frees

#endif
