#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_clock(clockid_t id) {
    struct timespec ts;
    clock_gettime(id, &ts);
    return ts.tv_sec * CLOCK_SECOND + ts.tv_nsec;
}

int64_t clock_wall(void) {
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_mono(void) {
    return read_clock(CLOCK_MONOTONIC);
}

void clock_format(int64_t wall, char out[CLOCK_TEXT_MAX]) {
    int64_t seconds = wall / CLOCK_SECOND;
    int64_t nanos = wall % CLOCK_SECOND;
    if (nanos < 0) {
        nanos += CLOCK_SECOND;
        seconds--;
    }
    time_t t = (time_t)seconds;
    struct tm tm;
    gmtime_r(&t, &tm);
    size_t n = strftime(out, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    int digits = nanos == 0 ? 0 : nanos % CLOCK_MS == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;
    for (int i = digits; i != 0 && i < 9; i++) {
        nanos /= 10;
    }
    if (digits != 0) {
        snprintf(out + n, CLOCK_TEXT_MAX - n, ".%0*lldZ", digits, (long long)nanos);
    } else {
        snprintf(out + n, CLOCK_TEXT_MAX - n, "Z");
    }
}

static bool digits(const char **p, int count, int64_t *ret) {
    int64_t v = 0;
    for (int i = 0; i < count; i++) {
        if ((*p)[i] < '0' || (*p)[i] > '9') {
            return false;
        }
        v = v * 10 + ((*p)[i] - '0');
    }
    *p += count;
    *ret = v;
    return true;
}

static bool literal(const char **p, const char *choices) {
    if (**p == '\0' || strchr(choices, **p) == NULL) {
        return false;
    }
    (*p)++;
    return true;
}

static bool parse_offset(const char **p, int64_t *ret_seconds) {
    if (literal(p, "Zz")) {
        *ret_seconds = 0;
        return true;
    }
    int64_t sign = **p == '-' ? -1 : 1;
    int64_t h;
    int64_t m;
    if (!literal(p, "+-") || !digits(p, 2, &h) || !literal(p, ":") || !digits(p, 2, &m) || h > 23 || m > 59) {
        return false;
    }
    *ret_seconds = sign * (h * 3600 + m * 60);
    return true;
}

bool clock_parse(const char *text, int64_t *ret) {
    const char *p = text;
    int64_t year, month, day, hour, minute, second, offset;
    int64_t nanos = 0;
    if (!digits(&p, 4, &year) || !literal(&p, "-") || !digits(&p, 2, &month) || !literal(&p, "-") ||
        !digits(&p, 2, &day) || !literal(&p, "Tt ") || !digits(&p, 2, &hour) || !literal(&p, ":") ||
        !digits(&p, 2, &minute) || !literal(&p, ":") || !digits(&p, 2, &second)) {
        return false;
    }
    if (literal(&p, ".")) {
        int64_t unit = CLOCK_SECOND / 10;
        if (*p < '0' || *p > '9') {
            return false;
        }
        for (; unit > 0 && *p >= '0' && *p <= '9'; p++, unit /= 10) {
            nanos += (*p - '0') * unit;
        }
    }
    if (!parse_offset(&p, &offset) || *p != '\0' || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 ||
        minute > 59 || second > 60 || year < 1678 || year > 2261) {
        return false;
    }
    struct tm tm = {.tm_year = (int)year - 1900,
                    .tm_mon = (int)month - 1,
                    .tm_mday = (int)day,
                    .tm_hour = (int)hour,
                    .tm_min = (int)minute};
    int64_t seconds = timegm(&tm);
    if (tm.tm_mday != day) {
        return false; // 31 April and the like
    }
    *ret = (seconds + second - offset) * CLOCK_SECOND + nanos; // a leap second is the next one's begin
    return true;
}
