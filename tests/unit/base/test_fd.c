#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64];

static char *at(const char *name) {
    return mem_printf("%s/%s", root, name);
}

static void setup(void) {
    strcpy(root, "/tmp/trainerd-fd-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void teardown(void) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_expect(fd_remove_tree(root, &err), "%s", err.message);
    cr_expect_neq(access(root, F_OK), 0);
}

TestSuite(fd, .init = setup, .fini = teardown);

static void put(const char *path, const char *text) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_assert(fd_write_file(path, text, strlen(text), 0600, &err), "%s", err.message);
}

Test(fd, files) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(mem_free_ptr) char *path = at("f");
    cr_expect(!fd_read_file(path, 10, &text, &err));
    cr_expect_eq(err.code, ERR_NOT_FOUND);
    err_done(&err);

    put(path, "first");
    struct stat st;
    cr_expect(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600 && st.st_size == 5);
    put(path, "second!");
    str_add(&text, "what was there before");
    cr_expect(fd_read_file(path, 7, &text, &err));
    cr_expect_str_eq(text.data, "second!");
    cr_expect(!fd_read_file(path, 6, &text, &err));
    cr_expect_eq(err.code, ERR_EXHAUSTED);
    cr_expect_str_eq(text.data, "second!", "an output without success");
    err_done(&err);

    cr_expect(!fd_read_file(root, 10, &text, &err)); // a directory
    cr_expect_eq(err.code, ERR_PRECONDITION);
    err_done(&err);

    CLEANUP(mem_free_ptr) char *big = mem_alloc(100000);
    memset(big, 'x', 100000);
    cr_expect(fd_write_file(path, big, 100000, 0600, &err));
    cr_expect(fd_read_file(path, 100000, &text, &err));
    cr_expect(text.len == 100000 && memcmp(text.data, big, 100000) == 0);
    put(path, "");
    cr_expect(fd_read_file(path, 0, &text, &err));
    cr_expect_eq(text.len, 0);
}

Test(fd, a_failed_write_keeps_the_old_content) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(mem_free_ptr) char *path = at("f");
    CLEANUP(mem_free_ptr) char *in_the_way = at("f.new");
    put(path, "old");
    cr_assert_eq(mkdir(in_the_way, 0700), 0);
    cr_expect(!fd_write_file(path, "new", 3, 0600, &err));
    cr_expect_eq(err.code, ERR_PRECONDITION);
    err_done(&err);
    cr_expect(fd_read_file(path, 10, &text, &err) && str_same(text.data, "old"));
    cr_assert_eq(rmdir(in_the_way), 0);

    cr_assert_eq(symlink(path, in_the_way), 0); // what a crash, or somebody else, left there is not followed
    put(path, "newer");
    cr_expect(fd_read_file(path, 10, &text, &err) && str_same(text.data, "newer"));
    cr_expect_neq(access(in_the_way, F_OK), 0);

    CLEANUP(mem_free_ptr) char *nowhere = at("missing/f");
    cr_expect(!fd_write_file(nowhere, "x", 1, 0600, &err));
}

// Readers see the old or the new content, whole, while a writer goes on replacing it.
Test(fd, readers_see_whole_content) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(mem_free_ptr) char *path = at("f");
    CLEANUP(mem_free_ptr) char *big = mem_alloc(20001);
    memset(big, 'a', 20000);
    big[20000] = '\0';
    put(path, big);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 200; i++) {
            struct err e = ERR_INIT;
            memset(big, 'a' + i % 26, 20000);
            if (!fd_write_file(path, big, 20000, 0600, &e)) {
                _exit(1);
            }
        }
        _exit(0);
    }
    int status = 0;
    size_t reads = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        CLEANUP(str_done) struct str text = STR_INIT;
        cr_assert(fd_read_file(path, 20000, &text, &err), "%s", err.message);
        cr_assert_eq(text.len, 20000);
        cr_assert_eq(text.data[0], text.data[19999]);
        reads++;
    }
    cr_expect_eq(status, 0);
    cr_expect_gt(reads, 0);
}

