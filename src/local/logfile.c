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

#define INDEX_EVERY_NS (5 * CLOCK_MS) // finer than anybody asks, and bounded for a process that writes byte by byte

void log_writer_open(struct log_writer *w, const char *logs_dir, const char *uid, uint32_t attempt, uint32_t rank,
                     const char *role, uint32_t index, uint64_t cap) {
    CLEANUP(mem_free_ptr) char *dir = mem_printf("%s/%s", logs_dir, uid);
    char head[LOG_HEAD_BYTES] = {0};
    *w = (struct log_writer){.index_fd = -1, .segment_fd = -1, .cap = cap};
    (void)mkdir(dir, 0700); // may be there
    w->prefix = mem_printf("%s/%u.%u", dir, attempt, rank);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s.idx", w->prefix);
    w->index_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    snprintf(head, sizeof head, "%.48s %u\n", role, index);
    (void)fd_write_all(w->index_fd, head, sizeof head);
}

static void add_record(struct log_writer *w, uint64_t offset, int64_t now) {
    const struct log_record r = {.offset = offset, .time_ns = now};
    w->indexed_ns = now;
    (void)fd_write_all(w->index_fd, &r, sizeof r);
}

static void remove_oldest(struct log_writer *w) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s.%020" PRIu64 ".log", w->prefix, w->starts[0]);
    (void)unlink(path);
    memmove(w->starts, w->starts + 1, (w->segments - 1) * sizeof w->starts[0]);
    w->segments--;
}

static bool open_segment(struct log_writer *w) {
    while (w->segments >= LOG_SEGMENTS) {
        remove_oldest(w);
    }
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s.%020" PRIu64 ".log", w->prefix, w->offset);
    w->segment_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (w->segment_fd < 0) {
        return false;
    }
    w->segment_start = w->offset;
    w->starts[w->segments++] = w->offset;
    return true;
}

// As much as fits into the present segment. false: the disk does not take it.
static bool add_part(struct log_writer *w, const char *data, size_t n) {
    if (w->segment_fd < 0 && !open_segment(w)) {
        return false;
    }
    ssize_t wrote = write(w->segment_fd, data, n);
    if (wrote > 0) {
        w->offset += (uint64_t)wrote;
        data += wrote;
        n -= (size_t)wrote;
    }
    if (n != 0) {
        fd_close(&w->segment_fd); // what follows begins a new one, so that the hole can be seen
        return false;
    }
    if (w->offset - w->segment_start >= w->cap / LOG_SEGMENTS) {
        fd_close(&w->segment_fd);
    }
    return true;
}

void log_writer_add(struct log_writer *w, const void *data, size_t n) {
    const char *p = data;
    int64_t now = clock_wall();
    if (now - w->indexed_ns >= INDEX_EVERY_NS || now < w->indexed_ns) {
        add_record(w, w->offset, now);
    }
    uint64_t target = w->offset + n;
    while (w->offset < target) {
        uint64_t segment = w->cap / LOG_SEGMENTS;
        uint64_t room = w->segment_fd < 0 ? segment : segment - (w->offset - w->segment_start);
        size_t part = target - w->offset < room ? (size_t)(target - w->offset) : (size_t)room;
        uint64_t before = w->offset;
        if (!add_part(w, p, part)) {
            w->offset = target; // dropped
            return;
        }
        p += w->offset - before;
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
