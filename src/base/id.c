#include "base/id.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void id_random(void *out, size_t n) {
    uint8_t *p = out;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            abort(); // identifiers that repeat would lose jobs
        }
        p += got;
        n -= (size_t)got;
    }
}

void id_hex(const void *data, size_t n, char *out) {
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = '\0';
}

void id_uid(char out[ID_UID_LEN + 1]) {
    uint8_t bytes[16];
    id_random(bytes, sizeof bytes);
    uint64_t ms = (uint64_t)(clock_wall() / CLOCK_MS);
    for (int i = 0; i < 6; i++) {
        bytes[i] = (uint8_t)(ms >> (8 * (5 - i)));
    }
    id_hex(bytes, sizeof bytes, out);
}

void id_suffix(char out[ID_SUFFIX_LEN + 1]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (int i = 0; i < ID_SUFFIX_LEN;) {
        uint8_t byte;
        id_random(&byte, 1);
        if (byte < 252) { // 7 * 36: every letter is as likely
            out[i++] = letters[byte % 36];
        }
    }
    out[ID_SUFFIX_LEN] = '\0';
}

bool id_equal_secret(const char *a, const char *b) {
    size_t n = strlen(a);
    size_t m = strlen(b);
    unsigned char different = n != m;
    for (size_t i = 0; i < n; i++) {
        different |= (unsigned char)(a[i] ^ b[m == 0 ? 0 : i % m]);
    }
    return different == 0;
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void id_base64url(const void *data, size_t n, char *out) {
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t v = (uint32_t)p[i] << 16 | (have > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (have > 2 ? p[i + 2] : 0U);
        for (size_t k = 0; k <= have; k++) {
            *out++ = alphabet[v >> (18 - 6 * k) & 63];
        }
    }
    *out = '\0';
}

long id_base64url_decode(const char *text, void *out, size_t max) {
    uint8_t *p = out;
    size_t n = 0;
    uint32_t bits = 0;
    int have = 0;
    size_t length = strlen(text);
    if (length % 4 == 1) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        const char *at = strchr(alphabet, text[i]);
        if (at == NULL) {
            return -1;
        }
        bits = bits << 6 | (uint32_t)(at - alphabet);
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (n == max) {
                return -1;
            }
            p[n++] = (uint8_t)(bits >> have);
            bits &= (1U << have) - 1;
        }
    }
    return bits == 0 ? (long)n : -1; // one text for one value
}
