// The crossings of loop/ under the thread sanitizer: senders, workers, and a loop that is freed while they were busy.
#include "base/mem.h"
#include "loop/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, SENDERS = 4, EACH = 20000, WORKS = 2000 };

struct sender {
    struct loop *loop;
    long sum; // plain memory, as all here: only the mailbox orders it
    int *left;
};

struct reply {
    struct loop_message message;
    struct sender *sender;
    int value;
};

static void arrived(struct sender *s, long value) {
    s->sum += value;
    if (--*s->left == 0) {
        loop_stop(s->loop);
    }
}

static void on_reply(struct loop_message *message) {
    struct reply *r = CONTAINER_OF(message, struct reply, message);
    arrived(r->sender, r->value);
    mem_free(r);
}

static void send_all(void *ctx) {
    struct sender *s = ctx;
    for (int i = 0; i < EACH; i++) {
        struct reply *r = NEW(struct reply);
        *r = (struct reply){.message.fn = on_reply, .sender = s, .value = i};
        loop_post(s->loop, &r->message);
    }
}

struct work {
    struct loop_work work;
    struct sender *sender; // its counters; touched on the loop thread only
    char text[64];
    size_t length;
};

static void run(struct loop_work *work) {
    struct work *w = CONTAINER_OF(work, struct work, work);
    w->length = strlen(w->text);
}

static void done(struct loop_work *work) {
    struct work *w = CONTAINER_OF(work, struct work, work);
    arrived(w->sender, (long)w->length);
    mem_free(w);
}

static bool round_of(int number) {
    struct loop *loop = loop_new();
    struct sender senders[SENDERS + 1];
    struct loop_thread *threads[SENDERS];
    int left = SENDERS * EACH + WORKS;
    memset(senders, 0, sizeof senders);
    for (int i = 0; i <= SENDERS; i++) {
        senders[i].loop = loop;
        senders[i].left = &left;
    }
    for (int i = 0; i < SENDERS; i++) {
        threads[i] = loop_thread_new("sender", send_all, &senders[i]);
    }
    long right = 0;
    for (int i = 0; i < WORKS; i++) {
        struct work *w = NEW(struct work);
        w->work.run = run;
        w->work.done = done;
        w->sender = &senders[SENDERS];
        right += snprintf(w->text, sizeof w->text, "work %d of round %d", i, number);
        loop_work_start(loop, &w->work);
    }
    if (number % 2 == 0) {
        loop_run(loop);
    }
    for (int i = 0; i < SENDERS; i++) {
        loop_thread_join(threads[i]);
    }
    loop_free(loop); // in odd rounds this delivers everything
    bool ok = left == 0 && senders[SENDERS].sum == right;
    for (int i = 0; i < SENDERS; i++) {
        ok = ok && senders[i].sum == (long)EACH * (EACH - 1) / 2;
    }
    return ok;
}

int main(void) {
    for (int i = 0; i < ROUNDS; i++) {
        if (!round_of(i)) {
            printf("round %d: something was lost or doubled\n", i);
            return EXIT_FAILURE;
        }
    }
    printf("%d messages and %d works crossed\n", ROUNDS * SENDERS * EACH, ROUNDS * WORKS);
    return EXIT_SUCCESS;
}
