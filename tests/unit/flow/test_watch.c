// Watch: snapshot, live, resume, what cannot be resumed, ends, heartbeats, slow readers.
#include "support.h"

// a is RUNNING (2 events), b PENDING, c has FAILED and is deleted: sequences 1 to 6.
static void three_jobs(struct world *w) {
    struct answer a = {0};
    bring_to(w, submit_job(w, JOB("a")), JOB_RUNNING);
    submit_job(w, JOB("b"));
    struct job *c = submit_job(w, JOB("c"));
    bring_to(w, c, JOB_FAILED);
    flow_delete(w->flow, c, false, on_changed, &a);
    settle(w);
    answer_done(&a);
}

static struct job *find(struct world *w, const char *name) {
    struct job *job = NULL;
    struct err err = ERR_INIT;
    cr_assert(flow_find(w->flow, &(struct flow_job_ref){.name = name}, &job, &err), "%s", err.message);
    return job;
}

Test(watch, snapshot_then_live) {
    struct world w;
    struct watching v;
    struct answer a = {0};
    world_new(&w);
    three_jobs(&w);
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &v);
    expect_watch(&v, "=a/2:RUNNING =b/1:PENDING end@6#2");
    struct job *job = find(&w, "a");
    fact(&w, job, JOB_SUCCEEDED, REASON_COMPLETED);
    expect_watch(&v, "7:a/3:SUCCEEDED");
    submit_job(&w, JOB("d"));
    expect_watch(&v, "8:d/1:PENDING");
    flow_delete(w.flow, job, false, on_changed, &a);
    expect_watch(&v, "9:a/4:gone");
    answer_done(&a);
    watch_close(&v);
    world_done(&w);
}

// However slowly it is taken, a snapshot is of one moment, and what came meanwhile follows it.
Test(watch, snapshot_of_one_moment) {
    struct world w;
    struct watching v;
    world_new(&w);
    three_jobs(&w);
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &v);
    v.pulls = 1;
    expect_watch(&v, "=a/2:RUNNING");
    fact(&w, find(&w, "b"), JOB_RUNNING, REASON_ALL_RUNNING);
    submit_job(&w, JOB("d"));
    v.pulls = -1;
    expect_watch(&v, "=b/1:PENDING end@6#2 7:b/2:RUNNING 8:d/1:PENDING");
    watch_close(&v);
    world_done(&w);
}

Test(watch, selects) {
    struct world w;
    struct watching by_state;
    struct watching by_name;
    struct watching by_uid;
    world_new(&w);
    three_jobs(&w);
    const char *uid = find(&w, "b")->uid;
    watch_open(&w, &(struct flow_watch_args){0}, &(struct job_selector_args){.states = 1U << JOB_RUNNING}, &by_state);
    watch_open(&w, &(struct flow_watch_args){.skip_snapshot = true}, &(struct job_selector_args){.name_contains = "d"},
               &by_name);
    watch_open(&w, &(struct flow_watch_args){0}, &(struct job_selector_args){.uids = &uid, .uid_count = 1}, &by_uid);
    expect_watch(&by_state, "=a/2:RUNNING end@6#1");
    expect_watch(&by_name, "end@6#0");
    expect_watch(&by_uid, "=b/1:PENDING end@6#1");
    fact(&w, find(&w, "b"), JOB_RUNNING, REASON_ALL_RUNNING);
    submit_job(&w, JOB("d"));
    fact(&w, find(&w, "b"), JOB_SUCCEEDED, REASON_COMPLETED);
    expect_watch(&by_state, "7:b/2:RUNNING");
    expect_watch(&by_name, "8:d/1:PENDING");
    expect_watch(&by_uid, "7:b/2:RUNNING 9:b/3:SUCCEEDED");
    watch_close(&by_state);
    watch_close(&by_name);
    watch_close(&by_uid);
    world_done(&w);
}

