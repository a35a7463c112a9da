// A plugin in a process of its own: what happens to the process happens to one request.
#include "support.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST TRAINERD_BUILD_DIR "/bin/trainerd-plugin-host"
#define FAULT(function) "INTERNAL plugin misbehave is at fault: " function " "

static const struct runtime *load_isolated(struct plugins *p, const char *directory, const char *name) {
    struct err err = ERR_INIT;
    struct arena a = {0};
    char *path = mem_printf("%s/%s.so", directory, name);
    plugins_set_host(p, HOST);
    cr_assert(plugins_load(p, path, parse(&a, "{isolate: true}"), &err), "%s", err.message);
    mem_free(path);
    arena_done(&a);
    cr_assert(plugins_at(p, 0)->isolated);
    return plugins_at(p, 0);
}

// The plan, or what was said.
static char *plan(const struct runtime *r, const char *how) {
    struct err err = ERR_INIT;
    struct arena a = {0};
    struct str out = STR_INIT;
    const struct json *tree = NULL;
    char *yaml = mem_printf("{name: a, runtime: misbehave, params: {how: %s}, roles: [{name: worker, command: [x]}, "
                            "{name: lead, command: [y]}]}",
                            how);
    struct job_spec *spec = spec_of(yaml);
    bool ok = runtime_validate(r, spec, &a, &tree, &err) && runtime_plan_local(r, tree, &out, &err);
    char *text = ok ? str_take(&out) : said(&err);
    str_done(&out);
    err_done(&err);
    job_spec_unref(spec);
    mem_free(yaml);
    arena_done(&a);
    return text;
}

static void expect_plan(const struct runtime *r, const char *how, const char *expected) {
    char *text = plan(r, how);
    cr_expect_str_eq(text, expected, "%s: %s", how, text);
    mem_free(text);
}

Test(isolate, same_answers_as_in_process) {
    static const char *const hows[] = {"everything",    "no process", "report twice", "plan says no",
                                       "fail silently", "env twice",  "huge",         "report and return ok"};
    struct plugins *direct = plugins_new();
    struct plugins *apart = plugins_new();
    const struct runtime *r = load(direct, TEST_PLUGINS, "misbehave");
    const struct runtime *i = load_isolated(apart, TEST_PLUGINS, "misbehave");
    for (size_t k = 0; k < ARRAY_LEN(hows); k++) {
        char *expected = plan(r, hows[k]);
        expect_plan(i, hows[k], expected);
        mem_free(expected);
    }
    plugins_free(direct);
    plugins_free(apart);
}

Test(isolate, a_crash_fails_one_request) {
    struct plugins *p = plugins_new();
    const struct runtime *r = load_isolated(p, TEST_PLUGINS, "misbehave");
    char *right = plan(r, "everything");
    for (int i = 0; i < 3; i++) {
        expect_plan(r, "crash", FAULT("validate") "crashed (SIGABRT)");
        expect_plan(r, "everything", right);
        expect_plan(r, "exit", FAULT("validate") "ended its process with status 3");
        expect_plan(r, "everything", right);
    }
    mem_free(right);
    plugins_free(p);
    cr_expect(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no child is left");
}

Test(isolate, a_call_that_never_ends) {
    struct plugins *p = plugins_new();
    const struct runtime *r = load_isolated(p, TEST_PLUGINS, "misbehave");
    expect_plan(r, "hang", FAULT("validate") "did not answer within 2 s");
    expect_plan(r, "no process", FAULT("plan_local") "planned no process");
    plugins_free(p);
}

static void kill_only_child(void) {
    char text[64] = "";
    char *path = mem_printf("/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f);
    cr_assert_not_null(fgets(text, sizeof text, f));
    fclose(f);
    mem_free(path);
    siginfo_t info;
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0); // it is dead and nobody has asked yet
}

// The loop reaps children before anyone asks: the next request starts the process again and does not notice.
Test(isolate, a_process_that_ends_between_calls) {
    struct plugins *p = plugins_new();
    const struct runtime *r = load_isolated(p, TEST_PLUGINS, "misbehave");
    char *right = plan(r, "everything");
    for (int i = 0; i < 2; i++) {
        kill_only_child();
        if (i == 1) {
            cr_assert_gt(waitpid(-1, NULL, 0), 0);
        }
        expect_plan(r, "everything", right);
    }
    mem_free(right);
    plugins_free(p);
}

Test(isolate, what_cannot_be_started) {
    static const struct {
        const char *host, *plugin, *message;
    } cases[] = {
        {"/nowhere/host", "good", "cannot start /nowhere/host: No such file or directory"},
        {HOST, "create_fails", "create failed: directory: is needed in the configuration"},
        {HOST, "create_silent", "create failed without saying why"},
        {"/bin/true", "good", "plugin good is at fault: create ended its process with status 0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct arena a = {0};
        struct plugins *p = plugins_new();
        char *path = mem_printf("%s/%s.so", TEST_PLUGINS, cases[i].plugin);
        plugins_set_host(p, cases[i].host);
        cr_expect(!plugins_load(p, path, parse(&a, "{isolate: true}"), &err));
        cr_expect_str_eq(err.message, cases[i].message, "%s", err.message);
        cr_expect_eq(plugins_count(p), 0);
        mem_free(path);
        plugins_free(p);
        arena_done(&a);
        err_done(&err);
    }
}
