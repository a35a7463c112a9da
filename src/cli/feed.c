#include "cli/feed.h"

#include "api/api.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "cli/internal.h"

#include <string.h>
#include <time.h>

enum {
    RETRY_FIRST_MS = 100,
    RETRY_MOST_MS = 5000,
    SUBMIT_PATIENCE_S = 10, // before the first message; the request id keeps a repeated submit from running twice
    PATIENCE_S = 300,       // after it
};

struct feed {
    const char *address, *token; // borrowed from cli
    struct rpc_client *client;
    struct rpc_stream *stream;
    const char *method;
    struct str request;
    char *resume_token; // NULL: nothing has come
    char *uid;          // of a SubmitAndWatch that was answered
    int64_t retry_at;   // mono
    int64_t away_since; // mono; 0: not away
    int64_t retry_ms;
    struct message *held; // came with the news that the connection is back
    bool over;
};

void message_free(struct message *m) {
    if (m != NULL) {
        arena_done(&m->arena);
        err_done(&m->err);
        mem_free(m);
    }
}

static struct message *message_new(enum feed_kind kind) {
    struct message *m = NEW(struct message);
    m->kind = kind;
    arena_init(&m->arena, 0);
    return m;
}

struct feed *feed_new(const struct cli *cli, const char *method, const struct str *request) {
    struct feed *f = NEW(struct feed);
    f->method = method;
    f->client = rpc_client_new(cli->address, cli->token);
    f->retry_ms = RETRY_FIRST_MS;
    str_add_bytes(&f->request, str_text(request), request->len);
    return f;
}

void feed_free(struct feed *f) {
    if (f == NULL) {
        return;
    }
    if (f->stream != NULL) {
        rpc_stream_close(f->stream);
    }
    rpc_client_free(f->client);
    message_free(f->held);
    str_done(&f->request);
    mem_free(f->resume_token);
    mem_free(f->uid);
    mem_free(f);
}

// ---- Opening

static void write_rest_of_submit(const struct feed *f, struct json_writer *w) {
    json_key(w, "selector");
    json_begin_object(w);
    json_key(w, "uids");
    json_begin_array(w);
    json_add_string(w, f->uid);
    json_end_array(w);
    json_end_object(w);
    json_key(w, "until_terminal");
    json_add_bool(w, true);
}

static const char *method_now(const struct feed *f) {
    return f->uid != NULL ? "Watch" : f->method;
}

static bool write_request(const struct feed *f, struct arena *a, struct str *out, struct err *err) {
    const struct json *first;
    struct json_writer w;
    if (!json_parse(a, str_text(&f->request), f->request.len, &call_limits, &first, err)) {
        return false;
    }
    json_writer_init(&w, out);
    json_begin_object(&w);
    if (f->uid != NULL) {
        write_rest_of_submit(f, &w);
    } else {
        JSON_EACH (field, first) {
            json_key(&w, field->key);
            json_add_node(&w, field);
        }
    }
    if (f->resume_token != NULL) {
        json_key(&w, "resume_token");
        json_add_string(&w, f->resume_token);
        if (str_same(method_now(f), "Watch")) {
            json_key(&w, "resync");
            json_add_bool(&w, true);
        }
    }
    json_end_object(&w);
    return true;
}

static bool open_stream(struct feed *f, struct err *err) {
    struct arena a;
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(str_done) struct str wire = STR_INIT;
    CLEANUP(mem_free_ptr) char *path = mem_printf("/trainer.v1.TrainerService/%s", method_now(f));
    const struct json *tree;
    arena_init(&a, 0);
    bool ok = write_request(f, &a, &text, err) && json_parse(&a, str_text(&text), text.len, &call_limits, &tree, err) &&
              api_json_to_wire(api_method_input(method_now(f)), tree, &wire, err) &&
              rpc_client_open(f->client, path, str_text(&wire), wire.len, &f->stream, err);
    arena_done(&a);
    return ok;
}

// ---- Breaking

static int64_t patience_s(const struct feed *f) {
    if (f->resume_token != NULL) {
        return PATIENCE_S;
    }
    return str_same(f->method, "SubmitAndWatch") ? SUBMIT_PATIENCE_S : 0;
}