Test(watch, an_unknown_uid) {
    struct world w;
    struct watching v;
    struct err err = ERR_INIT;
    world_new(&w);
    const char *uid = "00000000000000000000000000000000";
    cr_assert_not(watch_try(&w, &(struct flow_watch_args){0}, &(struct job_selector_args){.uids = &uid, .uid_count = 1},
                            &v, &err));
    expect_reason(&err, ERR_NOT_FOUND, "JOB_NOT_FOUND", "uid");
    err_done(&err);
    struct flow_info info;
    flow_info(w.flow, &info);
    cr_expect_eq(info.watchers, 0);
    world_done(&w);
}

// ---- Resume

// From every place, also across a restart: exactly what was missed.
Test(watch, resumes_exactly) {
    static const char *const rest[] = {
        "=a/1:PENDING end@1#1 2:a/2:RUNNING 3:b/1:PENDING 4:a/3:SUCCEEDED 5:a/4:gone",
        "2:a/2:RUNNING 3:b/1:PENDING 4:a/3:SUCCEEDED 5:a/4:gone",
        "3:b/1:PENDING 4:a/3:SUCCEEDED 5:a/4:gone",
        "4:a/3:SUCCEEDED 5:a/4:gone",
        "5:a/4:gone",
        "",
    };
    char tokens[6][48];
    struct world w;
    struct watching v;
    struct answer a = {0};
    world_new(&w);
    struct job *job = submit_job(&w, JOB("a"));
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &v);
    v.pulls = 1;
    expect_watch(&v, "=a/1:PENDING");
    memcpy(tokens[0], v.token, 48);
    v.pulls = 1;
    expect_watch(&v, "end@1#1");
    memcpy(tokens[1], v.token, 48);
    v.pulls = -1;
    fact(&w, job, JOB_RUNNING, REASON_ALL_RUNNING);
    expect_watch(&v, "2:a/2:RUNNING");
    memcpy(tokens[2], v.token, 48);
    submit_job(&w, JOB("b"));
    expect_watch(&v, "3:b/1:PENDING");
    memcpy(tokens[3], v.token, 48);
    fact(&w, job, JOB_SUCCEEDED, REASON_COMPLETED);
    expect_watch(&v, "4:a/3:SUCCEEDED");
    memcpy(tokens[4], v.token, 48);
    flow_delete(w.flow, job, false, on_changed, &a);
    expect_watch(&v, "5:a/4:gone");
    memcpy(tokens[5], v.token, 48);
    answer_done(&a);
    watch_close(&v);
    for (int restarted = 0; restarted < 2; restarted++) {
        for (size_t i = 1; i < ARRAY_LEN(tokens); i++) {
            watch_open(&w, &(struct flow_watch_args){.resume_token = tokens[i]}, ALL, &v);
            expect_watch(&v, rest[i]);
            watch_close(&v);
        }
        // In the middle of a snapshot there is nothing to go on from: another one.
        watch_open(&w, &(struct flow_watch_args){.resume_token = tokens[0]}, ALL, &v);
        expect_watch(&v, "=b/1:PENDING end@5#1");
        watch_close(&v);
        world_reopen(&w);
    }
    world_done(&w);
}

struct refusal {
    const char *epoch; // NULL: the journal's
    int64_t sequence;
    bool in_snapshot;
    const char *reason;
};

static void check_refused(struct world *w, const char *token, enum err_code code, const char *reason) {
    struct watching v;
    struct err err = ERR_INIT;
    cr_assert_not(watch_try(w, &(struct flow_watch_args){.resume_token = token}, ALL, &v, &err), "%s", token);
    expect_reason(&err, code, reason, token);
    if (code == ERR_RANGE) {
        cr_expect_str_eq(err.facts[0].key, "oldest_sequence");
        cr_expect_str_eq(err.facts[0].value, "4");
    }
    err_done(&err);
    bool resyncs = watch_try(w, &(struct flow_watch_args){.resume_token = token, .resync = true}, ALL, &v, &err);
    cr_assert_eq(resyncs, code == ERR_RANGE, "only what was a token once");
    if (resyncs) {
        v.pulls = 1;
        expect_watch(&v, "resync@4");
        struct flow_token t;
        bool other = false;
        cr_expect(flow_token_read(v.token, store_epoch(w->store), &t, &other) && t.in_snapshot && !other);
        v.pulls = -1;
        expect_watch(&v, "=a/2:RUNNING =b/1:PENDING end@6#2");
        watch_close(&v);
    }
    err_done(&err);
}

