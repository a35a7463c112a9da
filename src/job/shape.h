// The shape of a spec as a table: which fields an object has, of what type, within which bounds. Private to job/.
#ifndef JOB_SHAPE_H
#define JOB_SHAPE_H

#include "base/err.h"
#include "base/str.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

enum shape_kind {
    SHAPE_TEXT,     // max: bytes
    SHAPE_TEXTS,    // a list of texts; max: bytes of one
    SHAPE_MAP,      // text to text; max: bytes of one value
    SHAPE_INT,      // min..max; a number, or its text as proto JSON writes int64
    SHAPE_BOOL,     //
    SHAPE_CPU,      // a quantity, not negative
    SHAPE_WHOLE,    // a quantity that is a whole number, not negative
    SHAPE_DURATION, // "1.5s", min..max seconds
    SHAPE_ENUM,     // one of values
    SHAPE_OBJECT,   // fields
    SHAPE_LIST,     // of objects with fields
    SHAPE_RAW,      // any object
};

struct shape {
    const char *name;
    enum shape_kind kind;
    int64_t min, max;
    const struct shape *fields; // ends with a NULL name
    const char *const *values;  // ends with NULL
    uint32_t items;             // most of a list or map; 0: 1000
};

// Where the checker is: "roles[1].env[3]". Restored by length.
struct shape_path {
    struct str text;
    bool unfit; // a list or map is none, or has too many entries: not to be walked further
};

// Checks an object against its fields and adds a violation for whatever is wrong. Values of texts that may be secret
// are never put into a message.
void shape_check(const struct shape *fields, const struct json *object, struct shape_path *path, struct err *err);

size_t shape_enter(struct shape_path *path, const char *fmt, ...) PRINTF_LIKE(2, 3); // returns what leave takes
void shape_leave(struct shape_path *path, size_t mark);

// "1.500s" to nanoseconds; false when it is no duration.
bool shape_duration(const char *text, int64_t *ret_ns);
bool shape_int(const struct json *node, int64_t *ret);

extern const struct shape shape_spec[];      // JobSpec
extern const struct shape shape_resources[]; // Resources

#endif
