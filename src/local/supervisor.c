// trainerd-supervisor: holds the processes of jobs, so that they outlive the daemon, and tells whoever connects.
#include "local/supervisor.h"

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "local/local.h"
#include "local/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 100, LEFTOVER_TRIES = 1000, STEP_NS = 10 * 1000 * 1000 };

static void pause_a_little(void) {
    nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

// ---- Children

static void sweep(void *ctx) {
    struct supervisor *s = ctx;
    LIST_EACH (node, &s->ending) {
        attempt_check(CONTAINER_OF(node, struct attempt, ending));
    }
    bool all_gone = true;
    LIST_EACH (node, &s->attempts) {
        all_gone = all_gone && CONTAINER_OF(node, struct attempt, link)->gone;
    }
    if (s->leaving && all_gone) {
        loop_stop(s->loop);
    }
}

// Any child, also one that a rank left behind: perhaps an attempt is gone now.
static void on_any_child(void *ctx, int status UNUSED) {
    struct supervisor *s = ctx;
    loop_child_start(&s->any, s->loop, 0, on_any_child, s);
    if (s->leaving || !list_empty(&s->ending)) {
        loop_defer(s->loop, &s->sweep);
    }
}

// ---- Signals

static void on_term(void *ctx, int number UNUSED) {
    struct supervisor *s = ctx;
    log_info("supervisor", "told to go, ends all processes");
    s->leaving = true;
    LIST_EACH (node, &s->attempts) {
        struct attempt *a = CONTAINER_OF(node, struct attempt, link);
        if (!a->gone) {
            attempt_stop(a, 0, "");
        }
    }
    loop_defer(s->loop, &s->sweep);
}

static void on_ignored(void *ctx UNUSED, int number UNUSED) {
}

// ---- Start and end

static bool take_lock(struct supervisor *s) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/supervisor.lock", s->directory);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (int i = 0; s->lock_fd >= 0 && i < LOCK_TRIES; i++) { // one that goes just now has it for a moment still
        if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        pause_a_little();
    }
    return false;
}

// A log, a pipe and an index for each process take three descriptors here. Its programs get the limit as it was.
static void raise_file_limit(struct supervisor *s) {
    if (getrlimit(RLIMIT_NOFILE, &s->files) == 0) {
        const struct rlimit most = {.rlim_cur = s->files.rlim_max, .rlim_max = s->files.rlim_max};
        (void)setrlimit(RLIMIT_NOFILE, &most);
    }
}

// What a supervisor before this one left running belongs to nobody any more.
static void end_leftovers(const struct supervisor *s) {
    size_t left = tree_kill_marked("TRAINERD_SUPERVISOR", s->directory);
    for (int i = 0; left != 0 && i < LEFTOVER_TRIES; i++) {
        pause_a_little();
        left = tree_kill_marked("TRAINERD_SUPERVISOR", s->directory);
    }
}

// Says "ready" on its standard output, then lets go of what it was given.
static void detach(const struct supervisor *s) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/supervisor.log", s->directory);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)fd_write_all(STDOUT_FILENO, "r", 1);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(log >= 0 ? log : null, STDERR_FILENO);
    close(null);
    fd_close(&log);
}

static void serve(struct supervisor *s) {
    loop_signal_start(&s->term, s->loop, SIGTERM, on_term, s);
    loop_signal_start(&s->hangup, s->loop, SIGHUP, on_ignored, s);
    loop_signal_start(&s->interrupt, s->loop, SIGINT, on_ignored, s);
    loop_child_start(&s->any, s->loop, 0, on_any_child, s);
    loop_run(s->loop);
    LIST_EACH (node, &s->attempts) {
        attempt_free(CONTAINER_OF(node, struct attempt, link));
    }
    talk_close(s);
    loop_task_cancel(&s->sweep);
    loop_child_stop(&s->any);
    loop_signal_stop(&s->term);
    loop_signal_stop(&s->hangup);
    loop_signal_stop(&s->interrupt);
}

static int run(struct supervisor *s) {
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    raise_file_limit(s);
    end_leftovers(s);
    s->logs = mem_printf("%s/logs", s->directory);
    (void)mkdir(s->logs, 0700);
    list_init(&s->attempts);
    list_init(&s->ending);
    list_init(&s->live);
    s->loop = loop_new();
    loop_task_init(&s->sweep, sweep, s);
    bool listens = talk_listen(s);
    if (listens) {
        detach(s);
        serve(s);
    } else {
        fprintf(stderr, "trainerd-supervisor: cannot listen in %s: %s\n", s->directory, strerror(errno));
        talk_close(s);
    }
    loop_free(s->loop);
    hash_done(&s->by_uid);
    mem_free(s->logs);
    return listens ? 0 : 1;
}

int local_supervisor_main(int argc, char **argv) {
    if (argc != 2 || argv[1][0] != '/') {
        fprintf(stderr,
                "usage: trainerd-supervisor STATE_DIR\nStarted by trainerd; it holds the processes of its jobs.\n");
        return 2;
    }
    struct supervisor s = {.directory = argv[1], .lock_fd = -1, .listen_fd = -1, .client_fd = -1};
    signal(SIGPIPE, SIG_IGN);
    umask(022);                               // the programs' one; files of its own have their modes said
    int status = take_lock(&s) ? run(&s) : 3; // another one is there already
    fd_close(&s.lock_fd);
    return status;
}
