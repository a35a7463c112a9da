#include "kube/logs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/executor.h"
#include "kube/stamped.h"

#include <string.h>

enum { CHUNK_MAX = 64 * 1024, BUFFER_MAX = 256 * 1024, AGAIN_MS = 1000, IDLE_MS = 4 * 3600 * 1000, SOURCES_MAX = 4096 };

// The log of one pod.
struct source {
    struct list link; // backend_log.sources
    struct backend_log *log;
    char *pod, *pod_uid, *role, *container;
    int32_t index, attempt;
    struct kube_stream *stream;
    struct stamped stamped;
    struct str buffer;
    size_t taken; // of the buffer
    int64_t offset;
    bool announced; // its ATTEMPT item was given
    bool held;      // the stream waits for room
    bool over;      // the pod has ended, or is gone: what comes is the rest
    bool ended;     // nothing more comes
};

struct backend_log {
    struct list link; // kube_job.logs
    struct loop *loop;
    struct kube_job *job; // NULL: it was removed
    struct list sources;
    size_t source_count;
    struct loop_timer again;
    struct loop_task wake_task;
    void (*wake)(void *ctx);
    void *ctx;
    char *role, *container;
    int32_t index;
    bool follow, terminal;
    int64_t tail_lines, since_ns;
    struct err failed;
};

static void wake(void *ctx) {
    struct backend_log *log = ctx;
    log->wake(log->ctx);
}

static void wake_soon(struct backend_log *log) {
    loop_defer(log->loop, &log->wake_task);
}

// ---- One stream

static void on_data(void *ctx, const char *data, size_t n) {
    struct source *s = ctx;
    stamped_feed(&s->stamped, data, n, &s->buffer);
    if (s->buffer.len - s->taken > BUFFER_MAX) {
        s->held = true;
        kube_stream_pause(s->stream);
    }
    wake_soon(s->log);
}

static void on_end(void *ctx, const struct err *err, int status) {
    struct source *s = ctx;
    struct backend_log *log = s->log;
    s->stream = NULL;
    bool waits = status == 400 && err != NULL && strstr(err->message, "waiting to start") != NULL;
    bool gone = status == 404;
    if (gone || (err == NULL && (s->over || !log->follow))) {
        s->ended = true;
    } else if (log->follow || (waits && s->over)) {
        loop_timer_start(&log->again, AGAIN_MS); // rotated, cut, or not begun: from where we are
    } else if (!err_set(&log->failed)) {
        if (waits) {
            err_fail(&log->failed, ERR_PRECONDITION, "CONTAINER_WAITING", "%s", err->message);
        } else {
            err_copy(&log->failed, err);
        }
    }
    wake_soon(log);
}

static void open_stream(struct source *s) {
    static const struct kube_stream_handler handler = {.data = on_data, .end = on_end};
    struct backend_log *log = s->log;
    const struct kube_job *j = log->job;
    CLEANUP(str_done) struct str path = STR_INIT;
    CLEANUP(mem_free_ptr) char *what = mem_printf("log of pod %s", s->pod);
    bool again = s->stamped.last_ns != 0;
    int64_t since = again ? s->stamped.last_ns : log->since_ns;
    str_add(&path, "/api/v1/namespaces/");
    kube_path_add(&path, j->namespace_);
    str_add(&path, "/pods/");
    kube_path_add(&path, s->pod);
    str_add(&path, "/log?timestamps=true&container=");
    kube_path_add(&path, s->container);
    if (log->follow && !s->over) {
        str_add(&path, "&follow=true");
    }
    if (log->tail_lines >= 0 && !again) {
        str_printf(&path, "&tailLines=%lld", (long long)log->tail_lines);
    }
    if (since != 0) {
        char text[CLOCK_TEXT_MAX];
        clock_format(since / CLOCK_SECOND * CLOCK_SECOND, text);
        str_add(&path, "&sinceTime=");
        kube_path_add(&path, text);
    }
    stamped_reconnect(&s->stamped);
    s->held = false;
    s->stream = kube_stream_open(j->kube->client, str_text(&path), what, IDLE_MS, &handler, s);
}

// ---- Which pods

