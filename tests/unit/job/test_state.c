#include "base/attr.h"
#include "job/state.h"

#include <criterion/criterion.h>

// Every pair. Columns: Pending sTarting Running rEstarting sUspended canceLing Succeeded Failed Canceled.
static const struct {
    enum job_state from;
    const char *to; // '+' legal, '-' not
} moves[] = {
    {JOB_STATE_NONE, "+++++-+++"}, // a job of somebody else may be over when it is first seen
    {JOB_PENDING, "+++++++++"},    {JOB_STARTING, "+++++++++"},  {JOB_RUNNING, "+++++++++"},
    {JOB_RESTARTING, "+++++++++"}, {JOB_SUSPENDED, "+++-+++++"}, {JOB_CANCELING, "-----++++"},
    {JOB_SUCCEEDED, "---------"},  {JOB_FAILED, "---------"},    {JOB_CANCELED, "---------"},
};

Test(state, every_move) {
    cr_expect_eq(ARRAY_LEN(moves), 10);
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        cr_expect_eq((int)moves[i].from, (int)i);
        cr_expect(!job_move_legal(moves[i].from, JOB_STATE_NONE));
        for (int to = JOB_PENDING; to <= (int)JOB_CANCELED; to++) {
            bool right = moves[i].to[to - 1] == '+';
            cr_expect_eq(job_move_legal(moves[i].from, (enum job_state)to), right, "%s -> %s is%s legal",
                         job_state_name(moves[i].from), job_state_name((enum job_state)to), right ? "" : " not");
        }
    }
}

Test(state, numbers_that_are_none) {
    static const int wrong[] = {-1, 10, 31, 32, 1000};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        cr_expect(!job_move_legal((enum job_state)wrong[i], JOB_PENDING));
        cr_expect(!job_move_legal(JOB_PENDING, (enum job_state)wrong[i]));
        cr_expect_str_eq(job_state_name((enum job_state)wrong[i]), "STATE_UNSPECIFIED");
        cr_expect(!job_state_terminal((enum job_state)wrong[i]));
    }
    cr_expect_str_eq(job_state_name(JOB_STATE_NONE), "STATE_UNSPECIFIED");
    cr_expect_str_eq(job_reason_name(REASON_NONE), "REASON_UNSPECIFIED");
    cr_expect_str_eq(job_reason_name((enum job_reason)14), "REASON_UNSPECIFIED");
    cr_expect_str_eq(job_reason_name((enum job_reason)81), "REASON_UNSPECIFIED");
}

Test(state, names) {
    static const char *const names[] = {"PENDING",   "STARTING",  "RUNNING", "RESTARTING", "SUSPENDED",
                                        "CANCELING", "SUCCEEDED", "FAILED",  "CANCELED"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        enum job_state s = JOB_STATE_NONE;
        cr_expect_str_eq(job_state_name((enum job_state)(i + 1)), names[i]);
        cr_expect(job_state_parse(names[i], &s));
        cr_expect_eq((int)s, (int)i + 1);
        cr_expect_eq(job_state_terminal(s), i >= 6);
    }
    static const char *const wrong[] = {"", "pending", "PENDING ", "STATE_UNSPECIFIED", "CANCELLED"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        enum job_state s = JOB_RUNNING;
        cr_expect(!job_state_parse(wrong[i], &s), "%s", wrong[i]);
        cr_expect_eq((int)s, (int)JOB_RUNNING);
    }
    cr_expect_str_eq(job_reason_name(REASON_ACCEPTED), "ACCEPTED");
    cr_expect_str_eq(job_reason_name(REASON_OUT_OF_MEMORY), "OUT_OF_MEMORY");
    cr_expect_str_eq(job_reason_name(REASON_BACKEND_ERROR), "BACKEND_ERROR");
}