// Between half and the whole of the current delay, which doubles.
static int64_t next_delay_ms(struct feed *f) {
    uint32_t random;
    id_random(&random, sizeof random);
    int64_t delay = f->retry_ms / 2 + (int64_t)random % (f->retry_ms / 2);
    f->retry_ms = f->retry_ms * 2 < RETRY_MOST_MS ? f->retry_ms * 2 : RETRY_MOST_MS;
    return delay;
}

// Moves err. NULL: a further failure while the caller knows already.
static struct message *broken(struct feed *f, struct err *err) {
    if (f->stream != NULL) {
        rpc_stream_close(f->stream);
        f->stream = NULL;
    }
    int64_t now = clock_mono();
    bool known = f->away_since != 0;
    f->away_since = known ? f->away_since : now;
    if (err->code != ERR_UNAVAILABLE || now - f->away_since >= patience_s(f) * CLOCK_SECOND) {
        f->over = true;
        struct message *m = message_new(FEED_FAILED);
        err_move(&m->err, err);
        return m;
    }
    f->retry_at = now + next_delay_ms(f) * CLOCK_MS;
    if (known) {
        return NULL;
    }
    struct message *m = message_new(FEED_AWAY);
    err_move(&m->err, err);
    return m;
}

// ---- Reading

static void keep(char **place, const char *text) {
    mem_free(*place);
    *place = mem_strdup(text);
}

static struct message *received(struct feed *f, const struct str *wire) {
    CLEANUP(str_done) struct str text = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct message *m = message_new(FEED_MESSAGE);
    if (!api_wire_to_json(api_method_output(method_now(f)), str_text(wire), wire->len, &text, &err) ||
        !json_parse(&m->arena, str_text(&text), text.len, &call_limits, &m->tree, &err)) {
        m->kind = FEED_FAILED;
        err_move(&m->err, &err);
        f->over = true;
        return m;
    }
    const char *token = json_string(json_get(m->tree, "resume_token"), NULL);
    const char *uid = json_string(json_path(m->tree, "submitted.job.uid"), NULL);
    if (token != NULL) {
        keep(&f->resume_token, token);
    }
    if (uid != NULL) {
        keep(&f->uid, uid);
    }
    return m;
}

static void nap(int64_t ns) {
    const struct timespec pause = {.tv_sec = ns / CLOCK_SECOND, .tv_nsec = ns % CLOCK_SECOND};
    nanosleep(&pause, NULL);
}

// Waits until the next try is due, at most until `until`. false: not due yet.
static bool wait_retry(const struct feed *f, int64_t until) {
    int64_t now = clock_mono();
    int64_t to = f->retry_at < until ? f->retry_at : until;
    if (to > now) {
        nap(to - now);
    }
    return f->retry_at <= until;
}

static struct message *arrived(struct feed *f, const struct str *wire) {
    bool was_away = f->away_since != 0;
    struct message *m = received(f, wire);
    f->away_since = 0;
    f->retry_ms = RETRY_FIRST_MS;
    if (was_away && m->kind == FEED_MESSAGE) {
        f->held = m;
        return message_new(FEED_BACK);
    }
    return m;
}

struct message *feed_next(struct feed *f, int64_t timeout_ms) {
    int64_t until = clock_mono() + timeout_ms * CLOCK_MS;
    struct message *m = TAKE(f->held);
    while (m == NULL && !f->over) {
        CLEANUP(str_done) struct str wire = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        if (f->stream == NULL) {
            if (!wait_retry(f, until)) {
                return NULL;
            }
            if (!open_stream(f, &err)) {
                m = broken(f, &err);
                continue;
            }
        }
        int64_t left = (until - clock_mono()) / CLOCK_MS;
        switch (rpc_stream_next(f->stream, left > 0 ? left : 0, &wire, &err)) {
        case STREAM_MESSAGE:
            return arrived(f, &wire);
        case STREAM_END:
            f->over = true;
            return message_new(FEED_END);
        case STREAM_TIMEOUT:
            return NULL;
        case STREAM_ERROR:
            m = broken(f, &err);
            break;
        }
    }
    return m;
}
