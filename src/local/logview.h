// Looking into the files of one log (see logfile.h) while the supervisor may still write them. Private to local/.
#ifndef LOCAL_LOGVIEW_H
#define LOCAL_LOGVIEW_H

#include "local/logfile.h"

struct log_view {
    char *directory, *prefix; // prefix: "ATTEMPT.RANK"
    int index_fd, segment_fd;
    uint64_t segment_start; // of segment_fd
    struct log_record *records;
    size_t record_count, record_cap;
    uint64_t starts[LOG_SEGMENTS_MAX * 4]; // of the segments that there are, ascending
    size_t segments;
    uint64_t end;        // bytes up to here can be read
    bool ended;          // and nothing more will come
    int64_t listed_size; // of the index when segments were listed last
};

// false: it is not there, or has no head yet.
bool log_view_open(struct log_view *v, const char *directory, uint32_t attempt, uint32_t rank, char *ret_role,
                   size_t role_size, uint32_t *ret_index);
void log_view_close(struct log_view *v);
void log_view_refresh(struct log_view *v); // what was written since
// Bytes from offset on, at most max, not over the end of a segment. 0: none, or a gap.
size_t log_view_read(struct log_view *v, uint64_t offset, char *out, size_t max);
bool log_view_gap(const struct log_view *v, uint64_t offset,
                  uint64_t *ret_next);                            // true: nothing is kept from offset to *ret_next
int64_t log_view_time(const struct log_view *v, uint64_t offset); // when that byte was written
uint64_t log_view_offset_at(const struct log_view *v, int64_t time_ns);    // of the first byte written then or later
uint64_t log_view_offset_after(const struct log_view *v, int64_t time_ns); // of the first byte written later than then
uint64_t log_view_tail(struct log_view *v, int64_t lines);                 // where the last lines begin

#endif
