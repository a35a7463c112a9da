// List. With the full view the specs of the page are read one after the other, since some are in the journal.
#include "rpc/internal.h"

#include "api/api.h"
#include "base/mem.h"

#include <string.h>

struct listing {
    struct rpc_call *call;
    struct flow_page page; // its jobs are ours, with references
    struct job **jobs;
    char **specs;
    size_t at; // the spec that is read next
    uint64_t selector_hash;
    struct flow_op *op;
    bool reading; // inside flow_spec: an answer at once goes on in the loop of read_specs
};

static void listing_free(struct listing *l) {
    for (size_t i = 0; i < l->page.count; i++) {
        job_unref(l->jobs[i]);
        mem_free(l->specs[i]);
    }
    mem_free(l->jobs);
    mem_free(l->specs);
    mem_free(l);
}

static void reply(struct rpc_call *call, const struct flow_page *page, const char *const *specs, uint64_t hash) {
    struct str out = STR_INIT;
    size_t used = 0;
    api_encode_list(page, specs, hash, &used, &out);
    rpc_call_reply(call, &out);
}

static void read_specs(struct listing *l);

static void on_spec(void *ctx, const char *spec_json, const struct err *err) {
    struct listing *l = ctx;
    // A spec that cannot be read does not fail the page; the job comes without it.
    l->specs[l->at++] = err == NULL ? mem_strdup(spec_json) : NULL;
    l->op = NULL;
    if (!l->reading) {
        read_specs(l);
    }
}

static void on_stop(void *ctx) {
    struct listing *l = ctx;
    flow_op_cancel(l->op);
    listing_free(l);
}

static void read_specs(struct listing *l) {
    l->reading = true;
    while (l->at < l->page.count && l->op == NULL) {
        struct flow_op *op = flow_spec(l->call->server->flow, l->jobs[l->at], on_spec, l);
        l->op = op;
    }
    l->reading = false;
    if (l->op != NULL) {
        return;
    }
    reply(l->call, &l->page, (const char *const *)l->specs, l->selector_hash);
    listing_free(l);
}

static void start_full(struct rpc_call *call, const struct flow_page *page, uint64_t hash) {
    struct listing *l = NEW(struct listing);
    *l = (struct listing){.call = call, .page = *page, .selector_hash = hash};
    l->jobs = mem_realloc_array(NULL, page->count + 1, sizeof *l->jobs);
    l->specs = mem_realloc_array(NULL, page->count + 1, sizeof *l->specs);
    memset(l->specs, 0, (page->count + 1) * sizeof *l->specs);
    for (size_t i = 0; i < page->count; i++) {
        l->jobs[i] = job_ref(page->jobs[i]);
    }
    l->page.jobs = l->jobs;
    rpc_call_on_stop(call, on_stop, l);
    read_specs(l);
}

static bool run(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_list request = {0};
    struct flow_page page;
    if (!api_decode_list(&call->arena, data, n, &request, err)) {
        return false;
    }
    uint64_t hash = job_selector_hash(request.selector);
    flow_list(call->server->flow, request.selector, request.before, request.page_size, &page);
    job_selector_free(request.selector);
    if (request.full) {
        start_full(call, &page, hash);
    } else {
        reply(call, &page, NULL, hash);
    }
    return true;
}

const struct rpc_method rpc_method_list = {"/trainer.v1.TrainerService/List", RPC_UNARY, run};
