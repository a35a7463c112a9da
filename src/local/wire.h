// What the daemon and its supervisor say to each other: frames of a u32 length and a body of numbers and texts, little
// endian. Neither side trusts the other's bytes.
#ifndef LOCAL_WIRE_H
#define LOCAL_WIRE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 1, WIRE_FRAME_MAX = 32 * 1024 * 1024, WIRE_RANKS_MAX = 10000, WIRE_UID_MAX = 32 };

enum wire_kind {
    // daemon -> supervisor
    WIRE_SPAWN = 1, // struct wire_spawn
    WIRE_STOP,      // uid, attempt (0: all), grace ms, why
    WIRE_FORGET,    // uid, attempt: this one and those before it
    WIRE_LIST,      // -
    // supervisor -> daemon
    WIRE_HELLO,   // version
    WIRE_STARTED, // struct wire_report, as all that follow
    WIRE_REFUSED,
    WIRE_EXITED,
    WIRE_STOPPED,
    WIRE_GONE,
    WIRE_LISTED, // -: everything that is held was said
};

// ---- Writing

void wire_begin(struct str *out, enum wire_kind kind, size_t *ret_mark);
void wire_u32(struct str *out, uint32_t v);
void wire_u64(struct str *out, uint64_t v);
void wire_text(struct str *out, const char *text);
bool wire_end(struct str *out, size_t mark); // false: larger than a frame may be; nothing of it stays in out

// ---- Reading

// Everything that is wrong latches `bad`; nothing runs over the end.
struct wire_reader {
    const char *p, *end;
    bool bad;
};
// 1: a frame is there, its body in *ret and its size in *ret_size; 0: more bytes are needed; -1: not a frame.
int wire_frame(const char *data, size_t n, struct wire_reader *ret, size_t *ret_size, enum wire_kind *ret_kind);
uint32_t wire_get_u32(struct wire_reader *r);
uint64_t wire_get_u64(struct wire_reader *r);
const char *wire_get_text(struct wire_reader *r); // within the frame, NUL-terminated; "" when bad
const char *wire_get_uid(struct wire_reader *r);  // a text that is safe as a file name

// One process to start.
struct wire_spawn {
    const char *uid;
    uint32_t attempt, rank, total; // rank < total
    const char *role;
    uint32_t index;
    const char *note; // the daemon's own; comes back with STARTED
    uint64_t log_cap;
    const char *cwd;   // absolute
    uint32_t make_cwd; // 1: it is made when it is not there
    const char **argv, **env;
};
// The texts stay in the frame. false: bad, and nothing needs wire_spawn_done.
bool wire_get_spawn(struct wire_reader *r, struct wire_spawn *ret);
void wire_spawn_done(struct wire_spawn *s);

// What the supervisor knows of a process or an attempt.
struct wire_report {
    const char *uid;
    uint32_t attempt;
    uint32_t rank;    // STARTED, REFUSED, EXITED
    uint32_t pid;     // STARTED
    int status;       // EXITED: as of waitpid
    int64_t time_ns;  // STARTED, REFUSED, EXITED: when, wall
    const char *text; // STARTED: the note; REFUSED: why it could not be started; STOPPED: why it is being stopped
};
void wire_put_report(struct str *out, enum wire_kind kind, const struct wire_report *report);
bool wire_get_report(struct wire_reader *r, enum wire_kind kind, struct wire_report *ret);

#endif
