// The feed: the newest committed events, in order, for any number of readers. Bounded; older ones are in the journal.
// Readers hold a sequence, the feed holds nothing of them but a wake-up. Loop thread only.
#ifndef JOB_FEED_H
#define JOB_FEED_H

#include "base/list.h"

#include <stddef.h>
#include <stdint.h>

struct job_event;
struct job_feed;

struct job_feed *job_feed_new(size_t max_events, int64_t last_sequence); // last: of the journal on start
void job_feed_free(struct job_feed *f);
void job_feed_append(struct job_feed *f, struct job_event *event); // sequence must be last + 1; takes a reference
int64_t job_feed_last(const struct job_feed *f);                   // newest sequence, 0 when there was none ever
int64_t job_feed_first(const struct job_feed *f);                  // oldest that is still here; last + 1 when none
struct job_event *job_feed_get(const struct job_feed *f, int64_t sequence); // borrowed; NULL when not here

// A reader to be woken once, at the next append after it armed itself. wake() may only schedule work, not read.
struct job_feed_reader {
    struct list link;
    void (*wake)(void *ctx);
    void *ctx;
};
void job_feed_reader_init(struct job_feed_reader *r, void (*wake)(void *), void *ctx);
void job_feed_arm(struct job_feed *f, struct job_feed_reader *r);
void job_feed_disarm(struct job_feed_reader *r);

#endif
