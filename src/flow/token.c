// Resume tokens: which journal (epoch), up to where (sequence), and whether a snapshot was still being sent. They say
// nothing about the selector, so that one encoded message serves every stream.
#include "flow/internal.h"

#include "base/id.h"

#include <string.h>

enum { TOKEN_VERSION = 1, TOKEN_BYTES = 1 + 1 + 8 + 8 + 4, EPOCH_DIGITS = 16 };

static void put_be(uint8_t *out, uint64_t v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        out[i] = (uint8_t)(v >> (8 * (n - 1 - i)));
    }
}

static uint64_t get_be(const uint8_t *in, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        v = v << 8 | in[i];
    }
    return v;
}

static uint64_t epoch_number(const char *epoch) {
    uint64_t v = 0;
    for (size_t i = 0; i < EPOCH_DIGITS && epoch[i] != '\0'; i++) {
        char c = epoch[i];
        v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return v;
}

void flow_token_write(const char *epoch, int64_t sequence, bool in_snapshot, char out[48]) {
    uint8_t bytes[TOKEN_BYTES];
    bytes[0] = TOKEN_VERSION;
    bytes[1] = in_snapshot ? 1 : 0;
    put_be(bytes + 2, epoch_number(epoch), 8);
    put_be(bytes + 10, (uint64_t)sequence, 8);
    put_be(bytes + 18, hash_bytes(bytes, 18) & 0xffffffffU, 4);
    id_base64url(bytes, sizeof bytes, out);
}

// false: this is no token. The checksum is against typing and truncation, not against forgery: a forged token shows
// nothing that its caller may not read anyway.
bool flow_token_read(const char *text, const char *epoch, struct flow_token *ret, bool *ret_other_epoch) {
    uint8_t bytes[TOKEN_BYTES + 8];
    if (id_base64url_decode(text, bytes, sizeof bytes) != TOKEN_BYTES || bytes[0] != TOKEN_VERSION || bytes[1] > 1 ||
        get_be(bytes + 18, 4) != (hash_bytes(bytes, 18) & 0xffffffffU) || bytes[10] > 0x7f) {
        return false;
    }
    ret->in_snapshot = bytes[1] == 1;
    ret->sequence = (int64_t)get_be(bytes + 10, 8);
    *ret_other_epoch = get_be(bytes + 2, 8) != epoch_number(epoch);
    return true;
}
