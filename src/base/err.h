// One error: what a failing function tells its caller, and in the end the client.
//
// Contract: `bool f(..., struct err *err)`. false <=> *err was filled, once. true => *err is untouched.
// Every text in it is valid UTF-8, whatever it was made of and wherever that was cut: clients refuse other strings.
// The caller starts with ERR_INIT and ends with err_done (CLEANUP(err_done) does it). Codes are the gRPC ones.
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum err_code {
    ERR_NONE = 0,
    ERR_CANCELED = 1,
    ERR_UNKNOWN = 2,
    ERR_INVALID = 3, // INVALID_ARGUMENT
    ERR_DEADLINE = 4,
    ERR_NOT_FOUND = 5,
    ERR_EXISTS = 6,
    ERR_DENIED = 7,
    ERR_EXHAUSTED = 8,
    ERR_PRECONDITION = 9,
    ERR_ABORTED = 10,
    ERR_RANGE = 11, // OUT_OF_RANGE
    ERR_UNIMPLEMENTED = 12,
    ERR_INTERNAL = 13,
    ERR_UNAVAILABLE = 14,
    ERR_DATA_LOSS = 15,
    ERR_UNAUTHENTICATED = 16,
};

struct err_violation {
    char *field; // path such as roles[1].resources.memory
    char *description;
};

struct err_fact {
    const char *key; // static
    char *value;
};

struct err {
    enum err_code code;
    const char *reason; // UPPER_SNAKE, stable: google.rpc.ErrorInfo.reason; static, or own_reason
    char *own_reason;   // NULL: reason is static
    char *message;      // one line, no final dot needed, says what would be right
    struct err_violation *violations;
    size_t violation_count;
    struct err_fact facts[4]; // ErrorInfo.metadata
    size_t fact_count;
    char *resource_type, *resource_name; // google.rpc.ResourceInfo, or NULL
    int64_t retry_after_ms;              // google.rpc.RetryInfo, or 0
};

#define ERR_INIT                                                                                                       \
    { 0 }
enum { ERR_VIOLATIONS_MAX = 100 }; // further ones are counted in the message only

void err_done(struct err *err); // frees the content; can be used again
bool err_set(const struct err *err);

// Fills and returns false, so that `return err_fail(err, ERR_INVALID, "BAD_NAME", "...")` reads well.
// reason must be a string literal.
bool err_fail(struct err *err, enum err_code code, const char *reason, const char *fmt, ...) PRINTF_LIKE(4, 5);
// The same with errno's text appended: "cannot open x: No such file or directory".
bool err_fail_errno(struct err *err, enum err_code code, const char *reason, int number, const char *fmt, ...)
    PRINTF_LIKE(5, 6);

// Adds one field violation; the first one makes the error INVALID_ARGUMENT, reason INVALID_SPEC. Returns false.
// Validators add all they find, then return !err_set(err).
bool err_violate(struct err *err, const char *field, const char *fmt, ...) PRINTF_LIKE(3, 4);

// A reason that is no literal, because another process said it. What does not look like one becomes OTHER.
void err_set_reason(struct err *err, const char *reason);
void err_fact(struct err *err, const char *key, const char *value); // key: literal
void err_resource(struct err *err, const char *type, const char *name);
void err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3); // "context: message"
void err_move(struct err *to, struct err *from);                        // to must be empty
void err_copy(struct err *to, const struct err *from);                  // deep; to must be empty
const char *err_code_name(enum err_code code);                          // "INVALID_ARGUMENT"

#endif
