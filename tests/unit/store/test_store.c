#include "support.h"

#include <sys/stat.h>

static mode_t mode_of(const struct world *w, const char *name) {
    char path[128];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", w->directory, name);
    return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

Test(store, a_new_one) {
    struct world w;
    char epoch[17];
    world_new(&w);
    world_open(&w);
    cr_expect_eq(store_newest_sequence(w.store), 0);
    cr_expect_eq(store_oldest_sequence(w.store), 1);
    cr_expect_null(store_problem(w.store));
    cr_expect_eq(strspn(store_epoch(w.store), "0123456789abcdef"), 16);
    snprintf(epoch, sizeof epoch, "%s", store_epoch(w.store));
    expect_load(&w, "");
    expect_transitions(&w, 0, 10, "");
    cr_expect_eq(mode_of(&w, "journal.db"), 0600);
    cr_expect_eq(mode_of(&w, "journal.db-wal"), 0600);
    cr_expect_eq(mode_of(&w, "journal.lock"), 0600);
    world_reopen(&w);
    cr_expect_str_eq(store_epoch(w.store), epoch);
    world_done(&w);
    world_new(&w);
    world_open(&w);
    cr_expect_str_neq(store_epoch(w.store), epoch, "another file, another epoch");
    world_done(&w);
}

Test(store, sequences_follow_each_other_and_survive_a_restart) {
    struct world w;
    struct answer a[4];
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);
    commit_job(&w, "b", 2, &a[1]);
    commit_step(&w, "a", 2, 3, &a[2]);
    world_wait(&w, 3);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(a[i].first, i + 1);
        cr_expect_eq(a[i].order, i + 1);
    }
    cr_expect_eq(store_newest_sequence(w.store), 3);
    world_reopen(&w);
    cr_expect_eq(store_newest_sequence(w.store), 3);
    expect_load(&w, "3:a/2=3{} 2:b/1=1{}");
    commit_step(&w, "b", 2, 7, &a[3]);
    world_wait(&w, 4);
    cr_expect_eq(a[3].first, 4);
    expect_transitions(&w, 0, 10, "1:a/1 2:b/1 3:a/2 4:b/2");
    expect_transitions(&w, 1, 2, "2:b/1 3:a/2");
    expect_transitions(&w, 4, 10, "");
    world_done(&w);
}

Test(store, a_batch_of_many) {
    struct world w;
    struct answer a;
    world_new(&w);
    world_open(&w);
    struct store_batch *b = store_batch_new();
    for (int i = 1; i <= 300; i++) {
        char uid[16];
        snprintf(uid, sizeof uid, "j%d", i);
        struct store_job job = job_row(uid, i);
        struct store_transition t = step_row(uid, 1, 1);
        store_batch_add_job(b, &job); // both are copied: uid is gone with this turn
        store_batch_add_transition(b, &t);
    }
    cr_expect_eq(store_batch_count(b), 300);
    commit(&w, b, true, &a);
    world_wait(&w, 1);
    cr_expect_eq(a.first, 1);
    expect_transitions(&w, 298, 10, "299:j299/1 300:j300/1");
    store_batch_free(store_batch_new());
    store_batch_free(NULL);
    world_done(&w);
}

