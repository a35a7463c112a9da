#include "rpc/internal.h"

#include "base/clock.h"

#include <criterion/criterion.h>
#include <grpc/support/log.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// What ten errors of two texts leave on stderr.
static void write_errors(char *ret, size_t size) {
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    cr_assert_not_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    for (int i = 0; i < 10; i++) {
        gpr_log_message("x.c", 1, GPR_LOG_SEVERITY_ERROR, "the same again");
        gpr_log_message("x.c", 1, GPR_LOG_SEVERITY_INFO, "not an error");
    }
    gpr_log_message("x.c", 1, GPR_LOG_SEVERITY_ERROR, "another");
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    ret[fread(ret, 1, size - 1, file)] = '\0';
    fclose(file);
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        n++;
    }
    return n;
}

Test(log, a_text_is_written_once_a_second) {
    char text[8192];
    int64_t second;
    rpc_log_to_ours();
    do { // the second may end in between
        usleep(1000000 - (useconds_t)(clock_mono() % CLOCK_SECOND / 1000));
        second = clock_mono() / CLOCK_SECOND;
        write_errors(text, sizeof text);
    } while (clock_mono() / CLOCK_SECOND != second);
    cr_assert_eq(count(text, "the same again"), 1, "%s", text);
    cr_assert_eq(count(text, "another"), 1, "%s", text);
    cr_assert_eq(count(text, "not an error"), 0, "%s", text);
    cr_assert_eq(count(text, "warn"), 2, "%s", text);
    usleep(1100000);
    write_errors(text, sizeof text);
    cr_assert_geq(count(text, "the same again"), 1, "and again in the next");
}
