// One attempt of a job in the supervisor: its ranks, their output, their end, and the end of what they left behind.
#include "local/supervisor.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, READS_A_TURN = 8, KILL_AGAIN_MS = 50, KILL_AGAIN_MAX_MS = 5000 };

// ---- Output

// Reads at most `most` bytes. true: the pipe has ended.
static bool drain(struct rank *r, size_t most) {
    char buffer[READ_BYTES];
    while (most > 0) {
        ssize_t n = read(r->pipe.fd, buffer, most < sizeof buffer ? most : sizeof buffer);
        if (n <= 0) {
            return n == 0 || (errno != EAGAIN && errno != EINTR);
        }
        log_writer_add(&r->log, buffer, (size_t)n);
        most -= (size_t)n;
    }
    return false;
}

static void end_output(struct rank *r) {
    if (r->pipe.fd >= 0) {
        int fd = r->pipe.fd;
        loop_io_stop(&r->pipe);
        close(fd);
    }
    log_writer_end(&r->log);
}

// What is in the pipe now, and no more: somebody may be writing as fast as this reads.
static void drain_present(struct rank *r) {
    int present = 0;
    if (r->pipe.fd >= 0 && ioctl(r->pipe.fd, FIONREAD, &present) == 0 && present > 0) {
        (void)drain(r, (size_t)present);
    }
}

static void on_output(void *ctx, int events UNUSED) {
    struct rank *r = ctx;
    if (drain(r, (size_t)READ_BYTES * READS_A_TURN)) {
        end_output(r);
    }
}

// ---- Ends

static void finish(struct attempt *a) {
    a->gone = true;
    loop_timer_stop(&a->killer);
    list_remove(&a->ending);
    for (uint32_t i = 0; i < a->total; i++) {
        if (a->ranks[i] != NULL) {
            drain_present(a->ranks[i]);
            end_output(a->ranks[i]);
        }
    }
    talk_say_gone(a->supervisor, a);
    if (a->forgotten) {
        attempt_free(a);
    }
}

void attempt_check(struct attempt *a) {
    bool all = a->present == a->total || a->stopping; // a daemon that died may have asked for a part of it only
    if (a->gone || !all || a->ended_count < a->present) {
        return;
    }
    // What its ranks left behind has become a child of this process, so that one look most often says: nothing.
    if (!reach_strangers(a->supervisor) || reach_signal(a, 0) == 0) {
        finish(a);
        return;
    }
    if (!list_linked(&a->ending)) {
        list_push(&a->supervisor->ending, &a->ending);
    }
    if (!a->stopping) {
        attempt_stop(a, 0, ""); // nobody waits for leftovers of what has ended well
    }
}

static void kill_all(void *ctx) {
    struct attempt *a = ctx;
    (void)reach_signal(a, SIGKILL);
    a->kill_at_ns = 0;
    loop_timer_start(&a->killer, a->again_ms); // until none is left: the kernel takes its time, and forks race
    a->again_ms = a->again_ms * 2 < KILL_AGAIN_MAX_MS ? a->again_ms * 2 : KILL_AGAIN_MAX_MS;
}

void attempt_stop(struct attempt *a, int64_t grace_ms, const char *why) {
    if (a->gone) {
        talk_say_gone(a->supervisor, a);
        return;
    }
    int64_t at = clock_mono() + grace_ms * CLOCK_MS;
    bool first = !a->stopping;
    a->stopping = true;
    if (why[0] != '\0') {
        mem_free(a->why);
        a->why = mem_strdup(why);
    }
    if (grace_ms <= 0) {
        kill_all(a);
    } else if (first || at < a->kill_at_ns) { // again, and with less patience
        a->kill_at_ns = at;
        loop_timer_start(&a->killer, grace_ms);
    }
    if (first && grace_ms > 0) {
        (void)reach_signal(a, SIGTERM);
    }
    attempt_check(a);
}

static void on_exit_status(void *ctx, int status) {
    struct rank *r = ctx;
    struct attempt *a = r->attempt;
    r->ended = true;
    r->status = status;
    r->ended_ns = clock_wall();
    list_remove(&r->live);
    a->supervisor->live_count--;
    a->ended_count++;
    drain_present(r); // all it wrote itself; a child that still holds the pipe may write on
    talk_say_exit(a->supervisor, r);
    attempt_check(a);
}

// ---- Spawn

