#include "kube/credential.h"

#include "base/clock.h"
#include "base/str.h"

#include "files.h"

TestSuite(credential, .init = setup, .fini = teardown, .timeout = 60);

#define SECRET "Hush-Hush"
#define V1 "client.authentication.k8s.io/v1"
#define ANSWER(status) "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{" status "}}"

struct seen {
    struct kube_credential_wait wait;
    struct loop *loop;
    int *left; // of answers until the loop is stopped
    int calls;
    char authorization[200], cert[200], key[200], message[1500];
    bool has_authorization, has_cert;
    enum err_code code;
    uint64_t generation, certificate_generation;
};

static void on_identity(void *ctx, const struct kube_identity *identity, const struct err *err) {
    struct seen *s = ctx;
    s->calls++;
    cr_assert((identity == NULL) != (err == NULL));
    if (err != NULL) {
        s->code = err->code;
        snprintf(s->message, sizeof s->message, "%s", err->message);
        cr_assert_null(strstr(err->message, SECRET), "a secret: %s", err->message);
    } else {
        s->code = ERR_NONE;
        s->has_authorization = identity->authorization != NULL;
        s->has_cert = identity->cert_pem != NULL;
        snprintf(s->authorization, sizeof s->authorization, "%s", s->has_authorization ? identity->authorization : "");
        snprintf(s->cert, sizeof s->cert, "%s", s->has_cert ? identity->cert_pem : "");
        snprintf(s->key, sizeof s->key, "%s", identity->key_pem != NULL ? identity->key_pem : "");
        s->generation = identity->generation;
        s->certificate_generation = identity->certificate_generation;
    }
    if (s->left != NULL && --*s->left == 0) {
        loop_stop(s->loop);
    }
}

static void give_up(void *ctx) {
    loop_stop(ctx);
}

static void run_for(struct loop *loop, int64_t ms) {
    struct loop_timer t;
    loop_timer_init(&t, loop, "limit", give_up, loop);
    loop_timer_start(&t, ms);
    loop_run(loop);
    loop_timer_stop(&t);
}

static void ask_later(struct kube_credential *c, struct loop *loop, struct seen *s, int *left) {
    memset(s, 0, sizeof *s);
    s->loop = loop;
    s->left = left;
    s->wait.fn = on_identity;
    s->wait.ctx = s;
    kube_credential_get(c, &s->wait);
    cr_assert_eq(s->calls, 0, "answered from within the question");
}

static struct seen ask(struct kube_credential *c, struct loop *loop) {
    int left = 1;
    struct seen s;
    ask_later(c, loop, &s, &left);
    run_for(loop, 10000);
    cr_assert_eq(s.calls, 1);
    return s;
}

static const char *header(struct kube_credential *c, struct loop *loop) {
    static char text[200];
    struct seen s = ask(c, loop);
    cr_assert_eq(s.code, ERR_NONE, "%s", s.message);
    snprintf(text, sizeof text, "%s", s.has_authorization ? s.authorization : "(none)");
    return text;
}

Test(credential, what_never_changes) {
    static const struct {
        struct kube_cluster cluster;
        const char *authorization;
    } rows[] = {
        {{.token = NULL}, NULL},
        {{.token = "abc"}, "Bearer abc"},
        {{.username = "Aladdin", .password = "open sesame"}, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
        {{.username = "u"}, "Basic dTo="},
        {{.password = "pw"}, "Basic OnB3"},
        {{.token = "first", .username = "u"}, "Bearer first"},
    };
    struct loop *loop = loop_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_credential *c = kube_credential_new(loop, &rows[i].cluster, NULL);
        const struct kube_identity *now = kube_credential_now(c);
        cr_assert_not_null(now);
        cr_assert(str_same(now->authorization, rows[i].authorization), "%zu: %s", i, now->authorization);
        kube_credential_rejected(c, now->generation); // there is no other
        struct seen s = ask(c, loop);
        cr_assert(s.has_authorization == (rows[i].authorization != NULL) && !s.has_cert);
        cr_assert(s.generation == 1 && s.certificate_generation == 0);
        kube_credential_free(c);
    }
    loop_free(loop);
}

