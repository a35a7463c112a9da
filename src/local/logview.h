// Looking into the files of one log (see logfile.h) while the supervisor may still write them. Private to local/.
#ifndef LOCAL_LOGVIEW_H
#define LOCAL_LOGVIEW_H

#include "local/logfile.h"

struct log_segment {
    uint64_t start, size;
};

struct log_view {
    char *directory, *prefix; // prefix: "ATTEMPT.RANK"
    int index_fd, segment_fd;
    uint64_t segment_start; // of segment_fd
    struct log_record *records;
    size_t record_count, record_cap;
    struct log_segment segments[LOG_SEGMENTS_MAX * 2]; // that there are, ascending
    size_t segment_count;
    uint64_t whole; // all its bytes, once it has ended
    uint64_t end;   // bytes, or gaps, up to here are known
    bool ended;     // and nothing more will come
};

// false: it is not there, or has no head yet.
bool log_view_open(struct log_view *v, const char *directory, uint32_t attempt, uint32_t rank,
                   char ret_role[LOG_ROLE_MAX + 1], uint32_t *ret_index);
void log_view_close(struct log_view *v);
// What was written since, in this order: first the index, which may say that this is the end, then the sizes, which are
// final if so. true: it has just ended, and all segments must be known.
bool log_view_read_index(struct log_view *v);
void log_view_measure(struct log_view *v);                                            // the newest segment
void log_view_set_segments(struct log_view *v, const uint64_t *starts, size_t count); // these there are, ascending
void log_view_list(struct log_view *v);                                               // finds them in the directory
// Bytes from offset on, at most max, up to a gap. 0: none.
size_t log_view_read(struct log_view *v, uint64_t offset, char *out, size_t max);
// true: nothing is kept from offset to *ret_next, and never will be.
bool log_view_gap(const struct log_view *v, uint64_t offset, uint64_t *ret_next);
int64_t log_view_time(const struct log_view *v, uint64_t offset);       // when that byte was written
uint64_t log_view_offset_at(const struct log_view *v, int64_t time_ns); // of what was written since then
uint64_t log_view_next_after(const struct log_view *v, uint64_t offset, int64_t time_ns); // first byte later than that
uint64_t log_view_tail(struct log_view *v, int64_t lines);                                // where the last lines begin

#endif
