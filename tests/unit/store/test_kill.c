// kill -9 while it writes, trims and opens: what was reported as written is there, and nothing is there by half.
#include "support.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { ROUNDS = 25, IN_FLIGHT = 32, LEDGER_MAX = 400000, ROWS_MAX = 2000000 };

// What the child was told to be written: `count` transitions of one job from `first` on.
struct receipt {
    int32_t round, job, count;
    int64_t first, job_sequence;
};

// ---- The child ----------------------------------------------------------------------------------------------------

struct child {
    struct world world;
    int pipe, round, jobs;
};

struct op {
    struct child *child;
    struct receipt receipt;
};

static void start_op(struct child *c, struct op *take_op);

static void on_op(void *ctx, int64_t first_sequence, const struct err *err) {
    struct op *op = ctx;
    if (err != NULL) {
        _exit(3);
    }
    op->receipt.first = first_sequence;
    if (write(op->child->pipe, &op->receipt, sizeof op->receipt) !=
        (ssize_t)sizeof op->receipt) { // atomic: it is small
        _exit(4);
    }
    if (first_sequence % 64 == 0) {
        store_trim(op->child->world.store, first_sequence - 500, NULL, NULL);
    }
    start_op(op->child, op);
}

// An op belongs to one job for a while: created first, then moved in batches of 1 to 4.
static void start_op(struct child *c, struct op *op) {
    struct receipt *r = &op->receipt;
    struct store_batch *b = store_batch_new();
    char uid[40];
    bool fresh = r->count == 0 || r->job_sequence > 20;
    *r = (struct receipt){.round = c->round,
                          .job = fresh ? c->jobs++ : r->job,
                          .job_sequence = fresh ? 1 : r->job_sequence + r->count,
                          .count = fresh ? 1 : 1 + rand() % 4};
    snprintf(uid, sizeof uid, "%d/%d", r->round, r->job);
    if (fresh) {
        struct store_job job = job_row(uid, r->round * 1000000 + r->job);
        store_batch_add_job(b, &job);
    }
    for (int i = 0; i < r->count; i++) {
        struct store_transition t = step_row(uid, r->job_sequence + i, 3);
        store_batch_add_transition(b, &t);
    }
    store_commit(c->world.store, b, fresh, on_op, op);
}

NORETURN static void child_main(const char *directory, int fd, int round, unsigned seed) {
    struct child c = {.pipe = fd, .round = round};
    struct op ops[IN_FLIGHT];
    struct err err = ERR_INIT;
    memset(ops, 0, sizeof ops);
    srand(seed);
    snprintf(c.world.directory, sizeof c.world.directory, "%s", directory);
    c.world.loop = loop_new();
    if (!world_try_open(&c.world, &err)) {
        _exit(2);
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        ops[i].child = &c;
        start_op(&c, &ops[i]);
    }
    loop_run(c.world.loop);
    _exit(5);
}

// ---- The parent ---------------------------------------------------------------------------------------------------

static struct receipt ledger[LEDGER_MAX];
static size_t ledger_count;

struct found {
    int32_t round, job;
    int64_t job_sequence;
};
static struct found rows[ROWS_MAX]; // by sequence

struct scan {
    struct world *world;
    int64_t last; // sequence
    size_t count;
    bool done;
};

static void on_found(void *ctx, const struct store_transition *t, const struct store_job *job UNUSED) {
    struct scan *s = ctx;
    struct found *f = &rows[t->sequence];
    cr_assert(t->sequence > s->last && t->sequence < ROWS_MAX);
    if (t->sequence >= store_oldest_sequence(s->world->store)) {
        cr_assert(s->last + 1 == t->sequence || s->last < store_oldest_sequence(s->world->store),
                  "a hole: %lld is followed by %lld", (long long)s->last, (long long)t->sequence);
    }
    cr_assert_eq(sscanf(t->uid, "%d/%d", &f->round, &f->job), 2);
    f->job_sequence = t->job_sequence;
    s->last = t->sequence;
    s->count++;
}

