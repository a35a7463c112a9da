#include "job/spec.h"
#include "support.h"

static struct job_spec *spec_of(const char *json) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct job_spec *spec = NULL;
    cr_assert(job_spec_parse_text(json, strlen(json), &spec, &err), "%s", err.message);
    return spec;
}

Test(table, finds) {
    struct bench b = bench_new(4);
    struct job *a = bench_add(&b, "1", "a", "r1");
    struct job *c = bench_add(&b, "2", "c", NULL);
    cr_expect_eq(job_table_by_uid(b.table, "1"), a);
    cr_expect_eq(job_table_by_uid(b.table, "2"), c);
    cr_expect_null(job_table_by_uid(b.table, "3"));
    cr_expect_eq(job_table_by_name(b.table, "default", "a"), a);
    cr_expect_null(job_table_by_name(b.table, "other", "a"));
    cr_expect_null(job_table_by_name(b.table, "default", "r1"));
    cr_expect_eq(job_table_by_request(b.table, "default", "r1"), a);
    cr_expect_null(job_table_by_request(b.table, "other", "r1"));
    cr_expect_null(job_table_by_request(b.table, "default", ""));
    cr_expect_eq(job_table_count(b.table), 2);
    cr_expect_eq(a->backend, c->backend); // one text for all
    cr_expect_str_eq(a->request_id, "r1");
    cr_expect_null(c->request_id);
    cr_expect_null(c->group);
    bench_done(&b);
    job_table_free(NULL);
}

Test(table, a_job_copies_what_it_is_made_of) {
    struct bench b = bench_new(4);
    struct job_spec *spec = spec_of("{\"runtime\":\"process\",\"roles\":[{\"name\":\"w\"}]}");
    char name[] = "name";
    char labels[] = "{\"k\":\"v\"}";
    struct job *job = job_table_add(b.table, &(struct job_new){.uid = "u",
                                                               .name = name,
                                                               .namespace_ = "team",
                                                               .runtime = "process",
                                                               .backend = "local",
                                                               .target = "t",
                                                               .group = "g",
                                                               .labels_json = labels,
                                                               .spec_hash = spec->hash,
                                                               .warnings_json = "[]",
                                                               .created_ns = 5,
                                                               .external = true,
                                                               .spec = spec});
    memset(name, 'x', sizeof name - 1);
    memset(labels, 'x', sizeof labels - 1);
    cr_expect_str_eq(job->name, "name");
    cr_expect_str_eq(job->labels_json, "{\"k\":\"v\"}");
    cr_expect_str_eq(json_string(json_get(job->labels, "k"), ""), "v");
    cr_expect_str_eq(job->spec_hash, spec->hash);
    cr_expect(job->external && job->created_ns == 5 && job->head == NULL && job->seen == NULL);
    cr_expect_eq(spec->refs, 2);
    job_ref(job);
    bench_done(&b);
    cr_expect_eq(spec->refs, 2); // the job is still held
    job_unref(job);
    cr_expect_eq(spec->refs, 1);
    job_spec_unref(spec);
}

// The head moves at once, what clients are told only when the journal has it.
Test(table, head_and_seen) {
    struct bench b = bench_new(8);
    struct job *job = bench_add(&b, "u", "n", NULL);
    cr_expect(bench_move(&b, job, JOB_PENDING, REASON_ACCEPTED));
    cr_expect_eq((int)job->head->state, (int)JOB_PENDING);
    cr_expect_null(job->seen);
    cr_expect_eq(job_feed_last(b.feed), 0);
    cr_expect(bench_move(&b, job, JOB_RUNNING, REASON_STARTED));
    struct job_event *first = job_table_outbox_pop(b.table);
    struct job_event *second = job_table_outbox_pop(b.table);
    cr_expect_null(job_table_outbox_pop(b.table));
    cr_assert(first != NULL && second != NULL && second == job->head);
    cr_expect_eq(first->job_sequence, 1);
    cr_expect_eq(second->job_sequence, 2);
    cr_expect_eq((int)first->from, (int)JOB_STATE_NONE);
    cr_expect_eq((int)second->from, (int)JOB_PENDING);
    job_table_commit(b.table, first, 1);
    cr_expect_eq(job->seen, first);
    cr_expect_eq(job->head, second);
    job_table_commit(b.table, second, 2);
    cr_expect_eq(job->seen, second);
    cr_expect_eq(second->sequence, 2);
    cr_expect_eq(job_feed_get(b.feed, 1), first);
    cr_expect_eq(job_feed_get(b.feed, 2), second);
    job_event_unref(first);
    job_event_unref(second);
    bench_done(&b);
}

