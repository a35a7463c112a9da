// One libcurl multi handle on the loop: its sockets are the loop's descriptors, its timer is the loop's.
#include "http/internal.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

enum { STREAMS_PER_CONNECTION = 100 };

struct pool_socket {
    struct list link; // in pool.sockets
    struct pool *pool;
    struct loop_io io;
};

static void collect(struct pool *pool) {
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(pool->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        CURLcode code = message->data.result; // the message goes with the handle
        struct http_call *call = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)(void *)&call);
        http_call_finish(call, code);
    }
}

static void act(struct pool *pool, curl_socket_t fd, int events) {
    int running;
    curl_multi_socket_action(pool->multi, fd, events, &running);
    collect(pool);
}

static void on_timer(void *ctx) {
    act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static void on_socket(void *ctx, int events) {
    struct pool_socket *s = ctx; // gone afterwards, perhaps
    act(s->pool, s->io.fd,
        ((events & LOOP_READ) ? CURL_CSELECT_IN : 0) | ((events & LOOP_WRITE) ? CURL_CSELECT_OUT : 0));
}

static void socket_free(struct pool_socket *s) {
    loop_io_stop(&s->io);
    list_remove(&s->link);
    mem_free(s);
}

static int watch_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *ctx, void *assigned) {
    struct pool *pool = ctx;
    struct pool_socket *s = assigned;
    if (what == CURL_POLL_REMOVE) {
        if (s != NULL) {
            socket_free(s);
            curl_multi_assign(pool->multi, fd, NULL);
        }
        return 0;
    }
    if (s == NULL) {
        s = NEW(struct pool_socket);
        s->pool = pool;
        loop_io_init(&s->io, pool->endpoint->client->loop, "http socket", on_socket, s);
        list_push(&pool->sockets, &s->link);
        curl_multi_assign(pool->multi, fd, s);
    }
    int events = ((what & CURL_POLL_IN) ? LOOP_READ : 0) | ((what & CURL_POLL_OUT) ? LOOP_WRITE : 0);
    loop_io_start(&s->io, fd, events);
    return 0;
}

static int set_timer(CURLM *multi UNUSED, long after_ms, void *ctx) {
    struct pool *pool = ctx;
    if (after_ms < 0) {
        loop_timer_stop(&pool->timer);
    } else {
        loop_timer_start(&pool->timer, after_ms);
    }
    return 0;
}

struct pool *http_pool_new(struct http_endpoint *endpoint, bool stream) {
    struct pool *pool = NEW(struct pool);
    pool->endpoint = endpoint;
    list_init(&pool->link);
    list_init(&pool->sockets);
    list_init(&pool->calls);
    loop_timer_init(&pool->timer, endpoint->client->loop, "http timer", on_timer, pool);
    pool->multi = curl_multi_init();
    if (pool->multi == NULL) {
        abort();
    }
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    if (!stream) {
        curl_multi_setopt(pool->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
        curl_multi_setopt(pool->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)STREAMS_PER_CONNECTION);
        curl_multi_setopt(pool->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)endpoint->max_connections);
        curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long)endpoint->max_connections);
    }
    return pool;
}

void http_pool_free(struct pool *pool) {
    if (pool == NULL) {
        return;
    }
    assert(list_empty(&pool->calls));
    // The descriptors must be off the loop before libcurl closes them, and its callbacks need not come any more.
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, NULL);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, NULL);
    LIST_EACH (node, &pool->sockets) {
        socket_free(CONTAINER_OF(node, struct pool_socket, link));
    }
    loop_timer_stop(&pool->timer);
    list_remove(&pool->link);
    curl_multi_cleanup(pool->multi);
    mem_free(pool);
}