Test(credential, token_file_is_read_again_when_old) {
    struct kube_cluster cluster = {.token_file = put_file("token", 0600, "  one \r\n")};
    const struct kube_credential_limits limits = {.reread_ms = 300};
    struct loop *loop = loop_new();
    struct kube_credential *c = kube_credential_new(loop, &cluster, &limits);
    cr_assert_null(kube_credential_now(c));
    cr_assert_str_eq(header(c, loop), "Bearer one");
    int64_t read_at = clock_mono();
    put_file("token", 0600, "two\n"); // another file by that name, as kubelet does it
    cr_assert_str_eq(header(c, loop), "Bearer one");
    if (clock_mono() - read_at < 200 * CLOCK_MS) {
        cr_assert_str_eq(kube_credential_now(c)->authorization, "Bearer one");
    }
    run_for(loop, 400);
    cr_assert_null(kube_credential_now(c));
    struct seen s = ask(c, loop);
    cr_assert_str_eq(s.authorization, "Bearer two");
    cr_assert_eq(s.generation, 2);
    run_for(loop, 400);
    s = ask(c, loop); // read again, and still the same one
    cr_assert(s.generation == 2 && strcmp(s.authorization, "Bearer two") == 0);
    kube_credential_free(c);
    loop_free(loop);
}

Test(credential, token_file_is_read_at_once_when_refused) {
    struct kube_cluster cluster = {.token_file = put_file("token", 0600, "one")};
    struct loop *loop = loop_new();
    struct kube_credential *c = kube_credential_new(loop, &cluster, NULL);
    struct seen first = ask(c, loop);
    put_file("token", 0600, "two");
    kube_credential_rejected(c, first.generation);
    cr_assert_null(kube_credential_now(c));
    cr_assert_str_eq(header(c, loop), "Bearer two");
    put_file("token", 0600, "three");
    kube_credential_rejected(c, first.generation); // a late answer to the old one
    cr_assert_str_eq(header(c, loop), "Bearer two");

    // Refused between the question and its answer: who asks after that must not get the refused one.
    struct seen early;
    struct seen late;
    int left = 2;
    ask_later(c, loop, &early, &left);
    kube_credential_rejected(c, 2);
    ask_later(c, loop, &late, &left);
    run_for(loop, 10000);
    cr_assert_str_eq(early.authorization, "Bearer three");
    cr_assert_str_eq(late.authorization, "Bearer three");
    kube_credential_free(c);
    loop_free(loop);
}

Test(credential, token_file_that_cannot_be_used) {
    static const struct {
        const char *text, *said;
    } rows[] = {
        {NULL, "the token for the API server: cannot open /"},
        {"", "must hold one line of text, the token"},
        {" \n\n", "must hold one line of text, the token"},
        {SECRET "\n" SECRET, "must hold one line of text, the token"},
        {SECRET "\x01", "must hold one line of text, the token"},
    };
    struct loop *loop = loop_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_cluster cluster = {.token_file = path_of("token")};
        (void)unlink(cluster.token_file);
        if (rows[i].text != NULL) {
            put_file("token", 0600, rows[i].text);
        }
        struct kube_credential *c = kube_credential_new(loop, &cluster, NULL);
        struct seen s = ask(c, loop);
        cr_assert_eq(s.code, ERR_UNAUTHENTICATED);
        cr_assert(strstr(s.message, rows[i].said) != NULL, "%s", s.message);
        cr_assert_null(kube_credential_now(c));
        put_file("token", 0600, "good"); // and as soon as it is right, so are we
        cr_assert_str_eq(header(c, loop), "Bearer good");
        kube_credential_free(c);
    }
    loop_free(loop);
}

Test(credential, token_file_that_is_gone_later) {
    struct kube_cluster cluster = {.token_file = put_file("token", 0600, "one")};
    const struct kube_credential_limits limits = {.reread_ms = 60};
    struct loop *loop = loop_new();
    struct kube_credential *c = kube_credential_new(loop, &cluster, &limits);
    cr_assert_str_eq(header(c, loop), "Bearer one");
    (void)unlink(cluster.token_file);
    run_for(loop, 100);
    struct seen s = ask(c, loop); // what we have is still good
    cr_assert(s.code == ERR_NONE && strcmp(s.authorization, "Bearer one") == 0);
    kube_credential_rejected(c, s.generation); // until it is refused
    s = ask(c, loop);
    cr_assert_eq(s.code, ERR_UNAUTHENTICATED);
    kube_credential_free(c);

    cluster.token = "fixed"; // stands in
    c = kube_credential_new(loop, &cluster, &limits);
    cr_assert_str_eq(header(c, loop), "Bearer fixed");
    put_file("token", 0600, "from-file");
    run_for(loop, 20);
    cr_assert_str_eq(header(c, loop), "Bearer from-file");
    kube_credential_free(c);
    loop_free(loop);
}

// ---- Programs