// Each end is kept whatever comes after it, and what is refused leaves no trace but its count.
Test(table, an_end_is_latched) {
    static const enum job_state ends[] = {JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELED};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct bench b = bench_new(8);
        struct job *job = bench_add(&b, "u", "n", NULL);
        cr_expect(bench_move(&b, job, JOB_RUNNING, REASON_STARTED));
        cr_expect_eq(job_table_active_count(b.table), 1);
        cr_expect(bench_move(&b, job, ends[i], REASON_COMPLETED));
        cr_expect_eq(job_table_active_count(b.table), 0);
        struct job_event *end = job->head;
        cr_expect_eq(end->ended_ns, 1000);
        for (int to = JOB_PENDING; to <= (int)JOB_CANCELED; to++) {
            cr_expect(!bench_move(&b, job, (enum job_state)to, REASON_LOST));
            cr_expect_eq(job->head, end);
            cr_expect_eq(job_table_illegal_moves(b.table), (uint64_t)to);
        }
        cr_expect_eq(job_table_active_count(b.table), 0);
        cr_expect_eq(bench_commit(&b), 2);
        bench_done(&b);
    }
}

Test(table, an_illegal_move_says_which) {
    struct bench b = bench_new(8);
    struct job *job = bench_add(&b, "u", "n", NULL);
    cr_expect(bench_move(&b, job, JOB_PENDING, REASON_ACCEPTED));
    cr_expect(bench_move(&b, job, JOB_CANCELING, REASON_CANCELED_BY_USER));
    CLEANUP(err_done) struct err err = ERR_INIT;
    cr_expect(!job_move(b.table, job, &(struct job_change){.to = JOB_RUNNING}, &err));
    cr_expect_eq(err.code, ERR_PRECONDITION);
    cr_expect_str_eq(err.reason, "ILLEGAL_MOVE");
    cr_expect_str_eq(err.message, "a job cannot go from CANCELING to RUNNING");
    bench_done(&b);
}

static void count_wake(void *ctx) {
    ++*(int *)ctx;
}

Test(table, the_outbox_wakes_when_it_fills) {
    struct bench b = bench_new(8);
    int woken = 0;
    job_table_on_outbox(b.table, count_wake, &woken);
    struct job *job = bench_add(&b, "u", "n", NULL);
    cr_expect_eq(woken, 0);
    cr_expect(bench_move(&b, job, JOB_PENDING, REASON_ACCEPTED));
    cr_expect(bench_move(&b, job, JOB_RUNNING, REASON_STARTED));
    cr_expect(bench_move(&b, job, JOB_RUNNING, REASON_STARTED)); // nothing new
    cr_expect_eq(woken, 1);
    cr_expect_eq(bench_commit(&b), 2);
    cr_expect(bench_move(&b, job, JOB_SUCCEEDED, REASON_COMPLETED));
    cr_expect_eq(woken, 2);
    bench_done(&b); // with an event still in it
}

