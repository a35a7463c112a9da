// No space: new jobs are refused, what must be written waits, reads go on, and it ends by itself.
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct health_log {
    struct world *world;
    struct str text; // "bad good "
};

static void on_health(void *ctx, const char *problem) {
    struct health_log *h = ctx;
    str_add(&h->text, problem != NULL ? "bad " : "good ");
    cr_expect(str_same(problem, store_problem(h->world->store)));
    cr_expect_eq(store_full(h->world->store), problem != NULL);
    if (problem != NULL) {
        cr_expect_not_null(strstr(problem, "no space left"), "%s", problem);
        cr_expect_not_null(strstr(problem, h->world->directory), "%s", problem);
    }
    loop_stop(h->world->loop);
}

static void wait_healthy(struct world *w) {
    int64_t until = clock_mono() + 20 * CLOCK_SECOND;
    while (store_problem(w->store) != NULL) {
        cr_assert(clock_mono() < until, "still in trouble: %s", store_problem(w->store));
        world_wait_for(w, w->answers + 1, 1000);
    }
}

static void expect_full(struct answer *a) {
    cr_expect_eq(a->first, 0);
    cr_expect_eq(a->err.code, ERR_EXHAUSTED);
    cr_expect_str_eq(a->err.reason, "JOURNAL_FULL");
    err_done(&a->err);
}

// ways to have no space and to have it again
struct scarcity {
    bool (*begin)(struct world *w);
    void (*take)(struct world *w);
    void (*give)(struct world *w);
};

static off_t size_of(struct world *w, const char *name) {
    char path[128];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", w->directory, name);
    return stat(path, &st) == 0 ? st.st_size : 0;
}

static void set_file_limit(rlim_t soft) {
    struct rlimit r;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = soft;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static bool limit_begin(struct world *w) {
    world_new(w);
    signal(SIGXFSZ, SIG_IGN);
    return true;
}

static void limit_take(struct world *w) { // it cannot grow by another page
    set_file_limit((rlim_t)size_of(w, "journal.db-wal"));
}

static void limit_give(struct world *w UNUSED) {
    set_file_limit(RLIM_INFINITY);
}

static bool disk_begin(struct world *w) {
    world_new(w);
    // In a mount namespace of its own the disk is gone with this process.
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("trainerd", w->directory, "tmpfs", 0, "size=1m") == 0;
}

static void disk_take(struct world *w) {
    char path[128];
    static const char block[1024];
    snprintf(path, sizeof path, "%s/filler", w->directory);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT, 0600);
    while (write(fd, block, sizeof block) > 0) {
    }
    cr_assert_eq(errno, ENOSPC);
}

static void disk_give(struct world *w) {
    char path[128];
    snprintf(path, sizeof path, "%s/filler", w->directory);
    cr_assert_eq(unlink(path), 0);
}

static const struct scarcity file_limit = {limit_begin, limit_take, limit_give};
static const struct scarcity small_disk = {disk_begin, disk_take, disk_give};

