// What the files of job/ share.
#ifndef JOB_INTERNAL_H
#define JOB_INTERNAL_H

#include "job/spec.h"
#include "job/table.h"

// event.c
// A copy of what `before` says with `change` applied: one allocation, everything it points to inside.
struct job_event *job_event_make(struct job *job, enum job_event_kind kind, const struct job_event *before,
                                 const struct job_change *change);
bool job_event_says_nothing_new(const struct job_event *before, const struct job_change *change);

// names.c
bool job_label_key_valid(const char *key);
bool job_label_value_valid(const char *value);

#endif