static bool expect_full_row(void *ctx, const struct store_job *j, const struct store_transition *t) {
    int *rows = ctx;
    ++*rows;
    cr_expect_str_eq(j->uid, "uid");
    cr_expect_str_eq(j->namespace_, "team");
    cr_expect_str_eq(j->name, "näme");
    cr_expect_str_eq(j->runtime, "pytorch");
    cr_expect_str_eq(j->backend, "local");
    cr_expect_str_eq(j->target, "local/process");
    cr_expect_str_eq(j->group, "study");
    cr_expect_str_eq(j->request_id, "key");
    cr_expect_str_eq(j->labels_json, "{\"a\":\"b\"}");
    cr_expect_str_eq(j->warnings_json, "[\"w\"]");
    cr_expect_str_eq(j->spec_hash, "abc");
    cr_expect_eq(j->created_ns, INT64_C(1700000000123456789));
    cr_expect_eq(j->ordinal, 77);
    cr_expect_eq(j->ttl_ns, 3600 * CLOCK_SECOND);
    cr_expect(j->external);
    cr_expect_str_eq(t->uid, "uid");
    cr_expect_eq(t->sequence, 1);
    cr_expect_eq(t->kind, STORE_TRANSITION);
    cr_expect_eq(t->job_sequence, 9);
    cr_expect_eq(t->from, 1);
    cr_expect_eq(t->state, 6);
    cr_expect_eq(t->reason, 42);
    cr_expect_eq(t->attempt, 3);
    cr_expect_eq(t->restarts, 2);
    cr_expect_str_eq(t->message, "it said \"no\"");
    cr_expect_str_eq(t->exit_json, "{\"code\":1}");
    cr_expect_str_eq(t->roles_json, "[1]");
    cr_expect_eq(t->observed_ns, 11);
    cr_expect_eq(t->happened_ns, 12);
    cr_expect_eq(t->started_ns, 13);
    cr_expect_eq(t->ended_ns, 14);
    cr_expect(t->inferred);
    return true;
}

static void expect_full_read(void *ctx, const struct store_transition *t, const struct store_job *j) {
    cr_expect_null(j->spec_json);
    int rows = 0;
    expect_full_row(&rows, j, t);
    cr_expect_not_null(ctx);
}

static void full_read_done(void *ctx, const struct err *err) {
    cr_expect_null(err);
    world_answered(((struct answer *)ctx)->world);
}

Test(store, every_field_comes_back) {
    struct world w;
    struct answer a;
    struct err err = ERR_INIT;
    int rows = 0;
    const struct store_job job = {.uid = "uid",
                                  .namespace_ = "team",
                                  .name = "näme",
                                  .runtime = "pytorch",
                                  .backend = "local",
                                  .target = "local/process",
                                  .group = "study",
                                  .request_id = "key",
                                  .labels_json = "{\"a\":\"b\"}",
                                  .warnings_json = "[\"w\"]",
                                  .spec_hash = "abc",
                                  .spec_json = "{\"roles\":[]}",
                                  .created_ns = INT64_C(1700000000123456789),
                                  .ordinal = 77,
                                  .ttl_ns = 3600 * CLOCK_SECOND,
                                  .external = true};
    const struct store_transition t = {.uid = "uid",
                                       .sequence = 999, // not taken
                                       .job_sequence = 9,
                                       .from = 1,
                                       .state = 6,
                                       .reason = 42,
                                       .attempt = 3,
                                       .restarts = 2,
                                       .message = "it said \"no\"",
                                       .exit_json = "{\"code\":1}",
                                       .roles_json = "[1]",
                                       .observed_ns = 11,
                                       .happened_ns = 12,
                                       .started_ns = 13,
                                       .ended_ns = 14,
                                       .inferred = true};
    world_new(&w);
    world_open(&w);
    struct store_batch *b = store_batch_new();
    store_batch_add_job(b, &job);
    store_batch_add_transition(b, &t);
    commit(&w, b, true, &a);
    world_wait(&w, 1);
    store_read_transitions(w.store, 0, 1, expect_full_read, full_read_done, &a);
    world_wait(&w, 2);
    world_reopen(&w);
    cr_expect(store_load(w.store, expect_full_row, &rows, &err));
    cr_expect_eq(rows, 1);
    world_done(&w);
}