Test(fd, directories) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(mem_free_ptr) char *deep = at("a/b//c/");
    CLEANUP(mem_free_ptr) char *inner = at("a/b");
    cr_expect(fd_make_dirs(deep, 0700, &err), "%s", err.message);
    cr_expect(fd_make_dirs(deep, 0700, &err), "%s", err.message);
    cr_expect(fd_make_dirs("/", 0700, &err), "%s", err.message);
    struct stat st;
    cr_expect(stat(inner, &st) == 0 && (st.st_mode & 0777) == 0700);
    CLEANUP(mem_free_ptr) char *file = at("file");
    CLEANUP(mem_free_ptr) char *below = at("file/x");
    put(file, "x");
    cr_expect(!fd_make_dirs(below, 0700, &err));
    err_done(&err);
    cr_expect(!fd_make_dirs(file, 0700, &err));
    cr_expect(str_ends(err.message, "file is not a directory"), "%s", err.message);
}

Test(fd, remove_tree_follows_no_links) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(mem_free_ptr) char *outside = at("outside");
    CLEANUP(mem_free_ptr) char *kept = at("outside/kept");
    CLEANUP(mem_free_ptr) char *tree = at("tree");
    CLEANUP(mem_free_ptr) char *sub = at("tree/x/y/z");
    CLEANUP(mem_free_ptr) char *link1 = at("tree/x/link");
    CLEANUP(mem_free_ptr) char *link2 = at("tree/file");
    CLEANUP(mem_free_ptr) char *dangling = at("tree/x/y/dangling");
    CLEANUP(mem_free_ptr) char *loop = at("tree/x/y/z/loop");
    CLEANUP(mem_free_ptr) char *top = at("top");
    cr_assert(fd_make_dirs(outside, 0700, &err) && fd_make_dirs(sub, 0700, &err));
    put(kept, "precious");
    cr_assert(symlink(outside, link1) == 0 && symlink(kept, link2) == 0 && symlink("/nowhere", dangling) == 0 &&
              symlink("../..", loop) == 0 && symlink(outside, top) == 0);
    cr_expect(fd_remove_tree(tree, &err), "%s", err.message);
    cr_expect_neq(access(tree, F_OK), 0);
    cr_expect(fd_remove_tree(top, &err), "%s", err.message); // a link itself
    cr_expect_eq(access(kept, F_OK), 0);
    cr_expect(fd_remove_tree(tree, &err), "missing is fine");
    cr_expect(fd_remove_tree(kept, &err), "a file");
    cr_expect_neq(access(kept, F_OK), 0);
}

Test(fd, remove_tree_has_a_bound) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str path = STR_INIT;
    CLEANUP(mem_free_ptr) char *tree = at("deep");
    str_add(&path, tree);
    for (int i = 0; i < 140; i++) {
        str_add(&path, "/d");
    }
    cr_assert(fd_make_dirs(path.data, 0700, &err), "%s", err.message);
    cr_expect(!fd_remove_tree(tree, &err));
    cr_expect(str_starts(err.message, "cannot remove "), "%s", err.message);
    err_done(&err);
    str_clear(&path);
    str_add(&path, tree);
    for (int i = 0; i < 60; i++) {
        str_add(&path, "/d");
    }
    cr_expect(fd_remove_tree(path.data, &err), "%s", err.message);
    cr_expect(fd_remove_tree(tree, &err), "%s", err.message);
}

Test(fd, descriptors) {
    int p[2];
    cr_assert_eq(pipe(p), 0);
    cr_expect(fd_set_nonblock(p[1]));
    cr_expect_neq(fcntl(p[1], F_GETFL) & O_NONBLOCK, 0);
    char buffer[70000] = {0};
    cr_expect(!fd_write_all(p[1], buffer, sizeof buffer), "the pipe is full");
    fd_close(&p[1]);
    cr_expect_eq(p[1], -1);
    fd_close(&p[1]);
    fd_close(&p[0]);
    cr_expect(!fd_set_nonblock(-1));
}

static void ignore(int signal UNUSED) {
}

static void *drain(void *arg) { // slowly, interrupting the writer
    const int *fd = arg;
    char buffer[4096];
    size_t sum = 0;
    ssize_t n;
    while ((n = read(*fd, buffer, sizeof buffer)) > 0) {
        sum += (size_t)n;
        kill(getpid(), SIGUSR1);
    }
    return (void *)sum;
}