struct program {
    struct kube_cluster cluster;
    struct kube_exec exec;
    const char *argv[3], *env[3];
};

static struct program *program(struct program *p, const char *script) {
    char text[4000];
    snprintf(text, sizeof text, "#!/bin/sh\ncd %s\necho run >> runs\n%s\n", dir, script);
    p->argv[0] = mem_strdup(put_file("plugin", 0700, text));
    p->argv[1] = "get";
    p->env[0] = "WORD=" SECRET;
    p->exec = (struct kube_exec){.argv = p->argv,
                                 .env = p->env,
                                 .api_version = V1,
                                 .info = "{\"the\":\"info\"}",
                                 .install_hint = "get it at example.org"};
    p->cluster = (struct kube_cluster){.exec = &p->exec};
    return p;
}

static void program_done(struct program *p) {
    mem_free((char *)(uintptr_t)p->argv[0]);
    *p = (struct program){.cluster = {.token = NULL}};
}

static int runs(void) {
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    return fd_read_file(path_of("runs"), 1000, &text, &err) ? (int)(text.len / 4) : 0;
}

Test(credential, program_is_told_and_answers) {
    struct program p = {.argv = {NULL}};
    struct loop *loop = loop_new();
    setenv("WORD", "ours", 1);
    setenv("OTHER", "kept", 1);
    setenv("KUBERNETES_EXEC_INFO", "of somebody else", 1);
    program(&p, "echo \"$1 $WORD $OTHER $KUBERNETES_EXEC_INFO $(tr '\\0' '\n' < /proc/$$/environ | grep -c -e ^WORD= "
                "-e ^KUBERNETES_EXEC_INFO=)\" > told; echo " SECRET " >&2\n"
                "echo '" ANSWER("\"token\":\"t1\"") "'");
    struct kube_credential *c = kube_credential_new(loop, &p.cluster, NULL);
    cr_assert_null(kube_credential_now(c));
    cr_assert_eq(runs(), 0);
    struct seen s = ask(c, loop);
    cr_assert_eq(s.code, ERR_NONE, "%s", s.message);
    cr_assert_str_eq(s.authorization, "Bearer t1");
    cr_assert(!s.has_cert && s.certificate_generation == 0);
    CLEANUP(str_done) struct str told = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_assert(fd_read_file(path_of("told"), 1000, &told, &err));
    cr_assert_str_eq(told.data, "get " SECRET " kept {\"the\":\"info\"} 2\n"); // each of them once
    cr_assert_str_eq(header(c, loop), "Bearer t1");                            // no expiry: good for ever
    cr_assert_str_eq(kube_credential_now(c)->authorization, "Bearer t1");
    cr_assert_eq(runs(), 1);
    kube_credential_free(c);
    program_done(&p);
    loop_free(loop);
}

Test(credential, program_with_a_certificate) {
    struct program p = {.argv = {NULL}};
    struct loop *loop = loop_new();
    program(&p, "n=$(cat n 2>/dev/null || echo A)\n"
                "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{\"clientCertificateData\":"
                "\"-----BEGIN CERTIFICATE-----\\\\n'$n'\",\"clientKeyData\":\"-----BEGIN KEY-----\\\\n'$n'\"}}'");
    struct kube_credential *c = kube_credential_new(loop, &p.cluster, NULL);
    struct seen s = ask(c, loop);
    cr_assert_eq(s.code, ERR_NONE, "%s", s.message);
    cr_assert(!s.has_authorization && s.has_cert);
    cr_assert_str_eq(s.cert, "-----BEGIN CERTIFICATE-----\nA");
    cr_assert_str_eq(s.key, "-----BEGIN KEY-----\nA");
    cr_assert(s.generation == 1 && s.certificate_generation == 1);
    kube_credential_rejected(c, 1);
    s = ask(c, loop); // the same certificate: connections made with it may stay
    cr_assert(s.generation == 2 && s.certificate_generation == 1);
    put_file("n", 0600, "B");
    kube_credential_rejected(c, 2);
    s = ask(c, loop);
    cr_assert_str_eq(s.cert, "-----BEGIN CERTIFICATE-----\nB");
    cr_assert(s.generation == 3 && s.certificate_generation == 2);
    cr_assert_eq(runs(), 3);
    kube_credential_free(c);
    program_done(&p);
    loop_free(loop);
}

