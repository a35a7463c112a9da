#include "job/quantity.h"

#include <stddef.h>
#include <string.h>

// A quantity is a decimal number times a power of ten or of two. It is kept as digits (an integer below 10^18), a power
// of ten for the point, the suffix's decimal power, and its binary factor.
struct parsed {
    uint64_t digits;
    int exponent;    // decimal
    uint64_t factor; // binary suffixes, otherwise 1
};

static const struct {
    const char *text;
    int exponent;
    int shift;
} suffixes[] = {
    {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"k", 3, 0},   {"M", 6, 0},
    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// "e3", "E-3": as a suffix. false: it is none.
static bool exponent_suffix(const char *p, int *ret) {
    if ((p[0] != 'e' && p[0] != 'E') || p[1] == '\0') {
        return false;
    }
    int sign = p[1] == '-' ? -1 : 1;
    p += p[1] == '-' || p[1] == '+' ? 2 : 1;
    int v = 0;
    if (!is_digit(*p)) {
        return false;
    }
    for (; is_digit(*p); p++) {
        v = v * 10 + (*p - '0');
        if (v > 100) {
            return false;
        }
    }
    *ret = sign * v;
    return *p == '\0';
}

static bool suffix(const char *p, struct parsed *q) {
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcmp(p, suffixes[i].text) == 0) {
            q->exponent += suffixes[i].exponent;
            q->factor = UINT64_C(1) << suffixes[i].shift;
            return true;
        }
    }
    int e;
    if (exponent_suffix(p, &e)) {
        q->exponent += e;
        q->factor = 1;
        return true;
    }
    return false;
}

static enum quantity_result parse(const char *text, struct parsed *ret) {
    const char *p = text;
    bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    struct parsed q = {.factor = 1};
    int seen = 0;
    bool point = false;
    for (; is_digit(*p) || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        seen++;
        if (q.digits >= UINT64_C(100000000000000000)) { // 10^17: one more still fits
            return QUANTITY_TOO_LARGE;
        }
        q.digits = q.digits * 10 + (uint64_t)(*p - '0');
        q.exponent -= point;
    }
    if (seen == 0 || !suffix(p, &q)) {
        return QUANTITY_BAD_SYNTAX;
    }
    if (negative && q.digits != 0) {
        return QUANTITY_NEGATIVE;
    }
    *ret = q;
    return QUANTITY_OK;
}

// digits * 10^exponent * factor as an integer. round_up: a remainder makes it one more, otherwise it is NOT_WHOLE.
static enum quantity_result to_integer(const struct parsed *q, bool round_up, int64_t *ret) {
    __extension__ typedef unsigned __int128 wide;
    wide v = (wide)q->digits * q->factor; // below 2^120
    wide most = (wide)INT64_MAX;
    bool remainder = false;
    for (int e = q->exponent; e > 0 && v != 0; e--) {
        v *= 10;
        if (v > most) {
            return QUANTITY_TOO_LARGE;
        }
    }
    for (int e = q->exponent; e < 0 && v != 0; e++) {
        remainder = remainder || v % 10 != 0;
        v /= 10;
    }
    if (remainder && !round_up) {
        return QUANTITY_NOT_WHOLE;
    }
    v += remainder;
    if (v > most) {
        return QUANTITY_TOO_LARGE;
    }
    *ret = (int64_t)v;
    return QUANTITY_OK;
}

enum quantity_result quantity_milli(const char *text, int64_t *ret) {
    struct parsed q;
    enum quantity_result r = parse(text, &q);
    if (r != QUANTITY_OK) {
        return r;
    }
    q.exponent += 3;
    return to_integer(&q, true, ret);
}

enum quantity_result quantity_whole(const char *text, int64_t *ret) {
    struct parsed q;
    enum quantity_result r = parse(text, &q);
    return r != QUANTITY_OK ? r : to_integer(&q, false, ret);
}

const char *quantity_advice(enum quantity_result result) {
    switch (result) {
    case QUANTITY_OK:
        return "is fine";
    case QUANTITY_BAD_SYNTAX:
        return "must be a number with one of the suffixes m, k, M, G, T, Ki, Mi, Gi, Ti, such as 500m, 2 or 1.5Gi";
    case QUANTITY_NEGATIVE:
        return "must not be negative";
    case QUANTITY_TOO_LARGE:
        return "is too large";
    case QUANTITY_NOT_WHOLE:
        return "must be a whole number after its suffix is applied, such as 512Mi or 2";
    }
    return "is wrong";
}
