// Kubernetes quantities: "500m", "1.5Gi", "1e3". Exact; never through floating point.
#ifndef JOB_QUANTITY_H
#define JOB_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

enum quantity_result { QUANTITY_OK, QUANTITY_BAD_SYNTAX, QUANTITY_NEGATIVE, QUANTITY_TOO_LARGE, QUANTITY_NOT_WHOLE };

// Thousandths, rounded up below one thousandth as Kubernetes does. For cpu.
enum quantity_result quantity_milli(const char *text, int64_t *ret);
// A whole number of units; "512m" or "0.5" is NOT_WHOLE. For memory and extended resources.
enum quantity_result quantity_whole(const char *text, int64_t *ret);
// What to say about a bad one: "must be a quantity such as 500m or 2 (suffixes: m, k, M, G, ... Ki, Mi, Gi)".
const char *quantity_advice(enum quantity_result result);

#endif
