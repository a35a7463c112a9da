// The other end: the program that holds one isolated plugin and answers calls until the daemon is gone.
#include "plugin/internal.h"

#include "base/str.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>

// One request; the answer is appended.
static bool serve_call(struct entry *e, const struct json *request, struct str *output, struct err *err) {
    static const enum call_kind kinds[] = {CALL_VALIDATE, CALL_PLAN_LOCAL, CALL_RENDER, CALL_OBSERVE};
    const char *name = json_string(json_get(request, "call"), "");
    if (str_same(name, "create")) {
        const struct json *config = json_get(request, "config");
        return call_create(e, config != NULL && config->type == JSON_OBJECT ? config : NULL, err);
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_same(call_name(kinds[i]), name)) {
            return call_direct(e, kinds[i], json_get(request, "in"), json_string(json_get(request, "target"), NULL),
                               output, err);
        }
    }
    return err_fail(err, ERR_INTERNAL, "PLUGIN_FAULT", "unknown call %s", name);
}

static void answer(struct entry *e, const struct str *text, struct str *ret) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str output = STR_INIT;
    const struct json_limits limits = {.max_bytes = WIRE_MAX, .max_depth = 72, .max_nodes = 1000 * 1000};
    const struct json *request = NULL;
    struct json_writer w;
    bool ok =
        json_parse(&a, str_text(text), text->len, &limits, &request, &err) && serve_call(e, request, &output, &err);
    str_clear(ret);
    json_writer_init(&w, ret);
    json_begin_object(&w);
    json_key(&w, "ok");
    json_add_bool(&w, ok);
    if (ok) {
        json_key(&w, "output");
        json_add_bytes(&w, str_text(&output), output.len);
    } else {
        wire_put_error(&w, &err);
    }
    json_end_object(&w);
}

int plugin_host_main(int argc, char **argv) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct stat st;
    const struct trainer_plugin *plugin = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: trainerd-plugin-host FILE.so (started by trainerd, with a socket as descriptor %d)\n",
                WIRE_FD);
        return 2;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // a call that never ends must not outlive the daemon; EOF ends all others
    if (!load_check_file(argv[1], &st, &err) || !load_open(argv[1], &plugin, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    CLEANUP(str_done) struct str request = STR_INIT;
    CLEANUP(str_done) struct str reply = STR_INIT;
    struct entry *e = entry_new(argv[1], plugin);
    while (wire_receive(WIRE_FD, &request, 0) == WIRE_OK) {
        answer(e, &request, &reply);
        if (wire_send(WIRE_FD, &reply, 0) != WIRE_OK) {
            break;
        }
    }
    entry_free(e);
    return 0;
}
