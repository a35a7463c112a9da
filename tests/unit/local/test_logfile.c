// The files of one log: the writer that never waits, and the view of what it has written.
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "local/logview.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char dir[64];
    char *job_dir;
    struct log_writer w;
    struct log_view v;
};

static void look(struct log_view *v) {
    (void)log_view_read_index(v);
    log_view_list(v);
}

static void begin(struct fixture *f, uint64_t cap) {
    char role[LOG_ROLE_MAX + 1];
    uint32_t index;
    *f = (struct fixture){0};
    snprintf(f->dir, sizeof f->dir, "/tmp/trainerd-logfile-XXXXXX");
    cr_assert(mkdtemp(f->dir) != NULL);
    f->job_dir = mem_printf("%s/job", f->dir);
    log_writer_open(&f->w, f->dir, "job", 2, 3, "worker", 4, cap);
    cr_assert(log_view_open(&f->v, f->job_dir, 2, 3, role, &index));
    cr_assert_str_eq(role, "worker");
    cr_assert_eq(index, 4);
}

static void finish(struct fixture *f) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    log_view_close(&f->v);
    log_writer_done(&f->w);
    mem_free(f->job_dir);
    cr_assert(fd_remove_tree(f->dir, &err));
}

static char at(uint64_t offset) {
    return (char)('a' + offset * 7 % 26);
}

// Writes n bytes, each of which says where it is.
static void add(struct fixture *f, size_t n) {
    char *data = mem_alloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        data[i] = at(f->w.offset + i);
    }
    log_writer_add(&f->w, data, n);
    mem_free(data);
}

// Reads from offset to the end; returns the number of bytes in gaps.
static uint64_t read_all(struct fixture *f, uint64_t offset) {
    char buffer[1000];
    uint64_t missing = 0;
    while (offset < f->v.end) {
        uint64_t next;
        if (log_view_gap(&f->v, offset, &next)) {
            missing += next - offset;
            offset = next;
            continue;
        }
        size_t n = log_view_read(&f->v, offset, buffer, sizeof buffer);
        cr_assert_gt(n, 0, "at %lu of %lu", offset, f->v.end);
        for (size_t i = 0; i < n; i++) {
            cr_assert_eq(buffer[i], at(offset + i));
        }
        offset += n;
    }
    return missing;
}

static uint64_t size_on_disk(const struct fixture *f, const char *ending) {
    DIR *dir = opendir(f->job_dir);
    const struct dirent *e;
    uint64_t total = 0;
    while ((e = readdir(dir)) != NULL) {
        CLEANUP(mem_free_ptr) char *path = mem_printf("%s/%s", f->job_dir, e->d_name);
        struct stat st;
        if (str_ends(e->d_name, ending) && stat(path, &st) == 0) {
            total += (uint64_t)st.st_size;
        }
    }
    closedir(dir);
    return total;
}

Test(logfile, segments_roll_and_offsets_stay) {
    struct fixture f;
    begin(&f, 4000);
    for (int i = 0; i < 100; i++) {
        add(&f, 333);
        look(&f.v);
        cr_assert_eq(f.v.end, f.w.offset);
        cr_assert_leq(size_on_disk(&f, ".log"), 4000);
        uint64_t missing = read_all(&f, 0);
        cr_assert(missing <= f.w.offset - (f.w.offset < 3000 ? f.w.offset : 3000));
    }
    cr_assert(!f.v.ended);
    log_writer_end(&f.w);
    cr_assert(log_view_read_index(&f.v));
    log_view_measure(&f.v);
    cr_assert(f.v.ended);
    cr_assert_eq(f.v.end, 33300);
    finish(&f);
}

Test(logfile, a_full_disk_drops_counts_and_goes_on) {
    struct fixture f;
    begin(&f, 1 << 20);
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    add(&f, 5000);
    const struct rlimit full = {.rlim_cur = 6000, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full); // as a full disk: a part is written, then nothing
    add(&f, 5000);
    add(&f, 100);
    setrlimit(RLIMIT_FSIZE, &old);
    f.w.retry_ns = 0; // a second later
    add(&f, 700);
    cr_assert_eq(f.w.offset, 10800);
    look(&f.v);
    cr_assert_eq(f.v.end, 10800);
    cr_assert_eq(read_all(&f, 0), 4100, "what was not written is a gap, and only that");
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    add(&f, 50);
    size_t segments = f.w.segments;
    for (int i = 0; i < 100; i++) {
        f.w.retry_ns = 0;
        add(&f, 1);
    }
    cr_assert_eq(f.w.segments, segments, "trying again takes nothing away");
    setrlimit(RLIMIT_FSIZE, &old);
    log_writer_end(&f.w);
    look(&f.v);
    cr_assert(f.v.ended);
    cr_assert_eq(f.v.end, 10950);
    cr_assert_eq(read_all(&f, 0), 4250, "also at the end");
    finish(&f);
}

Test(logfile, the_index_of_little_pieces_stays_small) {
    struct fixture f;
    begin(&f, 64 * 1024);
    for (int i = 0; i < 300000; i++) {
        f.w.indexed_ns -= 10 * CLOCK_MS; // as if ten milliseconds had passed
        add(&f, 3);
        if (i % 50000 == 0) {
            look(&f.v);
        }
    }
    cr_assert_leq(size_on_disk(&f, ".idx"), 256 * 1024);
    log_writer_end(&f.w);
    look(&f.v);
    cr_assert_eq(f.v.end, 900000);
    (void)read_all(&f, 0);
    cr_assert_gt(log_view_time(&f.v, 899999), 0);
    for (size_t i = 1; i < f.v.record_count; i++) {
        cr_assert_gt(f.v.records[i].offset, f.v.records[i - 1].offset, "%zu", i);
    }
    finish(&f);
}

Test(logfile, tail_over_segments_and_gaps) {
    struct fixture f;
    begin(&f, 400);
    for (int i = 0; i < 50; i++) {
        CLEANUP(mem_free_ptr) char *line = mem_printf("line %02d\n", i);
        log_writer_add(&f.w, line, 8);
    }
    look(&f.v);
    cr_assert_eq(log_view_tail(&f.v, 0), 400);
    cr_assert_eq(log_view_tail(&f.v, 1), 392);
    cr_assert_eq(log_view_tail(&f.v, 20), 240);
    cr_assert_eq(log_view_tail(&f.v, 1000), f.v.segments[0].start);
    finish(&f);
}

Test(logfile, what_is_no_log_is_not_opened) {
    char dir[] = "/tmp/trainerd-logfile-XXXXXX";
    char role[LOG_ROLE_MAX + 1];
    uint32_t index;
    struct log_view v;
    cr_assert(mkdtemp(dir) != NULL);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/1.0.idx", dir);
    cr_assert(!log_view_open(&v, dir, 1, 0, role, &index));
    FILE *file = fopen(path, "w");
    fputs("short", file);
    fclose(file);
    cr_assert(!log_view_open(&v, dir, 1, 0, role, &index));
    file = fopen(path, "w");
    for (int i = 0; i < LOG_HEAD_BYTES; i++) {
        fputc('x', file);
    }
    fclose(file);
    cr_assert(!log_view_open(&v, dir, 1, 0, role, &index), "a role that long was never written");
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_assert(fd_remove_tree(dir, &err));
}
