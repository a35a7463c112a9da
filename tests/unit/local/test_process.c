// What a process finds when it starts: environment, descriptors, signals, directory, limits.
#include "support.h"

#include <sys/resource.h>

// Runs one process to its end and returns what it wrote.
static char *output_of(struct driver *d, int n, struct backend_plan *take_plan) {
    submit(d, n, take_plan);
    const struct seen_fact *f = wait_end(d, n);
    cr_assert_eq(f->state, JOB_SUCCEEDED, "%s", f->message);
    struct backend_log *log;
    struct backend_log_item item;
    struct str text = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct backend_log_query q = {.uid = uid_of(n), .index = -1, .tail_lines = -1};
    cr_assert(d->backend->ops->logs_open(d->backend, &q, true, NULL, NULL, &log, &err), "%s", err.message);
    while (d->backend->ops->logs_read(log, &item, &err) == LOG_READ_ITEM) {
        if (item.kind == LOG_ITEM_CHUNK) {
            str_add_bytes(&text, item.data, item.length);
        }
    }
    d->backend->ops->logs_close(log);
    return text.data != NULL ? str_take(&text) : mem_strdup("");
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

Test(process, environment_is_exactly_this) {
    struct driver d;
    setenv("SECRET_OF_THE_DAEMON", "hunter2", 1);
    setenv("LD_LIBRARY_PATH", "/x", 1);
    setenv("HOME", "/home/x", 1);
    setenv("USER", "x", 1);
    setenv("LOGNAME", "x", 1);
    setenv("LANG", "C", 1);
    setenv("TZ", "UTC", 1);
    unsetenv("TMPDIR");
    driver_open(&d);
    struct backend_plan *p = plan_new();
    plan_add(p, "Worker", (const char *const[]){"env", NULL});
    plan_env(p, 0, "RANK", "0", false);
    plan_env(p, 0, "USER", "mine", false); // the user's word counts
    plan_env(p, 0, "EMPTY", "", false);
    plan_env(p, 0, "ODD", " a=b 'c' ", false);
    plan_env(p, 0, "TRAINERD_RANK", "77", false); // but who it is is not theirs to say
    CLEANUP(mem_free_ptr) char *text = output_of(&d, 5, p);
    char *lines[64];
    size_t n = 0;
    for (char *line = strtok(text, "\n"); line != NULL && n < ARRAY_LEN(lines); line = strtok(NULL, "\n")) {
        lines[n++] = line;
    }
    qsort(lines, n, sizeof lines[0], by_text);
    CLEANUP(mem_free_ptr) char *path = mem_printf("PATH=%s", getenv("PATH"));
    CLEANUP(mem_free_ptr) char *state = mem_printf("TRAINERD_SUPERVISOR=%s", d.dir);
    const char *const expected[] = {
        "CUDA_VISIBLE_DEVICES=",
        "EMPTY=",
        "HOME=/home/x",
        "LANG=C",
        "LOGNAME=x",
        "ODD= a=b 'c' ",
        path,
        "RANK=0",
        "TRAINERD_ATTEMPT=1",
        "TRAINERD_INDEX=0",
        "TRAINERD_JOB_NAME=job",
        "TRAINERD_JOB_UID=00000000000000000000000000000005",
        "TRAINERD_NAMESPACE=default",
        "TRAINERD_RANK=0",
        "TRAINERD_ROLE=Worker",
        state,
        "TZ=UTC",
        "USER=mine",
    };
    cr_assert_eq(n, ARRAY_LEN(expected));
    for (size_t i = 0; i < n; i++) {
        cr_assert_str_eq(lines[i], expected[i]);
    }
    driver_close(&d);
}

Test(process, three_descriptors_and_no_more) {
    struct driver d;
    int ours = open("/etc/passwd", O_RDONLY); // without O_CLOEXEC, as a careless library would
    driver_open(&d);
    struct backend_plan *p = plan_new();
    plan_add(p, "worker", (const char *const[]){"ls", "-l", "/proc/self/fd", NULL});
    CLEANUP(mem_free_ptr) char *text = output_of(&d, 1, p);
    cr_assert(strstr(text, " 0 -> /dev/null\n") != NULL, "%s", text);
    cr_assert(strstr(text, " 1 -> pipe:") != NULL && strstr(text, " 2 -> pipe:") != NULL, "%s", text);
    cr_assert(strstr(text, " 3 -> /proc/") != NULL, "the directory that ls itself opens: %s", text);
    cr_assert(strstr(text, " 4 -> ") == NULL, "%s", text);
    close(ours);
    driver_close(&d);
}

Test(process, signals_session_and_limits_are_fresh) {
    struct driver d;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 333 < files.rlim_max ? 333 : files.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    driver_open(&d);
    CLEANUP(mem_free_ptr)
    char *text = output_of(&d, 1,
                           plan_of("sed -n '/^Sig[BIC]/p' /proc/self/status; ulimit -Sn; umask;"
                                   "test $(cut -d' ' -f6 /proc/$$/stat) = $$ && echo leader; pwd",
                                   1));
    // 32 and 33 are the C library's own; posix_spawn itself leaves them ignored.
    CLEANUP(mem_free_ptr)
    char *expected = mem_printf("SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\nSigCgt:\t0000000000000000\n"
                                "333\n0022\nleader\n%s/work/%s\n",
                                d.dir, uid_of(1));
    cr_assert_str_eq(text, expected);
    driver_close(&d);
}

Test(process, working_directory_and_path_of_the_job) {
    struct driver d;
    driver_open(&d);
    CLEANUP(mem_free_ptr) char *bin = path_in(&d, "bin");
    CLEANUP(mem_free_ptr) char *program = path_in(&d, "bin/my-program");
    mkdir(bin, 0755);
    int fd = open(program, O_WRONLY | O_CREAT, 0755);
    cr_assert(fd_write_all(fd, "#!/bin/sh\necho here $0 $(pwd)\n", 29));
    close(fd);
    struct backend_plan *p = plan_new();
    plan_add(p, "worker", (const char *const[]){"my-program", NULL})->working_dir = "/usr";
    CLEANUP(mem_free_ptr) char *path = mem_printf("/nowhere:%s:/bin:/usr/bin", bin);
    plan_env(p, 0, "PATH", path, false);
    CLEANUP(mem_free_ptr) char *text = output_of(&d, 1, p);
    CLEANUP(mem_free_ptr) char *expected = mem_printf("here %s /usr\n", program);
    cr_assert_str_eq(text, expected);
    // A path with a slash is of the working directory.
    p = plan_new();
    plan_add(p, "worker", (const char *const[]){"./bin/my-program", NULL})->working_dir = d.dir;
    CLEANUP(mem_free_ptr) char *relative = output_of(&d, 2, p);
    cr_assert(strstr(relative, "here ") == relative, "%s", relative);
    driver_close(&d);
}

Test(process, more_at_once_than_the_soft_limit_of_descriptors_allows) {
    struct driver d;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 128;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    driver_open(&d);
    submit(&d, 1, plan_of("exec sleep @@", 120)); // the supervisor has three descriptors for each
    wait_state(&d, 1, JOB_RUNNING, 1);
    cr_assert_eq(count_processes("@@"), 120);
    cancel(&d, 1, 10000);
    wait_state(&d, 1, JOB_CANCELED, 1);
    cr_assert_eq(count_processes("@@"), 0);
    driver_close(&d);
}
