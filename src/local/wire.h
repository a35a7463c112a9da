// What the daemon and its supervisor say to each other: frames of a u32 length and a body of numbers and texts, little
// endian.
#ifndef LOCAL_WIRE_H
#define LOCAL_WIRE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 1, WIRE_FRAME_MAX = 32 * 1024 * 1024 };

enum wire_kind {
    // daemon -> supervisor
    WIRE_SPAWN = 1, // uid, attempt, rank, total, role, index, note, log cap, cwd, n argv..., n env...
    WIRE_STOP,      // uid, attempt, grace ms
    WIRE_FORGET,    // uid
    WIRE_LIST,      // -
    // supervisor -> daemon
    WIRE_HELLO,   // version, pid
    WIRE_STARTED, // uid, attempt, rank, pid, note
    WIRE_REFUSED, // uid, attempt, rank, text: could not be started
    WIRE_EXITED,  // uid, attempt, rank, wait status, wall ns
    WIRE_GONE,    // uid, attempt: no process of it is left
    WIRE_LISTED,  // everything that is held was said
};

void wire_begin(struct str *out, enum wire_kind kind, size_t *ret_mark);
void wire_u32(struct str *out, uint32_t v);
void wire_u64(struct str *out, uint64_t v);
void wire_text(struct str *out, const char *text);
void wire_end(struct str *out, size_t mark);

// Reads what was checked for its length only: everything latches `bad` instead of running over.
struct wire_reader {
    const char *p, *end;
    bool bad;
};
// 1: a frame is there, its body in *ret and its size in *ret_size; 0: more bytes are needed; -1: not a frame.
int wire_frame(const char *data, size_t n, struct wire_reader *ret, size_t *ret_size, enum wire_kind *ret_kind);
uint32_t wire_get_u32(struct wire_reader *r);
uint64_t wire_get_u64(struct wire_reader *r);
const char *wire_get_text(struct wire_reader *r); // within the frame, NUL-terminated; "" when bad

#endif
