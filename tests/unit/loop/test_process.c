#include "loop/loop.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct watch {
    struct loop *loop;
    struct loop_child child;
    struct loop_signal signal;
    int status, calls, last_signal;
    int *left;
};

static void give_up(void *ctx) {
    loop_stop(ctx);
}

// Runs until loop_stop, at most 10 s.
static void run(struct loop *loop) {
    struct loop_timer t;
    loop_timer_init(&t, loop, "limit", give_up, loop);
    loop_timer_start(&t, 10000);
    loop_run(loop);
    loop_timer_stop(&t);
}

static void on_child(void *ctx, int status) {
    struct watch *w = ctx;
    w->status = status;
    w->calls++;
    if (--*w->left == 0) {
        loop_stop(w->loop);
    }
}

static pid_t child(int i) {
    pid_t pid = fork();
    if (pid == 0) {
        if (i % 5 == 4) {
            signal(SIGTERM, SIG_DFL);
            raise(SIGTERM);
        }
        usleep((useconds_t)(i % 3) * 1000);
        _exit(i);
    }
    return pid;
}

Test(child, many_with_their_own_status) {
    enum { N = 40 };
    struct watch w[N];
    int left = N;
    struct loop *loop = loop_new();
    memset(w, 0, sizeof w);
    for (int i = 0; i < N; i++) {
        w[i].loop = loop;
        w[i].left = &left;
        loop_child_start(&w[i].child, loop, child(i), on_child, &w[i]);
    }
    run(loop);
    cr_expect_eq(left, 0);
    for (int i = 0; i < N; i++) {
        cr_expect_eq(w[i].calls, 1);
        if (i % 5 == 4) {
            cr_expect(WIFSIGNALED(w[i].status) && WTERMSIG(w[i].status) == SIGTERM, "%d: %x", i, w[i].status);
        } else {
            cr_expect(WIFEXITED(w[i].status) && WEXITSTATUS(w[i].status) == i, "%d: %x", i, w[i].status);
        }
        loop_child_stop(&w[i].child); // harmless after the end
    }
    loop_free(loop);
}

// A loop that was freed must not keep the next one from reaping.
Test(child, in_a_second_loop) {
    for (int round = 0; round < 5; round++) {
        int left = 1;
        struct watch w = {.loop = loop_new(), .left = &left};
        loop_child_stop(&w.child); // one that never was
        loop_child_start(&w.child, w.loop, child(round), on_child, &w);
        run(w.loop);
        cr_expect_eq(w.calls, 1);
        cr_expect(round == 4 ? WIFSIGNALED(w.status) : WEXITSTATUS(w.status) == round);
        loop_free(w.loop);
    }
}

Test(child, stopped_watchers_are_silent) {
    int left = 2;
    struct loop *loop = loop_new();
    struct watch a = {.loop = loop, .left = &left};
    struct watch b = {.loop = loop, .left = &left};
    loop_child_start(&a.child, loop, child(1), on_child, &a);
    loop_child_start(&b.child, loop, child(2), on_child, &b);
    loop_child_stop(&a.child);
    left = 1;
    run(loop);
    cr_expect_eq(a.calls, 0);
    cr_expect_eq(b.calls, 1);
    loop_free(loop);
}

static void on_signal(void *ctx, int number) {
    struct watch *w = ctx;
    w->last_signal = number;
    if (++w->calls == 3) {
        loop_stop(w->loop);
    } else {
        kill(getpid(), number);
    }
}

Test(signal, arrives_on_the_loop) {
    struct watch w = {.loop = loop_new()};
    struct watch other = {.loop = w.loop};
    loop_signal_stop(&other.signal); // one that never was
    loop_signal_start(&w.signal, w.loop, SIGUSR1, on_signal, &w);
    loop_signal_start(&other.signal, w.loop, SIGUSR2, on_signal, &other);
    kill(getpid(), SIGUSR1);
    cr_expect_eq(w.calls, 0, "not before the loop runs");
    run(w.loop);
    cr_expect_eq(w.calls, 3);
    cr_expect_eq(w.last_signal, SIGUSR1);
    cr_expect_eq(other.calls, 0);
    loop_signal_stop(&w.signal);
    loop_signal_stop(&other.signal);
    loop_free(w.loop);
}

static void wait_for_end(void *ctx) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    bool *all = ctx;
    *all = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGTERM) && sigismember(&mask, SIGCHLD) &&
           sigismember(&mask, SIGALRM);
}

Test(thread, has_all_signals_blocked_and_leaves_ours_alone) {
    sigset_t before;
    sigset_t after;
    bool blocked = false;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    loop_thread_join(loop_thread_new("a-name-longer-than-fifteen", wait_for_end, &blocked));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    cr_expect(blocked);
    cr_expect_eq(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
    cr_expect_eq(sigismember(&after, SIGUSR1), 0);
}
