// The log of one process and attempt on disk, in STATE_DIR/logs/UID/:
//   ATTEMPT.RANK.idx          a 64-byte head "role index\n", then 16-byte records: offset, wall ns. An offset with the
//   top bit
//                             set ends the log.
//   ATTEMPT.RANK.OFFSET.log   the bytes from OFFSET on. The oldest go when the cap is reached; a hole between two is a
//   gap.
#ifndef LOCAL_LOGFILE_H
#define LOCAL_LOGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_HEAD_BYTES = 64, LOG_SEGMENTS = 4, LOG_SEGMENTS_MAX = 16 };
#define LOG_END_BIT (UINT64_C(1) << 63)

struct log_record {
    uint64_t offset;
    int64_t time_ns;
};

// The writer, in the supervisor.
struct log_writer {
    char *prefix; // directory/ATTEMPT.RANK
    int index_fd, segment_fd;
    uint64_t offset, segment_start, cap;
    int64_t indexed_ns; // time of the newest record
    uint64_t starts[LOG_SEGMENTS_MAX];
    size_t segments;
    bool ended;
};

void log_writer_open(struct log_writer *w, const char *logs_dir, const char *uid, uint32_t attempt, uint32_t rank,
                     const char *role, uint32_t index, uint64_t cap);
// Never fails and never waits: what cannot be written is counted and becomes a gap.
void log_writer_add(struct log_writer *w, const void *data, size_t n);
void log_writer_end(struct log_writer *w);
void log_writer_done(struct log_writer *w); // ends it when need be

#endif
