// Bytes from the socket between the daemon and its supervisor, read as both sides do.
#include "base/mem.h"
#include "local/wire.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spawn(struct wire_reader r) {
    struct wire_spawn s;
    if (!wire_get_spawn(&r, &s)) {
        return;
    }
    size_t total = strlen(s.role) + strlen(s.note);
    assert(s.attempt != 0 && s.rank < s.total && s.total <= WIRE_RANKS_MAX && s.cwd[0] == '/');
    assert(s.uid[0] != '\0' && strlen(s.uid) <= WIRE_UID_MAX && strchr(s.uid, '/') == NULL);
    for (size_t i = 0; s.argv[i] != NULL; i++) {
        total += strlen(s.argv[i]);
    }
    for (size_t i = 0; s.env[i] != NULL; i++) {
        total += strlen(s.env[i]);
    }
    assert(total <= WIRE_FRAME_MAX);
    wire_spawn_done(&s);
}

// What is understood is said again in the same bytes.
static void check_report(struct wire_reader r, enum wire_kind kind, const char *frame, size_t size) {
    struct wire_report report;
    if (wire_get_report(&r, kind, &report)) {
        struct str again = STR_INIT;
        wire_put_report(&again, kind, &report);
        assert(again.len == size && memcmp(again.data, frame, size) == 0);
        str_done(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = mem_dup(data, size);
    size_t used = 0;
    struct wire_reader r;
    enum wire_kind kind;
    size_t n;
    while (wire_frame(copy + used, size - used, &r, &n, &kind) == 1) {
        check_spawn(r);
        check_report(r, kind, copy + used, n);
        used += n;
    }
    mem_free(copy);
    return 0;
}
