#include "kube/credential.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/base64.h"
#include "kube/entry.h"
#include "kube/exec.h"

#include <string.h>

enum {
    REREAD_MS = 60 * 1000,
    EXEC_MS = 60 * 1000,
    RETRIES = 60, // of a token file that cannot be read, within the time after which it would be read again
    TOKEN_MAX = 64 * 1024,
    LEEWAY_MS = 10 * 1000, // before its expiry an identity is no longer handed out
};

struct reading { // of the token file, by a worker; outlives the credential when that is freed meanwhile
    struct loop_work work;
    struct kube_credential *credential; // NULL: nobody wants to know any more
    char *path;
    struct str text;
    struct err err;
};

struct kube_credential {
    struct loop *loop;
    const struct kube_cluster *cluster;
    void (*renew)(struct kube_credential *credential); // NULL: it never changes
    int64_t reread_ns, exec_ms;
    char *authorization, *cert_pem, *key_pem;
    struct kube_identity identity;  // of the three above
    bool have, rejected;            // rejected: it is not what to fall back on
    int64_t stale_mono, stale_wall; // when it is to be got again; 0: never
    struct err err;                 // of the last attempt
    struct list waiters;
    struct loop_task answer;
    struct reading *reading;
    struct kube_exec_run *run;
};

// ---- Identities

static char *take_text(char *old, const char *text) {
    mem_free(old);
    return mem_strdup(text);
}

static void set_identity(struct kube_credential *c, const char *authorization, const char *cert, const char *key) {
    bool same_cert = str_same(cert, c->cert_pem) && str_same(key, c->key_pem);
    bool same = c->have && !c->rejected && same_cert && str_same(authorization, c->authorization);
    c->have = true;
    c->rejected = false;
    if (same) {
        return;
    }
    c->authorization = take_text(c->authorization, authorization);
    if (!same_cert) {
        c->cert_pem = take_text(c->cert_pem, cert);
        c->key_pem = take_text(c->key_pem, key);
    }
    c->identity = (struct kube_identity){.authorization = c->authorization,
                                         .cert_pem = c->cert_pem,
                                         .key_pem = c->key_pem,
                                         .generation = c->identity.generation + 1,
                                         .certificate_generation = c->identity.certificate_generation + !same_cert};
}

static void set_bearer(struct kube_credential *c, const char *token, const char *cert, const char *key) {
    CLEANUP(mem_free_ptr) char *value = token != NULL ? mem_printf("Bearer %s", token) : NULL;
    set_identity(c, value, cert, key);
}

static void set_basic(struct kube_credential *c) {
    const struct kube_cluster *from = c->cluster;
    CLEANUP(str_done) struct str pair = STR_INIT;
    CLEANUP(str_done) struct str value = STR_INIT;
    str_printf(&pair, "%s:%s", from->username != NULL ? from->username : "",
               from->password != NULL ? from->password : "");
    str_add(&value, "Basic ");
    kube_base64_add(&value, str_text(&pair), pair.len);
    set_identity(c, str_text(&value), NULL, NULL);
}

// ---- The token file

static void read_token(struct loop_work *work) {
    struct reading *r = CONTAINER_OF(work, struct reading, work);
    (void)!fd_read_file(r->path, TOKEN_MAX, &r->text, &r->err);
}

static bool check_token(struct reading *r) {
    static const char blank[] = " \t\r\n";
    if (err_set(&r->err)) {
        r->err.code = ERR_UNAUTHENTICATED;
        err_wrap(&r->err, "the token for the API server");
        return false;
    }
    while (r->text.len > 0 && strchr(blank, r->text.data[r->text.len - 1]) != NULL) {
        r->text.data[--r->text.len] = '\0';
    }
    const char *token = str_text(&r->text) + strspn(str_text(&r->text), blank);
    if (*token == '\0' || !kube_is_line(token) || strlen(str_text(&r->text)) != r->text.len) {
        return err_fail(&r->err, ERR_UNAUTHENTICATED, "KUBE_TOKEN_FILE",
                        "the token for the API server: %s must hold one line of text, the token", r->path);
    }
    return true;
}

// As good as possible without the file: what it said before, unless that was refused, or the fixed token.
static void fall_back(struct kube_credential *c, struct reading *r) {
    c->stale_mono = clock_mono() + c->reread_ns / RETRIES;
    if (c->have && !c->rejected) {
        return;
    }
    if (c->cluster->token != NULL) {
        set_bearer(c, c->cluster->token, NULL, NULL);
        return;
    }
    err_move(&c->err, &r->err);
}

static void reading_free(struct reading *r) {
    err_done(&r->err);
    str_done(&r->text);
    mem_free(r->path);
    mem_free(r);
}