Test(fd, write_all_through_interruptions) {
    int p[2];
    cr_assert_eq(pipe(p), 0);
    struct sigaction sa = {.sa_handler = ignore}; // no SA_RESTART
    sigaction(SIGUSR1, &sa, NULL);
    pthread_t reader;
    cr_assert_eq(pthread_create(&reader, NULL, drain, &p[0]), 0);
    CLEANUP(mem_free_ptr) char *data = mem_zalloc(2000000);
    cr_expect(fd_write_all(p[1], data, 2000000));
    fd_close(&p[1]);
    void *sum = NULL;
    pthread_join(reader, &sum);
    cr_expect_eq((size_t)sum, 2000000);
    fd_close(&p[0]);
}

// What log_write puts on stderr, without the time.
static char *logged(enum log_level level, const char *text) {
    int p[2];
    char buffer[10000];
    cr_assert_eq(pipe(p), 0);
    int old = dup(STDERR_FILENO);
    dup2(p[1], STDERR_FILENO);
    log_write(level, "room", "%s", text);
    dup2(old, STDERR_FILENO);
    close(old);
    close(p[1]);
    ssize_t n = read(p[0], buffer, sizeof buffer - 1);
    close(p[0]);
    buffer[n > 0 ? n : 0] = '\0';
    const char *behind = strchr(buffer, ' ');
    return mem_strdup(behind != NULL ? behind + 1 : "");
}

Test(log, lines) {
    static const struct {
        enum log_level level;
        const char *text, *right;
    } table[] = {
        {LOG_INFO, "hello", "info  room: hello\n"},
        {LOG_ERROR, "a\nforged line", "error room: a\\x0aforged line\n"},
        {LOG_WARN, "\x1b[31mred\x7f\t", "warn  room: \\x1b[31mred\\x7f\\x09\n"},
        {LOG_WARN,
         "\xc2\x9b"
         "31m",
         "warn  room: \\xc2\\x9b31m\n"},
        {LOG_INFO, "größer 😀", "info  room: größer 😀\n"},
        {LOG_DEBUG, "not now", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        CLEANUP(mem_free_ptr) char *is = logged(table[i].level, table[i].text);
        cr_expect_str_eq(is, table[i].right);
    }
    char longest[5000];
    memset(longest, '\n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CLEANUP(mem_free_ptr) char *is = logged(LOG_INFO, longest);
    cr_expect_eq(strlen(is), strlen("info  room: ") + 2047 * 4 + 1);
    cr_expect(str_ends(is, "\\x0a\n"));
}

Test(log, levels) {
    enum log_level level = LOG_ERROR;
    cr_expect(log_level_parse("debug", &level) && level == LOG_DEBUG);
    cr_expect(!log_level_parse("Debug", &level) && !log_level_parse("", &level) && level == LOG_DEBUG);
    cr_expect(log_enabled(LOG_INFO) && !log_enabled(LOG_DEBUG));
    log_set_level(LOG_WARN);
    cr_expect(log_enabled(LOG_WARN) && !log_enabled(LOG_INFO));
    CLEANUP(mem_free_ptr) char *is = logged(LOG_INFO, "x");
    cr_expect_str_eq(is, "");
}

Test(paths, state_dir) {
    static const struct {
        const char *own, *xdg, *home, *right;
    } table[] = {
        {"/own", "/xdg", "/home/u", "/own"},
        {NULL, "/xdg", "/home/u", "/xdg/trainerd"},
        {"relative", "", "/home/u", "/home/u/.local/state/trainerd"},
        {NULL, "rel", "/home/u", "/home/u/.local/state/trainerd"},
    };
    CLEANUP(str_done) struct str dir = STR_INIT;
    str_add(&dir, "before");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const char *const names[] = {"TRAINERD_STATE_DIR", "XDG_STATE_HOME", "HOME"};
        const char *const values[] = {table[i].own, table[i].xdg, table[i].home};
        for (size_t k = 0; k < 3; k++) {
            if (values[k] != NULL) {
                setenv(names[k], values[k], 1);
            } else {
                unsetenv(names[k]);
            }
        }
        paths_state_dir(&dir);
        cr_expect_str_eq(dir.data, table[i].right);
    }
    unsetenv("HOME");
    paths_state_dir(&dir);
    cr_expect(dir.data[0] == '/' && str_ends(dir.data, "/.local/state/trainerd"), "%s", dir.data);
}
