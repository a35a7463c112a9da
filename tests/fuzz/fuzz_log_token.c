// A resume token of Logs: as text from a client, and as a body that already has the right checksum.
#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"
#include "local/logtoken.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text) {
    const struct log_scope scope = {.uid = "u", .role = NULL, .index = -1};
    struct err err = ERR_INIT;
    struct log_token token;
    if (log_token_read(text, &scope, &token, &err)) {
        struct str again = STR_INIT;
        struct log_token second;
        assert(token.count <= LOG_TOKEN_PLACES_MAX && !err_set(&err));
        for (size_t i = 1; i < token.count; i++) {
            assert(token.places[i].rank > token.places[i - 1].rank);
        }
        log_token_write(&token, &scope, &again);
        assert(log_token_read(str_text(&again), &scope, &second, &err));
        assert(second.count == token.count && second.attempt == token.attempt);
        for (size_t i = 0; i < token.count; i++) {
            assert(second.places[i].rank == token.places[i].rank && second.places[i].offset == token.places[i].offset);
        }
        log_token_done(&second);
        str_done(&again);
    } else {
        assert(err.code == ERR_INVALID && token.places == NULL);
    }
    log_token_done(&token);
    err_done(&err);
}

// As logtoken.c does it, or the fuzzer would have to guess 32 bits.
static void check_sealed(const uint8_t *data, size_t size) {
    struct str all = STR_INIT;
    str_add(&all, "u/-1//");
    str_add_bytes(&all, data, size);
    uint32_t sum = (uint32_t)hash_bytes(all.data, all.len);
    struct str raw = STR_INIT;
    str_add_bytes(&raw, data, size);
    str_add_bytes(&raw, &sum, sizeof sum);
    char *text = mem_alloc(raw.len * 4 / 3 + 4);
    id_base64url(raw.data, raw.len, text);
    check(text);
    mem_free(text);
    str_done(&raw);
    str_done(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = mem_strndup((const char *)data, size);
    check(text);
    mem_free(text);
    check_sealed(data, size);
    return 0;
}
