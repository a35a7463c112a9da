#include "cli/pages.h"

#include "cli/internal.h"

#include <inttypes.h>

enum { PAGE_SIZE = 1000 };

static void write_text(struct json_writer *w, const char *key, const char *text) {
    if (!str_is_empty(text)) {
        json_key(w, key);
        json_add_string(w, text);
    }
}

void pages_write_selector(const struct cli *cli, struct str *out) {
    static const char *const fields[][2] = {
        {"selector", "label_selector"}, {"group", "group"}, {"runtime", "runtime"}, {"name", "name_contains"}};
    struct json_writer w;
    json_writer_init(&w, out);
    json_begin_object(&w);
    write_text(&w, "namespace", args_has(&cli->args, "all-namespaces") ? NULL : cli->name_space);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        write_text(&w, fields[i][1], args_text(&cli->args, fields[i][0], NULL));
    }
    if (args_has(&cli->args, "state")) {
        size_t at = 0;
        json_key(&w, "states");
        json_begin_array(&w);
        for (const char *state = args_next(&cli->args, "state", &at); state != NULL;
             state = args_next(&cli->args, "state", &at)) {
            json_add_string(&w, state);
        }
        json_end_array(&w);
    }
    json_end_object(&w);
}

static void write_request(struct str *out, const struct str *selector, int64_t size, const char *token) {
    struct json_writer w;
    str_clear(out);
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, "selector");
    json_add_raw(&w, str_text(selector));
    json_key(&w, "page_size");
    json_add_int(&w, size);
    write_text(&w, "page_token", token);
    json_end_object(&w);
}

bool pages_each(struct cli *cli, const struct str *selector, int64_t most,
                void (*page)(void *ctx, const struct json *response), void *ctx, struct err *err) {
    CLEANUP(str_done) struct str request = STR_INIT;
    CLEANUP(str_done) struct str token = STR_INIT;
    int64_t left = most > 0 ? most : INT64_MAX;
    bool ok = true;
    do {
        struct arena a;
        const struct json *response;
        arena_init(&a, 0);
        write_request(&request, selector, left < PAGE_SIZE ? left : PAGE_SIZE, str_text(&token));
        ok = call_unary(cli, "List", &request, &a, &response, err);
        if (ok) {
            const struct json *jobs = json_get(response, "jobs");
            page(ctx, response);
            left -= jobs != NULL ? (int64_t)jobs->count : 0;
            str_clear(&token);
            str_add(&token, json_string(json_get(response, "next_page_token"), ""));
        }
        arena_done(&a);
    } while (ok && token.len > 0 && left > 0);
    return ok;
}
