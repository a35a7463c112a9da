// Files that cannot be opened: each is refused with what is wrong and what to do, and left as it is.
#include "support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *path_of(const struct world *w, const char *name) {
    return mem_printf("%s/%s", w->directory, name);
}

static void put_file(const struct world *w, const char *name, const void *data, size_t n) {
    CLEANUP(mem_free_ptr) char *path = path_of(w, name);
    struct err err = ERR_INIT;
    cr_assert(fd_write_file(path, data, n, 0600, &err), "%s", err.message);
}

static void get_file(const struct world *w, const char *name, struct str *ret) {
    CLEANUP(mem_free_ptr) char *path = path_of(w, name);
    struct err err = ERR_INIT;
    cr_assert(fd_read_file(path, 100000000, ret, &err), "%s", err.message);
}

static void expect_refused(struct world *w, enum err_code code, const char *reason, const char *says) {
    struct err err = ERR_INIT;
    cr_assert_not(world_try_open(w, &err), "opened, though it should say %s", says);
    cr_expect_eq(err.code, code, "%s: %s", says, err.message);
    cr_expect_str_eq(err.reason, reason, "%s: %s", says, err.message);
    cr_expect_not_null(strstr(err.message, says), "no \"%s\" in: %s", says, err.message);
    cr_expect_not_null(strstr(err.message, w->directory), "no path in: %s", err.message);
    err_done(&err);
}

// A journal with some hundred pages, closed.
static void make_journal(struct world *w) {
    char uid[16];
    struct answer a;
    world_open(w);
    struct store_batch *b = store_batch_new();
    for (int i = 0; i < 1000; i++) {
        snprintf(uid, sizeof uid, "job-%d", i);
        struct store_job job = job_row(uid, i);
        struct store_transition t = step_row(uid, 1, 1);
        store_batch_add_job(b, &job);
        store_batch_add_transition(b, &t);
    }
    commit(w, b, true, &a);
    world_wait(w, w->answers + 1);
    world_close(w);
}