static bool wanted(const struct backend_log *log, const struct kube_pod *pod) {
    return (log->role == NULL || str_same_nocase(log->role, pod->role)) && (log->index < 0 || log->index == pod->index);
}

static struct source *find_source(const struct backend_log *log, const char *pod_uid) {
    LIST_EACH (node, &log->sources) {
        struct source *s = CONTAINER_OF(node, struct source, link);
        if (str_same(s->pod_uid, pod_uid)) {
            return s;
        }
    }
    return NULL;
}

static int32_t next_attempt(const struct backend_log *log, const struct kube_pod *pod) {
    int32_t n = 1;
    LIST_EACH (node, &log->sources) {
        const struct source *s = CONTAINER_OF(node, struct source, link);
        n += s->index == pod->index && str_same(s->role, pod->role);
    }
    return n;
}

static struct source *source_new(struct backend_log *log, const struct kube_pod *pod) {
    struct source *s = NEW(struct source);
    s->log = log;
    s->pod = mem_strdup(pod->name);
    s->pod_uid = mem_strdup(pod->uid);
    s->role = mem_strdup(pod->role);
    s->container = mem_strdup(log->container != NULL ? log->container : pod->container);
    s->index = pod->index;
    s->attempt = next_attempt(log, pod);
    list_push(&log->sources, &s->link);
    log->source_count++;
    return s;
}

static void source_free(struct source *s) {
    if (s->stream != NULL) {
        kube_stream_close(s->stream);
    }
    list_remove(&s->link);
    str_done(&s->buffer);
    mem_free(s->pod);
    mem_free(s->pod_uid);
    mem_free(s->role);
    mem_free(s->container);
    mem_free(s);
}

static void look_at_pods(struct backend_log *log) {
    LIST_EACH (node, &log->job->pods) {
        const struct kube_pod *pod = CONTAINER_OF(node, struct kube_pod, link);
        bool begun = pod->phase >= POD_RUNNING || !log->follow;
        struct source *s = find_source(log, pod->uid);
        if (s == NULL && begun && wanted(log, pod) && log->source_count < SOURCES_MAX) {
            s = source_new(log, pod);
        }
        if (s != NULL) {
            s->over = pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
        }
    }
    LIST_EACH (node, &log->sources) {
        struct source *s = CONTAINER_OF(node, struct source, link);
        if (s->stream == NULL && !s->ended && !loop_timer_active(&log->again)) {
            open_stream(s);
        }
    }
}

static void look_again(void *ctx) {
    struct backend_log *log = ctx;
    if (log->job != NULL) {
        look_at_pods(log);
        wake_soon(log);
    }
}

void kube_logs_update(struct kube_job *j) {
    LIST_EACH (node, &j->logs) {
        look_again(CONTAINER_OF(node, struct backend_log, link));
    }
}

static void leave(struct backend_log *log) {
    LIST_EACH (node, &log->sources) {
        struct source *s = CONTAINER_OF(node, struct source, link);
        if (s->stream != NULL) {
            kube_stream_close(s->stream);
            s->stream = NULL;
        }
        s->ended = true;
    }
    wake_soon(log);
    list_remove(&log->link);
    loop_timer_stop(&log->again);
    log->terminal = true;
    log->job = NULL;
}

void kube_logs_leave(struct kube_job *j) {
    LIST_EACH (node, &j->logs) {
        leave(CONTAINER_OF(node, struct backend_log, link));
    }
}

// ---- The reader

static bool has_pod(const struct kube_job *j, const struct backend_log_query *q) {
    LIST_EACH (node, &j->pods) {
        const struct kube_pod *pod = CONTAINER_OF(node, struct kube_pod, link);
        if ((q->role == NULL || str_same_nocase(q->role, pod->role)) && (q->index < 0 || q->index == pod->index)) {
            return true;
        }
    }
    return false;
}

static bool check_query(const struct kube_job *j, const struct backend_log_query *q, bool over, struct err *err) {
    if (j == NULL || (!has_pod(j, q) && (over || !q->follow))) {
        return err_fail(err, ERR_NOT_FOUND, "PODS_GONE",
                        over
                            ? "its pods are gone, and their logs with them; run_policy.clean_pods NONE keeps what ended"
                            : "it has no such pod at present; follow waits for one");
    }
    if (q->resume != NULL && q->resume[0] != '\0') {
        return err_fail(err, ERR_PRECONDITION, "NO_LOG_RESUME",
                        "logs of a cluster cannot be resumed by token yet; use since");
    }
    return true;
}

