// Log files as a broken disk might give them: the index and one segment are the input, the segments' places as well.
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "local/logview.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEGMENTS = 3, STEPS_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *directory(void) {
    static char path[64];
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "/tmp/trainerd-fuzz-XXXXXX");
        assert(mkdtemp(path) != NULL);
    }
    return path;
}

static void write_file(const char *name, const void *head, size_t head_size, const void *data, size_t size) {
    char *path = mem_printf("%s/%s", directory(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert(fd >= 0 && fd_write_all(fd, head, head_size) && fd_write_all(fd, data, size));
    close(fd);
    mem_free(path);
}

static void remove_file(const char *name) {
    char *path = mem_printf("%s/%s", directory(), name);
    (void)unlink(path);
    mem_free(path);
}

static void read_all(struct log_view *v) {
    char buffer[64];
    uint64_t at = 0;
    for (int i = 0; i < STEPS_MAX && at < v->end; i++) {
        uint64_t next;
        if (log_view_gap(v, at, &next)) {
            assert(next > at);
            at = next;
            continue;
        }
        size_t n = log_view_read(v, at, buffer, sizeof buffer);
        (void)log_view_time(v, at);
        (void)log_view_next_after(v, at, (int64_t)i);
        if (n == 0) {
            return; // the index promises what is not there
        }
        at += n;
    }
}

// byte 0: size of the index in 16 bytes; 1..3: where segments begin; then the index, then what is in each segment.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char head[LOG_HEAD_BYTES] = "worker 0\n";
    char names[SEGMENTS][64];
    char role[LOG_ROLE_MAX + 1];
    uint32_t index;
    struct log_view v;
    if (size < 1 + SEGMENTS) {
        return 0;
    }
    const uint8_t *body = data + 1 + SEGMENTS;
    size_t rest = size - 1 - SEGMENTS;
    size_t index_size = (size_t)data[0] * 16 < rest ? (size_t)data[0] * 16 : rest;
    write_file("1.0.idx", head, sizeof head, body, index_size);
    for (size_t i = 0; i < SEGMENTS; i++) {
        snprintf(names[i], sizeof names[i], "1.0.%020" PRIu64 ".log", (uint64_t)data[1 + i]);
        write_file(names[i], "", 0, body + index_size, rest - index_size);
    }
    assert(log_view_open(&v, directory(), 1, 0, role, &index));
    (void)log_view_read_index(&v);
    log_view_list(&v);
    read_all(&v);
    (void)log_view_tail(&v, data[0]);
    (void)log_view_offset_at(&v, (int64_t)data[1]);
    (void)log_view_read_index(&v);
    log_view_measure(&v);
    log_view_close(&v);
    for (size_t i = 0; i < SEGMENTS; i++) {
        remove_file(names[i]);
    }
    return 0;
}