Test(store, load_gives_specs_of_living_jobs_by_ordinal) {
    struct world w;
    struct answer a[6];
    world_new(&w);
    world_open(&w);
    commit_job(&w, "c", 30, &a[0]);
    commit_job(&w, "a", 10, &a[1]);
    commit_job(&w, "b", 20, &a[2]);
    commit_step(&w, "b", 2, 7, &a[3]); // the first terminal state
    commit_step(&w, "c", 2, 6, &a[4]);
    world_wait(&w, 5);
    world_reopen(&w);
    expect_load(&w, "2:a/1=1{} 4:b/2=7 5:c/2=6{}");
    commit_deleted(&w, "a", 2, 1, &a[5]);
    world_wait(&w, 6);
    world_reopen(&w);
    expect_load(&w, "4:b/2=7 5:c/2=6{}");
    expect_transitions(&w, 0, 10, "1:c/1 2:a/1 3:b/1 4:b/2 5:c/2 6:a/2x");
    world_done(&w);
}

static bool stop_at_once(void *ctx, const struct store_job *job UNUSED, const struct store_transition *last UNUSED) {
    ++*(int *)ctx;
    return false;
}

Test(store, load_can_be_stopped) {
    struct world w;
    struct answer a[2];
    struct err err = ERR_INIT;
    int calls = 0;
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);
    commit_job(&w, "b", 2, &a[1]);
    world_wait(&w, 2);
    world_reopen(&w);
    cr_expect(store_load(w.store, stop_at_once, &calls, &err));
    cr_expect_eq(calls, 1);
    commit_step(&w, "a", 2, 2, &a[0]); // the statement was let go
    world_wait(&w, 3);
    cr_expect_eq(a[0].first, 3);
    world_done(&w);
}

// All four are queued before the thread wakes up: mostly one transaction. What conflicts fails alone.
Test(store, a_conflict_spoils_no_other_and_leaves_no_hole) {
    struct world w;
    struct answer a[5];
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);
    commit_job(&w, "a", 2, &a[1]); // the same uid
    commit_job(&w, "b", 3, &a[2]);
    commit_step(&w, "a", 2, 2, &a[3]);
    world_wait(&w, 4);
    cr_expect_eq(a[0].first, 1);
    cr_expect_eq(a[1].first, 0);
    cr_expect_eq(a[1].err.code, ERR_INTERNAL);
    cr_expect_str_eq(a[1].err.reason, "JOURNAL_CONFLICT");
    cr_expect_eq(a[2].first, 2);
    cr_expect_eq(a[3].first, 3);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(a[i].order, i + 1);
    }
    cr_expect_null(store_problem(w.store));
    err_done(&a[1].err);

    // In a batch of several, nothing of it stays.
    struct store_batch *b = store_batch_new();
    struct store_job fresh = job_row("c", 4);
    struct store_job known = job_row("b", 5);
    struct store_transition t = step_row("c", 1, 1);
    store_batch_add_job(b, &fresh);
    store_batch_add_transition(b, &t);
    store_batch_add_job(b, &known);
    commit(&w, b, true, &a[4]);
    world_wait(&w, 5);
    cr_expect_eq(a[4].err.code, ERR_INTERNAL);
    err_done(&a[4].err);

    // Nor are the sequences used that it had been given.
    b = store_batch_new();
    struct store_transition wrong = step_row("a", 4, 2);
    t = step_row("a", 3, 2);
    wrong.message = NULL;
    store_batch_add_transition(b, &t);
    store_batch_add_transition(b, &wrong);
    commit(&w, b, true, &a[4]);
    commit_step(&w, "b", 2, 2, &a[0]);
    world_wait(&w, 7);
    cr_expect_eq(a[4].err.code, ERR_INTERNAL);
    cr_expect_eq(a[0].first, 4);
    err_done(&a[4].err);
    expect_transitions(&w, 0, 10, "1:a/1 2:b/1 3:a/2 4:b/2");
    world_reopen(&w);
    expect_load(&w, "3:a/2=2{} 4:b/2=2{}");
    world_done(&w);
}

Test(store, an_ordinal_may_come_again) {
    struct world w;
    struct answer a[3];
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);
    commit_deleted(&w, "a", 2, 1, &a[1]);
    commit_job(&w, "b", 1, &a[2]); // the table counts on from the jobs that are there
    world_wait(&w, 3);
    cr_expect_eq(a[2].first, 3);
    world_done(&w);
}

