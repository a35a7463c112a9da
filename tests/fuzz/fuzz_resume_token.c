// A resume token of Watch: as text from a client, and as a body that already has the right checksum. What decodes is
// written as the same text again; what is changed on the way is refused.
#include "base/hash.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/str.h"
#include "flow/internal.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// As token.c lays it out: version, flags, epoch, sequence; then the checksum.
enum { BODY = 1 + 1 + 8 + 8, EPOCH_AT = 2, SUM = 4, WHOLE = BODY + SUM };

static const char own_epoch[] = "0123456789abcdef";

static uint32_t sum_of(const uint8_t body[BODY]) {
    return (uint32_t)hash_bytes(body, BODY);
}

static bool reads(const char *text) {
    struct flow_token token;
    bool other = false;
    return flow_token_read(text, own_epoch, &token, &other);
}

static void check_changed(const char *text, size_t at) {
    static const char others[] = "A-_z!=\x80";
    size_t n = strlen(text);
    char changed[64];
    uint8_t before[WHOLE];
    uint8_t after[WHOLE];
    assert(id_base64url_decode(text, before, sizeof before) == WHOLE);
    for (size_t i = 0; others[i] != '\0'; i++) {
        snprintf(changed, sizeof changed, "%s", text);
        changed[at % n] = others[i];
        // Another body may have the same checksum, if one in 2^32 has; then it is a token, too.
        bool same_sum = id_base64url_decode(changed, after, sizeof after) == WHOLE && sum_of(before) == sum_of(after) &&
                        memcmp(before + BODY, after + BODY, SUM) == 0;
        assert(reads(changed) == (same_sum && after[EPOCH_AT + 8] <= 0x7f && after[0] == 1 && after[1] <= 1));
    }
    for (size_t length = 0; length < n; length++) {
        snprintf(changed, length + 1, "%s", text);
        assert(!reads(changed));
    }
    snprintf(changed, sizeof changed, "%sA", text);
    assert(!reads(changed));
}

static bool check(const char *text) {
    struct flow_token token = {.sequence = -1};
    bool other = false;
    if (!flow_token_read(text, own_epoch, &token, &other)) {
        return false;
    }
    char again[48];
    char epoch[17];
    uint8_t bytes[WHOLE];
    assert(token.sequence >= 0);
    assert(id_base64url_decode(text, bytes, sizeof bytes) == WHOLE);
    id_hex(bytes + EPOCH_AT, 8, epoch);
    assert(other == (strcmp(epoch, own_epoch) != 0));
    flow_token_write(epoch, token.sequence, token.in_snapshot, again);
    assert(strcmp(again, text) == 0);
    return true;
}

// With the checksum that it needs, or the fuzzer would have to guess 32 bits.
static void check_sealed(const uint8_t *data, size_t size) {
    uint8_t bytes[WHOLE] = {0};
    char text[64];
    memcpy(bytes, data, size < BODY ? size : BODY);
    uint32_t sum = sum_of(bytes);
    for (size_t i = 0; i < SUM; i++) {
        bytes[BODY + i] = (uint8_t)(sum >> (8 * (SUM - 1 - i)));
    }
    id_base64url(bytes, sizeof bytes, text);
    bool is_token = check(text);
    assert(is_token == (bytes[0] == 1 && bytes[1] <= 1 && bytes[EPOCH_AT + 8] <= 0x7f));
    if (is_token && size > BODY) {
        check_changed(text, data[BODY]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = mem_strndup((const char *)data, size);
    check(text);
    mem_free(text);
    check_sealed(data, size);
    return 0;
}
