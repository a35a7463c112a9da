// File descriptors and small files.
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <sys/types.h>

void fd_close(int *fd); // for CLEANUP(); closes when >= 0 and sets -1
bool fd_set_nonblock(int fd);
// Writes all of it, through EINTR. false: errno is set.
bool fd_write_all(int fd, const void *data, size_t n);
// The whole file into ret, at most max bytes (more is an error, ERR_EXHAUSTED).
bool fd_read_file(const char *path, size_t max, struct str *ret, struct err *err) MUST_CHECK;
// Writes to a temporary name in the same directory, fsyncs, renames: readers see the old or the new content.
bool fd_write_file(const char *path, const void *data, size_t n, mode_t mode, struct err *err) MUST_CHECK;
// mkdir -p with mode for what it creates.
bool fd_make_dirs(const char *path, mode_t mode, struct err *err) MUST_CHECK;
// Removes a directory tree without following links. Missing is fine.
bool fd_remove_tree(const char *path, struct err *err) MUST_CHECK;

#endif