Test(table, delete_frees_the_names_at_once) {
    struct bench b = bench_new(8);
    struct job *old = bench_add(&b, "1", "n", "r");
    cr_expect(bench_move(&b, old, JOB_RUNNING, REASON_STARTED));
    cr_expect_eq(bench_commit(&b), 1);
    job_table_delete(b.table, old, 2000);
    cr_expect(old->deleted);
    cr_expect_null(job_table_by_uid(b.table, "1"));
    cr_expect_null(job_table_by_name(b.table, "default", "n"));
    cr_expect_null(job_table_by_request(b.table, "default", "r"));
    cr_expect_eq(job_table_count(b.table), 0);
    cr_expect_eq(job_table_active_count(b.table), 0);
    struct job *next = bench_add(&b, "2", "n", "r"); // before the deletion is journaled
    cr_expect(bench_move(&b, next, JOB_PENDING, REASON_ACCEPTED));
    struct job_event *e = job_table_outbox_pop(b.table);
    cr_assert_not_null(e);
    cr_expect_eq((int)e->kind, (int)JOB_EVENT_DELETED);
    cr_expect_eq((int)e->state, (int)JOB_RUNNING);
    cr_expect_eq((int)e->from, (int)JOB_RUNNING);
    cr_expect_eq((int)e->reason, (int)REASON_STARTED);
    cr_expect_eq(e->job_sequence, 2);
    cr_expect_eq(e->observed_ns, 2000);
    cr_expect_eq(e->started_ns, 1000);
    job_table_commit(b.table, e, ++b.sequence);
    cr_expect_eq(job_feed_get(b.feed, 2), e);
    cr_expect_str_eq(e->job->uid, "1");
    job_event_unref(e);
    cr_expect_eq(bench_commit(&b), 1);
    cr_expect_eq(job_table_by_name(b.table, "default", "n"), next);
    cr_expect_eq(job_table_by_request(b.table, "default", "r"), next);
    cr_expect_eq(job_table_count(b.table), 1);
    bench_done(&b);
}

Test(table, forget_takes_back_only_that_job) {
    struct bench b = bench_new(8);
    struct job *bad = bench_add(&b, "1", "bad", "r");
    struct job *good = bench_add(&b, "2", "good", NULL);
    cr_expect(bench_move(&b, bad, JOB_PENDING, REASON_ACCEPTED));
    cr_expect(bench_move(&b, good, JOB_PENDING, REASON_ACCEPTED));
    cr_expect(bench_move(&b, bad, JOB_RUNNING, REASON_STARTED));
    job_table_forget(b.table, bad);
    cr_expect_null(job_table_by_uid(b.table, "1"));
    cr_expect_null(job_table_by_name(b.table, "default", "bad"));
    cr_expect_null(job_table_by_request(b.table, "default", "r"));
    cr_expect_eq(job_table_count(b.table), 1);
    cr_expect_eq(job_table_active_count(b.table), 1);
    cr_expect_eq(bench_commit(&b), 1);
    cr_expect_eq(job_feed_get(b.feed, 1)->job, good);
    struct job *ended = bench_add(&b, "3", "ended", NULL);
    cr_expect(bench_move(&b, ended, JOB_FAILED, REASON_BACKEND_ERROR));
    job_table_forget(b.table, ended);
    cr_expect_eq(job_table_active_count(b.table), 1);
    bench_done(&b);
}

Test(table, order_is_by_creation) {
    struct bench b = bench_new(1);
    for (int i = 1; i <= 5; i++) {
        CLEANUP(mem_free_ptr) char *uid = mem_printf("%d", i);
        bench_add(&b, uid, uid, NULL);
    }
    int64_t right = 5;
    int64_t before = 0;
    for (struct job *j; (j = job_table_next_older(b.table, before)) != NULL; before = j->ordinal) {
        cr_expect_eq(j->ordinal, right--);
    }
    cr_expect_eq(right, 0);
    cr_expect_eq(job_table_next_older(b.table, 1000)->ordinal, 5);
    cr_expect_eq(job_table_next_older(b.table, 3)->ordinal, 2);
    cr_expect_null(job_table_next_older(b.table, 1));
    cr_expect_null(job_table_next_older(b.table, -1));
    bench_done(&b);
}

Test(table, ordinals_of_the_journal_go_on) {
    struct bench b = bench_new(1);
    struct job *job =
        job_table_add(b.table, &(struct job_new){.uid = "u", .name = "n", .namespace_ = "default", .ordinal = 17});
    cr_expect_eq(job->ordinal, 17);
    cr_expect_eq(bench_add(&b, "v", "m", NULL)->ordinal, 18);
    bench_done(&b);
}

