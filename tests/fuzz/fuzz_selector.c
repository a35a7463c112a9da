// A selector, a NUL byte, labels as JSON. Refused, the error is fit for the wire. Accepted, it says yes or no, says the
// same again, is the same with white space around it, and demands nothing more of a job than each of its parts.
#include "job/selector.h"
#include "job/table.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct job_selector *compile(const char *text, struct err *err) {
    struct job_selector *s = NULL;
    const struct job_selector_args args = {.label_selector = text};
    bool ok = job_selector_new(&args, &s, err);
    assert(ok == !err_set(err) && ok == (s != NULL));
    return s;
}

static bool matches(const char *text, const struct job *job) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct job_selector *s = compile(text, &err);
    assert(s != NULL);
    bool yes = job_selector_matches(s, job);
    job_selector_free(s);
    return yes;
}

static void check_accepted(struct arena *a, const char *text, const struct job_selector *s, const struct job *job) {
    bool yes = job_selector_matches(s, job);
    assert(matches(text, job) == yes);
    assert(matches(arena_printf(a, " \t%s \t", text), job) == yes);
    if (text[strspn(text, " \t")] == '\0') {
        assert(yes);
        return;
    }
    // Parts are joined by "and": asked twice it is the same, and with one that no job fulfils it is never.
    if (strlen(text) < 2048) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct job_selector *twice = compile(arena_printf(a, "%s,%s", text, text), &err);
        assert(twice == NULL || job_selector_matches(twice, job) == yes); // NULL: too many parts
        job_selector_free(twice);
        err_done(&err);
        struct job_selector *never = compile(arena_printf(a, "%s,k,!k", text), &err);
        assert(never == NULL || !job_selector_matches(never, job));
        job_selector_free(never);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct json_limits limits = {.max_bytes = 65536, .max_depth = 4, .max_nodes = 1000};
    const uint8_t *nul = size != 0 ? memchr(data, 0, size) : NULL;
    size_t n = nul != NULL ? (size_t)(nul - data) : size;
    struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct job job = {.name = "n", .namespace_ = "default", .runtime = "process"};
    const char *text = arena_strndup(&a, (const char *)data, n);
    if (nul != NULL && !json_parse(&a, (const char *)nul + 1, size - n - 1, &limits, &job.labels, &err)) {
        err_done(&err);
        job.labels = NULL;
    }
    struct job_selector *s = compile(text, &err);
    if (s != NULL) {
        check_accepted(&a, text, s, &job);
    } else {
        assert(err.code == ERR_INVALID && str_utf8_valid(err.message, strlen(err.message)) == strlen(err.message));
    }
    job_selector_free(s);
    arena_done(&a);
    return 0;
}