Test(credential, one_run_for_all_who_wait) {
    enum { N = 50 };
    struct program p = {.argv = {NULL}};
    struct loop *loop = loop_new();
    program(&p, "sleep 0.2; echo '" ANSWER("\"token\":\"t\"") "'");
    struct kube_credential *c = kube_credential_new(loop, &p.cluster, NULL);
    struct seen s[N];
    int left = N - 1;
    for (int i = 0; i < N; i++) {
        ask_later(c, loop, &s[i], &left);
    }
    kube_credential_cancel(&s[7].wait);
    kube_credential_cancel(&s[7].wait); // harmless
    int64_t began = clock_mono();
    run_for(loop, 10000);
    cr_assert_geq(clock_mono() - began, 150 * CLOCK_MS);
    for (int i = 0; i < N; i++) {
        cr_assert_eq(s[i].calls, i != 7);
        cr_assert(i == 7 || strcmp(s[i].authorization, "Bearer t") == 0);
    }
    cr_assert_eq(runs(), 1);
    for (int i = 0; i < N; i++) { // all of them are refused: one more run, not N
        kube_credential_rejected(c, 1);
    }
    left = 2;
    ask_later(c, loop, &s[0], &left);
    ask_later(c, loop, &s[1], &left);
    run_for(loop, 10000);
    cr_assert(s[0].calls == 1 && s[1].calls == 1 && s[1].generation == 2);
    cr_assert_eq(runs(), 2);
    kube_credential_free(c);
    program_done(&p);
    loop_free(loop);
}

// Answers say until when; ten seconds before that they are no longer used.
Test(credential, program_runs_again_before_expiry) {
    static const struct { int seconds, runs; } rows[] = {{3600, 1}, {-3600, 2}, {8, 2}, {30, 1}};
    struct loop *loop = loop_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct program p = {.argv = {NULL}};
        char until[CLOCK_TEXT_MAX];
        char script[500];
        clock_format(clock_wall() + rows[i].seconds * CLOCK_SECOND, until);
        snprintf(script, sizeof script, "echo '" ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"%s\"") "'", until);
        (void)unlink(path_of("runs"));
        program(&p, script);
        struct kube_credential *c = kube_credential_new(loop, &p.cluster, NULL);
        cr_assert_str_eq(header(c, loop), "Bearer t"); // good for those who wait, in any case
        cr_assert_str_eq(header(c, loop), "Bearer t");
        cr_assert_eq(runs(), rows[i].runs, "%d s: %d", rows[i].seconds, runs());
        kube_credential_free(c);
        program_done(&p);
    }
    loop_free(loop);
}

Test(credential, program_that_fails) {
    static const struct {
        const char *script, *said;
        enum err_code code;
    } rows[] = {
        {"echo " SECRET "; exit 3", "failed with exit code 3: run it by hand to see what it says", ERR_UNAUTHENTICATED},
        {"kill -9 $$", "ended with signal 9", ERR_UNAUTHENTICATED},
        {"sleep 30", "has not answered within 1500 ms and was killed", ERR_DEADLINE},
        {"head -c 1100000 /dev/zero | tr '\\0' x", "answered with more than 1048576 bytes", ERR_UNAUTHENTICATED},
        {"", "did not answer with JSON", ERR_UNAUTHENTICATED},
        {"echo '{\"token\": " SECRET "'", "did not answer with JSON", ERR_UNAUTHENTICATED},
        {"echo '\"" SECRET "\"'", "did not answer with an object of kind ExecCredential", ERR_UNAUTHENTICATED},
        {"echo '{\"kind\":\"" SECRET "\"}'", "did not answer with an object of kind ExecCredential",
         ERR_UNAUTHENTICATED},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{"
         "\"token\":\"" SECRET "\"}}'",
         "answered in another apiVersion than the " V1 " that the kubeconfig says", ERR_UNAUTHENTICATED},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}'", "neither a token nor a client certificate",
         ERR_UNAUTHENTICATED},
        {"echo '" ANSWER("\"token\":\"\"") "'", "neither a token nor a client certificate", ERR_UNAUTHENTICATED},
        {"echo '" ANSWER("\"token\":\"" SECRET "\\\\u000aX: 1\"") "'", "a token that is not one line of text",
         ERR_UNAUTHENTICATED},
        {"echo '" ANSWER("\"clientKeyData\":\"" SECRET "\",\"token\":\"t\"") "'", "together, and one is missing",
         ERR_UNAUTHENTICATED},
        {"echo '" ANSWER("\"clientKeyData\":\"" SECRET "\",\"clientCertificateData\":\"x\"") "'",
         "that is not in PEM format", ERR_UNAUTHENTICATED},
        {"echo '" ANSWER("\"token\":\"" SECRET "\",\"expirationTimestamp\":\"tomorrow\"") "'",
         "an expirationTimestamp that is no RFC 3339 time", ERR_UNAUTHENTICATED},
    };
    const struct kube_credential_limits limits = {.exec_ms = 1500};
    struct loop *loop = loop_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct program p = {.argv = {NULL}};
        program(&p, rows[i].script);
        struct kube_credential *c = kube_credential_new(loop, &p.cluster, &limits);
        struct seen s = ask(c, loop);
        cr_assert_eq(s.code, rows[i].code, "%s: %d %s", rows[i].script, s.code, s.message);
        cr_assert(strstr(s.message, rows[i].said) != NULL, "%s: %s", rows[i].script, s.message);
        cr_assert(strstr(s.message, p.argv[0]) != NULL, "%s", s.message);
        cr_assert_null(strstr(s.message, "example.org"), "%s", s.message); // it is installed
        program_done(&p);
        program(&p, "echo '" ANSWER("\"token\":\"t\"") "'"); // the next question tries again
        mem_free((char *)(uintptr_t)p.argv[0]);
        p.argv[0] = mem_strdup(path_of("plugin"));
        kube_credential_free(c);
        c = kube_credential_new(loop, &p.cluster, NULL);
        cr_assert_str_eq(header(c, loop), "Bearer t");
        kube_credential_free(c);
        program_done(&p);
    }
    loop_free(loop);
}