Test(store, reads_come_behind_writes) {
    struct world w;
    struct answer a[2];
    struct reading r;
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);
    reading_start(&w, 0, 10, &r);
    commit_job(&w, "b", 2, &a[1]);
    world_wait(&w, 3);
    cr_expect_eq(a[0].order, 1);
    cr_expect_eq(r.order, 2);
    cr_expect_eq(a[1].order, 3);
    cr_expect_str_eq(str_text(&r.text), "1:a/1");
    str_done(&r.text);
    world_done(&w);
}

struct spec {
    struct world *world;
    char text[32];
    struct err err;
};

static void on_spec(void *ctx, const char *spec_json, const struct err *err) {
    struct spec *s = ctx;
    snprintf(s->text, sizeof s->text, "%s", spec_json != NULL ? spec_json : "none");
    err_done(&s->err);
    if (err != NULL) {
        err_copy(&s->err, err);
    }
    world_answered(s->world);
}

Test(store, specs) {
    struct world w;
    struct answer a[2];
    struct spec s = {.world = &w};
    world_new(&w);
    world_open(&w);
    commit_job(&w, "0123456789abcdef0123456789abcdef", 1, &a[0]);
    store_read_spec(w.store, "0123456789abcdef0123456789abcdef", on_spec, &s);
    world_wait(&w, 2);
    cr_expect_str_eq(s.text, "{}");
    cr_expect(!err_set(&s.err));
    store_read_spec(w.store, "0123456789abcdef0123456789abcdef0", on_spec, &s); // longer, and not the same
    world_wait(&w, 3);
    cr_expect_str_eq(s.text, "none");
    cr_expect_eq(s.err.code, ERR_NOT_FOUND);
    cr_expect_str_eq(s.err.reason, "JOB_NOT_FOUND");
    commit_deleted(&w, "0123456789abcdef0123456789abcdef", 2, 1, &a[1]);
    store_read_spec(w.store, "0123456789abcdef0123456789abcdef", on_spec, &s);
    world_wait(&w, 5);
    cr_expect_str_eq(s.text, "none");
    err_done(&s.err);
    world_done(&w);
}

static void cancel_in_row(void *ctx, const struct store_transition *t, const struct store_job *job) {
    struct reading *r = ctx;
    on_row(ctx, t, job);
    store_cancel(r->read);
}

Test(store, a_canceled_read_says_nothing_more) {
    struct world w;
    struct answer a[2];
    struct reading early;
    struct reading late = {.world = &w};
    world_new(&w);
    world_open(&w);
    commit_job(&w, "a", 1, &a[0]);
    commit_job(&w, "b", 2, &a[1]);
    reading_start(&w, 0, 10, &early);
    store_cancel(early.read);
    world_wait(&w, 2);
    late.read = store_read_transitions(w.store, 0, 10, cancel_in_row, on_rows_done, &late);
    expect_transitions(&w, 1, 10, "2:b/1"); // behind both
    cr_expect_eq(w.answers, 3);
    cr_expect_str_eq(str_text(&early.text), "");
    cr_expect_str_eq(str_text(&late.text), "1:a/1");
    str_done(&late.text);
    world_done(&w);
}

Test(store, close_writes_what_is_queued_and_calls_nobody) {
    struct world w;
    struct answer a[200];
    struct reading r;
    char uid[8];
    world_new(&w);
    world_open(&w);
    for (int i = 0; i < 200; i++) {
        snprintf(uid, sizeof uid, "j%d", i);
        commit_job(&w, uid, i, &a[i]);
    }
    reading_start(&w, 0, 10, &r);
    store_trim(w.store, 10, NULL, NULL);
    world_reopen(&w);
    cr_expect_eq(w.answers, 0);
    cr_expect_eq(store_newest_sequence(w.store), 200);
    expect_transitions(&w, 198, 10, "199:j198/1 200:j199/1");
    store_close(NULL);
    world_done(&w);
}
