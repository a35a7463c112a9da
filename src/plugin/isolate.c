// The daemon's end of an isolated plugin: one process for it, started when it is needed. A call blocks the loop, as a
// call in this process would, but never longer than its deadline; what happens to the process happens to one request.
#include "plugin/internal.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALL_LIMIT_MS = 2000, START_LIMIT_MS = 10000, END_LIMIT_MS = 1000 };

struct isolate {
    char *program;
    char *config; // JSON, what create gets each time
    pid_t pid;    // 0: not running
    int fd;
};

// ---- The process

static char *find_program(void) {
    static const char *const places[] = {"trainerd-plugin-host", "../libexec/trainerd/trainerd-plugin-host"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    int directory = slash != NULL ? (int)(slash - self) : 0;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        char *path = mem_printf("%.*s/%s", directory, self, places[i]);
        if (access(path, X_OK) == 0) {
            return path;
        }
        mem_free(path);
    }
    return mem_printf("%.*s/%s", directory, self, places[0]);
}

static bool spawn(struct isolate *i, const char *path, struct err *err) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        return err_fail_errno(err, ERR_INTERNAL, "PLUGIN_FAULT", errno,
                              "cannot make a socket for the plugin's process");
    }
    // Nothing of the daemon goes with it: no descriptors, no environment, no handlers.
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO); // what it prints is no message
    posix_spawn_file_actions_adddup2(&files, fds[1], WIRE_FD);
    posix_spawn_file_actions_addclosefrom_np(&files, WIRE_FD + 1);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    char *const argv[] = {i->program, (char *)path, NULL};
    char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    int number = posix_spawn(&i->pid, i->program, &files, &how, argv, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    fd_close(&fds[1]);
    if (number != 0) {
        fd_close(&fds[0]);
        i->pid = 0;
        return err_fail_errno(err, ERR_INTERNAL, "PLUGIN_FAULT", number, "cannot start %s", i->program);
    }
    i->fd = fds[0];
    return true;
}

// Gives an ending process a moment, so that its own signal is what is told, and then ends it.
static void end_process(const struct isolate *i) {
    CLEANUP(fd_close) int pidfd = pidfd_open(i->pid, 0);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    if (pidfd >= 0 && poll(&p, 1, END_LIMIT_MS) <= 0) {
        kill(i->pid, SIGKILL);
    }
}

// Collects the process and says in `how` what became of it.
static void reap(struct isolate *i, char *how, size_t size) {
    int status = 0;
    pid_t pid;
    do {
        pid = waitpid(i->pid, &status, 0);
    } while (pid < 0 && errno == EINTR);
    if (pid == i->pid && WIFSIGNALED(status)) {
        snprintf(how, size, "crashed (SIG%s)", sigabbrev_np(WTERMSIG(status)));
    } else if (pid == i->pid) {
        snprintf(how, size, "ended its process with status %d", WEXITSTATUS(status));
    } else { // the loop was quicker
        snprintf(how, size, "ended its process");
    }
    fd_close(&i->fd);
    i->pid = 0;
}

static bool has_ended(const struct isolate *i) {
    char byte;
    ssize_t n = recv(i->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

// ---- Calls

// Sends one request and reads its answer into *ret, or fails with what became of the process.
static bool exchange(const struct entry *e, const char *function, const struct str *request, int64_t limit_ms,
                     struct str *ret, struct err *err) {
    struct isolate *i = e->isolate;
    int64_t deadline = clock_mono() + limit_ms * CLOCK_MS;
    enum wire_result r = wire_send(i->fd, request, deadline);
    if (r == WIRE_OK) {
        r = wire_receive(i->fd, ret, deadline);
    }
    if (r == WIRE_OK) {
        return true;
    }
    char how[80];
    if (r == WIRE_TIMEOUT) {
        kill(i->pid, SIGKILL);
        reap(i, how, sizeof how);
        snprintf(how, sizeof how, "did not answer within %lld s", (long long)(limit_ms / 1000));
    } else {
        end_process(i);
        reap(i, how, sizeof how);
    }
    return call_fault(e, function, how, err);
}

static bool take_answer(const struct entry *e, const char *function, const struct str *answer, struct str *out,
                        struct err *err) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err bad = ERR_INIT;
    const struct json_limits limits = {.max_bytes = WIRE_MAX, .max_depth = 8, .max_nodes = 1000};
    const struct json *tree = NULL;
    if (!json_parse(&a, str_text(answer), answer->len, &limits, &tree, &bad)) {
        return call_fault(e, function, "garbled its own answer", err);
    }
    if (!json_bool(json_get(tree, "ok"), false)) {
        wire_take_error(tree, e->runtime.plugin->name, err);
        return false;
    }
    const struct json *output = json_get(tree, "output");
    if (out != NULL && output != NULL && output->type == JSON_STRING) {
        str_add_bytes(out, output->text, output->length);
    }
    return true;
}

static bool start(const struct entry *e, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    CLEANUP(str_done) struct str answer = STR_INIT;
    struct isolate *i = e->isolate;
    if (!spawn(i, e->runtime.path, err)) {
        return false;
    }
    str_printf(&request, "{\"call\":\"create\",\"config\":%s}", i->config);
    return exchange(e, "create", &request, START_LIMIT_MS, &answer, err) &&
           take_answer(e, "create", &answer, NULL, err);
}

bool isolate_start(struct entry *e, const char *program, const struct json *config, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    if (config != NULL) {
        json_write(&text, config);
    }
    struct isolate *i = NEW(struct isolate);
    *i = (struct isolate){.program = program != NULL ? mem_strdup(program) : find_program(),
                          .config = mem_strdup(config != NULL ? str_text(&text) : "null"),
                          .fd = -1};
    e->isolate = i;
    if (!start(e, err)) {
        isolate_stop(i);
        e->isolate = NULL;
        return false;
    }
    return true;
}

bool isolate_call(const struct entry *e, enum call_kind kind, const struct json *in, const char *target,
                  struct str *out, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    CLEANUP(str_done) struct str answer = STR_INIT;
    struct isolate *i = e->isolate;
    if (i->pid != 0 && has_ended(i)) { // between calls: nobody's request
        char how[80];
        end_process(i);
        reap(i, how, sizeof how);
        log_warn("plugin", "%s: its process has ended by itself: it %s", e->runtime.plugin->name, how);
    }
    if (i->pid == 0 && !start(e, err)) {
        return false;
    }
    struct json_writer w;
    json_writer_init(&w, &request);
    json_begin_object(&w);
    json_key(&w, "call");
    json_add_string(&w, call_name(kind));
    json_key(&w, "in");
    json_add_node(&w, in);
    json_key(&w, "target");
    json_add_string(&w, target);
    json_end_object(&w);
    return exchange(e, call_name(kind), &request, CALL_LIMIT_MS, &answer, err) &&
           take_answer(e, call_name(kind), &answer, out, err);
}

void isolate_stop(struct isolate *i) {
    if (i == NULL) {
        return;
    }
    if (i->pid != 0) {
        char how[80];
        kill(i->pid, SIGKILL); // it keeps nothing
        reap(i, how, sizeof how);
    }
    mem_free(i->program);
    mem_free(i->config);
    mem_free(i);
}
