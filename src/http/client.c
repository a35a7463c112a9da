#include "http/internal.h"

#include "base/mem.h"

#include <stdlib.h>

struct http_client *http_client_new(struct loop *loop) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) { // libcurl counts these
        abort();
    }
    struct http_client *client = NEW(struct http_client);
    client->loop = loop;
    list_init(&client->endpoints);
    return client;
}

static void end_calls(struct list *calls) {
    for (struct list *node; (node = list_pop(calls)) != NULL;) {
        struct http_call *call = CONTAINER_OF(node, struct http_call, link);
        call->failure = HTTP_CANCELED;
        call->problem = "the client was closed";
        http_call_finish(call, CURLE_OK);
    }
}

static void end_calls_of(struct http_endpoint *endpoint) {
    end_calls(&endpoint->waiting);
    struct pool *pools[] = {endpoint->requests, endpoint->streams};
    for (size_t i = 0; i < ARRAY_LEN(pools); i++) {
        if (pools[i] != NULL) {
            end_calls(&pools[i]->calls);
        }
    }
    LIST_EACH (node, &endpoint->retired) {
        end_calls(&CONTAINER_OF(node, struct pool, link)->calls);
    }
}

void http_client_free(struct http_client *client) {
    if (client == NULL) {
        return;
    }
    client->closing = true;
    LIST_EACH (node, &client->endpoints) { // first all calls: their callbacks may name any endpoint
        end_calls_of(CONTAINER_OF(node, struct http_endpoint, link));
    }
    LIST_EACH (node, &client->endpoints) {
        http_endpoint_destroy(CONTAINER_OF(node, struct http_endpoint, link));
    }
    mem_free(client);
    curl_global_cleanup();
}