static void run_out_and_recover(const struct scarcity *by) {
    struct world w;
    struct answer first;
    struct answer steps[3];
    struct answer jobs[2];
    if (!by->begin(&w)) {
        world_done(&w);
        cr_skip_test("mounting a small disk is not allowed here");
    }
    struct health_log health = {.world = &w};
    world_open(&w);
    store_on_health(w.store, on_health, &health);
    commit_job(&w, "a", 1, &first);
    world_wait(&w, 1);

    by->take(&w);
    commit_step(&w, "a", 2, 2, &steps[0]);
    commit_job(&w, "b", 2, &jobs[0]);
    commit_step(&w, "a", 3, 3, &steps[1]);
    world_wait(&w, 2);
    expect_full(&jobs[0]);
    cr_expect_eq(jobs[0].order, 2);
    cr_expect_not_null(store_problem(w.store));
    commit_job(&w, "c", 3, &jobs[1]); // at once, though steps wait before it
    world_wait_for(&w, 3, 50);
    expect_full(&jobs[1]);
    commit_step(&w, "a", 4, 4, &steps[2]);
    expect_transitions(&w, 0, 10, "1:a/1"); // reads go on
    cr_expect_not(world_wait_for(&w, w.answers + 1, 400), "answered without space");
    cr_expect_eq(store_newest_sequence(w.store), 1);
    cr_expect_str_eq(str_text(&health.text), "bad ");

    by->give(&w);
    wait_healthy(&w);
    world_wait(&w, 7);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(steps[i].first, 2 + i);
        cr_expect_eq(steps[i].order, 5 + i);
    }
    cr_expect_str_eq(str_text(&health.text), "bad good ");
    expect_transitions(&w, 0, 10, "1:a/1 2:a/2 3:a/3 4:a/4");
    commit_job(&w, "b", 2, &jobs[0]);
    world_wait(&w, w.answers + 1);
    cr_expect_eq(jobs[0].first, 5);
    world_reopen(&w);
    expect_load(&w, "4:a/4=4{} 5:b/1=1{}");
    world_close(&w);
    umount(w.directory);
    world_done(&w);
    str_done(&health.text);
}

Test(full, file_size_limit) {
    run_out_and_recover(&file_limit);
}

Test(full, small_disk) {
    run_out_and_recover(&small_disk);
}

// When only new jobs were refused, nothing waits; the end is noticed all the same.
Test(full, recovers_with_nothing_to_write) {
    struct world w;
    struct answer a;
    limit_begin(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a);
    world_wait(&w, 1);
    limit_take(&w);
    commit_job(&w, "b", 2, &a);
    world_wait(&w, 2);
    expect_full(&a);
    cr_expect_not_null(store_problem(w.store));
    limit_give(&w);
    wait_healthy(&w);
    cr_expect_eq(w.answers, 2);
    world_done(&w);
}

// What could not be written to the last is dropped with all behind it, not in part.
Test(full, close_in_trouble) {
    struct world w;
    struct answer a[3];
    limit_begin(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);
    world_wait(&w, 1);
    limit_take(&w);
    commit_step(&w, "a", 2, 2, &a[1]);
    commit_step(&w, "a", 3, 3, &a[2]);
    world_close(&w);
    limit_give(&w);
    world_open(&w);
    expect_load(&w, "1:a/1=1{}");
    commit_step(&w, "a", 2, 7, &a[1]);
    world_wait(&w, 2);
    cr_expect_eq(a[1].first, 2, "the sequence was never told to anybody");
    world_close(&w);
    world_open(&w);
    limit_take(&w);
    commit_step(&w, "a", 3, 7, &a[1]);
    world_wait_for(&w, 3, 200);
    limit_give(&w);
    world_reopen(&w); // space again, just in time
    expect_load(&w, "3:a/3=7");
    world_done(&w);
}

Test(full, no_space_to_create) {
    struct world w;
    struct err err = ERR_INIT;
    limit_begin(&w);
    set_file_limit(8192);
    cr_assert_not(world_try_open(&w, &err));
    set_file_limit(RLIM_INFINITY);
    cr_expect_eq(err.code, ERR_EXHAUSTED, "%s", err.message);
    cr_expect_str_eq(err.reason, "JOURNAL_FULL");
    err_done(&err);
    world_open(&w);
    expect_load(&w, "");
    world_done(&w);
}

// ---- journal.max_size ---------------------------------------------------------------------------------------------

static int64_t bytes_used(struct world *w) {
    return 4096 * (world_ask(w, "PRAGMA page_count") - world_ask(w, "PRAGMA freelist_count"));
}

