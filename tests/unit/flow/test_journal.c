// The journal cannot be written: new jobs are refused with the reason, and nothing that was answered is lost.
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

// Ways to have a journal that cannot be written, and what clients are told.
struct trouble {
    void (*begin)(struct world *w);
    void (*end)(struct world *w);
    enum err_code code;
    const char *reason, *text;
};

static sqlite3 *other; // of this test's process

static void lock_journal(struct world *w) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/journal.db", w->directory);
    cr_assert_eq(sqlite3_open(path, &other), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
}

static void unlock_journal(struct world *w UNUSED) {
    sqlite3_close(other);
}

static void set_file_limit(rlim_t soft) {
    struct rlimit r;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = soft;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void fill_disk(struct world *w) { // the journal cannot grow by another page
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/journal.db-wal", w->directory);
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    signal(SIGXFSZ, SIG_IGN);
    set_file_limit((rlim_t)st.st_size);
}

static void free_disk(struct world *w UNUSED) {
    set_file_limit(RLIM_INFINITY);
}

static const struct trouble locked = {lock_journal, unlock_journal, ERR_UNAVAILABLE, "JOURNAL_UNAVAILABLE", "locked"};
static const struct trouble full = {fill_disk, free_disk, ERR_EXHAUSTED, "JOURNAL_FULL", "no space left"};

static void expect_refused(struct answer *a, const struct trouble *by, const char *when) {
    cr_assert_eq(a->count, 1, "%s", when);
    cr_expect_null(a->job);
    expect_reason(&a->err, by->code, by->reason, when);
    cr_expect_not_null(strstr(a->err.message, by->text), "%s: %s", when, a->err.message);
    answer_done(a);
}

static bool is_healthy(void *ctx) {
    struct flow_info info;
    flow_info(((struct world *)ctx)->flow, &info);
    return info.journal_problem == NULL;
}

static void fail_and_recover(const struct trouble *by) {
    struct world w;
    struct answer a[2];
    struct answer cancel = {0};
    struct watching v;
    world_new(&w);
    struct job *kept = submit_job(&w, JOB("kept"));
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &v);
    expect_watch(&v, "=kept/1:PENDING end@1#1");

    by->begin(&w);
    submit_start(&w, JOB("new"), "id", false, &a[0]);
    submit_start(&w, JOB("new"), "id", false, &a[1]); // waits for the same commit
    cr_assert(world_until(&w, is_answered, &a[0], WAIT_MS));
    expect_refused(&a[0], by, "the first");
    expect_refused(&a[1], by, "its duplicate");
    expect_calls(&w, "", "a job that has never been");
    submit_start(&w, JOB("other"), NULL, false, &a[0]);
    cr_expect_gt(a[0].err.retry_after_ms, 0);
    expect_refused(&a[0], by, "at once, from now on");
    submit_start(&w, JOB("other"), NULL, true, &a[0]);
    cr_expect_null(a[0].err.message, "what creates nothing needs no journal");
    answer_done(&a[0]);

    // What goes on is decided, not published, and waits.
    w.fake.sink.fact(w.fake.sink.ctx, &(struct backend_fact){.uid = kept->uid, .state = JOB_RUNNING, .attempt = 1});
    flow_cancel(w.flow, kept, NULL, -1, false, on_changed, &cancel);
    let_pass(&w, 300);
    cr_expect_eq(cancel.count, 0, "not durable");
    cr_expect_eq(kept->seen->state, JOB_PENDING);
    expect_calls(&w, "cancel:kept/30000", "but the backend is told at once");
    watch_pull(&v);
    cr_expect_eq(v.text.len, 0, "%s", str_text(&v.text));
    struct flow_info info;
    flow_info(w.flow, &info);
    cr_expect_eq(info.jobs, 1);
    cr_expect_not_null(info.journal_problem);

    by->end(&w);
    cr_assert(world_until(&w, is_healthy, &w, WAIT_MS), "it ends by itself");
    expect_watch(&v, "2:kept/2:RUNNING 3:kept/3:CANCELING");
    cr_expect_eq(cancel.count, 1);
    submit(&w, JOB("new"), "id", &a[0]);
    cr_expect(a[0].job != NULL && !a[0].duplicate, "the id was not used");
    expect_watch(&v, "4:new/1:PENDING");
    answer_done(&a[0]);
    answer_done(&cancel);
    watch_close(&v);
    world_reopen(&w);
    cr_expect_eq(job_table_count(w.flow->table), 2);
    world_done(&w);
}

Test(journal, locked) {
    fail_and_recover(&locked);
}

Test(journal, full) {
    fail_and_recover(&full);
}
