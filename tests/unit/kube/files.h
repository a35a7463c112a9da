// A directory of a test's own, and files in it.
#ifndef TESTS_UNIT_KUBE_FILES_H
#define TESTS_UNIT_KUBE_FILES_H

#include "base/fd.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/trainerd-kube-XXXXXX";

static void setup(void) {
    cr_assert_not_null(mkdtemp(dir));
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    setenv("HOME", dir, 1);
}

static void teardown(void) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_assert(fd_remove_tree(dir, &err));
}

// The name is good until the next ten.
static const char *path_of(const char *name) {
    static char paths[10][200];
    static int next;
    char *path = paths[next++ % 10];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static UNUSED const char *put_file(const char *name, mode_t mode, const char *text) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    const char *path = path_of(name);
    CLEANUP(mem_free_ptr) char *parent = mem_strdup(path);
    *strrchr(parent, '/') = '\0';
    cr_assert(fd_make_dirs(parent, 0700, &err));
    cr_assert(fd_write_file(path, text, strlen(text), mode, &err), "%s", err.message);
    return path;
}

#endif
