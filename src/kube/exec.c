#include "kube/exec.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/entry.h"
#include "json/json.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 1024 * 1024, HINT_MAX = 1000 };
#define INFO "KUBERNETES_EXEC_INFO"

struct kube_exec_run {
    const struct kube_exec *exec;
    struct loop_program *program;
    int64_t timeout_ms;
    void (*done)(void *ctx, const struct kube_exec_answer *answer, const struct err *err);
    void *ctx;
};

static bool fail(struct err *err, const struct kube_exec *exec, const char *what) {
    return err_fail(err, ERR_UNAUTHENTICATED, "KUBE_EXEC", "the credential plugin %.200s %s", exec->argv[0], what);
}

// ---- Starting

static bool names_same(const char *a, const char *b) {
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

static void put(const char **env, size_t *n, const char *setting) {
    for (size_t i = 0; i < *n; i++) {
        if (names_same(env[i], setting)) {
            env[i] = setting;
            return;
        }
    }
    env[(*n)++] = setting;
}

// Ours, with the kubeconfig's on top, and what the program is asked.
static const char **make_env(struct arena *a, const struct kube_exec *exec) {
    size_t count = 2;
    size_t n = 0;
    for (char **one = environ; *one != NULL; one++) {
        count++;
    }
    for (const char *const *one = exec->env; *one != NULL; one++) {
        count++;
    }
    const char **env = ARENA_NEW_ARRAY(a, const char *, count);
    for (char **one = environ; *one != NULL; one++) {
        env[n++] = *one;
    }
    for (const char *const *one = exec->env; *one != NULL; one++) {
        put(env, &n, *one);
    }
    put(env, &n, arena_printf(a, INFO "=%s", exec->info));
    return env;
}

static void explain_start(struct err *err, const struct kube_exec *exec, int number) {
    bool hint = (number == ENOENT || number == EACCES) && exec->install_hint != NULL;
    CLEANUP(mem_free_ptr)
    char *why = mem_printf("cannot be started: %s%s%.*s", strerror(number), hint ? "; " : "", HINT_MAX,
                           hint ? exec->install_hint : "");
    fail(err, exec, why);
}

// ---- The answer

static bool read_status(const struct kube_exec *exec, const struct json *status, struct kube_exec_answer *ret,
                        struct err *err) {
    const char *expires = json_string(json_get(status, "expirationTimestamp"), NULL);
    const struct {
        const char *field, **to;
    } texts[] = {{"token", &ret->token}, {"clientCertificateData", &ret->cert_pem}, {"clientKeyData", &ret->key_pem}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *text = json_string(json_get(status, texts[i].field), NULL);
        *texts[i].to = str_is_empty(text) ? NULL : text;
    }
    if (ret->token != NULL && !kube_is_line(ret->token)) {
        return fail(err, exec, "answered with a token that is not one line of text");
    }
    if ((ret->cert_pem == NULL) != (ret->key_pem == NULL)) {
        return fail(err, exec, "must answer with clientCertificateData and clientKeyData together, and one is missing");
    }
    if (ret->token == NULL && ret->cert_pem == NULL) {
        return fail(err, exec, "answered with neither a token nor a client certificate in its status");
    }
    if (ret->cert_pem != NULL &&
        (strstr(ret->cert_pem, "-----BEGIN ") == NULL || strstr(ret->key_pem, "-----BEGIN ") == NULL)) {
        return fail(err, exec, "answered with a client certificate or key that is not in PEM format");
    }
    if (expires != NULL && !clock_parse(expires, &ret->expires)) {
        return fail(err, exec, "answered with an expirationTimestamp that is no RFC 3339 time");
    }
    return true;
}

static bool read_answer(const struct kube_exec *exec, struct arena *a, const struct loop_program_result *r,
                        struct kube_exec_answer *ret, struct err *err) {
    static const struct json_limits limits = {.max_bytes = OUTPUT_MAX, .max_depth = 32, .max_nodes = 10000};
    CLEANUP(err_done) struct err ignored = ERR_INIT; // it may quote the answer
    const struct json *tree = NULL;
    if (!json_parse(a, r->output, r->output_len, &limits, &tree, &ignored)) {
        return fail(err, exec, "did not answer with JSON");
    }
    if (!str_same(json_string(json_get(tree, "kind"), NULL), "ExecCredential")) {
        return fail(err, exec, "did not answer with an object of kind ExecCredential");
    }
    if (!str_same(json_string(json_get(tree, "apiVersion"), NULL), exec->api_version)) {
        CLEANUP(mem_free_ptr)
        char *what =
            mem_printf("answered in another apiVersion than the %s that the kubeconfig says", exec->api_version);
        return fail(err, exec, what);
    }
    return read_status(exec, json_get(tree, "status"), ret, err);
}

static bool judge(const struct kube_exec_run *run, struct arena *a, const struct loop_program_result *r,
                  struct kube_exec_answer *ret, struct err *err) {
    CLEANUP(mem_free_ptr) char *what = NULL;
    if (r->end == LOOP_PROGRAM_TIMEOUT) {
        return err_fail(err, ERR_DEADLINE, "KUBE_EXEC_TIMEOUT",
                        "the credential plugin %.200s has not answered within %lld ms and was killed",
                        run->exec->argv[0], (long long)run->timeout_ms);
    }
    if (r->end == LOOP_PROGRAM_TOO_LARGE) {
        what = mem_printf("answered with more than %d bytes", OUTPUT_MAX);
        return fail(err, run->exec, what);
    }
    if (WIFSIGNALED(r->status)) {
        what = mem_printf("ended with signal %d", WTERMSIG(r->status));
        return fail(err, run->exec, what);
    }
    if (WEXITSTATUS(r->status) != 0) {
        what = mem_printf("failed with exit code %d: run it by hand to see what it says", WEXITSTATUS(r->status));
        return fail(err, run->exec, what);
    }
    return read_answer(run->exec, a, r, ret, err);
}

static void on_end(void *ctx, const struct loop_program_result *r) {
    struct kube_exec_run *run = ctx;
    struct kube_exec_answer answer = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct arena a;
    arena_init(&a, 0);
    bool ok = judge(run, &a, r, &answer, &err);
    void (*done)(void *, const struct kube_exec_answer *, const struct err *) = run->done;
    void *to = run->ctx;
    mem_free(run);
    done(to, ok ? &answer : NULL, ok ? NULL : &err);
    arena_done(&a);
}

struct kube_exec_run *kube_exec_start(struct loop *loop, const struct kube_exec *exec, int64_t timeout_ms,
                                      void (*done)(void *ctx, const struct kube_exec_answer *answer,
                                                   const struct err *err),
                                      void *ctx, struct err *err) {
    struct kube_exec_run *run = NEW(struct kube_exec_run);
    struct arena a;
    int number = 0;
    arena_init(&a, 0);
    *run = (struct kube_exec_run){.exec = exec, .timeout_ms = timeout_ms, .done = done, .ctx = ctx};
    const struct loop_program_args args = {
        .argv = exec->argv, .env = make_env(&a, exec), .max_output = OUTPUT_MAX, .timeout_ms = timeout_ms};
    run->program = loop_program_start(loop, &args, on_end, run, &number);
    arena_done(&a);
    if (run->program == NULL) {
        explain_start(err, exec, number);
        mem_free(run);
        return NULL;
    }
    return run;
}

void kube_exec_stop(struct kube_exec_run *run) {
    loop_program_stop(run->program);
    mem_free(run);
}
