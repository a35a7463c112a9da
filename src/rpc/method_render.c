#include "rpc/internal.h"

#include "api/api.h"
#include "base/mem.h"

struct collected { // in the call's arena
    struct arena *arena;
    struct flow_rendered *items;
    size_t item_count, item_cap;
    const char **warnings;
    size_t warning_count, warning_cap;
};

static void on_rendered(void *ctx, const struct flow_rendered *r) {
    struct collected *c = ctx;
    if (c->item_count == c->item_cap) {
        c->item_cap = c->item_cap != 0 ? c->item_cap * 2 : 8;
        c->items = mem_realloc_array(c->items, c->item_cap, sizeof *c->items);
    }
    c->items[c->item_count++] = (struct flow_rendered){.target = arena_strdup(c->arena, r->target),
                                                       .kind = arena_strdup(c->arena, r->kind),
                                                       .json = arena_strdup(c->arena, r->json),
                                                       .error = arena_strdup(c->arena, r->error),
                                                       .chosen = r->chosen};
}

static void on_warning(void *ctx, const char *text) {
    struct collected *c = ctx;
    if (c->warning_count == c->warning_cap) {
        c->warning_cap = c->warning_cap != 0 ? c->warning_cap * 2 : 8;
        c->warnings = mem_realloc_array(c->warnings, c->warning_cap, sizeof *c->warnings);
    }
    c->warnings[c->warning_count++] = arena_strdup(c->arena, text);
}

static bool run(struct rpc_call *call, const void *data, size_t n, struct err *err) {
    struct api_render request = {0};
    struct collected c = {.arena = &call->arena};
    if (!api_decode_render(&call->arena, data, n, &request, err)) {
        return false;
    }
    bool ok = flow_render(call->server->flow, request.spec, request.target, on_rendered, on_warning, &c, err);
    if (ok) {
        struct str out = STR_INIT;
        api_encode_render(c.items, c.item_count, c.warnings, c.warning_count, &out);
        rpc_call_reply(call, &out);
    }
    mem_free(c.items);
    mem_free(c.warnings);
    job_spec_unref(request.spec);
    return ok;
}

const struct rpc_method rpc_method_render = {"/trainer.v1.TrainerService/Render", RPC_UNARY, run};