static void on_trimmed(void *ctx, int64_t removed UNUSED) {
    ((struct answer *)ctx)->count++;
}

static void trim(struct world *w, int64_t up_to) {
    struct answer a = {0};
    store_trim(w->store, up_to, on_trimmed, &a);
    cr_assert(world_until(w, is_answered, &a, WAIT_MS));
}

Test(watch, what_cannot_be_resumed) {
    static const struct refusal rows[] = {
        {NULL, 0, false, "TOKEN_OUT_OF_RANGE"},         {NULL, 2, false, "TOKEN_OUT_OF_RANGE"},
        {NULL, 7, false, "TOKEN_OUT_OF_RANGE"},         {NULL, 7, true, "TOKEN_OUT_OF_RANGE"},
        {NULL, INT64_MAX, false, "TOKEN_OUT_OF_RANGE"}, {"0123456789abcdef", 3, false, "TOKEN_OTHER_EPOCH"},
    };
    static const char *const no_tokens[] = {"x", "AAAA", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "****"};
    struct world w;
    struct watching v;
    char token[48];
    world_new(&w);
    three_jobs(&w);
    trim(&w, 3);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *epoch = rows[i].epoch != NULL ? rows[i].epoch : store_epoch(w.store);
        flow_token_write(epoch, rows[i].sequence, rows[i].in_snapshot, token);
        check_refused(&w, token, ERR_RANGE, rows[i].reason);
    }
    for (size_t i = 0; i < ARRAY_LEN(no_tokens); i++) {
        check_refused(&w, no_tokens[i], ERR_INVALID, "INVALID_SPEC");
    }
    flow_token_write(store_epoch(w.store), 3, false, token); // the oldest that is whole
    watch_open(&w, &(struct flow_watch_args){.resume_token = token}, ALL, &v);
    expect_watch(&v, "4:c/1:PENDING 5:c/2:FAILED 6:c/3:gone");
    watch_close(&v);
    world_done(&w);
}

// ---- until_terminal

Test(watch, until_terminal) {
    struct world w;
    struct watching all;
    struct watching named;
    struct watching nobody;
    world_new(&w);
    struct job *a = submit_job(&w, JOB("a"));
    struct job *b = submit_job(&w, JOB("b"));
    const char *uid = a->uid;
    const struct flow_watch_args args = {.until_terminal = true};
    watch_open(&w, &args, ALL, &all);
    watch_open(&w, &args, &(struct job_selector_args){.uids = &uid, .uid_count = 1}, &named);
    watch_open(&w, &args, &(struct job_selector_args){.name_contains = "later"}, &nobody);
    expect_watch(&all, "=a/1:PENDING =b/1:PENDING end@2#2");
    expect_watch(&named, "=a/1:PENDING end@2#1");
    expect_watch(&nobody, "end@2#0");
    fact(&w, a, JOB_SUCCEEDED, REASON_COMPLETED);
    expect_watch(&all, "3:a/2:SUCCEEDED");
    expect_watch(&named, "3:a/2:SUCCEEDED over");
    struct job *later = submit_job(&w, JOB("later"));
    struct answer d = {0};
    struct job *gone = submit_job(&w, JOB("gone"));
    fact(&w, gone, JOB_SUCCEEDED, REASON_COMPLETED);
    expect_watch(&all, "4:later/1:PENDING 5:gone/1:PENDING 6:gone/2:SUCCEEDED");
    flow_delete(w.flow, gone, false, on_changed, &d);
    expect_watch(&all, "7:gone/3:gone");
    answer_done(&d);
    fact(&w, b, JOB_FAILED, REASON_NONZERO_EXIT);
    expect_watch(&all, "8:b/2:FAILED");
    expect_watch(&nobody, "4:later/1:PENDING");
    fact(&w, later, JOB_CANCELED, REASON_CANCELED_BY_USER);
    expect_watch(&all, "9:later/2:CANCELED over");
    expect_watch(&nobody, "9:later/2:CANCELED over");
    watch_close(&all);
    watch_close(&named);
    watch_close(&nobody);
    watch_open(&w, &args, ALL, &all); // all is over already
    expect_watch(&all, "=a/2:SUCCEEDED =b/2:FAILED =later/2:CANCELED end@9#3 over");
    watch_close(&all);
    world_done(&w);
}

