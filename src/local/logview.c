#include "local/logview.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_BLOCK = 64 * 1024 };

bool log_view_open(struct log_view *v, const char *directory, uint32_t attempt, uint32_t rank, char *ret_role,
                   size_t role_size, uint32_t *ret_index) {
    char head[LOG_HEAD_BYTES + 1] = "";
    *v = (struct log_view){.index_fd = -1, .segment_fd = -1, .listed_size = -1};
    v->directory = mem_strdup(directory);
    v->prefix = mem_printf("%u.%u", attempt, rank);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/%s.idx", directory, v->prefix);
    v->index_fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *space = NULL;
    if (v->index_fd >= 0 && pread(v->index_fd, head, LOG_HEAD_BYTES, 0) == LOG_HEAD_BYTES) {
        space = strchr(head, ' ');
    }
    if (space == NULL) {
        log_view_close(v);
        return false;
    }
    snprintf(ret_role, role_size, "%.*s", (int)(space - head), head);
    *ret_index = (uint32_t)strtoul(space + 1, NULL, 10);
    return true;
}

void log_view_close(struct log_view *v) {
    fd_close(&v->index_fd);
    fd_close(&v->segment_fd);
    mem_free(TAKE(v->records));
    mem_free(TAKE(v->directory));
    mem_free(TAKE(v->prefix));
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void list_segments(struct log_view *v) {
    DIR *dir = opendir(v->directory);
    const struct dirent *e;
    size_t n = strlen(v->prefix);
    v->segments = 0;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        uint64_t start;
        int end = 0;
        if (strncmp(e->d_name, v->prefix, n) == 0 && sscanf(e->d_name + n, ".%20" SCNu64 ".log%n", &start, &end) == 1 &&
            end != 0 && v->segments < ARRAY_LEN(v->starts)) {
            v->starts[v->segments++] = start;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    qsort(v->starts, v->segments, sizeof v->starts[0], by_number);
}

static int64_t segment_size(const struct log_view *v, uint64_t start) {
    struct stat st;
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/%s.%020" PRIu64 ".log", v->directory, v->prefix, start);
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void read_index(struct log_view *v) {
    struct log_record r[256];
    ssize_t n;
    do {
        off_t at = LOG_HEAD_BYTES + (off_t)((v->record_count + v->ended) * sizeof r[0]);
        n = pread(v->index_fd, r, sizeof r, at);
        for (size_t i = 0; n > 0 && i < (size_t)n / sizeof r[0]; i++) {
            if ((r[i].offset & LOG_END_BIT) != 0) {
                v->ended = true;
                return;
            }
            if (v->record_count == v->record_cap) {
                v->record_cap = v->record_cap * 2 + 64;
                v->records = mem_realloc_array(v->records, v->record_cap, sizeof *v->records);
            }
            v->records[v->record_count++] = r[i];
        }
    } while (n == (ssize_t)sizeof r);
}

void log_view_refresh(struct log_view *v) {
    if (v->ended && v->listed_size == 1) {
        return; // nothing changes any more, but that old segments could be removed: reading notices that
    }
    read_index(v); // before the sizes: when it says that this is the end, the sizes are final
    list_segments(v);
    v->listed_size = v->ended;
    if (v->segments != 0) {
        uint64_t last = v->starts[v->segments - 1];
        int64_t size = segment_size(v, last);
        v->end = size >= 0 ? last + (uint64_t)size : v->end;
    }
}

// Index of the segment that begins at or before offset; segments when there is none.
static size_t segment_of(const struct log_view *v, uint64_t offset) {
    size_t i = v->segments;
    while (i > 0 && v->starts[i - 1] > offset) {
        i--;
    }
    return i > 0 ? i - 1 : v->segments;
}

static bool open_segment(struct log_view *v, uint64_t start) {
    if (v->segment_fd >= 0 && v->segment_start == start) {
        return true;
    }
    fd_close(&v->segment_fd);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/%s.%020" PRIu64 ".log", v->directory, v->prefix, start);
    v->segment_fd = open(path, O_RDONLY | O_CLOEXEC);
    v->segment_start = start;
    return v->segment_fd >= 0;
}

size_t log_view_read(struct log_view *v, uint64_t offset, char *out, size_t max) {
    size_t total = 0;
    while (total < max) { // over the ends of segments, as long as the bytes follow each other
        size_t i = segment_of(v, offset + total);
        if (i == v->segments || !open_segment(v, v->starts[i])) {
            break;
        }
        ssize_t n = pread(v->segment_fd, out + total, max - total, (off_t)(offset + total - v->starts[i]));
        if (n <= 0) {
            break;
        }
        total += (size_t)n;
    }
    return total;
}

bool log_view_gap(const struct log_view *v, uint64_t offset, uint64_t *ret_next) {
    size_t i = segment_of(v, offset);
    if (i == v->segments) { // before the first that is kept
        if (v->segments == 0 || v->starts[0] <= offset) {
            return false;
        }
        *ret_next = v->starts[0];
        return true;
    }
    if (i + 1 == v->segments || offset < v->starts[i] + (uint64_t)segment_size(v, v->starts[i])) {
        return false;
    }
    *ret_next = v->starts[i + 1];
    return v->starts[i + 1] > offset;
}

int64_t log_view_time(const struct log_view *v, uint64_t offset) {
    size_t low = 0;
    size_t high = v->record_count;
    while (low < high) { // the last record at or before offset
        size_t middle = low + (high - low) / 2;
        if (v->records[middle].offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? v->records[low - 1].time_ns : 0;
}

uint64_t log_view_offset_at(const struct log_view *v, int64_t time_ns) {
    for (size_t i = 0; i < v->record_count; i++) {
        if (v->records[i].time_ns >= time_ns) {
            return v->records[i].offset;
        }
    }
    return v->end;
}

uint64_t log_view_offset_after(const struct log_view *v, int64_t time_ns) {
    for (size_t i = 0; i < v->record_count; i++) {
        if (v->records[i].time_ns > time_ns) {
            return v->records[i].offset;
        }
    }
    return v->end;
}

uint64_t log_view_tail(struct log_view *v, int64_t lines) {
    char block[TAIL_BLOCK];
    uint64_t at = v->end;
    uint64_t first = v->segments != 0 ? v->starts[0] : 0;
    int64_t seen = 0;
    if (lines == 0) {
        return v->end;
    }
    while (at > first) {
        uint64_t from = at - first > TAIL_BLOCK ? at - TAIL_BLOCK : first;
        size_t n = log_view_read(v, from, block, (size_t)(at - from));
        for (size_t i = n; i > 0; i--) {
            // The last byte's own line end is not one between lines.
            if (block[i - 1] == '\n' && from + i != v->end && ++seen == lines) {
                return from + i;
            }
        }
        at = from;
    }
    return first;
}
