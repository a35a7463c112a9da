#include "local/logfile.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Times are kept finely while that is cheap, and coarsely for a process that writes little pieces for days.
#define FINE_NS (5 * CLOCK_MS)
#define COARSE_NS CLOCK_SECOND
#define RETRY_NS CLOCK_SECOND
enum { FINE_INDEX_BYTES = 64 * 1024, COARSE_BYTES = 256, COMPACT_BYTES = 128 * 1024 };

void log_writer_open(struct log_writer *w, const char *logs_dir, const char *uid, uint32_t attempt, uint32_t rank,
                     const char *role, uint32_t index, uint64_t cap) {
    CLEANUP(mem_free_ptr) char *dir = mem_printf("%s/%s", logs_dir, uid);
    char head[LOG_HEAD_BYTES] = {0};
    *w = (struct log_writer){.index_fd = -1, .segment_fd = -1, .cap = cap >= LOG_SEGMENTS ? cap : LOG_SEGMENTS};
    (void)mkdir(dir, 0700); // may be there
    w->prefix = mem_printf("%s/%u.%u", dir, attempt, rank);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s.idx", w->prefix);
    w->index_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    snprintf(head, sizeof head, "%.*s %u\n", LOG_ROLE_MAX, role, index);
    (void)fd_write_all(w->index_fd, head, sizeof head);
}

// ---- The index

static bool index_is_due(const struct log_writer *w, int64_t now) {
    int64_t age = now - w->indexed_ns;
    if (age < 0 || age >= COARSE_NS) {
        return true;
    }
    return age >= FINE_NS && (w->index_bytes < FINE_INDEX_BYTES || w->offset - w->indexed_offset >= COARSE_BYTES);
}

static void add_record(struct log_writer *w, uint64_t offset, int64_t now) {
    const struct log_record r = {.offset = offset, .time_ns = now};
    w->indexed_ns = now;
    w->indexed_offset = w->offset;
    // At its own place: what a full disk took only half of is written over by the next.
    if (pwrite(w->index_fd, &r, sizeof r, (off_t)(LOG_HEAD_BYTES + w->index_bytes)) == (ssize_t)sizeof r) {
        w->index_bytes += sizeof r;
    }
}

// Number of records that only speak of bytes before offset.
static size_t records_before(const struct log_record *r, size_t n, uint64_t offset) {
    size_t i = 0;
    while (i + 1 < n && r[i + 1].offset <= offset) {
        i++;
    }
    return i;
}

// A new index without the records of segments that are gone. When the disk does not take it the old one stays.
static void compact_index(struct log_writer *w) {
    size_t size = LOG_HEAD_BYTES + (size_t)w->index_bytes;
    CLEANUP(mem_free_ptr) char *all = mem_alloc(size);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s.idx", w->prefix);
    CLEANUP(mem_free_ptr) char *fresh = mem_printf("%s.new", w->prefix);
    if (pread(w->index_fd, all, size, 0) != (ssize_t)size) {
        return;
    }
    const struct log_record *records = (const struct log_record *)(const void *)(all + LOG_HEAD_BYTES);
    size_t cut = records_before(records, w->index_bytes / sizeof *records, w->starts[0]) * sizeof *records;
    int fd = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t rest = (size_t)w->index_bytes - cut;
    if (fd_write_all(fd, all, LOG_HEAD_BYTES) && fd_write_all(fd, all + LOG_HEAD_BYTES + cut, rest) &&
        rename(fresh, path) == 0) {
        fd_close(&w->index_fd);
        w->index_fd = fd;
        w->index_bytes = rest;
        return;
    }
    (void)unlink(fresh);
    fd_close(&fd);
}

// ---- Segments

static char *segment_path(const struct log_writer *w, uint64_t start) {
    return mem_printf("%s.%020" PRIu64 ".log", w->prefix, start);
}

static void remove_oldest(struct log_writer *w) {
    CLEANUP(mem_free_ptr) char *path = segment_path(w, w->starts[0]);
    struct stat st;
    if (stat(path, &st) == 0 && (uint64_t)st.st_size <= w->kept) {
        w->kept -= (uint64_t)st.st_size;
    }
    (void)unlink(path);
    w->segments--;
    memmove(w->starts, w->starts + 1, w->segments * sizeof w->starts[0]);
}

static bool open_segment(struct log_writer *w) {
    bool dropped = false;
    while (w->segments == LOG_SEGMENTS_MAX ||
           (w->segments != 0 && w->kept + w->cap / LOG_SEGMENTS > w->cap)) { // room for a whole one
        remove_oldest(w);
        dropped = true;
    }
    w->kept = w->segments != 0 ? w->kept : 0;
    if (dropped && w->index_bytes >= COMPACT_BYTES && w->segments != 0) {
        compact_index(w);
    }
    CLEANUP(mem_free_ptr) char *path = segment_path(w, w->offset);
    w->segment_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (w->segment_fd < 0) {
        return false;
    }
    w->segment_bytes = 0;
    w->starts[w->segments++] = w->offset;
    return true;
}

// The disk does not take any more: what follows begins a segment of its own, so that the hole can be seen.
static void close_short(struct log_writer *w) {
    if (w->segment_fd >= 0 && w->segment_bytes == 0) {
        CLEANUP(mem_free_ptr) char *path = segment_path(w, w->starts[w->segments - 1]);
        (void)unlink(path);
        w->segments--;
    }
    fd_close(&w->segment_fd);
    w->retry_ns = clock_mono() + RETRY_NS;
}

// As much as fits into the present segment; 0: the disk does not take it.
static size_t add_part(struct log_writer *w, const char *data, size_t n) {
    uint64_t most = w->cap / LOG_SEGMENTS;
    if (w->segment_fd < 0 && (clock_mono() < w->retry_ns || !open_segment(w))) {
        return 0;
    }
    uint64_t room = most - w->segment_bytes;
    size_t part = n < room ? n : (size_t)room;
    ssize_t wrote = write(w->segment_fd, data, part);
    if (wrote <= 0) {
        close_short(w);
        return 0;
    }
    w->offset += (uint64_t)wrote;
    w->kept += (uint64_t)wrote;
    w->segment_bytes += (uint64_t)wrote;
    if (w->segment_bytes >= most) {
        fd_close(&w->segment_fd);
    }
    return (size_t)wrote;
}

void log_writer_add(struct log_writer *w, const void *data, size_t n) {
    const char *p = data;
    int64_t now = clock_wall();
    if (index_is_due(w, now)) {
        add_record(w, w->offset, now);
    }
    while (n != 0) {
        size_t part = add_part(w, p, n);
        if (part == 0) {
            w->offset += n; // dropped: the next segment begins behind it
            return;
        }
        p += part;
        n -= part;
    }
}

void log_writer_end(struct log_writer *w) {
    if (!w->ended && w->prefix != NULL) {
        w->ended = true;
        add_record(w, w->offset | LOG_END_BIT, clock_wall());
        fd_close(&w->index_fd);
        fd_close(&w->segment_fd);
    }
}

void log_writer_done(struct log_writer *w) {
    log_writer_end(w);
    mem_free(TAKE(w->prefix));
}