// A job named by its uid that is deleted while it is watched is over, too.
Test(watch, until_terminal_of_a_deleted_job) {
    struct world w;
    struct watching v;
    struct answer d = {0};
    char token[48];
    world_new(&w);
    struct job *a = job_ref(submit_job(&w, JOB("a")));
    const char *uid = a->uid;
    const struct job_selector_args which = {.uids = &uid, .uid_count = 1};
    watch_open(&w, &(struct flow_watch_args){.until_terminal = true}, &which, &v);
    expect_watch(&v, "=a/1:PENDING end@1#1");
    memcpy(token, v.token, sizeof token);
    watch_close(&v);
    fact(&w, a, JOB_SUCCEEDED, REASON_COMPLETED);
    flow_delete(w.flow, a, false, on_changed, &d);
    settle(&w);
    watch_open(&w, &(struct flow_watch_args){.until_terminal = true, .resume_token = token}, &which, &v);
    expect_watch(&v, "2:a/2:SUCCEEDED 3:a/3:gone over");
    watch_close(&v);
    answer_done(&d);
    job_unref(a);
    world_done(&w);
}

// ---- Heartbeats

Test(watch, heartbeats) {
    struct world w;
    struct watching idle;
    struct watching busy;
    struct watching slow;
    world_new(&w);
    struct job *a = submit_job(&w, JOB("a"));
    const struct flow_watch_args args = {.heartbeat_s = 1};
    watch_open(&w, &args, ALL, &idle);
    watch_open(&w, &args, ALL, &busy);
    watch_open(&w, &args, ALL, &slow);
    expect_watch(&idle, "=a/1:PENDING end@1#1");
    expect_watch(&busy, "=a/1:PENDING end@1#1");
    slow.pulls = 0; // has not taken its snapshot
    let_pass(&w, 700);
    fact(&w, a, JOB_RUNNING, REASON_ALL_RUNNING);
    expect_watch(&busy, "2:a/2:RUNNING");
    let_pass(&w, 600);
    watch_pull(&idle);
    watch_pull(&busy);
    cr_expect_str_eq(str_text(&idle.text), "beat@1 2:a/2:RUNNING", "%s", str_text(&idle.text));
    cr_expect_str_eq(str_text(&busy.text), "beat@2", "busy or not: %s", str_text(&busy.text));
    str_clear(&idle.text);
    str_clear(&busy.text);
    let_pass(&w, 1000);
    expect_watch(&idle, "beat@2");
    expect_watch(&busy, "beat@2");
    slow.pulls = 1;
    expect_watch(&slow, "beat@0");
    struct flow_token t;
    bool other = false;
    cr_expect(flow_token_read(slow.token, store_epoch(w.store), &t, &other) && t.in_snapshot);
    watch_close(&idle);
    watch_close(&busy);
    watch_close(&slow);
    world_done(&w);
}

// ---- Slow readers

enum { MANY = 700 }; // more than two pages of the journal, and many times the feed

static void many_events(struct world *w, struct job *job, int n) {
    for (int i = 0; i < n; i++) {
        CLEANUP(mem_free_ptr) char *text = mem_printf("step %d", i);
        const struct backend_fact f = {.uid = job->uid, .state = JOB_RUNNING, .message = text, .attempt = 1};
        w->fake.sink.fact(w->fake.sink.ctx, &f);
    }
    settle(w);
}

static void many_text(struct str *out, int64_t first, int n) {
    for (int64_t i = 0; i < n; i++) {
        str_printf(out, "%s%lld:a/%lld:RUNNING", i == 0 ? "" : " ", (long long)(first + i), (long long)(first + i));
    }
}

