// Starting one program: a session of its own, clean signals, three descriptors, nothing else.
#include "local/supervisor.h"

#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *env_value(const char **env, const char *name) {
    size_t n = strlen(name);
    for (; *env != NULL; env++) {
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=') {
            return *env + n + 1;
        }
    }
    return NULL;
}

static bool is_program(const char *path, int *ret_errno) {
    struct stat st;
    if (stat(path, &st) != 0) {
        *ret_errno = errno;
        return false;
    }
    if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0) {
        *ret_errno = EACCES;
        return false;
    }
    return true;
}

static char *in_directory(const char *cwd, const char *path) {
    return path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", cwd, path);
}

// The program's file by the job's own PATH, not the supervisor's.
static char *find_program(const struct wire_spawn *spawn, char **ret_why) {
    const char *name = spawn->argv[0];
    const char *cwd = spawn->cwd;
    int number = ENOENT;
    if (strchr(name, '/') != NULL) {
        char *path = in_directory(cwd, name);
        if (is_program(path, &number)) {
            return path;
        }
        mem_free(path);
        *ret_why = number == EACCES ? mem_printf("program %s is not an executable file", name)
                                    : mem_printf("program %s cannot be started: %s", name, strerror(number));
        return NULL;
    }
    const char *search = env_value(spawn->env, "PATH");
    for (const char *p = search != NULL ? search : "/usr/bin:/bin"; *p != '\0';) {
        size_t n = strcspn(p, ":");
        CLEANUP(mem_free_ptr) char *dir = n != 0 ? mem_strndup(p, n) : mem_strdup(".");
        CLEANUP(mem_free_ptr) char *base = in_directory(cwd, dir);
        char *path = mem_printf("%s/%s", base, name);
        int here = ENOENT;
        if (is_program(path, &here)) {
            return path;
        }
        number = here == EACCES ? EACCES : number;
        mem_free(path);
        p += n;
        p += *p == ':';
    }
    *ret_why = number == EACCES ? mem_printf("program %s is not an executable file", name)
                                : mem_printf("program %s is not found in PATH (%s)", name,
                                             search != NULL ? search : "/usr/bin:/bin");
    return NULL;
}

// Returns an errno.
static int start(const char *path, const struct wire_spawn *spawn, int output, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3); // before anything is opened: its limit may be low
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, spawn->cwd);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawn(ret_pid, path, &actions, &attributes, (char *const *)(uintptr_t)spawn->argv,
                             (char *const *)(uintptr_t)spawn->env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static int start_with_limit(const char *path, const struct wire_spawn *spawn, const struct rlimit *files, int output,
                            pid_t *ret_pid) {
    const struct rlimit own = {.rlim_cur = files->rlim_max, .rlim_max = files->rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, files); // inherited; what is open here stays open
    int failed = start(path, spawn, output, ret_pid);
    (void)setrlimit(RLIMIT_NOFILE, &own);
    return failed;
}

static char *explain(const struct wire_spawn *spawn, int number) {
    const char *why = number == E2BIG     ? "its arguments and environment are larger than the system allows"
                      : number == ENOEXEC ? "it is neither a binary of this machine nor a script that begins with #!"
                                          : strerror(number);
    return mem_printf("program %s cannot be started: %s", spawn->argv[0], why);
}

static bool has_directory(const struct wire_spawn *spawn, char **ret_why) {
    struct stat st;
    if (spawn->make_cwd != 0 && mkdir(spawn->cwd, 0700) != 0 && errno != EEXIST) {
        *ret_why = mem_printf("working directory %s cannot be made: %s", spawn->cwd, strerror(errno));
        return false;
    }
    if (stat(spawn->cwd, &st) != 0 || !S_ISDIR(st.st_mode)) {
        *ret_why = mem_printf("working directory %s does not exist", spawn->cwd);
        return false;
    }
    return true;
}

bool spawn_process(const struct wire_spawn *spawn, const struct rlimit *files, pid_t *ret_pid, int *ret_pipe,
                   char **ret_why) {
    if (!has_directory(spawn, ret_why)) {
        return false;
    }
    CLEANUP(mem_free_ptr) char *path = find_program(spawn, ret_why);
    int ends[2];
    if (path == NULL) {
        return false;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *ret_why = mem_printf("no pipe for the output: %s", strerror(errno));
        return false;
    }
    int failed = start_with_limit(path, spawn, files, ends[1], ret_pid);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        *ret_why = explain(spawn, failed);
        return false;
    }
    fd_set_nonblock(ends[0]);
    *ret_pipe = ends[0];
    return true;
}
