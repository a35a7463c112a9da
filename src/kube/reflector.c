#include "kube/reflector.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/lines.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 500,
    LINE_MAX_BYTES = 8 * 1024 * 1024, // etcd takes 1.5 MiB, but JSON of it may be longer
    WATCH_MIN_S = 200,                // below the idle cut of the load balancers that we know of (240 s)
    WATCH_MORE_S = 30,
    WATCH_MARGIN_S = 15,
    BACKOFF_MIN_MS = 800,
    BACKOFF_MAX_MS = 30 * 1000,
    WELL_AFTER_MS = 120 * 1000, // a watch that lived so long makes the next failure the first again
    SHORT_MS = 1000,
    INTERNAL_TRIES = 3,
};

// What is known of an object: enough to tell a change from a repetition, and what a gap has taken away.
struct known {
    char *uid, *version;
    uint64_t round; // the list that saw it last
};

struct reflector {
    struct reflector_options options;
    char *path, *selector, *fields, *what;
    struct hash known; // by uid
    struct kube_call *listing;
    struct kube_stream *watch;
    struct lines lines;
    struct loop_timer again; // list or watch, later
    char *version;           // where the next watch begins; NULL: list first
    char *next_page;         // of the list under way
    uint64_t round;
    int64_t delay_ms, opened_at, events_at_open;
    int internal_errors, too_large;
    char *problem;            // NULL: it keeps up
    bool listed, any_version; // any_version: list from the quorum, not from the watch cache
    bool relist;              // the watch said "gone"
    struct reflector_counts counts;
};

static void go_on(void *ctx);

// ---- What is known

static void known_free(struct known *k) {
    mem_free(k->uid);
    mem_free(k->version);
    mem_free(k);
}

static const char *uid_of(const struct json *object) {
    return json_string(json_path(object, "metadata.uid"), NULL);
}

static const char *version_of(const struct json *object) {
    const char *v = json_string(json_path(object, "metadata.resourceVersion"), "");
    return v[0] != '\0' ? v : NULL;
}

static void tell(struct reflector *r, const struct json *object) {
    const char *uid = uid_of(object);
    const char *version = version_of(object);
    if (uid == NULL || version == NULL) {
        log_debug("kube", "%s: an object without uid or version is left out", r->what);
        return;
    }
    struct known *k = hash_get(&r->known, uid);
    bool same = k != NULL && str_same(k->version, version);
    if (k == NULL) {
        k = NEW(struct known);
        k->uid = mem_strdup(uid);
        (void)hash_put(&r->known, k->uid, k);
    }
    k->round = r->round;
    if (!same) {
        mem_free(k->version);
        k->version = mem_strdup(version);
        r->options.handler->object(r->options.ctx, object);
    }
}

static void tell_gone(struct reflector *r, const char *uid, const struct json *object) {
    struct known *k = hash_remove(&r->known, uid);
    if (k != NULL) { // otherwise it was told already
        r->options.handler->gone(r->options.ctx, k->uid, object);
        known_free(k);
    }
}

// What the complete list did not show went while nobody looked.
static void tell_vanished(struct reflector *r) {
    size_t at = 0;
    struct known *k;
    while ((k = hash_next(&r->known, &at)) != NULL) {
        if (k->round != r->round) {
            tell_gone(r, k->uid, NULL);
        }
    }
}

// ---- Health and patience

static void set_health(struct reflector *r, const char *problem) {
    if (problem != NULL || r->problem != NULL) {
        char *old = r->problem; // perhaps what is being told
        r->problem = mem_strdup(problem);
        mem_free(old);
        r->options.handler->health(r->options.ctx, problem);
    }
}

static void later(struct reflector *r, int64_t at_least_ms) {
    r->delay_ms = r->delay_ms == 0 ? BACKOFF_MIN_MS : r->delay_ms * 2;
    r->delay_ms = r->delay_ms > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : r->delay_ms;
    uint32_t random;
    id_random(&random, sizeof random);
    int64_t wait = r->delay_ms + (int64_t)(random % (uint64_t)r->delay_ms); // everybody loses the server at once
    loop_timer_start(&r->again, wait > at_least_ms ? wait : at_least_ms);
}

static void forget_version(struct reflector *r) {
    mem_free(r->version);
    r->version = NULL;
}

static void set_version(struct reflector *r, const char *version) {
    if (version != NULL) {
        mem_free(r->version);
        r->version = mem_strdup(version);
    }
}

// ---- List

static void list_failed(struct reflector *r, const struct err *err) {
    mem_free(r->next_page);
    r->next_page = NULL;
    // Gone, of a page or of the version, and a version the server has not reached: from the quorum then.
    r->any_version = err->code == ERR_RANGE || strstr(err->message, "Too large resource version") != NULL;
    log_debug("kube", "list %s: %s", r->what, err->message);
    set_health(r, err->message);
    later(r, err->retry_after_ms);
}