struct attempt *attempt_find(const struct supervisor *s, const char *uid, uint32_t number) {
    struct attempt *a = hash_get(&s->by_uid, uid);
    while (a != NULL && a->number != number) {
        a = a->older;
    }
    return a;
}

static struct attempt *attempt_new(struct supervisor *s, const struct wire_spawn *spawn) {
    struct attempt *a = NEW(struct attempt);
    a->supervisor = s;
    a->number = spawn->attempt;
    a->total = spawn->total;
    a->again_ms = KILL_AGAIN_MS;
    memcpy(a->uid, spawn->uid, strlen(spawn->uid) + 1);
    a->ranks = mem_zalloc(a->total * sizeof(struct rank *));
    list_init(&a->ending);
    loop_timer_init(&a->killer, s->loop, "kill", kill_all, a);
    list_push(&s->attempts, &a->link);
    a->older = hash_remove(&s->by_uid, a->uid); // the key is this one's from now on
    (void)hash_put(&s->by_uid, a->uid, a);
    return a;
}

static void rank_free(struct rank *r) {
    if (r == NULL) {
        return;
    }
    loop_child_stop(&r->child);
    if (list_linked(&r->live)) {
        list_remove(&r->live);
        r->attempt->supervisor->live_count--;
    }
    end_output(r);
    log_writer_done(&r->log);
    mem_free(r->refused);
    mem_free(r->note);
    mem_free(r);
}

static void unlink_attempt(const struct attempt *a) {
    struct supervisor *s = a->supervisor;
    struct attempt *newer = hash_get(&s->by_uid, a->uid);
    if (newer == a) {
        (void)hash_remove(&s->by_uid, a->uid);
        if (a->older != NULL) {
            (void)hash_put(&s->by_uid, a->older->uid, a->older);
        }
        return;
    }
    while (newer->older != a) {
        newer = newer->older;
    }
    newer->older = a->older;
}

void attempt_free(struct attempt *a) {
    for (uint32_t i = 0; i < a->total; i++) {
        rank_free(a->ranks[i]);
    }
    loop_timer_stop(&a->killer);
    unlink_attempt(a);
    list_remove(&a->link);
    list_remove(&a->ending);
    talk_start_idle(a->supervisor);
    mem_free(a->ranks);
    mem_free(a->why);
    mem_free(a);
}

void attempt_forget(struct supervisor *s, const char *uid, uint32_t number) {
    struct attempt *a = hash_get(&s->by_uid, uid);
    while (a != NULL) {
        struct attempt *older = a->older;
        if (a->number <= number) {
            a->forgotten = true;
        }
        if (a->forgotten && a->gone) {
            attempt_free(a);
        }
        a = older;
    }
}

static void start_rank(struct rank *r, const struct wire_spawn *spawn) {
    struct attempt *a = r->attempt;
    struct supervisor *s = a->supervisor;
    int fd = -1;
    loop_io_init(&r->pipe, s->loop, "job output", on_output, r);
    if (a->stopping || a->gone) {
        r->refused = mem_strdup("its attempt is being stopped");
    }
    if (r->refused != NULL || !spawn_process(spawn, &s->files, &r->pid, &fd, &r->refused)) {
        r->ended = true;
        r->ended_ns = clock_wall();
        a->ended_count++;
        log_writer_end(&r->log);
        return;
    }
    r->started_ns = clock_wall();
    list_push(&s->live, &r->live);
    s->live_count++;
    loop_child_start(&r->child, s->loop, r->pid, on_exit_status, r);
    loop_io_start(&r->pipe, fd, LOOP_READ);
}

void attempt_spawn(struct supervisor *s, const struct wire_spawn *spawn) {
    struct attempt *a = attempt_find(s, spawn->uid, spawn->attempt);
    if (a == NULL) {
        a = attempt_new(s, spawn);
    }
    if (spawn->rank >= a->total) {
        return;
    }
    struct rank *r = a->ranks[spawn->rank];
    if (r == NULL) {
        r = NEW(struct rank);
        r->attempt = a;
        r->number = spawn->rank;
        r->note = mem_strdup(spawn->note);
        list_init(&r->live);
        a->ranks[spawn->rank] = r;
        a->present++;
        log_writer_open(&r->log, s->logs, spawn->uid, spawn->attempt, spawn->rank, spawn->role, spawn->index,
                        spawn->log_cap);
        start_rank(r, spawn);
    }
    talk_say_rank(s, r); // known already: it is only said again, nothing runs twice
    attempt_check(a);
}