static void on_read(struct loop_work *work) {
    struct reading *r = CONTAINER_OF(work, struct reading, work);
    struct kube_credential *c = r->credential;
    if (c != NULL) {
        c->reading = NULL;
        if (check_token(r)) {
            set_bearer(c, str_text(&r->text) + strspn(str_text(&r->text), " \t\r\n"), NULL, NULL);
            c->stale_mono = clock_mono() + c->reread_ns;
        } else {
            fall_back(c, r);
        }
        loop_defer(c->loop, &c->answer);
    }
    reading_free(r);
}

static void start_reading(struct kube_credential *c) {
    struct reading *r = NEW(struct reading);
    r->credential = c;
    r->path = mem_strdup(c->cluster->token_file);
    r->work.run = read_token;
    r->work.done = on_read;
    c->reading = r;
    loop_work_start(c->loop, &r->work);
}

// ---- The program

static void on_exec(void *ctx, const struct kube_exec_answer *answer, const struct err *err) {
    struct kube_credential *c = ctx;
    c->run = NULL;
    if (answer != NULL) {
        set_bearer(c, answer->token, answer->cert_pem, answer->key_pem);
        c->stale_wall = answer->expires != 0 ? answer->expires - LEEWAY_MS * CLOCK_MS : 0;
    } else {
        err_copy(&c->err, err);
    }
    loop_defer(c->loop, &c->answer);
}

static void start_program(struct kube_credential *c) {
    c->run = kube_exec_start(c->loop, c->cluster->exec, c->exec_ms, on_exec, c, &c->err);
    if (c->run == NULL) {
        loop_defer(c->loop, &c->answer);
    }
}

// ---- Asking

static bool busy(const struct kube_credential *c) {
    return c->reading != NULL || c->run != NULL || list_linked(&c->answer.link);
}

static bool fresh(const struct kube_credential *c) {
    return c->have && !c->rejected && (c->stale_mono == 0 || clock_mono() < c->stale_mono) &&
           (c->stale_wall == 0 || clock_wall() < c->stale_wall);
}

// To all who wait now; who asks again from the callback waits for the next one.
static void on_answer(void *ctx) {
    struct kube_credential *c = ctx;
    struct list now = LIST_INIT(now);
    struct list *node = NULL;
    CLEANUP(err_done) struct err err = ERR_INIT;
    if (c->rejected && !err_set(&c->err)) { // since it was decided to answer
        c->renew(c);
        return;
    }
    err_move(&err, &c->err);
    list_splice(&now, &c->waiters);
    while ((node = list_pop(&now)) != NULL) {
        struct kube_credential_wait *wait = CONTAINER_OF(node, struct kube_credential_wait, link);
        wait->fn(wait->ctx, err_set(&err) ? NULL : &c->identity, err_set(&err) ? &err : NULL);
    }
}

void kube_credential_get(struct kube_credential *c, struct kube_credential_wait *wait) {
    list_push(&c->waiters, &wait->link);
    if (busy(c)) {
        return;
    }
    if (fresh(c)) {
        loop_defer(c->loop, &c->answer);
    } else {
        c->renew(c);
    }
}

void kube_credential_cancel(struct kube_credential_wait *wait) {
    if (list_linked(&wait->link)) {
        list_remove(&wait->link);
    }
}

const struct kube_identity *kube_credential_now(const struct kube_credential *c) {
    return fresh(c) ? &c->identity : NULL;
}

void kube_credential_rejected(struct kube_credential *c, uint64_t generation) {
    if (c->renew != NULL && c->have && generation == c->identity.generation) {
        c->rejected = true;
    }
}

// ---- Life

struct kube_credential *kube_credential_new(struct loop *loop, const struct kube_cluster *cluster,
                                            const struct kube_credential_limits *limits) {
    struct kube_credential *c = NEW(struct kube_credential);
    c->loop = loop;
    c->cluster = cluster;
    c->reread_ns = (limits != NULL && limits->reread_ms != 0 ? limits->reread_ms : REREAD_MS) * CLOCK_MS;
    c->exec_ms = limits != NULL && limits->exec_ms != 0 ? limits->exec_ms : EXEC_MS;
    list_init(&c->waiters);
    loop_task_init(&c->answer, on_answer, c);
    if (cluster->token_file != NULL) {
        c->renew = start_reading;
    } else if (cluster->token != NULL) {
        set_bearer(c, cluster->token, NULL, NULL);
    } else if (cluster->username != NULL || cluster->password != NULL) {
        set_basic(c);
    } else if (cluster->exec != NULL) {
        c->renew = start_program;
    } else {
        set_identity(c, NULL, NULL, NULL);
    }
    return c;
}

void kube_credential_free(struct kube_credential *c) {
    if (c == NULL) {
        return;
    }
    LIST_EACH (node, &c->waiters) {
        list_remove(node);
    }
    if (c->reading != NULL) {
        c->reading->credential = NULL;
    }
    if (c->run != NULL) {
        kube_exec_stop(c->run);
    }
    loop_task_cancel(&c->answer);
    err_done(&c->err);
    mem_free(c->authorization);
    mem_free(c->cert_pem);
    mem_free(c->key_pem);
    mem_free(c);
}
