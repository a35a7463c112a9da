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

void log_write(enum log_level level, const char *room, const char *fmt, ...) {
    if (!log_enabled(level)) {
        return;
    }
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            *p = ' '; // a client's text must not forge lines
        }
    }
    char when[CLOCK_TEXT_MAX];
    clock_format(clock_wall(), when);
    char line[2200];
    int n = snprintf(line, sizeof line, "%s %-5s %s: %s\n", when, names[level], room, text);
    if (n > 0) {
        // One write a line keeps lines of several threads apart; a full pipe is not our problem.
        size_t len = (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
        (void)!write(STDERR_FILENO, line, len);
    }
}
