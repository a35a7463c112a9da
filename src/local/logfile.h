// The log of one process and attempt on disk, in STATE_DIR/logs/UID/:
//   ATTEMPT.RANK.idx         a head of 96 bytes, "role index\n" and zeros, then records of 16 bytes: from which offset
//   on
//                            bytes were written when. An offset with the top bit ends the log.
//   ATTEMPT.RANK.OFFSET.log  the bytes from OFFSET on. The oldest segments go when the cap is reached; a hole between
//                            two of them, or before the first, is a gap.
// The index is replaced by a shorter one (rename) when segments went; whoever has it open sees that it has no link.
#ifndef LOCAL_LOGFILE_H
#define LOCAL_LOGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_HEAD_BYTES = 96, LOG_ROLE_MAX = 64, LOG_SEGMENTS = 4, LOG_SEGMENTS_MAX = 16 };
#define LOG_END_BIT (UINT64_C(1) << 63)

struct log_record {
    uint64_t offset;
    int64_t time_ns;
};

// The writer, in the supervisor. Nothing here fails or waits: what cannot be written is counted and becomes a gap.
struct log_writer {
    char *prefix;             // directory/ATTEMPT.RANK; NULL: not open
    int index_fd, segment_fd; // -1: none
    uint64_t offset, cap;     // next byte of the log
    uint64_t index_bytes;     // records only
    uint64_t indexed_offset;  // of the newest record
    int64_t indexed_ns;       // its time
    int64_t retry_ns;         // mono: the disk was full, try again then
    uint64_t starts[LOG_SEGMENTS_MAX];
    uint64_t kept;          // bytes in all segments
    uint64_t segment_bytes; // in the newest
    size_t segments;
    bool ended;
};

void log_writer_open(struct log_writer *w, const char *logs_dir, const char *uid, uint32_t attempt, uint32_t rank,
                     const char *role, uint32_t index, uint64_t cap);
void log_writer_add(struct log_writer *w, const void *data, size_t n);
void log_writer_end(struct log_writer *w);
void log_writer_done(struct log_writer *w); // ends it when need be

#endif
