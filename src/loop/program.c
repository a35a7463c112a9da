// A program run for its answer: its output up to a bound, within a time.
#include "loop/internal.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

struct loop_program {
    struct loop *loop;
    pid_t pid;
    int output; // our end of the pipe
    struct loop_io io;
    struct loop_child child;
    struct loop_timer limit;
    struct str text;
    size_t max_output;
    void (*done)(void *ctx, const struct loop_program_result *result);
    void *ctx;
};

static void program_free(struct loop_program *p) {
    loop_timer_stop(&p->limit);
    loop_child_stop(&p->child); // the loop reaps it all the same
    loop_io_stop(&p->io);
    fd_close(&p->output);
    str_done(&p->text);
    mem_free(p);
}

static void finish(struct loop_program *p, enum loop_program_end end, int status) {
    struct str text = p->text;
    const struct loop_program_result result = {
        .end = end, .status = status, .output = str_text(&text), .output_len = text.len};
    void (*done)(void *, const struct loop_program_result *) = p->done;
    void *ctx = p->ctx;
    p->text = (struct str)STR_INIT;
    if (end != LOOP_PROGRAM_EXITED) {
        kill(-p->pid, SIGKILL); // reaped in this very turn at the earliest, so the number is its own
    }
    program_free(p);
    done(ctx, &result);
    str_done(&text);
}

// What is there now. false: it is more than was allowed.
static bool drain(struct loop_program *p) {
    for (;;) {
        char piece[16 * 1024];
        ssize_t n = read(p->output, piece, sizeof piece);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            if (n == 0) {
                loop_io_stop(&p->io);
            }
            return true;
        }
        if ((size_t)n > p->max_output - p->text.len) {
            return false;
        }
        str_add_bytes(&p->text, piece, (size_t)n);
    }
}

static void on_output(void *ctx, int events UNUSED) {
    struct loop_program *p = ctx;
    if (!drain(p)) {
        finish(p, LOOP_PROGRAM_TOO_LARGE, 0);
    }
}

// Its end counts, not that of its output: something that it left behind may hold that open for ever.
static void on_exit_of(void *ctx, int status) {
    struct loop_program *p = ctx;
    bool fits = drain(p);
    finish(p, fits ? LOOP_PROGRAM_EXITED : LOOP_PROGRAM_TOO_LARGE, fits ? status : 0);
}

static void on_limit(void *ctx) {
    finish(ctx, LOOP_PROGRAM_TIMEOUT, 0);
}

// Returns an errno.
static int spawn(const struct loop_program_args *args, int output, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawnp(ret_pid, args->argv[0], &actions, &attributes, (char *const *)(uintptr_t)args->argv,
                              (char *const *)(uintptr_t)args->env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

struct loop_program *loop_program_start(struct loop *loop, const struct loop_program_args *args,
                                        void (*done)(void *ctx, const struct loop_program_result *result), void *ctx,
                                        int *ret_errno) {
    int ends[2];
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *ret_errno = errno;
        return NULL;
    }
    int failed = spawn(args, ends[1], &pid);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        *ret_errno = failed;
        return NULL;
    }
    fd_set_nonblock(ends[0]);
    struct loop_program *p = NEW(struct loop_program);
    p->loop = loop;
    p->pid = pid;
    p->output = ends[0];
    p->max_output = args->max_output;
    p->done = done;
    p->ctx = ctx;
    loop_io_init(&p->io, loop, "program output", on_output, p);
    loop_io_start(&p->io, p->output, LOOP_READ);
    loop_child_start(&p->child, loop, pid, on_exit_of, p);
    loop_timer_init(&p->limit, loop, "program limit", on_limit, p);
    loop_timer_start(&p->limit, args->timeout_ms);
    return p;
}

void loop_program_stop(struct loop_program *p) {
    kill(-p->pid, SIGKILL);
    program_free(p);
}