Test(watch, a_slow_reader_misses_nothing) {
    CLEANUP(str_done) struct str right = STR_INIT;
    struct world w;
    struct watching slow;
    struct watching quick;
    world_begin(&w);
    w.limits.feed_events = 16;
    world_open(&w);
    struct job *job = submit_job(&w, JOB("a"));
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &slow);
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &quick);
    expect_watch(&slow, "=a/1:PENDING end@1#1");
    expect_watch(&quick, "=a/1:PENDING end@1#1");
    for (int i = 0; i < 10; i++) { // one keeps up while the other sleeps
        many_events(&w, job, 1);
        fact(&w, job, JOB_STARTING, REASON_NONE);
    }
    watch_pull(&quick);
    str_clear(&quick.text);
    many_events(&w, job, MANY);
    for (int64_t s = 2; s < 22; s++) {
        str_printf(&right, "%lld:a/%lld:%s ", (long long)s, (long long)s, s % 2 == 0 ? "RUNNING" : "STARTING");
    }
    many_text(&right, 22, MANY);
    expect_watch(&slow, str_text(&right));
    many_events(&w, job, 1);
    expect_watch(&slow, "722:a/722:RUNNING");
    watch_close(&slow);
    watch_close(&quick);
    world_done(&w);
}

Test(watch, closed_while_the_journal_is_read) {
    struct world w;
    struct watching v;
    char token[48];
    world_begin(&w);
    w.limits.feed_events = 16;
    world_open(&w);
    struct job *job = submit_job(&w, JOB("a"));
    many_events(&w, job, 100);
    flow_token_write(store_epoch(w.store), 1, false, token);
    watch_open(&w, &(struct flow_watch_args){.resume_token = token}, ALL, &v);
    watch_pull(&v); // asks the journal
    cr_expect_eq(v.text.len, 0);
    watch_close(&v);
    settle(&w);
    watch_open(&w, &(struct flow_watch_args){.resume_token = token}, ALL, &v);
    v.pulls = 3; // and with a page half taken
    v.right = "2:a/2:RUNNING 3:a/3:RUNNING 4:a/4:RUNNING";
    cr_expect(world_until(&w, watch_has_all, &v, WAIT_MS));
    cr_expect_str_eq(str_text(&v.text), v.right);
    watch_close(&v);
    world_done(&w);
}

// What retention has taken from under a slow reader is said, never left out.
Test(watch, a_reader_slower_than_retention) {
    struct world w;
    struct watching plain;
    struct watching resync;
    world_begin(&w);
    w.limits.feed_events = 16;
    world_open(&w);
    struct job *job = submit_job(&w, JOB("a"));
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &plain);
    watch_open(&w, &(struct flow_watch_args){.resync = true}, ALL, &resync);
    expect_watch(&plain, "=a/1:PENDING end@1#1");
    expect_watch(&resync, "=a/1:PENDING end@1#1");
    many_events(&w, job, 100);
    trim(&w, 50);
    expect_watch(&plain, "failed:TOKEN_OUT_OF_RANGE");
    expect_watch(&resync, "resync@51 =a/101:RUNNING end@101#1");
    many_events(&w, job, 1);
    expect_watch(&resync, "102:a/102:RUNNING");
    watch_close(&plain);
    watch_close(&resync);
    world_done(&w);
}

Test(watch, at_most_so_many) {
    struct world w;
    struct watching a;
    struct watching b;
    struct err err = ERR_INIT;
    world_begin(&w);
    w.limits.max_watchers = 1;
    world_open(&w);
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &a);
    cr_assert_not(watch_try(&w, &(struct flow_watch_args){0}, ALL, &b, &err));
    expect_reason(&err, ERR_EXHAUSTED, "LIMIT_REACHED", "two");
    cr_expect_str_eq(err.facts[0].value, "limits.max_watchers");
    err_done(&err);
    watch_close(&a);
    watch_open(&w, &(struct flow_watch_args){0}, ALL, &b);
    watch_close(&b);
    world_done(&w);
}
