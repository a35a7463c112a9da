#include "support.h"

// Moves a job back and forth so that each step makes an event; returns after n of them are in the feed.
static void fill(struct bench *b, struct job *job, int n) {
    for (int i = 0; i < n; i++) {
        cr_assert(bench_move(b, job, b->sequence % 2 == 0 ? JOB_PENDING : JOB_RUNNING, REASON_ACCEPTED));
        cr_assert_eq(bench_commit(b), 1);
    }
}

Test(feed, empty) {
    struct job_feed *f = job_feed_new(4, 41);
    cr_expect_eq(job_feed_last(f), 41);
    cr_expect_eq(job_feed_first(f), 42);
    for (int64_t s = 38; s < 46; s++) {
        cr_expect_null(job_feed_get(f, s));
    }
    job_feed_free(f);
    job_feed_free(NULL);
}

Test(feed, keeps_the_newest) {
    enum { CAP = 4 };
    struct bench b = bench_new(CAP);
    struct job *job = bench_add(&b, "u", "n", NULL);
    for (int64_t n = 1; n <= 11; n++) {
        fill(&b, job, 1);
        int64_t first = n <= CAP ? 1 : n - CAP + 1;
        cr_expect_eq(job_feed_last(b.feed), n);
        cr_expect_eq(job_feed_first(b.feed), first);
        for (int64_t s = -1; s <= n + CAP; s++) {
            struct job_event *e = job_feed_get(b.feed, s);
            cr_expect_eq(e != NULL, s >= first && s <= n, "%lld of %lld", (long long)s, (long long)n);
            cr_expect(e == NULL || e->sequence == s);
        }
    }
    cr_expect_null(job_feed_get(b.feed, INT64_MAX));
    cr_expect_null(job_feed_get(b.feed, INT64_MIN));
    bench_done(&b);
}

Test(feed, of_one) {
    struct bench b = bench_new(1);
    struct job *job = bench_add(&b, "u", "n", NULL);
    fill(&b, job, 3);
    cr_expect_eq(job_feed_first(b.feed), 3);
    cr_expect_eq(job_feed_get(b.feed, 3)->sequence, 3);
    cr_expect_null(job_feed_get(b.feed, 2));
    bench_done(&b);
}

// A slow reader finds that its place is gone; what it still holds stays whole.
Test(feed, slow_reader) {
    struct bench b = bench_new(2);
    struct job *job = bench_add(&b, "u", "n", NULL);
    fill(&b, job, 1);
    struct job_event *held = job_event_ref(job_feed_get(b.feed, 1));
    fill(&b, job, 9);
    cr_expect_null(job_feed_get(b.feed, 1));
    cr_expect_eq(job_feed_first(b.feed), 9);
    cr_expect_eq(held->sequence, 1);
    cr_expect_eq((int)held->state, (int)JOB_PENDING);
    bench_done(&b);
    cr_expect_eq(held->refs, 1);
    cr_expect_str_eq(held->job->name, "n"); // a job lives as long as its events
    job_event_unref(held);
}

struct reader {
    struct job_feed_reader base;
    struct job_feed *feed;
    int woken;
    bool again;
    int64_t saw;
};

static void wake(void *ctx) {
    struct reader *r = ctx;
    r->woken++;
    r->saw = job_feed_last(r->feed);
    if (r->again) {
        job_feed_arm(r->feed, &r->base);
    }
}

static void reader_init(struct reader *r, struct job_feed *feed) {
    *r = (struct reader){.feed = feed};
    job_feed_reader_init(&r->base, wake, r);
}

Test(feed, wakes_once_an_arming) {
    struct bench b = bench_new(8);
    struct job *job = bench_add(&b, "u", "n", NULL);
    struct reader r[3];
    for (size_t i = 0; i < ARRAY_LEN(r); i++) {
        reader_init(&r[i], b.feed);
    }
    fill(&b, job, 1);
    cr_expect_eq(r[0].woken, 0); // not armed
    job_feed_arm(b.feed, &r[0].base);
    job_feed_arm(b.feed, &r[0].base); // twice is once
    job_feed_arm(b.feed, &r[1].base);
    r[1].again = true;
    job_feed_arm(b.feed, &r[2].base);
    job_feed_disarm(&r[2].base);
    job_feed_disarm(&r[2].base);
    fill(&b, job, 3);
    cr_expect_eq(r[0].woken, 1);
    cr_expect_eq(r[0].saw, 2); // the event is there when the reader hears of it
    cr_expect_eq(r[1].woken, 3);
    cr_expect_eq(r[1].saw, 4);
    cr_expect_eq(r[2].woken, 0);
    job_feed_disarm(&r[1].base);
    bench_done(&b);
}
