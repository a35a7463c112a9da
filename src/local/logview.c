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

enum { TAIL_BLOCK = 64 * 1024, RECORDS_A_READ = 256 };

// ---- Open and close

static bool open_index(struct log_view *v) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/%s.idx", v->directory, v->prefix);
    fd_close(&v->index_fd);
    v->index_fd = open(path, O_RDONLY | O_CLOEXEC);
    v->record_count = 0;
    return v->index_fd >= 0;
}

bool log_view_open(struct log_view *v, const char *directory, uint32_t attempt, uint32_t rank,
                   char ret_role[LOG_ROLE_MAX + 1], uint32_t *ret_index) {
    char head[LOG_HEAD_BYTES + 1] = "";
    *v = (struct log_view){.index_fd = -1, .segment_fd = -1};
    v->directory = mem_strdup(directory);
    v->prefix = mem_printf("%u.%u", attempt, rank);
    const char *space = NULL;
    if (open_index(v) && pread(v->index_fd, head, LOG_HEAD_BYTES, 0) == LOG_HEAD_BYTES) {
        space = strchr(head, ' ');
    }
    if (space == NULL || space - head > LOG_ROLE_MAX) {
        log_view_close(v);
        return false;
    }
    memcpy(ret_role, head, (size_t)(space - head));
    ret_role[space - head] = '\0';
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

// ---- What is there

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static char *segment_path(const struct log_view *v, uint64_t start) {
    return mem_printf("%s/%s.%020" PRIu64 ".log", v->directory, v->prefix, start);
}

static void measure(const struct log_view *v, struct log_segment *s) {
    struct stat st;
    CLEANUP(mem_free_ptr) char *path = segment_path(v, s->start);
    s->size = stat(path, &st) == 0 ? (uint64_t)st.st_size : s->size;
}

static void move_end(struct log_view *v) {
    uint64_t end = v->whole; // the last bytes may have found no room on the disk
    if (v->segment_count != 0) {
        const struct log_segment *last = &v->segments[v->segment_count - 1];
        end = last->start + last->size > end ? last->start + last->size : end;
    }
    v->end = end > v->end ? end : v->end;
}

void log_view_measure(struct log_view *v) {
    if (v->segment_count != 0) {
        measure(v, &v->segments[v->segment_count - 1]);
    }
    move_end(v);
}

void log_view_set_segments(struct log_view *v, const uint64_t *starts, size_t count) {
    v->segment_count = count < ARRAY_LEN(v->segments) ? count : ARRAY_LEN(v->segments);
    for (size_t i = 0; i < v->segment_count; i++) {
        v->segments[i] = (struct log_segment){.start = starts[i]};
        measure(v, &v->segments[i]);
    }
    move_end(v);
}

void log_view_list(struct log_view *v) {
    DIR *dir = opendir(v->directory);
    const struct dirent *e;
    uint64_t starts[ARRAY_LEN(v->segments)];
    size_t count = 0;
    size_t n = strlen(v->prefix);
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        int end = 0;
        if (strncmp(e->d_name, v->prefix, n) == 0 && count < ARRAY_LEN(starts) &&
            sscanf(e->d_name + n, ".%20" SCNu64 ".log%n", &starts[count], &end) == 1 && end != 0) {
            count++;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    qsort(starts, count, sizeof starts[0], by_number);
    log_view_set_segments(v, starts, count);
}

static void add_record(struct log_view *v, struct log_record r) {
    if (v->record_count == v->record_cap) {
        v->record_cap = v->record_cap * 2 + 64;
        v->records = mem_realloc_array(v->records, v->record_cap, sizeof *v->records);
    }
    v->records[v->record_count++] = r;
}

bool log_view_read_index(struct log_view *v) {
    struct log_record r[RECORDS_A_READ];
    struct stat st;
    ssize_t n;
    if (v->ended) {
        return false;
    }
    if (fstat(v->index_fd, &st) == 0 && st.st_nlink == 0) {
        (void)open_index(v); // a shorter one has taken its place
    }
    do {
        n = pread(v->index_fd, r, sizeof r, (off_t)(LOG_HEAD_BYTES + v->record_count * sizeof r[0]));
        for (size_t i = 0; n > 0 && i < (size_t)n / sizeof r[0]; i++) {
            if ((r[i].offset & LOG_END_BIT) != 0) {
                v->ended = true;
                v->whole = r[i].offset & ~LOG_END_BIT;
                return true;
            }
            add_record(v, r[i]);
        }
    } while (n == (ssize_t)sizeof r);
    return false;
}

// Index of the segment that begins at or before offset; segment_count when there is none.
static size_t segment_of(const struct log_view *v, uint64_t offset) {
    size_t i = v->segment_count;
    while (i > 0 && v->segments[i - 1].start > offset) {
        i--;
    }
    return i > 0 ? i - 1 : v->segment_count;
}

// ---- Bytes

static bool open_segment(struct log_view *v, uint64_t start) {
    if (v->segment_fd >= 0 && v->segment_start == start) {
        return true;
    }
    fd_close(&v->segment_fd);
    CLEANUP(mem_free_ptr) char *path = segment_path(v, start);
    v->segment_fd = open(path, O_RDONLY | O_CLOEXEC);
    v->segment_start = start;
    return v->segment_fd >= 0;
}

size_t log_view_read(struct log_view *v, uint64_t offset, char *out, size_t max) {
    size_t total = 0;
    while (total < max) { // over the ends of segments, as long as the bytes follow each other
        uint64_t at = offset + total;
        size_t i = segment_of(v, at);
        if (i == v->segment_count || at >= v->segments[i].start + v->segments[i].size) {
            break;
        }
        if (!open_segment(v, v->segments[i].start)) {
            log_view_list(v); // it went just now, and is a gap
            break;
        }
        uint64_t known = v->segments[i].start + v->segments[i].size - at; // what came since is not indexed yet
        size_t want = max - total < known ? max - total : (size_t)known;
        ssize_t n = pread(v->segment_fd, out + total, want, (off_t)(at - v->segments[i].start));
        if (n <= 0) {
            break;
        }
        total += (size_t)n;
    }
    return total;
}

bool log_view_gap(const struct log_view *v, uint64_t offset, uint64_t *ret_next) {
    size_t i = segment_of(v, offset);
    bool inside = i < v->segment_count && offset < v->segments[i].start + v->segments[i].size;
    if (inside) {
        return false;
    }
    size_t after = i == v->segment_count ? 0 : i + 1;
    if (after < v->segment_count) {
        *ret_next = v->segments[after].start;
        return *ret_next > offset;
    }
    *ret_next = v->end;
    return v->ended && v->end > offset;
}

// ---- Times

// Number of records that begin at or before offset.
static size_t records_until(const struct log_view *v, uint64_t offset) {
    size_t low = 0;
    size_t high = v->record_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->records[middle].offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t log_view_time(const struct log_view *v, uint64_t offset) {
    size_t n = records_until(v, offset);
    return n > 0 ? v->records[n - 1].time_ns : 0;
}

uint64_t log_view_offset_at(const struct log_view *v, int64_t time_ns) {
    for (size_t i = 0; i < v->record_count; i++) { // clocks are set back at times: no order to search by
        if (v->records[i].time_ns >= time_ns) {
            return v->records[i].offset;
        }
    }
    return v->end;
}

uint64_t log_view_next_after(const struct log_view *v, uint64_t offset, int64_t time_ns) {
    for (size_t i = records_until(v, offset); i < v->record_count; i++) {
        if (v->records[i].time_ns > time_ns) {
            return v->records[i].offset;
        }
    }
    return UINT64_MAX;
}

// ---- The last lines

// From the end of a segment backwards. true: the line begins at *ret.
static bool tail_of(struct log_view *v, const struct log_segment *s, int64_t lines, int64_t *seen, uint64_t *ret) {
    CLEANUP(mem_free_ptr) char *block = mem_alloc(TAIL_BLOCK);
    uint64_t at = s->start + s->size;
    while (at > s->start) {
        uint64_t from = at - s->start > TAIL_BLOCK ? at - TAIL_BLOCK : s->start;
        size_t n = log_view_read(v, from, block, (size_t)(at - from));
        for (size_t i = n; i > 0; i--) {
            // The very last byte's own line end is not one between lines.
            if (block[i - 1] == '\n' && from + i != v->end && ++*seen == lines) {
                *ret = from + i;
                return true;
            }
        }
        at = from;
    }
    return false;
}

uint64_t log_view_tail(struct log_view *v, int64_t lines) {
    int64_t seen = 0;
    uint64_t at = v->end;
    if (lines == 0) {
        return v->end;
    }
    for (size_t i = v->segment_count; i > 0; i--) {
        const struct log_segment s = v->segments[i - 1];
        if (tail_of(v, &s, lines, &seen, &at)) {
            return at;
        }
    }
    return v->segment_count != 0 ? v->segments[0].start : 0;
}
