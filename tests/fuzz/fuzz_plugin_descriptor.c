// Descriptors of all shapes against the check that stands before any other code of a plugin. Raw bytes would only make
// wild pointers: the input chooses numbers, texts, and where tables end.
#include "base/err.h"
#include "base/str.h"
#include "plugin/plugin.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 16, TEXT_MAX = 80, ROWS = 70 };

struct input {
    const uint8_t *data;
    size_t left;
    char texts[TEXTS][TEXT_MAX];
    size_t used;
};

static uint32_t byte(struct input *in) {
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->data++;
}

// Mostly what is right, so that the checks behind it are reached.
static uint32_t number(struct input *in, uint32_t right) {
    uint32_t how = byte(in);
    if (how < 200) {
        return right;
    }
    return how < 230 ? byte(in) : byte(in) << 24 | byte(in) << 16 | byte(in) << 8 | byte(in);
}

static const char *text(struct input *in, const char *right) {
    uint32_t how = byte(in);
    if (how < 180) {
        return right;
    }
    if (how < 190 || in->used == TEXTS) {
        return NULL;
    }
    char *out = in->texts[in->used++];
    size_t n = byte(in) % TEXT_MAX;
    n = n < in->left ? n : in->left;
    memcpy(out, in->data, n);
    out[n] = '\0';
    in->data += n;
    in->left -= n;
    return out;
}

static int32_t never(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                     struct trainer_errors *errors) {
    (void)host;
    (void)self;
    (void)spec;
    (void)errors;
    abort(); // only the descriptor is checked
}

static int32_t never_plan(const struct trainer_host *host, struct trainer_self *self, const struct trainer_value *spec,
                          struct trainer_writer *w, struct trainer_errors *errors) {
    (void)w;
    return never(host, self, spec, errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {.data = data, .left = size};
    struct trainer_role roles[ROWS + 1] = {0};
    struct trainer_target targets[ROWS + 1] = {0};
    const char *reserved[ROWS + 1] = {0};
    static const char *const role_names[] = {"worker", "master", "ps", "chief"};
    const struct trainer_functions functions = {.validate = byte(&in) < 250 ? never : NULL,
                                                .plan_local = byte(&in) < 250 ? never_plan : NULL};
    uint32_t rows = byte(&in) < 200 ? byte(&in) % 5 : byte(&in) % ROWS;
    for (uint32_t i = 0; i < rows; i++) {
        roles[i] = (struct trainer_role){
            text(&in, role_names[i % 4]),      text(&in, "a role"), number(&in, 1), number(&in, 1), number(&in, 0),
            number(&in, TRAINER_RESTART_NEVER)};
    }
    rows = byte(&in) < 200 ? byte(&in) % 3 : byte(&in) % ROWS;
    for (uint32_t i = 0; i < rows; i++) {
        targets[i] = (struct trainer_target){text(&in, i == 0 ? "local" : "batch/v1"), text(&in, "processes"),
                                             text(&in, "-${role}-${index}")};
    }
    rows = byte(&in) % 6;
    for (uint32_t i = 0; i < rows; i++) {
        reserved[i] = text(&in, "RANK");
    }
    const struct trainer_plugin plugin = {
        .magic = number(&in, TRAINER_PLUGIN_MAGIC),
        .abi_major = (uint16_t)number(&in, TRAINER_ABI_MAJOR),
        .abi_minor = (uint16_t)number(&in, TRAINER_ABI_MINOR),
        .size = number(&in, sizeof(struct trainer_plugin)),
        .flags = number(&in, 0),
        .name = text(&in, "fuzz"),
        .version = text(&in, "1"),
        .built_with = text(&in, "clang"),
        .capabilities = (uint64_t)number(&in, 0) << 32 | number(&in, TRAINER_CAP_LOCAL),
        .role_size = number(&in, sizeof(struct trainer_role)),
        .target_size = number(&in, sizeof(struct trainer_target)),
        .functions_size = number(&in, sizeof(struct trainer_functions)),
        .reserved_zero = number(&in, 0),
        .description = text(&in, "a description"),
        .roles = byte(&in) < 250 ? roles : NULL,
        .targets = byte(&in) < 250 ? targets : NULL,
        .functions = byte(&in) < 250 ? &functions : NULL,
        .params_schema = text(&in, "{\"type\":\"object\"}"),
        .reserved_env = byte(&in) < 250 ? reserved : NULL,
        .main_container = text(&in, "main"),
        .spare = {byte(&in) < 250 ? NULL : &functions},
    };
    struct err err = ERR_INIT;
    bool ok = plugins_check_descriptor(&plugin, &err);
    assert(ok == !err_set(&err));
    if (!ok) { // one sentence that may go to a log and over the wire
        size_t n = strlen(err.message);
        assert(str_utf8_valid(err.message, n) == n);
        assert(strchr(err.message, '\n') == NULL);
    }
    err_done(&err);
    return 0;
}