static void list_done(struct reflector *r, const char *version) {
    forget_version(r);
    set_version(r, version);
    tell_vanished(r);
    r->any_version = false;
    r->listed = true;
    r->counts.lists++;
    set_health(r, NULL);
    r->options.handler->listed(r->options.ctx);
    loop_timer_start(&r->again, 0);
}

static void on_list(void *ctx, const struct kube_reply *reply) {
    struct reflector *r = ctx;
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json_limits limits = {
        .max_bytes = reply->length + 1, .max_depth = json_limits_default.max_depth, .max_nodes = 20 * 1000 * 1000};
    const struct json *tree = NULL;
    r->listing = NULL;
    if (reply->err != NULL) {
        list_failed(r, reply->err);
        return;
    }
    if (!json_parse(&a, reply->body, reply->length, &limits, &tree, &err)) {
        list_failed(r, &err);
        return;
    }
    JSON_EACH (item, json_get(tree, "items")) {
        tell(r, item);
    }
    const struct json *meta = json_get(tree, "metadata");
    const char *next = json_string(json_get(meta, "continue"), "");
    mem_free(r->next_page);
    r->next_page = next[0] != '\0' ? mem_strdup(next) : NULL;
    if (r->next_page != NULL) {
        go_on(r);
    } else {
        list_done(r, version_of(tree));
    }
}

static void add_selectors(const struct reflector *r, struct str *path) {
    if (r->selector != NULL) {
        str_add(path, "&labelSelector=");
        kube_path_add(path, r->selector);
    }
    if (r->fields != NULL) {
        str_add(path, "&fieldSelector=");
        kube_path_add(path, r->fields);
    }
}

static void list(struct reflector *r) {
    CLEANUP(str_done) struct str path = STR_INIT;
    if (r->next_page == NULL) {
        r->round++;
        str_printf(&path, "%s?limit=%d", r->path, PAGE);
        if (!r->any_version) {
            str_add(&path, "&resourceVersion=0");
        }
    } else {
        str_printf(&path, "%s?limit=%d&continue=", r->path, PAGE);
        kube_path_add(&path, r->next_page);
    }
    add_selectors(r, &path);
    CLEANUP(mem_free_ptr) char *what = mem_printf("list %s", r->what);
    const struct kube_request request = {
        .method = "GET", .path = str_text(&path), .what = what, .timeout_ms = 120 * 1000};
    r->listing = kube_send(r->options.client, &request, on_list, r);
}

// ---- Watch

static void watch_gone(struct reflector *r) {
    r->counts.gone++;
    r->relist = true;
    forget_version(r);
}

static void on_error_event(struct reflector *r, const struct json *status) {
    int64_t code = 0;
    const char *reason = json_string(json_get(status, "reason"), "");
    (void)json_int(json_get(status, "code"), &code);
    if (code == 410 || str_same(reason, "Expired") || str_same(reason, "Gone")) {
        watch_gone(r);
    } else if (str_same(reason, "InternalError") && r->internal_errors++ < INTERNAL_TRIES) {
        log_debug("kube", "watch %s: internal error of the server, watching again", r->what);
    } else {
        log_debug("kube", "watch %s: %s", r->what, json_string(json_get(status, "message"), reason));
        r->internal_errors = 0;
        forget_version(r);
    }
}

static bool on_event(struct reflector *r, const struct json *event) {
    const char *type = json_string(json_get(event, "type"), "");
    const struct json *object = json_get(event, "object");
    if (str_same(type, "ERROR")) {
        on_error_event(r, object);
        return false;
    }
    if (str_same(type, "BOOKMARK")) {
        r->counts.bookmarks++;
    } else if (str_same(type, "DELETED")) {
        if (uid_of(object) != NULL) {
            tell_gone(r, uid_of(object), object);
        }
    } else {
        tell(r, object);
    }
    r->counts.events++;
    r->internal_errors = 0;
    set_version(r, version_of(object));
    return true;
}

static bool on_line(void *ctx, const char *line, size_t n) {
    struct reflector *r = ctx;
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json_limits limits = {
        .max_bytes = LINE_MAX_BYTES, .max_depth = json_limits_default.max_depth, .max_nodes = 2 * 1000 * 1000};
    const struct json *tree = NULL;
    if (!json_parse(&a, line, n, &limits, &tree, &err)) {
        log_debug("kube", "watch %s: %s", r->what, err.message);
        forget_version(r); // what it was will be seen in a list
        return false;
    }
    return on_event(r, tree);
}

static void watch_end(struct reflector *r) {
    kube_stream_close(r->watch);
    r->watch = NULL;
    lines_reset(&r->lines);
}

