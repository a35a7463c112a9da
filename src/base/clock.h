// Time: int64_t nanoseconds everywhere. "wall" is since 1970 UTC, "mono" only for differences.
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_MS INT64_C(1000000)
#define CLOCK_SECOND INT64_C(1000000000)

int64_t clock_wall(void);
int64_t clock_mono(void);

enum { CLOCK_TEXT_MAX = 40 };
// RFC 3339 UTC with the fewest of 0, 3, 6, 9 fraction digits that lose nothing: "2026-01-02T03:04:05.678Z".
void clock_format(int64_t wall, char out[CLOCK_TEXT_MAX]);
// RFC 3339 with any offset and 0-9 fraction digits. false leaves *ret alone.
bool clock_parse(const char *text, int64_t *ret);

#endif
