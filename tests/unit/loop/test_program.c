#include "base/clock.h"
#include "base/mem.h"
#include "loop/loop.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer {
    struct loop *loop;
    int calls, status;
    enum loop_program_end end;
    char *text;
    size_t n;
};

static void on_done(void *ctx, const struct loop_program_result *r) {
    struct answer *a = ctx;
    a->calls++;
    a->end = r->end;
    a->status = r->status;
    a->n = r->output_len;
    a->text = mem_strdup(r->output);
    loop_stop(a->loop);
}

static void give_up(void *ctx) {
    loop_stop(ctx);
}

static void run_for(struct loop *loop, int64_t ms) {
    struct loop_timer t;
    loop_timer_init(&t, loop, "limit", give_up, loop);
    loop_timer_start(&t, ms);
    loop_run(loop);
    loop_timer_stop(&t);
}

static const char *const env[] = {"PATH=/usr/bin:/bin", "WORD=hello", NULL};

static struct answer ask(const char *script, size_t max_output, int64_t timeout_ms) {
    struct answer a = {.loop = loop_new()};
    int number = 0;
    const char *const argv[] = {"sh", "-c", script, NULL};
    const struct loop_program_args args = {
        .argv = argv, .env = env, .max_output = max_output, .timeout_ms = timeout_ms};
    cr_assert_not_null(loop_program_start(a.loop, &args, on_done, &a, &number), "errno %d", number);
    cr_assert_eq(a.calls, 0);
    run_for(a.loop, 10000);
    cr_assert_eq(a.calls, 1, "%s", script);
    loop_free(a.loop);
    return a;
}

Test(program, answers) {
    static const struct {
        const char *script, *text;
        enum loop_program_end end;
        int exit_code;
    } rows[] = {
        {"echo one; echo two", "one\ntwo\n", LOOP_PROGRAM_EXITED, 0},
        {"printf %s \"$WORD\"; exit 3", "hello", LOOP_PROGRAM_EXITED, 3},
        {"env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD=", "PATH=/usr/bin:/bin\nWORD=hello\n",
         LOOP_PROGRAM_EXITED, 0},
        {"echo lost >&2; cat; ls /proc/$$/fd | tr '\\n' ' '", "0 1 2 ", LOOP_PROGRAM_EXITED, 0},
        {"head -c 200000 /dev/zero | tr '\\0' x | wc -c", "200000\n", LOOP_PROGRAM_EXITED, 0},
        {"printf 0123456789012345678901234567890123456789", "0123456789012345678901234567890123456789",
         LOOP_PROGRAM_EXITED, 0},
        {"echo early; sleep 30 & exit 0", "early\n", LOOP_PROGRAM_EXITED, 0}, // who stays behind is not waited for
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer a = ask(rows[i].script, 40, 8000);
        cr_assert_eq(a.end, rows[i].end, "%s", rows[i].script);
        cr_assert(WIFEXITED(a.status) && WEXITSTATUS(a.status) == rows[i].exit_code, "%s", rows[i].script);
        cr_assert_str_eq(a.text, rows[i].text, "%s", rows[i].script);
        cr_assert_eq(a.n, strlen(rows[i].text));
        mem_free(a.text);
    }
}

Test(program, large_output_comes_whole) {
    struct answer a = ask("head -c 1000000 /dev/zero", 1000000, 8000);
    cr_assert(a.end == LOOP_PROGRAM_EXITED && a.n == 1000000);
    mem_free(a.text);
    a = ask("head -c 1000001 /dev/zero; sleep 30", 1000000, 8000);
    cr_assert_eq(a.end, LOOP_PROGRAM_TOO_LARGE);
    mem_free(a.text);
}

Test(program, too_slow_is_killed_with_all_it_started) {
    char file[] = "/tmp/trainerd-program-XXXXXX";
    close(mkstemp(file));
    char *script = mem_printf("sleep 60 & echo $! > %s; wait", file);
    int64_t began = clock_mono();
    struct answer a = ask(script, 40, 300);
    cr_assert_eq(a.end, LOOP_PROGRAM_TIMEOUT);
    cr_assert_lt(clock_mono() - began, 5 * CLOCK_SECOND);
    FILE *f = fopen(file, "r");
    int pid = 0;
    cr_assert_eq(fscanf(f, "%d", &pid), 1);
    fclose(f);
    for (int i = 0; i < 100 && kill(pid, 0) == 0; i++) { // a zombie until somebody reaps it
        char *stat = mem_printf("/proc/%d/stat", pid);
        char line[256] = "";
        FILE *s = fopen(stat, "r");
        mem_free(stat);
        if (s == NULL || fgets(line, sizeof line, s) == NULL || strstr(line, ") Z ") != NULL) {
            pid = -1;
        }
        if (s != NULL) {
            fclose(s);
        }
        if (pid < 0) {
            break;
        }
        usleep(20000);
    }
    cr_assert(pid < 0 || kill(pid, 0) != 0);
    mem_free(a.text);
    mem_free(script);
    unlink(file);
}

Test(program, what_cannot_be_started) {
    static const struct {
        const char *program;
        int number;
    } rows[] = {{"/no/such/program", ENOENT}, {"no-such-program-at-all", ENOENT}, {"/etc/passwd", EACCES}};
    struct loop *loop = loop_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer a = {.loop = loop};
        const char *const argv[] = {rows[i].program, NULL};
        const struct loop_program_args args = {.argv = argv, .env = env, .max_output = 10, .timeout_ms = 1000};
        int number = 0;
        cr_assert_null(loop_program_start(loop, &args, on_done, &a, &number));
        cr_assert_eq(number, rows[i].number, "%s: %d", rows[i].program, number);
        cr_assert_eq(a.calls, 0);
    }
    loop_free(loop);
}

Test(program, stopped_is_silent) {
    struct answer a = {.loop = loop_new()};
    const char *const argv[] = {"sleep", "60", NULL};
    const struct loop_program_args args = {.argv = argv, .env = env, .max_output = 10, .timeout_ms = 200};
    int number = 0;
    struct loop_program *p = loop_program_start(a.loop, &args, on_done, &a, &number);
    cr_assert_not_null(p);
    loop_program_stop(p);
    run_for(a.loop, 400);
    cr_assert_eq(a.calls, 0);
    loop_free(a.loop);
}
