#include "kube/base64.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void kube_base64_add(struct str *out, const void *data, size_t n) {
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t bits = (uint32_t)p[i] << 16 | (have > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (have > 2 ? p[i + 2] : 0);
        for (size_t digit = 0; digit < 4; digit++) {
            str_add_char(out, digit <= have ? digits[bits >> (18 - 6 * digit) & 63] : '=');
        }
    }
}

bool kube_base64_decode(const char *text, struct str *out) {
    uint32_t bits = 0;
    size_t count = 0;   // of digits
    size_t padding = 0; // only at the end
    for (; *text != '\0'; text++) {
        if (strchr(" \t\r\n", *text) != NULL) {
            continue;
        }
        if (*text == '=') {
            padding++;
            continue;
        }
        const char *digit = strchr(digits, *text);
        if (digit == NULL || padding > 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)(digit - digits);
        count++;
        if (count % 4 != 1) { // 2, 3 and 4 digits complete a byte each
            str_add_char(out, (char)(bits >> (count % 4 == 2 ? 4 : count % 4 == 3 ? 2 : 0) & 0xff));
        }
    }
    return count % 4 != 1 && padding == (4 - count % 4) % 4;
}
