// Which request ids were used, in memory: those of all jobs, and of jobs that were deleted within a day.
#include "store/internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

// One block; the texts are behind it.
struct used {
    const char *key; // namespace\nrequest_id: no namespace has a line end
    const char *uid, *spec_hash;
};

static char *key_of(const char *namespace_, const char *request_id) {
    return mem_printf("%s\n%s", namespace_, request_id);
}

static struct used *find(const struct store *s, const char *namespace_, const char *request_id) {
    CLEANUP(mem_free_ptr) char *key = key_of(namespace_, request_id);
    return hash_get(&s->used, key);
}

static struct used *used_new(const char *key, const char *uid, const char *spec_hash) {
    const char *const texts[] = {key, uid, spec_hash};
    size_t sizes[ARRAY_LEN(texts)];
    size_t total = sizeof(struct used);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        sizes[i] = strlen(texts[i]) + 1;
        total += sizes[i];
    }
    struct used *u = mem_alloc(total);
    const char **const places[] = {&u->key, &u->uid, &u->spec_hash};
    char *at = (char *)(u + 1);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        memcpy(at, texts[i], sizes[i]);
        *places[i] = at;
        at += sizes[i];
    }
    return u;
}

void store_used_add(struct store *s, const struct store_job *job) {
    if (job->request_id == NULL) {
        return;
    }
    CLEANUP(mem_free_ptr) char *key = key_of(job->namespace_, job->request_id);
    struct used *u = used_new(key, job->uid, job->spec_hash);
    mem_free(hash_put(&s->used, u->key, u));
}

void store_used_purge(struct store *s, const struct purged *p) {
    struct used *u = find(s, p->namespace_, p->request_id);
    if (u != NULL && str_same(u->uid, p->uid)) {
        mem_free(hash_remove(&s->used, u->key));
    }
}

// A failure here shows again with the first write.
static void purge_old(struct store *s) {
    sqlite3_stmt *st = store_sql_statement(s, S_PURGE_REQUESTS);
    sqlite3_bind_int64(st, 1, clock_wall() - REQUESTS_KEPT_NS);
    sqlite3_bind_int64(st, 2, -1);
    while (sqlite3_step(st) == SQLITE_ROW) {
    }
    store_sql_reset(st);
}

bool store_used_load(struct store *s, struct err *err) {
    sqlite3_stmt *st = store_sql_statement(s, S_LOAD_REQUESTS);
    int result;
    purge_old(s);
    while ((result = sqlite3_step(st)) == SQLITE_ROW) {
        const char *texts[4];
        for (int i = 0; i < 4; i++) {
            const char *t = (const char *)sqlite3_column_text(st, i);
            texts[i] = t != NULL ? t : "";
        }
        store_used_add(s, &(struct store_job){
                              .namespace_ = texts[0], .request_id = texts[1], .uid = texts[2], .spec_hash = texts[3]});
    }
    store_sql_reset(st);
    return result == SQLITE_DONE || store_sql_fail(s, err, "read");
}

const char *store_request_uid(const struct store *s, const char *namespace_, const char *request_id,
                              const char **ret_spec_hash) {
    const struct used *u = find(s, namespace_, request_id);
    if (u == NULL) {
        return NULL;
    }
    *ret_spec_hash = u->spec_hash;
    return u->uid;
}

void store_used_done(struct store *s) {
    struct used *u;
    for (size_t at = 0; (u = hash_next(&s->used, &at)) != NULL;) {
        mem_free(u);
    }
    hash_done(&s->used);
}
