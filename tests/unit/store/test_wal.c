// What a power cut leaves: the file and the beginning of its log. Whatever was cut off, the rest is whole.
#include "support.h"

#include <sys/stat.h>

enum { STEPS = 30 };

static void copy(const struct world *from, const struct world *to, const char *name, size_t keep) {
    CLEANUP(mem_free_ptr) char *source = mem_printf("%s/%s", from->directory, name);
    CLEANUP(mem_free_ptr) char *target = mem_printf("%s/%s", to->directory, name);
    CLEANUP(str_done) struct str data = STR_INIT;
    struct err err = ERR_INIT;
    cr_assert(fd_read_file(source, 100000000, &data, &err), "%s", err.message);
    cr_assert(fd_write_file(target, str_text(&data), keep < data.len ? keep : data.len, 0600, &err), "%s", err.message);
}

static bool note_last(void *ctx, const struct store_job *job UNUSED, const struct store_transition *last) {
    *(int64_t *)ctx = last->sequence;
    return true;
}

// Opens what is left and returns its newest sequence.
static int64_t open_the_rest(struct world *w) {
    struct err err = ERR_INIT;
    int64_t last = 0;
    world_open(w);
    int64_t newest = store_newest_sequence(w->store);
    cr_assert(store_load(w->store, note_last, &last, &err), "%s", err.message);
    cr_assert_eq(last, newest);
    cr_assert_eq(world_ask(w, "SELECT count(*) FROM transitions"), newest);
    cr_assert_eq(world_ask(w, "SELECT ifnull(max(job_sequence), 0) FROM transitions"), newest);
    world_close(w);
    return newest;
}

Test(wal, cut_anywhere, .timeout = 60) {
    struct world w;
    struct world rest = {.directory = "/tmp/store-test-XXXXXX"};
    struct answer a;
    struct stat wal;
    struct err err = ERR_INIT;
    int64_t before = 0;
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a);
    for (int i = 2; i <= STEPS; i++) { // one transaction each
        world_wait(&w, w.answers + 1);
        commit_step(&w, "a", i, 3, &a);
    }
    world_wait(&w, w.answers + 1);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/journal.db-wal", w.directory);
    cr_assert_eq(stat(path, &wal), 0);
    rest.loop = w.loop;
    for (off_t cut = 0; cut < wal.st_size + 11003; cut += 11003) {
        snprintf(rest.directory, sizeof rest.directory, "/tmp/store-test-XXXXXX");
        cr_assert_not_null(mkdtemp(rest.directory));
        copy(&w, &rest, "journal.db", SIZE_MAX);
        copy(&w, &rest, "journal.db-wal", (size_t)cut);
        int64_t newest = open_the_rest(&rest);
        cr_assert(newest >= before && newest <= before + 4, "cut at %lld: %lld after %lld", (long long)cut,
                  (long long)newest, (long long)before);
        before = newest;
        cr_assert(fd_remove_tree(rest.directory, &err), "%s", err.message);
    }
    cr_expect_eq(before, STEPS);
    world_done(&w);
}

// A damaged file with a log: refused, and neither is touched: no checkpoint on the way out.
Test(wal, damage_is_left_as_it_is) {
    enum { PAGE = 4096, DAMAGED = 20 * PAGE };
    struct world w;
    struct world rest = {.directory = "/tmp/store-test-XXXXXX"};
    struct answer a;
    struct err err = ERR_INIT;
    char uid[16];
    world_new(&w);
    world_open(&w);
    struct store_batch *b = store_batch_new();
    for (int i = 0; i < 1000; i++) {
        snprintf(uid, sizeof uid, "job-%d", i);
        struct store_job job = job_row(uid, i);
        struct store_transition t = step_row(uid, 1, 1);
        store_batch_add_job(b, &job);
        store_batch_add_transition(b, &t);
    }
    commit(&w, b, true, &a);
    world_wait(&w, 1);
    world_reopen(&w); // all of it is in the file now
    commit_step(&w, "job-999", 2, 2, &a);
    world_wait(&w, 2);
    rest.loop = w.loop;
    cr_assert_not_null(mkdtemp(rest.directory));
    copy(&w, &rest, "journal.db", SIZE_MAX);
    copy(&w, &rest, "journal.db-wal", SIZE_MAX);
    CLEANUP(mem_free_ptr) char *db = mem_printf("%s/journal.db", rest.directory);
    CLEANUP(mem_free_ptr) char *wal = mem_printf("%s/journal.db-wal", rest.directory);
    CLEANUP(str_done) struct str before = STR_INIT;
    CLEANUP(str_done) struct str after = STR_INIT;
    cr_assert(fd_read_file(db, 10000000, &before, &err), "%s", err.message);
    memset(before.data + DAMAGED, 0xee, PAGE);
    cr_assert(fd_write_file(db, before.data, before.len, 0600, &err), "%s", err.message);
    cr_assert(fd_read_file(wal, 10000000, &before, &err), "%s", err.message); // behind it
    cr_assert_not(world_try_open(&rest, &err));
    cr_expect_eq(err.code, ERR_DATA_LOSS, "%s", err.message);
    cr_expect_str_eq(err.reason, "JOURNAL_CORRUPT");
    err_done(&err);
    cr_assert(fd_read_file(db, 10000000, &after, &err), "%s", err.message);
    cr_assert(fd_read_file(wal, 10000000, &after, &err), "%s", err.message);
    cr_expect(after.len == before.len && memcmp(after.data, before.data, after.len) == 0);
    cr_assert(fd_remove_tree(rest.directory, &err), "%s", err.message);
    world_done(&w);
}
