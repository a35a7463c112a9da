// The daemon's log: one line an event to stderr, "time level room: text". Thread-safe.
// Below flow/ nobody logs above DEBUG: the room that decides logs, once. Never log secrets or env values.
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/attr.h"

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);                    // default LOG_INFO
bool log_level_parse(const char *name, enum log_level *ret); // error, warn, info, debug
bool log_enabled(enum log_level level);
// room: the source's room name, e.g. "flow". Control characters in the text are escaped.
void log_write(enum log_level level, const char *room, const char *fmt, ...) PRINTF_LIKE(3, 4);

#define log_error(room, ...) log_write(LOG_ERROR, room, __VA_ARGS__)
#define log_warn(room, ...) log_write(LOG_WARN, room, __VA_ARGS__)
#define log_info(room, ...) log_write(LOG_INFO, room, __VA_ARGS__)
#define log_debug(room, ...)                                                                                           \
    do {                                                                                                               \
        if (log_enabled(LOG_DEBUG)) {                                                                                  \
            log_write(LOG_DEBUG, room, __VA_ARGS__);                                                                   \
        }                                                                                                              \
    } while (0)

#endif
