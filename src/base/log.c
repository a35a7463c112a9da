#include "base/log.h"

#include "base/clock.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int current_level = LOG_INFO;
static const char *const names[] = {"error", "warn", "info", "debug"};

void log_set_level(enum log_level level) {
    atomic_store(&current_level, (int)level);
}

bool log_level_parse(const char *name, enum log_level *ret) {
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_same(name, names[i])) {
            *ret = (enum log_level)i;
            return true;
        }
    }
    return false;
}

bool log_enabled(enum log_level level) {
    return (int)level <= atomic_load(&current_level);
}

// A client's text must not forge lines or steer a terminal. C1 controls are c2 80 to c2 9f in UTF-8.
static bool control(unsigned char before, const unsigned char *p) {
    return *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) ||
           (before == 0xc2 && *p >= 0x80 && *p < 0xa0);
}

void log_write(enum log_level level, const char *room, const char *fmt, ...) {
    if (!log_enabled(level)) {
        return;
    }
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    char when[CLOCK_TEXT_MAX];
    clock_format(clock_wall(), when);
    char line[4 * sizeof text + 128];
    size_t n = (size_t)snprintf(line, 128, "%s %-5s %.32s: ", when, names[level], room);
    unsigned char before = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; before = *p++) {
        if (control(before, p)) {
            n += (size_t)snprintf(line + n, 5, "\\x%02x", *p);
        } else {
            line[n++] = (char)*p;
        }
    }
    line[n++] = '\n';
    // One write a line keeps lines of several threads apart; a full pipe is not our problem.
    (void)!write(STDERR_FILENO, line, n);
}
