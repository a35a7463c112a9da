// Watch: a cursor into the feed for any number of jobs, pulled by the stream when it has room.
//
// Nothing is queued for a watcher: a slow one only has an old cursor, and what has left the feed is read again from the
// journal. Order: [RESYNC] SNAPSHOT... SNAPSHOT_END, then events by sequence; heartbeats between any of them.
#include "flow/internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum {
    SKIP_MAX = 2048,  // events looked at in one call that concern others
    PAGE_EVENTS = 256 // read from the journal at once
};

struct flow_watch {
    struct flow *flow;
    struct job_selector *selector;
    void (*wake)(void *ctx);
    void *ctx;
    struct job_feed_reader reader;
    struct loop_timer heartbeat;
    struct loop_task again;
    int64_t heartbeat_ms;
    int64_t cursor; // next sequence to look at
    bool until_terminal, resync, snapshotting, skip_snapshot, heartbeat_due, resync_due;

    struct job_event **snapshot; // references; NULL where one was sent
    size_t snapshot_count, snapshot_at;
    int64_t snapshot_sent;

    struct job_event **page; // from the journal, references
    size_t page_count, page_at;
    struct store_read *reading;
    struct err failed;

    bool counted; // open and matched are kept up to date from the first time it has caught up
    int64_t open, matched;
    struct job_event *current; // given out by the last call
};

static void wake_now(void *ctx) {
    struct flow_watch *w = ctx;
    w->wake(w->ctx);
}

static void on_feed(void *ctx) {
    wake_now(ctx);
}

static void on_heartbeat(void *ctx) {
    struct flow_watch *w = ctx;
    w->heartbeat_due = true;
    loop_timer_start(&w->heartbeat, w->heartbeat_ms);
    w->wake(w->ctx);
}

// ---- Snapshot
// ---------------------------------------------------------------------------------------------------------------------

static bool in_snapshot(const struct flow_watch *w, const struct job *job) {
    return job->seen != NULL && !job->deleted && job_selector_matches(w->selector, job) &&
           job_selector_wants_state(w->selector, job->seen->state);
}

// Takes references to the present states at once, so that the snapshot is of one sequence however slowly it is sent.
static void snapshot_take(struct flow_watch *w) {
    struct flow *f = w->flow;
    size_t cap = 0;
    w->snapshotting = true;
    w->snapshot_count = w->snapshot_at = 0;
    w->snapshot_sent = 0;
    w->cursor = job_feed_last(f->feed) + 1;
    if (w->skip_snapshot) {
        return;
    }
    for (struct job *j = job_table_next_older(f->table, 0); j != NULL; j = job_table_next_older(f->table, j->ordinal)) {
        if (!in_snapshot(w, j)) {
            continue;
        }
        if (w->snapshot_count == cap) {
            cap = cap != 0 ? cap * 2 : 4;
            w->snapshot = mem_realloc_array(w->snapshot, cap, sizeof(struct job_event *));
        }
        w->snapshot[w->snapshot_count++] = job_event_ref(j->seen);
    }
}

static void events_drop(struct job_event **events, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        job_event_unref(events[i]);
    }
    mem_free(events);
}

static void token(const struct flow_watch *w, int64_t sequence, bool incomplete, struct flow_watch_item *item) {
    flow_token_write(store_epoch(w->flow->store), sequence, incomplete, item->token);
}

static void give(struct flow_watch *w, struct job_event *take_event, struct flow_watch_item *item) {
    job_event_unref(w->current);
    w->current = take_event;
    item->event = take_event;
}

static enum flow_watch_kind snapshot_next(struct flow_watch *w, struct flow_watch_item *item) {
    int64_t at = w->cursor - 1;
    if (w->snapshot_at < w->snapshot_count) { // kept newest first; sent oldest first
        give(w, w->snapshot[w->snapshot_count - 1 - w->snapshot_at++], item);
        w->snapshot_sent++;
        token(w, at, true, item);
        return WATCH_SNAPSHOT;
    }
    mem_free(TAKE(w->snapshot));
    w->snapshot_count = w->snapshot_at = 0;
    w->snapshotting = false;
    item->sequence = at;
    item->jobs = w->snapshot_sent;
    token(w, at, false, item);
    return WATCH_SNAPSHOT_END;
}

// ---- From the journal, when the feed has moved on
// ----------------------------------------------------------------------------------

static void on_row(void *ctx, const struct store_transition *row, const struct store_job *job) {
    struct flow_watch *w = ctx;
    w->page[w->page_count++] = flow_event_from_row(w->flow, row, job);
    w->cursor = row->sequence + 1;
}

static void on_rows_done(void *ctx, const struct err *err) {
    struct flow_watch *w = ctx;
    w->reading = NULL;
    if (err != NULL) {
        err_copy(&w->failed, err);
    }
    w->wake(w->ctx);
}

