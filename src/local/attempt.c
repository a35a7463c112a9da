// One attempt of a job in the supervisor: its ranks, their output, their end, and the end of everything they left
// behind.
#include "local/supervisor.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "local/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, READS_A_TURN = 8, KILL_AGAIN_MS = 100, RANKS_MAX = 10000 };

// ---- Output
// ----------------------------------------------------------------------------------------------------------------------

// Reads what is there. true: the pipe has ended.
static bool drain(struct rank *r, int reads) {
    char buffer[READ_BYTES];
    for (int i = 0; i < reads; i++) {
        ssize_t n = read(r->pipe.fd, buffer, sizeof buffer);
        if (n > 0) {
            log_writer_add(&r->log, buffer, (size_t)n);
            continue;
        }
        return n == 0 || (errno != EAGAIN && errno != EINTR);
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

static void on_output(void *ctx, int events UNUSED) {
    struct rank *r = ctx;
    if (drain(r, READS_A_TURN)) {
        end_output(r);
    }
}

// ---- Ends
// ------------------------------------------------------------------------------------------------------------------------

static size_t live_pids(const struct attempt *a, pid_t *out) {
    size_t n = 0;
    LIST_EACH (node, &a->ranks) {
        const struct rank *r = CONTAINER_OF(node, struct rank, link);
        if (!r->ended) {
            out[n++] = r->pid;
        }
    }
    return n;
}

static size_t signal_all(struct attempt *a, int number) {
    pid_t *pids = mem_alloc((size_t)a->total * sizeof *pids);
    size_t n = live_pids(a, pids);
    size_t found = tree_signal("TRAINERD_JOB_UID", a->uid, pids, n, number);
    mem_free(pids);
    return found;
}

static bool strangers(struct supervisor *s) {
    size_t n = 0;
    size_t cap = 16;
    pid_t *pids = mem_alloc(cap * sizeof *pids);
    LIST_EACH (node, &s->attempts) {
        struct attempt *a = CONTAINER_OF(node, struct attempt, link);
        if (n + a->total > cap) {
            cap = (n + a->total) * 2;
            pids = mem_realloc_array(pids, cap, sizeof *pids);
        }
        n += live_pids(a, pids + n);
    }
    bool found = tree_has_strangers(pids, n);
    mem_free(pids);
    return found;
}

static void finish(struct attempt *a) {
    struct supervisor *s = a->supervisor;
    a->gone = true;
    loop_timer_stop(&a->sooner);
    LIST_EACH (node, &a->ranks) {
        end_output(CONTAINER_OF(node, struct rank, link));
    }
    supervisor_say_gone(s, a);
    if (a->forgotten) {
        attempt_free(a);
    }
}

void attempt_check(struct attempt *a) {
    if (a->gone || a->ended_count < a->total) {
        return;
    }
    // Its ranks have ended. What they left behind has become a child of this process, so most often one look says
    // that there is nothing.
    if (!strangers(a->supervisor) || signal_all(a, 0) == 0) {
        finish(a);
        return;
    }
    if (!a->stopping) { // nobody waits for leftovers of what has ended well
        attempt_stop(a, 0);
    }
}

static void on_sooner(void *ctx) {
    struct attempt *a = ctx;
    signal_all(a, SIGKILL);
    a->signal = SIGKILL;
    loop_timer_start(&a->sooner, KILL_AGAIN_MS); // until none is left: the kernel takes its time, and forks race
    attempt_check(a);
}

void attempt_stop(struct attempt *a, int64_t grace_ms) {
    if (a->gone) {
        supervisor_say_gone(a->supervisor, a);
        return;
    }
    bool again = a->stopping;
    a->stopping = true;
    if (!again && grace_ms > 0) {
        signal_all(a, SIGTERM);
    }
    if (a->signal != SIGKILL) {
        loop_timer_start(&a->sooner, grace_ms);
    }
    attempt_check(a);
}

static void on_exit_status(void *ctx, int status) {
    struct rank *r = ctx;
    struct attempt *a = r->attempt;
    r->ended = true;
    r->status = status;
    r->ended_ns = clock_wall();
    a->ended_count++;
    // All it wrote itself is in the pipe now; a child that still holds it may write on.
    if (r->pipe.fd >= 0 && drain(r, 1 << 20)) {
        end_output(r);
    }
    supervisor_say_exit(a->supervisor, r);
    attempt_check(a);
}

// ---- Spawn
// -----------------------------------------------------------------------------------------------------------------------

struct attempt *attempt_find(struct supervisor *s, const char *uid, uint32_t number) {
    char key[64];
    snprintf(key, sizeof key, "%.32s/%u", uid, number);
    return hash_get(&s->by_key, key);
}

static struct attempt *attempt_new(struct supervisor *s, const char *uid, uint32_t number, uint32_t total) {
    struct attempt *a = NEW(struct attempt);
    a->supervisor = s;
    a->number = number;
    a->total = total;
    snprintf(a->uid, sizeof a->uid, "%s", uid);
    snprintf(a->key, sizeof a->key, "%.32s/%u", uid, number);
    list_init(&a->ranks);
    loop_timer_init(&a->sooner, s->loop, "kill", on_sooner, a);
    list_push(&s->attempts, &a->link);
    hash_put(&s->by_key, a->key, a);
    return a;
}

static struct rank *rank_find(const struct attempt *a, uint32_t number) {
    LIST_EACH (node, &a->ranks) {
        struct rank *r = CONTAINER_OF(node, struct rank, link);
        if (r->number == number) {
            return r;
        }
    }
    return NULL;
}

static void rank_free(struct rank *r) {
    loop_child_stop(&r->child);
    end_output(r);
    log_writer_done(&r->log);
    list_remove(&r->link);
    mem_free(r->refused);
    mem_free(r->note);
    mem_free(r);
}

void attempt_free(struct attempt *a) {
    LIST_EACH (node, &a->ranks) {
        rank_free(CONTAINER_OF(node, struct rank, link));
    }
    loop_timer_stop(&a->sooner);
    hash_remove(&a->supervisor->by_key, a->key);
    list_remove(&a->link);
    mem_free(a);
}

static const char **texts(struct wire_reader *r) {
    uint32_t n = wire_get_u32(r);
    if (r->bad || n > (size_t)(r->end - r->p) / 5) { // each takes at least five bytes
        r->bad = true;
        return NULL;
    }
    const char **out = mem_zalloc((n + 1) * sizeof(const char *));
    for (uint32_t i = 0; i < n; i++) {
        out[i] = wire_get_text(r);
    }
    return out;
}

static void start_rank(struct rank *r, const char *const *argv, const char *const *env, const char *cwd) {
    struct supervisor *s = r->attempt->supervisor;
    int fd = -1;
    loop_io_init(&r->pipe, s->loop, "job output", on_output, r);
    if (!spawn_process(argv, env, cwd, &r->pid, &fd, &r->refused)) {
        r->ended = true;
        r->ended_ns = clock_wall();
        r->attempt->ended_count++;
        log_writer_end(&r->log);
        return;
    }
    loop_child_start(&r->child, s->loop, r->pid, on_exit_status, r);
    loop_io_start(&r->pipe, fd, LOOP_READ);
}

void attempt_spawn(struct supervisor *s, struct wire_reader *w) {
    const char *uid = wire_get_text(w);
    uint32_t number = wire_get_u32(w);
    uint32_t rank = wire_get_u32(w);
    uint32_t total = wire_get_u32(w);
    const char *role = wire_get_text(w);
    uint32_t index = wire_get_u32(w);
    const char *note = wire_get_text(w);
    uint64_t cap = wire_get_u64(w);
    const char *cwd = wire_get_text(w);
    CLEANUP(mem_free_ptr) const char **argv = texts(w);
    CLEANUP(mem_free_ptr) const char **env = texts(w);
    if (w->bad || argv == NULL || argv[0] == NULL || env == NULL || total > RANKS_MAX || strlen(uid) > 32) {
        return;
    }
    struct attempt *a = attempt_find(s, uid, number);
    if (a == NULL) {
        a = attempt_new(s, uid, number, total);
    }
    struct rank *r = rank_find(a, rank);
    if (r == NULL) {
        r = NEW(struct rank);
        r->attempt = a;
        r->number = rank;
        r->note = mem_strdup(note);
        list_push(&a->ranks, &r->link);
        log_writer_open(&r->log, s->logs, uid, number, rank, role, index, cap);
        start_rank(r, argv, env, cwd);
    }
    supervisor_say_rank(s, r); // known already: it is only said again, nothing runs twice
    attempt_check(a);
}
