#include "loop/loop.h"

#include <criterion/criterion.h>
#include <pthread.h>

#include <string.h>
#include <unistd.h>

enum { THREADS = 4, EACH = 25000 };

struct sender;

struct letter {
    struct loop_message message;
    struct sender *from;
    int number;
};

struct sender {
    struct loop *loop;
    struct letter letters[EACH];
    int expected; // the number of the next letter to arrive
    int wrong;
    int *left;
};

static void on_letter(struct loop_message *message) {
    struct letter *l = CONTAINER_OF(message, struct letter, message);
    l->from->wrong += l->number != l->from->expected++;
    if (--*l->from->left == 0) {
        loop_stop(l->from->loop);
    }
}

static void send_all(void *ctx) {
    struct sender *s = ctx;
    for (int i = 0; i < EACH; i++) {
        s->letters[i] = (struct letter){.message = {.fn = on_letter}, .from = s, .number = i};
        loop_post(s->loop, &s->letters[i].message);
        if (i % 1000 == 0) {
            usleep(100); // so that the loop falls asleep in between
        }
    }
}

static struct sender senders[THREADS];

Test(mailbox, several_threads_each_in_order, .timeout = 60) {
    int left = THREADS * EACH;
    struct loop *loop = loop_new();
    struct loop_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        senders[i].loop = loop;
        senders[i].left = &left;
        threads[i] = loop_thread_new("sender", send_all, &senders[i]);
    }
    loop_run(loop);
    for (int i = 0; i < THREADS; i++) {
        loop_thread_join(threads[i]);
        cr_expect_eq(senders[i].expected, EACH);
        cr_expect_eq(senders[i].wrong, 0);
    }
    loop_free(loop);
}

struct echo {
    struct loop_message message;
    struct loop *loop;
    int count;
};

static void on_echo(struct loop_message *message) {
    struct echo *e = CONTAINER_OF(message, struct echo, message);
    if (++e->count < 1000) {
        loop_post(e->loop, message); // the node may be used again in fn
    } else {
        loop_stop(e->loop);
    }
}

Test(mailbox, a_node_may_be_posted_again_from_its_callback) {
    struct echo e = {.loop = loop_new(), .message.fn = on_echo};
    loop_post(e.loop, &e.message);
    loop_run(e.loop);
    cr_expect_eq(e.count, 1000);
    loop_free(e.loop);
}

struct nested {
    struct loop_message message;
    struct loop *loop;
    char name, *trace;
};

static void on_nested(struct loop_message *message) {
    struct nested *n = CONTAINER_OF(message, struct nested, message);
    n->trace[strlen(n->trace)] = n->name;
    if (n->name == 'a') {
        loop_deliver(n->loop);
        n->trace[strlen(n->trace)] = '.';
    }
    if (n->name == 'd') {
        loop_stop(n->loop);
    }
}

// What had arrived before comes first, what was posted meanwhile comes too, and nothing is left for later.
Test(mailbox, deliver_from_within_a_message) {
    char trace[16] = "";
    struct loop *loop = loop_new();
    struct nested n[4];
    for (int i = 0; i < 4; i++) {
        n[i] = (struct nested){.message.fn = on_nested, .loop = loop, .name = (char)('a' + i), .trace = trace};
        loop_post(loop, &n[i].message);
    }
    loop_run(loop);
    cr_expect_str_eq(trace, "abcd.");
    loop_free(loop);
}

static void on_count(struct loop_message *message) {
    CONTAINER_OF(message, struct echo, message)->count++;
}

Test(mailbox, what_is_left_is_delivered_by_free) {
    struct echo e = {.loop = loop_new(), .message.fn = on_count};
    loop_post(e.loop, &e.message);
    loop_free(e.loop);
    cr_expect_eq(e.count, 1);
}

// ---- Workers

struct job {
    struct loop_work work;
    struct loop *loop;
    int *left;
    int ran, done;
    pthread_t *self; // of the loop
    bool on_loop, elsewhere;
    struct job *then;
};

static void run_job(struct loop_work *work) {
    struct job *j = CONTAINER_OF(work, struct job, work);
    j->ran++;
    j->elsewhere = !pthread_equal(pthread_self(), *j->self);
    usleep(100);
}

static void job_done(struct loop_work *work) {
    struct job *j = CONTAINER_OF(work, struct job, work);
    j->done++;
    j->on_loop = pthread_equal(pthread_self(), *j->self);
    if (j->then != NULL) {
        loop_work_start(j->loop, &j->then->work);
    }
    if (--*j->left == 0) {
        loop_stop(j->loop);
    }
}

static void set_up(struct job *j, struct loop *loop, int *left, pthread_t *self) {
    *j = (struct job){.work = {.run = run_job, .done = job_done}, .loop = loop, .left = left, .self = self};
}

Test(work, each_runs_and_is_done_once) {
    enum { N = 500 };
    static struct job jobs[N];
    int left = N;
    pthread_t self = pthread_self();
    struct loop *loop = loop_new();
    for (int i = 0; i < N; i++) {
        set_up(&jobs[i], loop, &left, &self);
        loop_work_start(loop, &jobs[i].work);
    }
    loop_run(loop);
    for (int i = 0; i < N; i++) {
        cr_expect(jobs[i].ran == 1 && jobs[i].done == 1 && jobs[i].elsewhere && jobs[i].on_loop, "%d", i);
    }
    loop_free(loop);
}

// done() is promised even when the loop ends first; what it starts is done as well.
Test(work, is_finished_by_free) {
    struct job a;
    struct job b;
    int left = 3;
    pthread_t self = pthread_self();
    struct loop *loop = loop_new();
    set_up(&a, loop, &left, &self);
    set_up(&b, loop, &left, &self);
    a.then = &b;
    loop_work_start(loop, &a.work);
    loop_free(loop);
    cr_expect(a.ran == 1 && a.done == 1);
    cr_expect(b.ran == 1 && b.done == 1);
}

struct chain {
    struct loop *loop;
    struct loop_task task;
    struct loop_message message;
    struct job job;
    int steps;
};

static void chain_message(struct loop_message *message) {
    struct chain *c = CONTAINER_OF(message, struct chain, message);
    c->steps++;
    loop_work_start(c->loop, &c->job.work);
}

static void chain_task(void *ctx) {
    struct chain *c = ctx;
    c->steps++;
    loop_post(c->loop, &c->message);
}

// A deferred call posts, the message starts work: free must follow the chain to its end.
Test(work, free_follows_chains) {
    int left = 2;
    pthread_t self = pthread_self();
    struct chain c = {.loop = loop_new(), .message.fn = chain_message};
    set_up(&c.job, c.loop, &left, &self);
    loop_task_init(&c.task, chain_task, &c);
    loop_defer(c.loop, &c.task);
    loop_free(c.loop);
    cr_expect_eq(c.steps, 2);
    cr_expect_eq(c.job.done, 1);
}