static void read_journal(struct flow_watch *w) {
    mem_free(w->page);
    w->page = mem_realloc_array(NULL, PAGE_EVENTS, sizeof(struct job_event *));
    w->page_count = w->page_at = 0;
    w->reading = store_read_transitions(w->flow->store, w->cursor - 1, PAGE_EVENTS, on_row, on_rows_done, w);
}

// ---- until_terminal
// -----------------------------------------------------------------------------------------------------------------

static void count_all(struct flow_watch *w) {
    struct flow *f = w->flow;
    w->counted = true;
    w->open = w->matched = 0;
    for (struct job *j = job_table_next_older(f->table, 0); j != NULL; j = job_table_next_older(f->table, j->ordinal)) {
        if (j->seen != NULL && job_selector_matches(w->selector, j)) {
            w->matched++;
            w->open += !job_state_terminal(j->seen->state);
        }
    }
}

static void count_event(struct flow_watch *w, const struct job_event *e) {
    if (!w->counted || e->kind != JOB_EVENT_TRANSITION) {
        return;
    }
    if (e->job_sequence == 1) {
        w->matched++;
        w->open++;
    }
    if (job_state_terminal(e->state)) {
        w->open--;
    }
}

static bool fulfilled(struct flow_watch *w) {
    if (!w->until_terminal) {
        return false;
    }
    if (!w->counted) {
        count_all(w);
    }
    // Jobs named by uid were there when the stream was opened: once deleted, they match nothing and are over.
    return w->open == 0 && (w->matched != 0 || job_selector_uids(w->selector, &(const char *const *){NULL}) != 0);
}

// ---- Behind the journal
// -------------------------------------------------------------------------------------------------------------

static bool out_of_range(const struct flow_watch *w, bool other_epoch, struct err *err) {
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)store_oldest_sequence(w->flow->store));
    err_fail(err, ERR_RANGE, other_epoch ? "TOKEN_OTHER_EPOCH" : "TOKEN_OUT_OF_RANGE",
             other_epoch
                 ? "the token is of another journal; watch again without it, or with resync (oldest sequence here: %s)"
                 : "what comes next is not in the journal any more; watch again without a token, or with resync "
                   "(oldest sequence: %s)",
             number);
    err_fact(err, "oldest_sequence", number);
    return false;
}

static enum flow_watch_kind resync_next(struct flow_watch *w, struct flow_watch_item *item) {
    w->resync_due = false;
    item->message = "what comes next is not in this journal, or not any more: a new snapshot follows";
    item->sequence = store_oldest_sequence(w->flow->store);
    token(w, w->cursor - 1, true, item);
    return WATCH_RESYNC;
}

// Retention has taken what this reader had not seen yet.
static enum flow_watch_kind overtaken(struct flow_watch *w, struct flow_watch_item *item, struct err *err) {
    if (!w->resync) {
        (void)out_of_range(w, false, err);
        return WATCH_FAILED;
    }
    w->counted = false;
    snapshot_take(w);
    return resync_next(w, item);
}

// ---- Next
// ---------------------------------------------------------------------------------------------------------------------------

static enum flow_watch_kind event_kind(const struct flow_watch *w, const struct job_event *e) {
    if (!job_selector_matches(w->selector, e->job)) {
        return WATCH_WAIT;
    }
    if (e->kind == JOB_EVENT_DELETED) {
        return WATCH_DELETED;
    }
    return job_selector_wants_state(w->selector, e->state) ? WATCH_TRANSITION : WATCH_WAIT;
}

// The next event of the page or the feed, as a reference; NULL at the end or when the journal has to be asked.
static struct job_event *next_event(struct flow_watch *w) {
    if (w->page_at < w->page_count) {
        return w->page[w->page_at++];
    }
    struct job_event *e = job_feed_get(w->flow->feed, w->cursor);
    if (e == NULL) {
        return NULL;
    }
    w->cursor++;
    return job_event_ref(e);
}

static enum flow_watch_kind live_next(struct flow_watch *w, struct flow_watch_item *item, struct err *err) {
    for (int skipped = 0; skipped < SKIP_MAX; skipped++) {
        struct job_event *e = next_event(w);
        if (e == NULL) {
            if (w->reading != NULL) {
                return WATCH_WAIT;
            }
            if (w->cursor <= job_feed_last(w->flow->feed)) {
                if (w->cursor < store_oldest_sequence(w->flow->store)) {
                    return overtaken(w, item, err);
                }
                read_journal(w);
                return WATCH_WAIT;
            }
            if (fulfilled(w)) {
                return WATCH_END;
            }
            job_feed_arm(w->flow->feed, &w->reader);
            return WATCH_WAIT;
        }
        enum flow_watch_kind kind = event_kind(w, e);
        if (job_selector_matches(w->selector, e->job)) {
            count_event(w, e);
        }
        if (kind != WATCH_WAIT) {
            token(w, e->sequence, false, item);
            give(w, e, item);
            return kind;
        }
        job_event_unref(e);
    }
    loop_defer(w->flow->loop, &w->again); // others first
    return WATCH_WAIT;
}