static void commit_long_job(struct world *w, int i, struct answer *a) {
    static char spec[20000];
    char uid[16];
    memset(spec, 'x', sizeof spec - 1);
    snprintf(uid, sizeof uid, "j%d", i);
    struct store_batch *b = store_batch_new();
    struct store_job job = job_row(uid, i);
    struct store_transition t = step_row(uid, 1, 1);
    job.spec_json = spec;
    store_batch_add_job(b, &job);
    store_batch_add_transition(b, &t);
    commit(w, b, true, a);
    world_wait(w, w->answers + 1);
}

Test(full, max_bytes_refuses_new_jobs_only) {
    enum { LIMIT = 300000 };
    struct world w;
    struct answer a;
    int jobs = 0;
    world_new(&w);
    w.max_bytes = LIMIT;
    world_open(&w);
    for (;; jobs++) {
        int64_t before = bytes_used(&w);
        commit_long_job(&w, jobs, &a);
        cr_assert_eq(a.first == 0, before >= LIMIT, "job %d at %lld bytes", jobs, (long long)before);
        if (a.first == 0) {
            break;
        }
        cr_expect_eq(a.first, jobs + 1);
    }
    expect_full(&a);
    cr_expect(jobs >= 8 && jobs <= 14, "%d", jobs);
    cr_expect_null(store_problem(w.store), "it can still be written");
    commit_step(&w, "j0", 2, 7, &a);
    world_wait(&w, w.answers + 1);
    cr_expect_eq(a.first, jobs + 1);
    commit_long_job(&w, jobs, &a);
    expect_full(&a);
    commit_deleted(&w, "j0", 3, 1, &a); // gives its spec's pages back
    world_wait(&w, w.answers + 1);
    cr_expect_eq(a.first, jobs + 2);
    cr_expect_lt(bytes_used(&w), LIMIT);
    commit_long_job(&w, jobs, &a);
    cr_expect_eq(a.first, jobs + 3);
    world_done(&w);
}

// ---- Damage while it runs -----------------------------------------------------------------------------------------

struct spec {
    struct world *world;
    int good, corrupt;
};

static void on_spec(void *ctx, const char *spec_json, const struct err *err) {
    struct spec *s = ctx;
    if (err == NULL) {
        cr_expect_eq(strlen(spec_json), 199999);
        s->good++;
    } else {
        cr_expect_str_eq(err->reason, "JOURNAL_CORRUPT");
        cr_expect_not_null(strstr(err->message, s->world->directory));
        s->corrupt++;
    }
    world_answered(s->world);
}

// More than the page cache holds, and half of the file is overwritten under it.
Test(full, damage_while_it_runs, .timeout = 60) {
    enum { JOBS = 100 };
    struct world w;
    struct answer a;
    struct spec s = {.world = &w};
    char uid[16];
    char path[128];
    char *spec = mem_alloc(200000);
    world_new(&w);
    world_open(&w);
    memset(spec, 'y', 199999);
    spec[199999] = '\0';
    for (int i = 0; i < JOBS; i++) {
        snprintf(uid, sizeof uid, "j%d", i);
        struct store_batch *b = store_batch_new();
        struct store_job job = job_row(uid, i);
        struct store_transition t = step_row(uid, 1, 1);
        job.spec_json = spec;
        store_batch_add_job(b, &job);
        store_batch_add_transition(b, &t);
        commit(&w, b, true, &a);
    }
    world_wait(&w, JOBS);
    world_reopen(&w);
    snprintf(path, sizeof path, "%s/journal.db", w.directory);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
    off_t size = size_of(&w, "journal.db");
    memset(spec, 0xee, 200000);
    for (off_t at = size / 4; at < size * 3 / 4; at += 200000) {
        cr_assert_eq(pwrite(fd, spec, 200000, at), 200000);
    }
    for (int i = 0; i < JOBS; i++) {
        snprintf(uid, sizeof uid, "j%d", i);
        store_read_spec(w.store, uid, on_spec, &s);
    }
    world_wait(&w, 2 * JOBS);
    cr_expect_gt(s.corrupt, 0);
    cr_expect_gt(s.good, 0);
    mem_free(spec);
    world_done(&w);
}