// Deleting in any order leaves the others in theirs: against a plain model, over holes and their closing.
Test(table, order_survives_deletions) {
    enum { N = 1000 };
    struct bench b = bench_new(1);
    struct job *jobs[N] = {0};
    for (int i = 0; i < N; i++) {
        CLEANUP(mem_free_ptr) char *uid = mem_printf("%d", i);
        jobs[i] = bench_add(&b, uid, uid, NULL);
    }
    uint32_t random = 12345;
    for (int left = N; left > 0; left--) {
        random = random * 1664525U + 1013904223U;
        // the first 300 from the old end, as retention does; the others anywhere
        int at = N - left < 300 ? N - left : (int)(random >> 16) % N;
        while (jobs[at] == NULL) {
            at = (at + 1) % N;
        }
        job_table_forget(b.table, TAKE(jobs[at]));
        if (left % 37 != 0) {
            continue;
        }
        cr_assert_eq(job_table_count(b.table), (size_t)left - 1);
        int64_t before = 0;
        for (int i = N - 1; i >= 0; i--) {
            if (jobs[i] != NULL) {
                struct job *next = job_table_next_older(b.table, before);
                cr_assert_eq(next, jobs[i]);
                before = next->ordinal;
            } else { // continuing below one that is gone
                struct job *next = job_table_next_older(b.table, i + 1);
                cr_assert(next == NULL || next->ordinal <= i);
            }
        }
        cr_assert_null(job_table_next_older(b.table, before != 0 ? before : 1));
    }
    bench_done(&b);
}

Test(table, restore) {
    struct bench b = bench_new(4);
    struct job *job = bench_add(&b, "u", "n", NULL);
    const struct job_change change = {
        .to = JOB_FAILED, .reason = REASON_NONZERO_EXIT, .message = "m", .observed_ns = 9};
    job_table_restore(b.table, job, &change, 40, 7, 3, 8);
    cr_expect_eq(job->head, job->seen);
    cr_expect_eq(job->head->sequence, 40);
    cr_expect_eq(job->head->job_sequence, 7);
    cr_expect_eq(job->head->started_ns, 3);
    cr_expect_eq(job->head->ended_ns, 8);
    cr_expect_str_eq(job->head->message, "m");
    cr_expect_null(job_table_outbox_pop(b.table));
    cr_expect_eq(job_feed_last(b.feed), 0);
    cr_expect_eq(job_table_active_count(b.table), 0);
    cr_expect(!bench_move(&b, job, JOB_RUNNING, REASON_STARTED)); // latched over a restart too
    struct job *live = bench_add(&b, "v", "m", NULL);
    job_table_restore(b.table, live, &(struct job_change){.to = JOB_RUNNING, .observed_ns = 9}, 41, 3, 3, 0);
    cr_expect_eq(job_table_active_count(b.table), 1);
    cr_expect(bench_move(&b, live, JOB_SUCCEEDED, REASON_COMPLETED));
    cr_expect_eq(live->head->job_sequence, 4); // goes on where the journal ended
    cr_expect_eq(live->head->started_ns, 3);
    bench_done(&b);
}

Test(table, detached_is_in_no_list) {
    struct bench b = bench_new(4);
    struct job *job = job_table_detached(
        b.table, &(struct job_new){.uid = "u", .name = "n", .namespace_ = "default", .request_id = "r", .ordinal = 3});
    cr_expect_null(job_table_by_uid(b.table, "u"));
    cr_expect_null(job_table_by_name(b.table, "default", "n"));
    cr_expect_null(job_table_next_older(b.table, 0));
    cr_expect_eq(job_table_count(b.table), 0);
    const struct job_change change = {.to = JOB_RUNNING, .observed_ns = 4};
    struct job_event *e = job_event_restored(job, JOB_EVENT_DELETED, JOB_PENDING, &change, 11, 2, 4, 0);
    job_unref(job);
    cr_expect_eq((int)e->kind, (int)JOB_EVENT_DELETED);
    cr_expect_eq((int)e->from, (int)JOB_PENDING);
    cr_expect_eq(e->sequence, 11);
    cr_expect_eq(e->refs, 1);
    cr_expect_eq(e->job->refs, 1);
    job_event_unref(e);
    bench_done(&b);
}
