// Opening one file: the checks that need no code of it come first, then dlopen, then the descriptor.
#include "plugin/internal.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFUSE(err, ...) err_fail((err), ERR_PRECONDITION, "BAD_PLUGIN", __VA_ARGS__)

bool load_check_file(const char *path, struct stat *ret, struct err *err) {
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        return err_fail_errno(err, ERR_PRECONDITION, "BAD_PLUGIN", errno, "cannot be opened");
    }
    if (!S_ISREG(st.st_mode)) {
        return REFUSE(err, "is not a regular file");
    }
    if (st.st_uid != 0 && st.st_uid != geteuid()) {
        return REFUSE(err, "belongs to user %u, expected root or %u", st.st_uid, geteuid());
    }
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return REFUSE(err, "has mode %04o, expected one that group and others cannot write", st.st_mode & 07777);
    }
    *ret = st;
    return true;
}

// What dlerror says, without the path before it: the message names the file already.
static const char *loader_text(const char *path) {
    const char *text = dlerror();
    if (text == NULL) {
        return "no reason given";
    }
    size_t n = strlen(path);
    return str_starts(text, path) && str_starts(text + n, ": ") ? text + n + 2 : text;
}

bool load_open(const char *path, const struct trainer_plugin **ret, struct err *err) {
    // A name without a slash would be searched for elsewhere than where the file was checked.
    CLEANUP(mem_free_ptr) char *exact = mem_printf("%s%s", strchr(path, '/') != NULL ? "" : "./", path);
    // Never closed again: descriptors live for ever, and leak reports keep their symbols.
    void *handle = dlopen(exact, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return REFUSE(err, "cannot be loaded: %s", loader_text(exact));
    }
    const struct trainer_plugin *(*describe)(void) = NULL;
    void *symbol = dlsym(handle, "trainer_plugin_describe");
    memcpy(&describe, &symbol, sizeof describe); // C has no conversion from data to function
    if (describe == NULL) {
        return REFUSE(err, "does not export trainer_plugin_describe");
    }
    const struct trainer_plugin *plugin = describe();
    if (!plugins_check_descriptor(plugin, err)) {
        return false;
    }
    *ret = plugin;
    return true;
}
