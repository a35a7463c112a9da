// A kubeconfig, read as one. Refused, the error is fit for the wire and names the file. Accepted, what goes into
// headers and into TLS is what it must be. Also base64, both ways.
#include "base/fd.h"
#include "base/mem.h"
#include "kube/base64.h"
#include "kube/entry.h"
#include "kube/kubeconfig.h"

#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refused(const struct err *err) {
    assert(err->code != ERR_NONE && err->message != NULL && str_starts(err->message, "kubeconfig /"));
    assert(str_utf8_valid(err->message, strlen(err->message)) == strlen(err->message));
}

static void check_pem(const struct http_pem *pem) {
    assert(pem->text == NULL || (pem->file == NULL && strstr(pem->text, "-----BEGIN ") != NULL));
    assert(pem->file == NULL || pem->file[0] == '/');
}

static void check_exec(const struct kube_exec *exec) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *info = NULL;
    assert(exec->argv[0] != NULL && (strchr(exec->argv[0], '/') == NULL || exec->argv[0][0] == '/'));
    for (const char *const *one = exec->env; *one != NULL; one++) {
        assert(strchr(*one, '=') != NULL && **one != '=');
    }
    assert(json_parse(&a, exec->info, strlen(exec->info), &json_limits_default, &info, &err));
    assert(strcmp(json_string(json_get(info, "kind"), ""), "ExecCredential") == 0);
    assert(json_path(info, "spec.interactive") != NULL && !json_bool(json_path(info, "spec.interactive"), true));
}

static void check_accepted(const struct kube_cluster *c) {
    assert(str_starts(c->endpoint.url, "https://") || str_starts(c->endpoint.url, "http://"));
    check_pem(&c->endpoint.ca);
    check_pem(&c->endpoint.cert);
    check_pem(&c->endpoint.key);
    assert(!c->endpoint.insecure || (c->endpoint.ca.file == NULL && c->endpoint.ca.text == NULL));
    assert(c->token == NULL || (c->token[0] != '\0' && kube_is_line(c->token)));
    assert(c->token_file == NULL || c->token_file[0] == '/');
    for (size_t i = 0; i < c->impersonation_count; i++) {
        assert(str_starts(c->impersonation[i].name, "Impersonate-") && kube_is_line(c->impersonation[i].name));
        assert(kube_is_line(c->impersonation[i].value));
    }
    if (c->exec != NULL) {
        check_exec(c->exec);
    }
}

static void check_base64(const uint8_t *data, size_t size) {
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(str_done) struct str back = STR_INIT;
    kube_base64_add(&text, data, size);
    assert(kube_base64_decode(str_text(&text), &back));
    assert(back.len == size && (size == 0 || memcmp(back.data, data, size) == 0));
    CLEANUP(mem_free_ptr) char *raw = mem_strndup((const char *)data, size);
    str_clear(&back);
    (void)!kube_base64_decode(raw, &back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[40];
    CLEANUP(fd_close) int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
    assert(fd >= 0 && fd_write_all(fd, data, size));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct kube_cluster *c = NULL;
    bool ok = kube_cluster_load(path, NULL, &c, &err);
    assert(ok == (c != NULL) && ok != err_set(&err));
    if (ok) {
        check_accepted(c);
    } else {
        check_refused(&err);
    }
    kube_cluster_free(c);
    check_base64(data, size);
    return 0;
}
