// Where a reader of logs is, as a text that can leave the daemon and come back. Private to local/.
//
// Attempts are read one after the other, so the places in one of them say everything.
#ifndef LOCAL_LOGTOKEN_H
#define LOCAL_LOGTOKEN_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_TOKEN_PLACES_MAX = 1024, LOG_TOKEN_TEXT_MAX = 16 * 1024 };

struct log_place {
    uint32_t rank;
    uint64_t offset;
    bool announced; // the reader has been told that this process begins
};

struct log_token {
    uint32_t attempt;
    struct log_place *places; // ascending ranks
    size_t count;
};

// What the token is good for; it goes into the checksum, so that no other log takes it.
struct log_scope {
    const char *uid;
    const char *role; // NULL: all
    int32_t index;    // -1: all
};

// Replaces ret. "" when there are more places than a token may have: then nothing resumes.
void log_token_write(const struct log_token *token, const struct log_scope *scope, struct str *ret);
bool log_token_read(const char *text, const struct log_scope *scope, struct log_token *ret, struct err *err) MUST_CHECK;
void log_token_done(struct log_token *token);

#endif