static void on_scanned(void *ctx, const struct err *err) {
    struct scan *s = ctx;
    cr_assert_null(err);
    s->done = true;
    world_answered(s->world);
}

static void check_receipt(const struct receipt *r, int64_t oldest) {
    for (int32_t i = 0; i < r->count; i++) {
        const struct found *f = &rows[r->first + i];
        if (r->first + i < oldest) {
            continue; // trimmed, or may be
        }
        cr_assert(f->round == r->round && f->job == r->job && f->job_sequence == r->job_sequence + i,
                  "sequence %lld was reported for step %lld of %d/%d, the journal has step %lld of %d/%d",
                  (long long)r->first + i, (long long)r->job_sequence + i, r->round, r->job, (long long)f->job_sequence,
                  f->round, f->job);
    }
}

static void check_journal(struct world *w) {
    w->loop = loop_new();
    world_open(w);
    struct scan s = {.world = w};
    int64_t newest = store_newest_sequence(w->store);
    int64_t oldest = store_oldest_sequence(w->store);
    do {
        s.count = 0;
        s.done = false;
        store_read_transitions(w->store, s.last, 1000, on_found, on_scanned, &s);
        while (!s.done) {
            world_wait(w, w->answers + 1);
        }
    } while (s.count != 0);
    cr_assert_eq(s.last, newest);
    for (size_t i = 0; i < ledger_count; i++) {
        cr_assert(ledger[i].first + ledger[i].count - 1 <= newest);
        check_receipt(&ledger[i], oldest);
    }
    world_close(w);
    // Each job's newest is there, and it is what the job's row says.
    cr_assert_eq(world_ask(w, "SELECT count(*) FROM jobs j LEFT JOIN transitions t ON t.sequence = j.last AND "
                              "t.uid = j.uid WHERE t.uid IS NULL"),
                 0);
    cr_assert_eq(world_ask(w, "SELECT count(*) FROM jobs j LEFT JOIN specs s ON s.job = j.id WHERE s.job IS NULL"), 0);
    loop_free(w->loop);
}

static size_t read_receipts(int fd) {
    struct receipt r;
    size_t before = ledger_count;
    while (read(fd, &r, sizeof r) == (ssize_t)sizeof r) {
        cr_assert(ledger_count < LEDGER_MAX);
        ledger[ledger_count++] = r;
    }
    return ledger_count - before;
}

static void nap_us(long us) {
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

static size_t one_round(struct world *w, int round, unsigned seed) {
    int fds[2];
    int status = 0;
    cr_assert_eq(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        child_main(w->directory, fds[1], round, seed);
    }
    close(fds[1]);
    // Most rounds are killed in the middle of writing, some while the file is being made or opened.
    nap_us(round % 5 == 0 ? rand() % 8000 : 10000 + rand() % 120000);
    kill(pid, SIGKILL);
    size_t n = read_receipts(fds[0]);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "round %d: the child ended by itself: %x", round,
              (unsigned)status);
    close(fds[0]);
    check_journal(w);
    return n;
}

Test(kill, at_random_points, .timeout = 100) {
    struct world w = {.directory = "/tmp/store-test-XXXXXX"};
    struct err err = ERR_INIT;
    unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid();
    size_t receipts = 0;
    int busy = 0;
    srand(seed);
    cr_assert_not_null(mkdtemp(w.directory));
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = one_round(&w, round, seed + (unsigned)round);
        receipts += n;
        busy += n != 0;
    }
    cr_expect_geq(busy, ROUNDS / 4, "only %d rounds got as far as writing", busy);
    fprintf(stderr, "%d rounds, %zu receipts (seed %u)\n", ROUNDS, receipts, seed);
    cr_assert(fd_remove_tree(w.directory, &err), "%s", err.message);
}
