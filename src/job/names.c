// Which texts are names: jobs, namespaces, variables, labels. By hand, because a regular expression says less in an
// error.
#include "job/internal.h"

#include "base/str.h"

#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool among(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

// first, then inner, then last; from 1 to max bytes.
static bool shape(const char *p, size_t max, const char *first, const char *inner, const char *last) {
    size_t n = strlen(p);
    return n >= 1 && n <= max && among(p[0], first) && among(p[n - 1], last) && strspn(p, inner) == n;
}

bool job_name_valid(const char *name, size_t max) {
    return shape(name, max, LOWER, LOWER DIGITS "-", LOWER DIGITS);
}

bool job_namespace_valid(const char *name) {
    return shape(name, 63, LOWER DIGITS, LOWER DIGITS "-", LOWER DIGITS);
}

bool job_env_name_valid(const char *name) {
    return shape(name, 256, LOWER UPPER "-._", LOWER UPPER DIGITS "-._", LOWER UPPER DIGITS "-._");
}

bool job_label_value_valid(const char *value) {
    return value[0] == '\0' || shape(value, 63, LOWER UPPER DIGITS, LOWER UPPER DIGITS "-._", LOWER UPPER DIGITS);
}

static bool subdomain_valid(const char *p, size_t n) {
    char part[254];
    if (n == 0 || n > 253) {
        return false;
    }
    memcpy(part, p, n);
    part[n] = '\0';
    for (char *at = part; at != NULL;) {
        char *dot = strchr(at, '.');
        if (dot != NULL) {
            *dot++ = '\0';
        }
        if (!job_namespace_valid(at)) {
            return false;
        }
        at = dot;
    }
    return true;
}

bool job_label_key_valid(const char *key) {
    const char *slash = strchr(key, '/');
    if (slash != NULL && !subdomain_valid(key, (size_t)(slash - key))) {
        return false;
    }
    const char *name = slash != NULL ? slash + 1 : key;
    return name[0] != '\0' && job_label_value_valid(name);
}
