#include "base/fd.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fd_close(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

bool fd_set_nonblock(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool fd_write_all(int fd, const void *data, size_t n) {
    const char *p = data;
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) {
            continue;
        }
        if (w < 0) {
            return false;
        }
        p += w;
        n -= (size_t)w;
    }
    return true;
}

bool fd_read_file(const char *path, size_t max, struct str *ret, struct err *err) {
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_fail_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_PRECONDITION, "FILE", errno, "cannot open %s",
                              path);
    }
    struct str text = STR_INIT;
    for (;;) {
        str_reserve(&text, 4096);
        ssize_t got = read(fd, text.data + text.len, text.cap - text.len - 1);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            int number = errno;
            str_done(&text);
            return err_fail_errno(err, ERR_PRECONDITION, "FILE", number, "cannot read %s", path);
        }
        text.len += (size_t)got;
        text.data[text.len] = '\0';
        if (text.len > max) {
            str_done(&text);
            return err_fail(err, ERR_EXHAUSTED, "FILE_TOO_LARGE", "%s is larger than %zu bytes", path, max);
        }
        if (got == 0) {
            str_done(ret);
            *ret = text;
            return true;
        }
    }
}

static bool sync_parent(const char *path) {
    CLEANUP(mem_free_ptr) char *dir = mem_strdup(path);
    char *slash = strrchr(dir, '/');
    if (slash != NULL) {
        slash[slash == dir ? 1 : 0] = '\0';
    }
    CLEANUP(fd_close) int fd = open(slash != NULL ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0;
}

bool fd_write_file(const char *path, const void *data, size_t n, mode_t mode, struct err *err) {
    CLEANUP(mem_free_ptr) char *temporary = mem_printf("%s.new", path);
    (void)unlink(temporary); // left by a crash
    CLEANUP(fd_close) int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "FILE", errno, "cannot create %s", temporary);
    }
    if (!fd_write_all(fd, data, n) || fsync(fd) != 0 || rename(temporary, path) != 0 || !sync_parent(path)) {
        int number = errno;
        (void)unlink(temporary);
        return err_fail_errno(err, ERR_PRECONDITION, "FILE", number, "cannot write %s", path);
    }
    return true;
}

bool fd_make_dirs(const char *path, mode_t mode, struct err *err) {
    CLEANUP(mem_free_ptr) char *copy = mem_strdup(path);
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != '\0') {
            continue;
        }
        char end = *p;
        *p = '\0';
        if (mkdir(copy, mode) != 0 && errno != EEXIST) {
            return err_fail_errno(err, ERR_PRECONDITION, "FILE", errno, "cannot make directory %s", copy);
        }
        *p = end;
        if (end == '\0') {
            break;
        }
    }
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return err_fail(err, ERR_PRECONDITION, "FILE", "%s is not a directory", path);
    }
    return true;
}

enum { TREE_DEPTH_MAX = 128 };

// Takes dir. Works relative to open directories, so that a link put in place meanwhile is removed, not followed.
static bool remove_children(int dir_fd, int depth) {
    DIR *dir = fdopendir(dir_fd);
    if (dir == NULL) {
        close(dir_fd);
        return false;
    }
    bool ok = depth < TREE_DEPTH_MAX;
    if (!ok) {
        errno = ELOOP;
    }
    const struct dirent *e;
    while (ok && (e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(dirfd(dir), e->d_name, 0) == 0 || errno == ENOENT) {
            continue;
        }
        int child = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        ok = child >= 0 && remove_children(child, depth + 1) && unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) == 0;
    }
    int number = errno;
    closedir(dir);
    errno = number;
    return ok;
}

bool fd_remove_tree(const char *path, struct err *err) {
    if (unlink(path) == 0 || errno == ENOENT) {
        return true;
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && remove_children(fd, 0) && rmdir(path) == 0) {
        return true;
    }
    return err_fail_errno(err, ERR_PRECONDITION, "FILE", errno, "cannot remove %s", path);
}