Test(credential, program_that_is_not_there) {
    struct program p = {.argv = {NULL}};
    struct loop *loop = loop_new();
    program(&p, "echo '" ANSWER("\"token\":\"t\"") "'");
    struct kube_credential *c = kube_credential_new(loop, &p.cluster, NULL);
    chmod(p.argv[0], 0600);
    struct seen s = ask(c, loop);
    cr_assert_eq(s.code, ERR_UNAUTHENTICATED);
    cr_assert(strstr(s.message, "/plugin cannot be started: Permission denied; get it at example.org") != NULL, "%s",
              s.message);
    (void)unlink(p.argv[0]);
    s = ask(c, loop);
    cr_assert(strstr(s.message, "/plugin cannot be started: No such file or directory; get it at example.org") != NULL,
              "%s", s.message);
    cr_assert_eq(runs(), 0);
    struct program again = {.argv = {NULL}};
    program(&again, "echo '" ANSWER("\"token\":\"t\"") "'"); // installed meanwhile
    cr_assert_str_eq(header(c, loop), "Bearer t");
    kube_credential_free(c);
    program_done(&again);
    program_done(&p);
    loop_free(loop);
}

Test(credential, freed_while_something_is_under_way) {
    struct program p = {.argv = {NULL}};
    struct loop *loop = loop_new();
    struct seen s[3];
    program(&p, "sleep 30");
    struct kube_credential *c = kube_credential_new(loop, &p.cluster, NULL);
    ask_later(c, loop, &s[0], NULL);
    run_for(loop, 100);
    kube_credential_free(c); // the program runs
    struct kube_cluster file = {.token_file = put_file("token", 0600, "t")};
    c = kube_credential_new(loop, &file, NULL);
    ask_later(c, loop, &s[1], NULL);
    kube_credential_free(c); // the worker reads
    struct kube_cluster fixed = {.token = "t"};
    c = kube_credential_new(loop, &fixed, NULL);
    ask_later(c, loop, &s[2], NULL);
    kube_credential_free(c); // the answer is on its way
    kube_credential_cancel(&s[2].wait);
    run_for(loop, 200);
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        cr_assert_eq(s[i].calls, 0);
    }
    program_done(&p);
    loop_free(loop);
}

// Who asks from within an answer gets an answer too.
static void ask_again(void *ctx, const struct kube_identity *identity, const struct err *err UNUSED) {
    struct seen *s = ctx;
    cr_assert_not_null(identity);
    if (++s->calls < 3) {
        kube_credential_get((struct kube_credential *)s->left, &s->wait);
    } else {
        loop_stop(s->loop);
    }
}

Test(credential, asked_from_within_an_answer) {
    struct loop *loop = loop_new();
    struct kube_cluster fixed = {.token = "t"};
    struct kube_credential *c = kube_credential_new(loop, &fixed, NULL);
    struct seen s = {.loop = loop, .left = (int *)(void *)c};
    s.wait.fn = ask_again;
    s.wait.ctx = &s;
    kube_credential_get(c, &s.wait);
    run_for(loop, 5000);
    cr_assert_eq(s.calls, 3);
    kube_credential_free(c);
    loop_free(loop);
}