static void after_watch(struct reflector *r) {
    int64_t lived_ms = (clock_mono() - r->opened_at) / CLOCK_MS;
    if (r->opened_at != 0 && lived_ms >= WELL_AFTER_MS) {
        r->delay_ms = 0;
    }
    bool nothing = r->counts.events == r->events_at_open;
    bool fresh = r->opened_at != 0 && (lived_ms >= SHORT_MS || !nothing);
    if (fresh || r->relist) {
        loop_timer_start(&r->again, r->relist && nothing ? BACKOFF_MIN_MS / 8 : 0);
        r->relist = false;
    } else {
        later(r, 0); // it ended as soon as it began: not again at once
    }
}

static void on_watch_open(void *ctx) {
    struct reflector *r = ctx;
    r->opened_at = clock_mono();
    r->too_large = 0;
    r->counts.watches++;
    set_health(r, NULL);
}

static void on_watch_data(void *ctx, const char *data, size_t n) {
    struct reflector *r = ctx;
    if (!lines_feed(&r->lines, data, n, on_line, r)) {
        if (r->lines.rest.len != 0) {
            log_warn("kube", "watch %s: an event of more than %d bytes, listing again", r->what, LINE_MAX_BYTES);
            forget_version(r);
        }
        watch_end(r);
        after_watch(r);
    }
}

static void on_watch_end(void *ctx, const struct err *err, int status) {
    struct reflector *r = ctx;
    r->watch = NULL;
    lines_reset(&r->lines);
    if (err == NULL) {
        after_watch(r); // in order: from the last version
        return;
    }
    log_debug("kube", "watch %s: %s", r->what, err->message);
    bool too_large = strstr(err->message, "Too large resource version") != NULL;
    if (err->code == ERR_RANGE) {
        watch_gone(r);
        after_watch(r);
        return;
    }
    if (too_large && ++r->too_large > 3) {
        forget_version(r); // it will not get there: from the quorum
        r->any_version = true;
    }
    if (status == 400 || status == 422) {
        forget_version(r);
    }
    set_health(r, err->message);
    later(r, err->retry_after_ms);
}

static void watch(struct reflector *r) {
    static const struct kube_stream_handler handler = {
        .open = on_watch_open, .data = on_watch_data, .end = on_watch_end};
    CLEANUP(str_done) struct str path = STR_INIT;
    CLEANUP(mem_free_ptr) char *what = mem_printf("watch %s", r->what);
    uint32_t random;
    id_random(&random, sizeof random);
    int64_t seconds = WATCH_MIN_S + random % WATCH_MORE_S;
    str_printf(&path, "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%lld&resourceVersion=", r->path,
               (long long)seconds);
    kube_path_add(&path, r->version);
    add_selectors(r, &path);
    r->opened_at = 0;
    r->events_at_open = r->counts.events;
    r->watch =
        kube_stream_open(r->options.client, str_text(&path), what, (seconds + WATCH_MARGIN_S) * 1000, &handler, r);
}

// ---- Life

static void go_on(void *ctx) {
    struct reflector *r = ctx;
    if (r->version == NULL || r->next_page != NULL) {
        list(r);
    } else {
        watch(r);
    }
}

struct reflector *reflector_new(const struct reflector_options *options) {
    struct reflector *r = NEW(struct reflector);
    r->options = *options;
    r->path = mem_strdup(options->path);
    r->selector = mem_strdup(options->selector);
    r->fields = mem_strdup(options->fields);
    r->what = mem_strdup(options->what);
    lines_init(&r->lines, LINE_MAX_BYTES);
    loop_timer_init(&r->again, options->loop, "reflector", go_on, r);
    loop_timer_start(&r->again, 0);
    return r;
}

void reflector_free(struct reflector *r) {
    if (r == NULL) {
        return;
    }
    if (r->listing != NULL) {
        kube_call_cancel(r->listing);
    }
    if (r->watch != NULL) {
        kube_stream_close(r->watch);
    }
    loop_timer_stop(&r->again);
    size_t at = 0;
    struct known *k;
    while ((k = hash_next(&r->known, &at)) != NULL) {
        known_free(k);
    }
    hash_done(&r->known);
    lines_done(&r->lines);
    mem_free(r->version);
    mem_free(r->next_page);
    mem_free(r->path);
    mem_free(r->selector);
    mem_free(r->fields);
    mem_free(r->what);
    mem_free(r->problem);
    mem_free(r);
}

const char *reflector_problem(const struct reflector *r) {
    return r != NULL ? r->problem : NULL;
}

bool reflector_listed(const struct reflector *r) {
    return r->listed;
}

void reflector_counts(const struct reflector *r, struct reflector_counts *ret) {
    *ret = r->counts;
}
