#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "loop/loop.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void busy(int64_t ms) {
    for (int64_t begin = clock_mono(); clock_mono() - begin < ms * CLOCK_MS;) {
    }
}

static int64_t cpu_ms(void) {
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void stop(void *ctx) {
    loop_stop(ctx);
}

static void run_for(struct loop *loop, int64_t ms) {
    struct loop_timer end;
    loop_timer_init(&end, loop, "end", stop, loop);
    loop_timer_start(&end, ms);
    loop_run(loop);
    loop_timer_stop(&end);
}

// ---- Timers

struct tick {
    struct loop *loop;
    struct loop_timer timer;
    int count;
    int64_t at;
    struct tick *other;
};

static void on_tick(void *ctx) {
    struct tick *t = ctx;
    t->count++;
    t->at = clock_mono();
    if (t->count < 3) {
        loop_timer_start(&t->timer, 5);
    } else {
        loop_stop(t->loop);
    }
}

Test(timer, one_shot_and_again) {
    struct tick t = {.loop = loop_new()};
    loop_timer_init(&t.timer, t.loop, "tick", on_tick, &t);
    cr_expect(!loop_timer_active(&t.timer));
    int64_t begin = clock_mono();
    loop_timer_start(&t.timer, 10);
    cr_expect(loop_timer_active(&t.timer));
    loop_run(t.loop);
    cr_expect_eq(t.count, 3);
    cr_expect_geq(t.at - begin, 19 * CLOCK_MS);
    cr_expect(!loop_timer_active(&t.timer));
    run_for(t.loop, 30);
    cr_expect_eq(t.count, 3, "it was one shot");
    loop_free(t.loop);
}

static void on_long(void *ctx) {
    struct tick *t = ctx;
    busy(60); // the turn's cached time is 60 ms old now
    t->at = clock_mono();
    loop_timer_start(&t->other->timer, 40);
}

static void on_end(void *ctx) {
    struct tick *t = ctx;
    t->at = clock_mono();
    loop_stop(t->loop);
}

Test(timer, counts_from_the_real_present) {
    struct tick end = {.loop = loop_new()};
    struct tick begin = {.loop = end.loop, .other = &end};
    loop_timer_init(&begin.timer, begin.loop, "long", on_long, &begin);
    loop_timer_init(&end.timer, end.loop, "end", on_end, &end);
    loop_timer_start(&begin.timer, 0);
    loop_run(end.loop);
    cr_expect_geq(end.at - begin.at, 39 * CLOCK_MS, "%lld us", (long long)(end.at - begin.at) / 1000);
    loop_free(end.loop);
}

static void count(void *ctx) {
    ++*(int *)ctx;
}

Test(timer, restart_and_stop) {
    struct loop *loop = loop_new();
    int calls = 0;
    struct loop_timer t = {0};
    loop_timer_stop(&t); // one that never was
    loop_timer_init(&t, loop, "t", count, &calls);
    loop_timer_stop(&t);
    loop_timer_start(&t, 1);
    loop_timer_start(&t, 20000); // moves it
    run_for(loop, 25);
    cr_expect_eq(calls, 0);
    loop_timer_start(&t, -5); // the past is now
    run_for(loop, 20);
    cr_expect_eq(calls, 1);
    loop_timer_start(&t, 1);
    loop_timer_stop(&t);
    run_for(loop, 20);
    cr_expect_eq(calls, 1);
    loop_free(loop);
}

static void stop_other(void *ctx) {
    struct tick *t = ctx;
    t->count++;
    loop_timer_stop(&t->other->timer);
}

Test(timer, one_due_may_be_stopped_by_another) {
    struct tick a = {.loop = loop_new()};
    struct tick b = {.loop = a.loop, .other = &a};
    a.other = &b;
    loop_timer_init(&a.timer, a.loop, "a", stop_other, &a);
    loop_timer_init(&b.timer, a.loop, "b", stop_other, &b);
    loop_timer_start(&a.timer, 1);
    loop_timer_start(&b.timer, 1);
    busy(5); // both are due in the same turn
    run_for(a.loop, 10);
    cr_expect_eq(a.count + b.count, 1);
    loop_free(a.loop);
}

static void free_itself(void *ctx) {
    struct tick *t = ctx;
    loop_stop(t->loop);
    mem_free(t);
}

Test(timer, may_be_freed_in_its_callback) {
    struct loop *loop = loop_new();
    struct tick *t = NEW(struct tick);
    t->loop = loop;
    loop_timer_init(&t->timer, loop, "t", free_itself, t);
    loop_timer_start(&t->timer, 1);
    loop_run(loop);
    loop_free(loop);
}

// ---- Descriptors

struct pump {
    struct loop *loop;
    struct loop_io in, out;
    size_t sent, got;
    int other_events;
};

enum { PUMPED = 1000000 };

static void on_out(void *ctx, int events) {
    struct pump *p = ctx;
    static const char zeros[4096];
    p->other_events |= events & ~LOOP_WRITE;
    ssize_t n = write(p->out.fd, zeros, PUMPED - p->sent < sizeof zeros ? PUMPED - p->sent : sizeof zeros);
    p->sent += n > 0 ? (size_t)n : 0;
    if (p->sent == PUMPED) {
        int fd = p->out.fd;
        loop_io_stop(&p->out);
        close(fd);
    }
}

static void on_in(void *ctx, int events) {
    struct pump *p = ctx;
    char buffer[3000];
    p->other_events |= events & ~LOOP_READ;
    ssize_t n = read(p->in.fd, buffer, sizeof buffer);
    p->got += n > 0 ? (size_t)n : 0;
    if (n == 0) {
        loop_io_stop(&p->in);
        loop_stop(p->loop);
    }
}

Test(io, pumps_a_pipe_to_its_end) {
    int fds[2];
    cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
    struct pump p = {.loop = loop_new()};
    loop_io_stop(&p.in); // one that never was
    loop_io_init(&p.in, p.loop, "in", on_in, &p);
    loop_io_init(&p.out, p.loop, "out", on_out, &p);
    cr_expect_eq(p.in.fd, -1);
    loop_io_start(&p.in, fds[0], LOOP_READ);
    loop_io_start(&p.out, fds[1], LOOP_WRITE);
    loop_run(p.loop);
    cr_expect_eq(p.sent, PUMPED);
    cr_expect_eq(p.got, PUMPED);
    cr_expect_eq(p.other_events, 0);
    cr_expect_eq(p.in.fd, -1);
    close(fds[0]);
    loop_free(p.loop);
}

static void note_events(void *ctx, int events) {
    *(int *)ctx |= events;
}

Test(io, restarts_with_other_events) {
    int fds[2];
    cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
    struct loop *loop = loop_new();
    int seen = 0;
    struct loop_io io;
    loop_io_init(&io, loop, "io", note_events, &seen);
    loop_io_start(&io, fds[1], LOOP_READ);
    run_for(loop, 10);
    cr_expect_eq(seen, 0);
    loop_io_start(&io, fds[1], LOOP_WRITE);
    run_for(loop, 10);
    cr_expect_eq(seen, LOOP_WRITE);
    loop_io_stop(&io);
    loop_io_stop(&io);
    seen = 0;
    run_for(loop, 10);
    cr_expect_eq(seen, 0);
    loop_io_start(&io, fds[1], LOOP_WRITE); // the same descriptor number after a close is another one
    loop_io_stop(&io);
    close(fds[0]);
    close(fds[1]);
    cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
    loop_io_start(&io, fds[1], LOOP_WRITE);
    run_for(loop, 10);
    cr_expect_eq(seen, LOOP_WRITE);
    loop_io_stop(&io);
    close(fds[0]);
    close(fds[1]);
    loop_free(loop);
}

// ---- Deferred calls

struct task {
    struct loop *loop;
    struct loop_task task;
    char *trace;
    char name;
    struct task *next, *canceled;
    int again;
};

static void on_task(void *ctx) {
    struct task *t = ctx;
    t->trace[strlen(t->trace)] = t->name;
    if (t->next != NULL) {
        loop_defer(t->loop, &t->next->task);
    }
    if (t->canceled != NULL) {
        loop_task_cancel(&t->canceled->task);
    }
    if (t->again-- > 0) {
        loop_defer(t->loop, &t->task);
    }
}

Test(defer, order_once_cancel_again) {
    char trace[32] = "";
    struct loop *loop = loop_new();
    struct task t[5];
    for (int i = 0; i < 5; i++) {
        t[i] = (struct task){.loop = loop, .trace = trace, .name = (char)('a' + i)};
        loop_task_init(&t[i].task, on_task, &t[i]);
    }
    struct loop_task never = {0};
    loop_task_cancel(&never);
    loop_task_cancel(&t[0].task);
    t[0].next = &t[3];     // from within
    t[1].canceled = &t[2]; // in the batch that is running
    t[1].again = 2;
    loop_defer(loop, &t[0].task);
    loop_defer(loop, &t[1].task);
    loop_defer(loop, &t[0].task); // pending: nothing
    loop_defer(loop, &t[2].task);
    loop_defer(loop, &t[4].task);
    loop_task_cancel(&t[4].task);
    cr_expect_str_eq(trace, "", "never at once");
    run_for(loop, 10);
    cr_expect_str_eq(trace, "abdbb");
    loop_defer(loop, &t[0].task);
    loop_free(loop); // runs what is pending, and what that defers
    cr_expect_str_eq(trace, "abdbbad");
}

struct endless {
    struct loop *loop;
    struct loop_task task;
    int count, ticks;
    struct loop_timer timer;
};

static void on_endless(void *ctx) {
    struct endless *e = ctx;
    e->count++;
    loop_defer(e->loop, &e->task);
}

// A task that always defers itself starves nobody, and the loop does not sleep on it.
Test(defer, neither_starves_nor_sleeps) {
    struct endless e = {.loop = loop_new()};
    loop_task_init(&e.task, on_endless, &e);
    loop_defer(e.loop, &e.task);
    loop_timer_init(&e.timer, e.loop, "t", count, &e.ticks);
    loop_timer_start(&e.timer, 5);
    run_for(e.loop, 50);
    cr_expect_eq(e.ticks, 1);
    cr_expect_gt(e.count, 100);
    loop_task_cancel(&e.task);
    int64_t before = cpu_ms();
    run_for(e.loop, 300);
    cr_expect_lt(cpu_ms() - before, 100, "an empty loop spins: %lld ms", (long long)(cpu_ms() - before));
    loop_free(e.loop);
}

static void defer_it(void *ctx) {
    struct endless *e = ctx;
    loop_defer(e->loop, &e->task);
}

static void count_and_stop(void *ctx) {
    struct endless *e = ctx;
    e->count++;
    loop_stop(e->loop);
}

// Deferred in the last callback of a turn, with nothing else to wake the loop.
Test(defer, runs_without_another_event) {
    struct endless e = {.loop = loop_new()};
    loop_task_init(&e.task, count_and_stop, &e);
    loop_timer_init(&e.timer, e.loop, "t", defer_it, &e);
    loop_timer_start(&e.timer, 5);
    struct loop_timer far;
    loop_timer_init(&far, e.loop, "far", stop, e.loop);
    loop_timer_start(&far, 20000);
    int64_t begin = clock_mono();
    loop_run(e.loop);
    cr_expect_eq(e.count, 1);
    cr_expect_lt(clock_mono() - begin, 5 * CLOCK_SECOND);
    loop_timer_stop(&far);
    loop_free(e.loop);
}

// ---- The loop itself

Test(loop, many_in_turn) {
    int descriptors[2];
    for (int i = 0; i < 200; i++) {
        struct loop *loop = loop_new();
        run_for(loop, 0);
        loop_free(loop);
        if (i == 0) {
            cr_assert_eq(pipe(descriptors), 0);
        }
    }
    int probe = dup(descriptors[0]);
    // 199 loops later: a few descriptors are the harness's own business, a leak would be hundreds.
    cr_expect_leq(probe, descriptors[1] + 8, "descriptors leak");
    close(probe);
    close(descriptors[0]);
    close(descriptors[1]);
    loop_free(NULL);
}

Test(loop, two_at_once_is_our_mistake, .signal = SIGABRT) {
    (void)loop_new();
    (void)loop_new();
}

static void slow(void *ctx) {
    struct tick *t = ctx;
    busy(LOOP_SLOW_MS + 15);
    if (++t->count < 3) {
        loop_timer_start(&t->timer, 0);
    } else {
        loop_stop(t->loop);
    }
}

Test(loop, slow_callbacks_are_named_once_a_second) {
    int fds[2];
    char text[4096];
    cr_assert_eq(pipe(fds), 0);
    int old = dup(STDERR_FILENO);
    dup2(fds[1], STDERR_FILENO);
    struct tick t = {.loop = loop_new()};
    loop_timer_init(&t.timer, t.loop, "the-slow-one", slow, &t);
    loop_timer_start(&t.timer, 0);
    loop_run(t.loop);
    loop_free(t.loop);
    dup2(old, STDERR_FILENO);
    close(old);
    close(fds[1]);
    ssize_t n = read(fds[0], text, sizeof text - 1);
    close(fds[0]);
    text[n > 0 ? n : 0] = '\0';
    const char *found = strstr(text, "warn  loop: the-slow-one took ");
    cr_assert_not_null(found, "%s", text);
    cr_expect_null(strstr(found + strlen("warn  loop: the-slow-one took "), "took"), "%s", text);
}
