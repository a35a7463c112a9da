// Which jobs: the conditions of JobSelector, ready to be asked.
#ifndef JOB_SELECTOR_H
#define JOB_SELECTOR_H

#include "base/err.h"
#include "job/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job;
struct job_event;
struct job_selector;

struct job_selector_args { // all borrowed; NULL, "" or 0 is "any"
    const char *namespace_, *label_selector, *group, *runtime, *name_contains;
    const char *const *uids;
    size_t uid_count;
    uint32_t states; // bit 1 << state; 0: any
};

// label_selector by the Kubernetes grammar: a=b, a==b, a!=b, a in (x,y), a notin (x), a, !a.
bool job_selector_new(const struct job_selector_args *args, struct job_selector **ret, struct err *err) MUST_CHECK;
void job_selector_free(struct job_selector *s);
// Everything but the state.
bool job_selector_matches(const struct job_selector *s, const struct job *job);
bool job_selector_wants_state(const struct job_selector *s, enum job_state state);
size_t job_selector_uids(const struct job_selector *s, const char *const **ret); // 0 when not by uid
// Stable over runs and machines; for page tokens.
uint64_t job_selector_hash(const struct job_selector *s);

#endif