Test(open, twice_is_locked) {
    struct world w;
    world_new(&w);
    world_open(&w);
    struct world second = w;
    expect_refused(&second, ERR_UNAVAILABLE, "JOURNAL_LOCKED", "another trainerd");
    pid_t pid = fork();
    if (pid == 0) { // another process finds the same; it shares no lock through the descriptor that it inherited
        struct err err = ERR_INIT;
        _exit(world_try_open(&second, &err) ? 1 : (int)err.code);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    cr_expect_eq(WEXITSTATUS(status), ERR_UNAVAILABLE);
    world_close(&w);
    world_open(&w); // and free again
    world_done(&w);
}

Test(open, damaged_files) {
    enum { PAGE = 4096 };
    struct world w;
    struct str good = STR_INIT;
    struct str bad = STR_INIT;
    struct str after = STR_INIT;
    world_new(&w);
    make_journal(&w);
    get_file(&w, "journal.db", &good);
    cr_assert(good.len > (size_t)40 * PAGE);
    const struct {
        const char *name;
        size_t keep;      // of the file's start
        size_t from, to;  // overwritten
        const char *says; // in the message
    } table[] = {
        {"empty", 0, 0, 0, "empty"},
        {"garbage in the header", good.len, 0, 100, "not a database"},
        {"half a header", 50, 0, 0, "cut off"},
        {"the first page only", PAGE, 0, 0, "damaged"},
        {"half of it", good.len / 2 / PAGE * PAGE, 0, 0, "damaged"},
        {"half a page less", good.len - PAGE / 2, 0, 0, "damaged"},
        {"the page of the schema", good.len, 100, PAGE, "damaged"},
        {"one page in the middle", good.len, (size_t)20 * PAGE, (size_t)21 * PAGE, "damaged"},
        {"the header of one page", good.len, (size_t)9 * PAGE, (size_t)9 * PAGE + 12, "damaged"},
        {"all but the first page", good.len, PAGE, good.len, "damaged"},
        {"text", 0, 0, 0, "not a database"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        str_clear(&bad);
        str_add_bytes(&bad, good.data, table[i].keep);
        for (size_t at = table[i].from; at < table[i].to; at++) {
            bad.data[at] = (char)(at * 7 + 1);
        }
        if (str_same(table[i].name, "text")) {
            str_add(
                &bad,
                "jobs:\n  - one that somebody wrote into the wrong file, longer than a header of a hundred bytes\n");
        }
        put_file(&w, "journal.db", str_text(&bad), bad.len);
        expect_refused(&w, ERR_DATA_LOSS, "JOURNAL_CORRUPT", table[i].says);
        str_clear(&after);
        get_file(&w, "journal.db", &after);
        cr_expect(after.len == bad.len && memcmp(str_text(&after), str_text(&bad), bad.len) == 0, "%s: was changed",
                  table[i].name);
    }
    put_file(&w, "journal.db", good.data, good.len);
    world_open(&w);
    cr_expect_eq(store_newest_sequence(w.store), 1000);
    world_done(&w);
    str_done(&good);
    str_done(&bad);
    str_done(&after);
}

// Any single overwritten page: refused, or opened and read to the end with an error at most. Never a crash.
static void ignore_row(void *ctx UNUSED, const struct store_transition *t UNUSED, const struct store_job *j UNUSED) {
}

static void count_done(void *ctx, const struct err *err) {
    cr_expect(err == NULL || str_same(err->reason, "JOURNAL_CORRUPT"), "%s", err->message);
    world_answered(ctx);
}

static bool ignore_load(void *ctx UNUSED, const struct store_job *j UNUSED, const struct store_transition *t UNUSED) {
    return true;
}

Test(open, every_page_overwritten_once, .timeout = 60) {
    struct world w;
    struct str good = STR_INIT;
    int refused = 0;
    int pages = 0;
    world_new(&w);
    make_journal(&w);
    get_file(&w, "journal.db", &good);
    for (size_t at = 0; at < good.len; at += 4096, pages++) {
        struct err err = ERR_INIT;
        CLEANUP(mem_free_ptr) char *bad = mem_dup(good.data, good.len);
        for (size_t i = 0; i < 64; i++) {
            bad[at + i * 61] ^= 0x55;
        }
        put_file(&w, "journal.db", bad, good.len);
        if (!world_try_open(&w, &err)) {
            cr_expect_eq(err.code, ERR_DATA_LOSS, "%s", err.message);
            err_done(&err);
            refused++;
            continue;
        }
        bool loaded = store_load(w.store, ignore_load, NULL, &err);
        cr_expect(loaded || err.code == ERR_DATA_LOSS, "%s", err.message);
        err_done(&err);
        store_read_transitions(w.store, 0, 2000, ignore_row, count_done, &w);
        world_wait(&w, w.answers + 1);
        world_close(&w);
    }
    cr_expect_eq(refused, pages, "%d of %d", refused, pages);
    str_done(&good);
    world_done(&w);
}

Test(open, a_wal_without_its_journal) {
    struct world w;
    world_new(&w);
    put_file(&w, "journal.db-wal", "what was last", 13);
    expect_refused(&w, ERR_DATA_LOSS, "JOURNAL_CORRUPT", "journal.db-wal is there");
    world_done(&w);
}

Test(open, a_file_of_another_version_or_program) {
    const struct {
        const char *sql;
        enum err_code code;
        const char *reason, *says;
    } table[] = {
        {"PRAGMA user_version = 2", ERR_PRECONDITION, "JOURNAL_NEWER", "has version 2 and this trainerd reads up to 1"},
        {"PRAGMA user_version = 1; PRAGMA application_id = 77", ERR_DATA_LOSS, "JOURNAL_CORRUPT", "another program"},
        {"PRAGMA application_id = 1953653866; DROP TABLE specs", ERR_DATA_LOSS, "JOURNAL_CORRUPT", "no such table"},
    };
    struct world w;
    world_new(&w);
    world_open(&w);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        world_close(&w);
        world_sql(&w, table[i].sql);
        expect_refused(&w, table[i].code, table[i].reason, table[i].says);
    }
    world_done(&w);
}

Test(open, a_creation_that_was_interrupted_is_begun_again) {
    struct world w;
    world_new(&w);
    put_file(&w, "journal.db.new", "half of", 7);
    world_open(&w);
    expect_load(&w, "");
    cr_expect_eq(store_newest_sequence(w.store), 0);
    world_done(&w);
}

// ---- Directories --------------------------------------------------------------------------------------------------

Test(open, no_directory) {
    struct world w;
    world_new(&w);
    cr_assert_eq(rmdir(w.directory), 0);
    expect_refused(&w, ERR_PRECONDITION, "STATE_DIR", "No such file or directory");
    put_file(&(struct world){.directory = "/tmp"}, w.directory + 5, "x", 1);
    expect_refused(&w, ERR_PRECONDITION, "STATE_DIR", "Not a directory");
    cr_assert_eq(unlink(w.directory), 0);
    loop_free(w.loop);
}

// Root may do everything, so it becomes somebody else first.
static void become_nobody(void) {
    cr_assert(geteuid() != 0 || seteuid(65534) == 0);
}

Test(open, not_ours) {
    struct world w;
    world_new(&w);
    make_journal(&w);
    CLEANUP(mem_free_ptr) char *db = path_of(&w, "journal.db");
    CLEANUP(mem_free_ptr) char *lock = path_of(&w, "journal.lock");
    cr_assert(chmod(lock, 0666) == 0 && chmod(db, 0444) == 0 && chmod(w.directory, 0777) == 0);
    become_nobody();
    expect_refused(&w, ERR_PRECONDITION, "STATE_DIR", "journal.db");
    cr_assert(geteuid() != 65534 || seteuid(0) == 0);
    cr_assert(chmod(db, 0000) == 0);
    become_nobody();
    expect_refused(&w, ERR_PRECONDITION, "STATE_DIR", "Permission denied");
    cr_assert(geteuid() != 65534 || seteuid(0) == 0);
    cr_assert(unlink(db) == 0 && unlink(lock) == 0 && chmod(w.directory, 0555) == 0);
    become_nobody();
    expect_refused(&w, ERR_PRECONDITION, "STATE_DIR", "Permission denied");
    cr_assert(geteuid() != 65534 || seteuid(0) == 0);
    cr_assert(chmod(w.directory, 0700) == 0);
    world_done(&w);
}
