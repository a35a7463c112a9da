#include "cli/text.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// C1 controls are the two bytes C2 80 .. C2 9F in UTF-8.
static bool is_c1(const char *at) {
    return (unsigned char)at[0] == 0xC2 && (unsigned char)at[1] >= 0x80 && (unsigned char)at[1] <= 0x9F;
}

void text_safe(struct str *out, const char *text) {
    size_t n = strlen(text);
    size_t valid = str_utf8_valid(text, n);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n' || c == '\t' || c == '\r') {
            str_add_char(out, ' ');
        } else if (c < 0x20 || c == 0x7F || (i >= valid && c >= 0x80)) {
            str_add_char(out, '?');
        } else if (is_c1(text + i)) {
            str_add_char(out, '?');
            i++;
        } else {
            str_add_char(out, (char)c);
        }
    }
}

void text_duration(int64_t ns, char out[TEXT_DURATION_MAX]) {
    int64_t s = ns < 0 ? 0 : ns / CLOCK_SECOND;
    int64_t tenths = ns < 0 ? 0 : ns / (CLOCK_SECOND / 10);
    if (s < 10 && tenths % 10 != 0) {
        snprintf(out, TEXT_DURATION_MAX, "%" PRId64 ".%" PRId64 "s", tenths / 10, tenths % 10);
    } else if (s < 60) {
        snprintf(out, TEXT_DURATION_MAX, "%" PRId64 "s", s);
    } else if (s < 3600) {
        snprintf(out, TEXT_DURATION_MAX, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    } else if (s < 86400) {
        snprintf(out, TEXT_DURATION_MAX, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    } else {
        snprintf(out, TEXT_DURATION_MAX, "%" PRId64 "d%" PRId64 "h", s / 86400, s / 3600 % 24);
    }
}

static int64_t unit_ms(const char **at) {
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_starts(*at, units[i].name)) {
            *at += strlen(units[i].name);
            return units[i].ms;
        }
    }
    return 0;
}

bool text_parse_duration(const char *text, int64_t *ret_ms) {
    enum { MOST = 1000000000 };
    int64_t total = 0;
    const char *at = text;
    while (*at != '\0') {
        int64_t value = 0;
        const char *digits = at;
        while (*at >= '0' && *at <= '9' && value < MOST) {
            value = value * 10 + (*at++ - '0');
        }
        int64_t unit = at != digits ? unit_ms(&at) : 0;
        if (unit == 0) {
            return false;
        }
        total += value * unit;
        if (total > (int64_t)MOST * 86400) {
            return false;
        }
    }
    if (at == text) {
        return false;
    }
    *ret_ms = total;
    return true;
}

void text_colour(struct str *out, bool on, const char *colour, const char *text) {
    if (on && colour != NULL) {
        str_printf(out, "\033[%sm%s\033[0m", colour, text);
    } else {
        str_add(out, text);
    }
}

const char *text_state_colour(const char *state) {
    static const struct {
        const char *state, *colour;
    } colours[] = {{"PENDING", "33"},    {"STARTING", "36"},  {"RUNNING", "34;1"},
                   {"RESTARTING", "35"}, {"SUSPENDED", "33"}, {"CANCELING", "35"},
                   {"SUCCEEDED", "32"},  {"FAILED", "31;1"},  {"CANCELED", "33"}};
    for (size_t i = 0; i < ARRAY_LEN(colours); i++) {
        if (str_same(colours[i].state, state)) {
            return colours[i].colour;
        }
    }
    return NULL;
}

const char *text_rank_colour(int64_t rank) {
    static const char *const colours[] = {"36", "32", "35", "33", "34", "31"};
    return colours[(uint64_t)rank % ARRAY_LEN(colours)];
}

// Length of the escape sequence "ESC [ ... letter" at `at`, or 0.
static size_t escape_length(const char *at) {
    if (at[0] != '\033' || at[1] != '[') {
        return 0;
    }
    size_t n = 2;
    while (at[n] != '\0' && (at[n] < '@' || at[n] > '~')) {
        n++;
    }
    return at[n] != '\0' ? n + 1 : n;
}

static bool continues(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

size_t text_width(const char *text) {
    size_t width = 0;
    for (const char *at = text; *at != '\0';) {
        size_t escape = escape_length(at);
        width += escape == 0 && !continues(*at);
        at += escape != 0 ? escape : 1;
    }
    return width;
}

void text_fit(struct str *out, const char *text, size_t width) {
    size_t used = 0;
    bool coloured = false;
    for (const char *at = text; *at != '\0';) {
        size_t escape = escape_length(at);
        if (escape != 0) {
            str_add_bytes(out, at, escape);
            coloured = !(escape >= 4 && at[2] == '0' && at[3] == 'm');
            at += escape;
            continue;
        }
        if (!continues(*at) && used++ == width) {
            break;
        }
        str_add_char(out, *at++);
    }
    if (coloured) {
        str_add(out, "\033[0m");
    }
}

static int base64_digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

bool text_base64(const char *text, struct str *out) {
    uint32_t bits = 0;
    int have = 0;
    const char *at = text;
    for (; *at != '\0' && *at != '='; at++) {
        int digit = base64_digit(*at);
        if (digit < 0) {
            return false;
        }
        bits = (bits << 6 | (uint32_t)digit) & 0xFFFFFF;
        have += 6;
        if (have >= 8) {
            have -= 8;
            str_add_char(out, (char)(unsigned char)(bits >> have & 0xFF));
        }
    }
    return at[strspn(at, "=")] == '\0';
}