// Everything below this that matches was given out.
static int64_t position(const struct flow_watch *w) {
    if (w->snapshotting) {
        return 0;
    }
    return w->page_at < w->page_count ? w->page[w->page_at]->sequence - 1 : w->cursor - 1;
}

enum flow_watch_kind flow_watch_next(struct flow_watch *w, struct flow_watch_item *item, struct err *err) {
    *item = (struct flow_watch_item){0};
    if (err_set(&w->failed)) {
        err_move(err, &w->failed);
        return WATCH_FAILED;
    }
    if (w->resync_due) {
        return resync_next(w, item);
    }
    if (w->heartbeat_due && w->reading == NULL) {
        w->heartbeat_due = false;
        item->sequence = position(w);
        token(w, w->snapshotting ? w->cursor - 1 : item->sequence, w->snapshotting, item);
        return WATCH_HEARTBEAT;
    }
    return w->snapshotting ? snapshot_next(w, item) : live_next(w, item, err);
}

// ---- Open and close
// -------------------------------------------------------------------------------------------------------------------

static bool check_uids(struct flow *f, const struct job_selector *s, struct err *err) {
    const char *const *uids = NULL;
    size_t n = job_selector_uids(s, &uids);
    for (size_t i = 0; i < n; i++) {
        struct job *job = NULL;
        if (!flow_find(f, &(struct flow_job_ref){.uid = uids[i]}, &job, err)) {
            return false;
        }
    }
    return true;
}

// Sets the cursor from the token. false with err: it cannot be honoured.
static bool resume(struct flow_watch *w, const char *text, struct err *err) {
    struct store *store = w->flow->store;
    struct flow_token t;
    bool other_epoch = false;
    if (!flow_token_read(text, store_epoch(store), &t, &other_epoch)) {
        return err_violate(err, "resume_token", "is not a token of this service");
    }
    int64_t oldest = store_oldest_sequence(store);
    if (!other_epoch && !t.in_snapshot && t.sequence >= oldest - 1 && t.sequence <= job_feed_last(w->flow->feed)) {
        w->cursor = t.sequence + 1;
        return true;
    }
    if (!other_epoch && t.in_snapshot && t.sequence <= job_feed_last(w->flow->feed)) {
        snapshot_take(w);
        return true;
    }
    return out_of_range(w, other_epoch, err);
}

static bool position_start(struct flow_watch *w, const struct flow_watch_args *args, struct err *err) {
    if (str_is_empty(args->resume_token)) {
        if (!check_uids(w->flow, w->selector, err)) {
            return false;
        }
        snapshot_take(w);
        return true;
    }
    CLEANUP(err_done) struct err why = ERR_INIT;
    if (resume(w, args->resume_token, &why)) {
        return true;
    }
    if (args->resync && why.code == ERR_RANGE) {
        w->resync_due = true;
        snapshot_take(w);
        return true;
    }
    err_move(err, &why);
    return false;
}

bool flow_watch_open(struct flow *f, const struct flow_watch_args *args, void (*wake)(void *ctx), void *ctx,
                     struct flow_watch **ret, struct err *err) {
    struct flow_watch *w = NEW(struct flow_watch);
    *w = (struct flow_watch){.flow = f,
                             .selector = args->take_selector,
                             .wake = wake,
                             .ctx = ctx,
                             .heartbeat_ms = (int64_t)args->heartbeat_s * 1000,
                             .until_terminal = args->until_terminal,
                             .resync = args->resync,
                             .skip_snapshot = args->skip_snapshot};
    job_feed_reader_init(&w->reader, on_feed, w);
    loop_timer_init(&w->heartbeat, f->loop, "watch heartbeat", on_heartbeat, w);
    loop_task_init(&w->again, wake_now, w);
    f->watchers++;
    bool ok = f->watchers <= f->limits.max_watchers ||
              err_fail(err, ERR_EXHAUSTED, "LIMIT_REACHED", "limits.max_watchers (%lld) streams are open",
                       (long long)f->limits.max_watchers);
    if (!ok) {
        err_fact(err, "limit", "limits.max_watchers");
        err->retry_after_ms = 1000;
    }
    if (!ok || !position_start(w, args, err)) {
        flow_watch_close(w);
        return false;
    }
    loop_timer_start(&w->heartbeat, w->heartbeat_ms);
    *ret = w;
    return true;
}

void flow_watch_close(struct flow_watch *w) {
    if (w == NULL) {
        return;
    }
    w->flow->watchers--;
    job_feed_disarm(&w->reader);
    loop_timer_stop(&w->heartbeat);
    loop_task_cancel(&w->again);
    if (w->reading != NULL) {
        store_cancel(w->reading);
    }
    // The snapshot is given out from its end: what is left is at the front.
    events_drop(w->snapshot, 0, w->snapshot_count - w->snapshot_at);
    events_drop(w->page, w->page_at, w->page_count);
    job_event_unref(w->current);
    job_selector_free(w->selector);
    err_done(&w->failed);
    mem_free(w);
}
