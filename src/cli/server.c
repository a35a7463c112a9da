// Finding the server, and starting one for a user who has none.
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "cli/internal.h"
#include "cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { START_SECONDS = 60, LOG_TAIL_MAX = 1024 * 1024 };

static const char *unix_path(const char *address) {
    if (!str_starts(address, "unix:")) {
        return NULL;
    }
    const char *path = address + strlen("unix:");
    return str_starts(path, "///") ? path + 2 : path;
}

static const char *choose_address(struct cli *cli) {
    const char *address = args_text(&cli->args, "server", getenv("TRAINERD_ADDR"));
    cli->address_default = str_is_empty(address);
    if (cli->address_default) {
        return arena_printf(&cli->arena, "unix:%s/trainerd.sock", cli->state_dir);
    }
    return address[0] == '/' ? arena_printf(&cli->arena, "unix:%s", address) : address;
}

// The token of TCP. A file that was named must be readable; the default one may be missing, and then the server says
// what it needs.
static bool read_token(struct cli *cli, struct err *err) {
    const char *named = args_text(&cli->args, "token-file", getenv("TRAINERD_TOKEN_FILE"));
    const char *path = !str_is_empty(named) ? named : arena_printf(&cli->arena, "%s/token", cli->state_dir);
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(err_done) struct err cause = ERR_INIT;
    if (!fd_read_file(path, 4096, &text, &cause)) {
        if (!str_is_empty(named)) {
            err_move(err, &cause);
            return false;
        }
        return true;
    }
    size_t n = strcspn(str_text(&text), "\r\n");
    cli->token = arena_strndup(&cli->arena, str_text(&text), n);
    return true;
}

bool server_find(struct cli *cli, struct err *err) {
    if (cli->client != NULL) {
        return true;
    }
    cli->address = choose_address(cli);
    if (unix_path(cli->address) == NULL && !read_token(cli, err)) {
        return false;
    }
    if (cli->verbose) {
        cli_note(cli, "server %s", cli->address);
    }
    cli->client = rpc_client_new(cli->address, cli->token);
    return true;
}

bool server_alive(const char *address) {
    const char *path = unix_path(address);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (path == NULL || strlen(path) >= sizeof to.sun_path) {
        return true; // for gRPC to find out
    }
    memcpy(to.sun_path, path, strlen(path) + 1);
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 ||
           (errno != ENOENT && errno != ECONNREFUSED);
}

bool server_check(const struct cli *cli, struct err *err) {
    return server_alive(cli->address) ||
           err_fail(err, ERR_UNAVAILABLE, "NO_SERVER",
                    "no server at %s; start one with trainerd (trainctl run starts one by itself), or name another "
                    "with --server or TRAINERD_ADDR",
                    cli->address);
}

// ---- Starting

static const char *find_daemon(struct cli *cli) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        char *slash = strrchr(self, '/');
        slash[1] = '\0';
        const char *path = arena_printf(&cli->arena, "%strainerd", self);
        if (access(path, X_OK) == 0) {
            return path;
        }
    }
    return "trainerd"; // from PATH
}

static bool spawn(const char *program, const char *state_dir, const char *log, pid_t *ret, struct err *err) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawn_file_actions_addchdir_np(&files, "/");
    // A session of its own: neither Ctrl-C nor the end of this terminal reaches it.
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&how, &none);
    char *argv[] = {(char *)(uintptr_t)program, "--state-dir", (char *)(uintptr_t)state_dir, NULL};
    int number = posix_spawnp(ret, program, &files, &how, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return number == 0 || err_fail_errno(err, ERR_UNAVAILABLE, "NO_SERVER", number,
                                         "no server at the default socket, and %s cannot be started", program);
}

static bool start_failed(const char *log, struct err *err) {
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(str_done) struct str last = STR_INIT;
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    if (fd_read_file(log, LOG_TAIL_MAX, &text, &ignored) && text.len > 0) {
        text.data[text.len - 1] = '\0';
        const char *line = strrchr(text.data, '\n');
        text_safe(&last, line != NULL ? line + 1 : text.data);
    }
    return err_fail(err, ERR_UNAVAILABLE, "NO_SERVER", "trainerd did not start: %s (log: %s)", str_text(&last), log);
}

static void nap(void) {
    const struct timespec pause = {.tv_nsec = 20 * CLOCK_MS};
    nanosleep(&pause, NULL);
}

// The daemon may end because another one, started in the same moment, has the state directory: then that one answers.
static bool wait_alive(const struct cli *cli, pid_t pid, const char *log, struct err *err) {
    int64_t until = clock_mono() + START_SECONDS * CLOCK_SECOND;
    bool ended = false;
    while (!server_alive(cli->address)) {
        if (!ended && waitpid(pid, NULL, WNOHANG) == pid) {
            ended = true;
            until = clock_mono() + 2 * CLOCK_SECOND;
        }
        if (clock_mono() > until) {
            return start_failed(log, err);
        }
        nap();
    }
    return true;
}

bool server_ensure(struct cli *cli, struct err *err) {
    if (!server_find(cli, err)) {
        return false;
    }
    if (!cli->address_default || server_alive(cli->address)) {
        return true;
    }
    const char *program = find_daemon(cli);
    const char *log = arena_printf(&cli->arena, "%s/trainerd.log", cli->state_dir);
    pid_t pid;
    if (!fd_make_dirs(cli->state_dir, 0700, err) || !spawn(program, cli->state_dir, log, &pid, err)) {
        return false;
    }
    cli_note(cli, "no server was running: started trainerd (pid %ld, log %s)", (long)pid, log);
    return wait_alive(cli, pid, log, err);
}
