// The patterns of a schema: POSIX extended regular expressions, bounded before the C library sees them. It copies what
// a count repeats, so nested counts multiply ((((a{255}){255}){255} takes gigabytes), and a reference to a group makes
// a match take exponential time.
#include "plugin/internal.h"

#include "base/str.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_SIZE_MAX = 200000, DEPTH_MAX = 64, COUNT_MAX = 1 << 15 };

// Sizes of the open groups, innermost last; of each the alternatives so far and the last atom, which a count repeats.
struct measure {
    struct {
        int64_t before, atom;
    } group[DEPTH_MAX];
    int depth;
};

static void add_atom(struct measure *m, int64_t size) {
    m->group[m->depth].before += m->group[m->depth].atom;
    m->group[m->depth].atom = size;
}

// After '[': where the matching ']' is, or the end. A ']' that comes first is a member, and so is one in [: :], [. .],
// [= =].
static const char *bracket_end(const char *at) {
    at += *at == '^';
    at += *at == ']';
    while (*at != '\0' && *at != ']') {
        if (*at == '[' && at[1] != '\0' && strchr(":.=", at[1]) != NULL) {
            char close[] = {at[1], ']', '\0'};
            const char *end = strstr(at + 2, close);
            at = end != NULL ? end + 1 : at;
        }
        at++;
    }
    return at;
}

// At '{': the most repeats that the count allows, and where its '}' is; 1 and at itself when it is no count.
static int64_t repeats(const char *at, const char **ret_end) {
    int64_t most = 0;
    const char *digit = at + 1;
    for (; (*digit >= '0' && *digit <= '9') || *digit == ','; digit++) {
        if (*digit == ',') {
            most = digit[1] == '}' ? most : 0; // "{3,}" repeats the last of three; "{3,5}" has its most after the comma
        } else if (most < COUNT_MAX) {
            most = most * 10 + (*digit - '0');
        }
    }
    bool count = *digit == '}' && digit > at + 1;
    *ret_end = count ? digit : at;
    return count ? most + 1 : 1;
}

static bool is_small(const char *text) {
    struct measure m = {0};
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\\') {
            if (at[1] >= '1' && at[1] <= '9') {
                return false;
            }
            at += at[1] != '\0';
            add_atom(&m, 1);
        } else if (*at == '[') {
            at = bracket_end(at + 1);
            if (*at == '\0') {
                return false; // not closed
            }
            add_atom(&m, 1);
        } else if (*at == '(') {
            if (++m.depth == DEPTH_MAX) {
                return false;
            }
            memset(&m.group[m.depth], 0, sizeof m.group[0]);
        } else if (*at == ')' && m.depth > 0) {
            int64_t size = m.group[m.depth].before + m.group[m.depth].atom;
            m.depth--;
            add_atom(&m, size + 1);
        } else if (*at == '{') {
            m.group[m.depth].atom *= repeats(at, &at);
        } else if (strchr("*+?", *at) == NULL) {
            add_atom(&m, 1);
        }
        if (m.group[m.depth].before + m.group[m.depth].atom > PATTERN_SIZE_MAX) {
            return false;
        }
    }
    return true;
}

bool pattern_is_fit(const char *text) {
    regex_t re;
    if (!is_small(text) || regcomp(&re, text, REG_EXTENDED | REG_NOSUB) != 0) {
        return false;
    }
    regfree(&re);
    return true;
}

bool pattern_matches(const char *pattern, const char *text) {
    regex_t re;
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        return true; // cannot be: it was fit when the schema was verified
    }
    bool matches = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return matches;
}