bool kube_logs_open(struct backend *b, const struct backend_log_query *q, bool job_terminal, void (*wake_fn)(void *ctx),
                    void *ctx, struct backend_log **ret, struct err *err) {
    struct kube *k = kube_of(b);
    struct kube_job *j = kube_job_of(k, q->uid, false);
    if (!check_query(j, q, job_terminal, err)) {
        return false;
    }
    struct backend_log *log = NEW(struct backend_log);
    *log = (struct backend_log){.loop = k->loop,
                                .job = j,
                                .wake = wake_fn,
                                .ctx = ctx,
                                .role = mem_strdup(q->role),
                                .container = str_is_empty(q->container) ? NULL : mem_strdup(q->container),
                                .index = q->index,
                                .follow = q->follow && !job_terminal,
                                .terminal = job_terminal,
                                .tail_lines = q->tail_lines,
                                .since_ns = q->since_ns};
    list_init(&log->sources);
    list_push(&j->logs, &log->link);
    loop_timer_init(&log->again, k->loop, "log again", look_again, log);
    loop_task_init(&log->wake_task, wake, log);
    look_at_pods(log);
    *ret = log;
    return true;
}

static void fill(const struct source *s, enum backend_log_kind kind, struct backend_log_item *ret) {
    *ret = (struct backend_log_item){.kind = kind,
                                     .role = s->role,
                                     .index = s->index,
                                     .rank = -1,
                                     .attempt = s->attempt,
                                     .container = s->container,
                                     .resume = ""};
}

static size_t cut_at_line(const char *data, size_t n) {
    if (n <= CHUNK_MAX) {
        return n;
    }
    const char *end = memrchr(data, '\n', CHUNK_MAX);
    return end != NULL ? (size_t)(end - data) + 1 : CHUNK_MAX;
}

// Gives back what was read, before the next is taken.
static void settle(struct source *s) {
    if (s->taken == s->buffer.len) {
        str_clear(&s->buffer);
        s->taken = 0;
        if (s->held && s->stream != NULL) {
            s->held = false;
            kube_stream_resume(s->stream);
        }
    }
}

static bool take(struct source *s, struct backend_log_item *ret) {
    settle(s);
    size_t there = s->buffer.len - s->taken;
    if (!s->announced && (there != 0 || s->ended)) {
        s->announced = true;
        fill(s, LOG_ITEM_ATTEMPT, ret);
        return true;
    }
    if (there == 0) {
        return false;
    }
    fill(s, LOG_ITEM_CHUNK, ret);
    ret->data = s->buffer.data + s->taken;
    ret->length = cut_at_line(ret->data, there);
    ret->offset = s->offset;
    s->taken += ret->length;
    s->offset += (int64_t)ret->length;
    return true;
}

enum backend_log_result kube_logs_read(struct backend_log *log, struct backend_log_item *ret, struct err *err) {
    bool all_ended = true;
    LIST_EACH (node, &log->sources) {
        struct source *s = CONTAINER_OF(node, struct source, link);
        if (take(s, ret)) {
            list_remove(&s->link); // its turn is over: the others first
            list_push(&log->sources, &s->link);
            return LOG_READ_ITEM;
        }
        all_ended = all_ended && s->ended;
    }
    if (err_set(&log->failed)) {
        err_move(err, &log->failed);
        return LOG_READ_FAILED;
    }
    return all_ended && (log->terminal || !log->follow) ? LOG_READ_END : LOG_READ_WAIT;
}

void kube_logs_terminal(struct backend_log *log) {
    log->terminal = true;
    if (log->job != NULL) {
        look_again(log);
    }
}

void kube_logs_close(struct backend_log *log) {
    LIST_EACH (node, &log->sources) {
        source_free(CONTAINER_OF(node, struct source, link));
    }
    list_remove(&log->link);
    loop_timer_stop(&log->again);
    loop_task_cancel(&log->wake_task);
    err_done(&log->failed);
    mem_free(log->role);
    mem_free(log->container);
    mem_free(log);
}
