// version, attempt, count, then rank - previous rank and offset * 2 + announced of each place as varints, and a
// checksum.
#include "local/logtoken.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

enum { VERSION = 1, CHECK_BYTES = 4, TEXT_PER_3_BYTES = 4 };
#define OFFSET_MAX (UINT64_C(1) << 62)

static uint32_t checksum(const char *data, size_t n, const struct log_scope *scope) {
    CLEANUP(str_done) struct str all = STR_INIT;
    str_printf(&all, "%s/%d/", scope->uid, scope->index);
    for (const char *p = scope->role; p != NULL && *p != '\0'; p++) {
        str_add_char(&all, (char)tolower((unsigned char)*p)); // roles are told apart without case
    }
    str_add_char(&all, '/');
    str_add_bytes(&all, data, n);
    return (uint32_t)hash_bytes(all.data, all.len);
}

static void put(struct str *out, uint64_t v) {
    for (; v >= 0x80; v >>= 7) {
        str_add_char(out, (char)(v | 0x80));
    }
    str_add_char(out, (char)v);
}

void log_token_write(const struct log_token *token, const struct log_scope *scope, struct str *ret) {
    CLEANUP(str_done) struct str raw = STR_INIT;
    uint32_t before = 0;
    str_clear(ret);
    str_add(ret, "");
    if (token->count > LOG_TOKEN_PLACES_MAX) {
        return;
    }
    str_add_char(&raw, VERSION);
    put(&raw, token->attempt);
    put(&raw, token->count);
    for (size_t i = 0; i < token->count; i++) {
        const struct log_place *p = &token->places[i];
        put(&raw, p->rank - before);
        put(&raw, p->offset << 1 | p->announced);
        before = p->rank;
    }
    uint32_t check = checksum(raw.data, raw.len, scope);
    str_add_bytes(&raw, &check, sizeof check);
    str_reserve(ret, TEXT_PER_3_BYTES * raw.len / 3 + TEXT_PER_3_BYTES);
    id_base64url(raw.data, raw.len, ret->data);
    ret->len = strlen(ret->data);
}

struct reader {
    const uint8_t *p, *end;
    bool bad;
};

static uint64_t get(struct reader *r, uint64_t max) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        uint8_t b = *r->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if ((b & 0x80) == 0) {
            r->bad = r->bad || v > max;
            return r->bad ? 0 : v;
        }
    }
    r->bad = true;
    return 0;
}

static bool read_places(struct reader *r, struct log_token *ret) {
    uint32_t rank = 0;
    ret->attempt = (uint32_t)get(r, INT32_MAX);
    size_t count = (size_t)get(r, LOG_TOKEN_PLACES_MAX);
    ret->places = mem_zalloc((count + 1) * sizeof *ret->places);
    for (size_t i = 0; i < count && !r->bad; i++) {
        uint64_t step = get(r, INT32_MAX - rank);
        uint64_t place = get(r, OFFSET_MAX << 1);
        r->bad = r->bad || (i != 0 && step == 0);
        rank += (uint32_t)step;
        ret->places[ret->count++] =
            (struct log_place){.rank = rank, .offset = place >> 1, .announced = (place & 1) != 0};
    }
    return !r->bad && r->p == r->end;
}

bool log_token_read(const char *text, const struct log_scope *scope, struct log_token *ret, struct err *err) {
    size_t max = strlen(text);
    CLEANUP(mem_free_ptr) uint8_t *raw = mem_alloc(max + 4);
    long n = max <= LOG_TOKEN_TEXT_MAX ? id_base64url_decode(text, raw, max + 4) : -1;
    uint32_t check;
    *ret = (struct log_token){0};
    if (n > CHECK_BYTES && raw[0] == VERSION) {
        size_t body = (size_t)n - CHECK_BYTES;
        memcpy(&check, raw + body, sizeof check);
        struct reader r = {.p = raw + 1, .end = raw + body};
        if (check == checksum((const char *)raw, body, scope) && read_places(&r, ret)) {
            return true;
        }
    }
    log_token_done(ret);
    return err_violate(err, "resume_token", "is no token of this log (job, role and index must be as before)");
}

void log_token_done(struct log_token *token) {
    mem_free(token->places);
    *token = (struct log_token){0};
}
