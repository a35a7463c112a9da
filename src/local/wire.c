#include "local/wire.h"

#include "base/mem.h"

#include <string.h>

static void store(char *p, uint32_t v) {
    const uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    memcpy(p, b, sizeof b);
}

static uint32_t load(const char *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

// ---- Writing

void wire_begin(struct str *out, enum wire_kind kind, size_t *ret_mark) {
    *ret_mark = out->len;
    wire_u32(out, 0); // the length, when it is known
    wire_u32(out, (uint32_t)kind);
}

void wire_u32(struct str *out, uint32_t v) {
    char b[4];
    store(b, v);
    str_add_bytes(out, b, sizeof b);
}

void wire_u64(struct str *out, uint64_t v) {
    wire_u32(out, (uint32_t)v);
    wire_u32(out, (uint32_t)(v >> 32));
}

void wire_text(struct str *out, const char *text) {
    size_t n = strlen(text);
    wire_u32(out, (uint32_t)n);
    str_add_bytes(out, text, n + 1);
}

bool wire_end(struct str *out, size_t mark) {
    size_t n = out->len - mark - 4;
    if (n > WIRE_FRAME_MAX) {
        out->len = mark;
        return false;
    }
    store(out->data + mark, (uint32_t)n);
    return true;
}

void wire_put_report(struct str *out, enum wire_kind kind, const struct wire_report *report) {
    size_t mark;
    wire_begin(out, kind, &mark);
    wire_text(out, report->uid);
    wire_u32(out, report->attempt);
    wire_u32(out, report->rank);
    wire_u32(out, report->pid);
    wire_u32(out, (uint32_t)report->status);
    wire_u64(out, (uint64_t)report->time_ns);
    wire_text(out, report->text != NULL ? report->text : "");
    (void)wire_end(out, mark); // its texts came in one frame
}

// ---- Reading

int wire_frame(const char *data, size_t n, struct wire_reader *ret, size_t *ret_size, enum wire_kind *ret_kind) {
    if (n < 8) {
        return 0;
    }
    uint32_t length = load(data);
    if (length < 4 || length > WIRE_FRAME_MAX) {
        return -1;
    }
    if (n - 4 < length) {
        return 0;
    }
    *ret_kind = (enum wire_kind)load(data + 4);
    *ret = (struct wire_reader){.p = data + 8, .end = data + 4 + length};
    *ret_size = 4 + (size_t)length;
    return 1;
}

uint32_t wire_get_u32(struct wire_reader *r) {
    if (r->bad || r->end - r->p < 4) {
        r->bad = true;
        return 0;
    }
    uint32_t v = load(r->p);
    r->p += 4;
    return v;
}

uint64_t wire_get_u64(struct wire_reader *r) {
    uint64_t low = wire_get_u32(r);
    return low | (uint64_t)wire_get_u32(r) << 32;
}

const char *wire_get_text(struct wire_reader *r) {
    uint32_t n = wire_get_u32(r);
    if (r->bad || (size_t)(r->end - r->p) <= n || r->p[n] != '\0' || memchr(r->p, '\0', n) != NULL) {
        r->bad = true;
        return "";
    }
    const char *text = r->p;
    r->p += n + 1;
    return text;
}

const char *wire_get_uid(struct wire_reader *r) {
    const char *uid = wire_get_text(r);
    size_t n = strspn(uid, "0123456789abcdefghijklmnopqrstuvwxyz");
    r->bad = r->bad || n == 0 || n > WIRE_UID_MAX || uid[n] != '\0';
    return r->bad ? "" : uid;
}

static const char **get_texts(struct wire_reader *r) {
    uint32_t n = wire_get_u32(r);
    if (r->bad || n > (size_t)(r->end - r->p) / 5) { // each takes at least five bytes
        r->bad = true;
        return NULL;
    }
    const char **out = mem_zalloc(((size_t)n + 1) * sizeof(const char *));
    for (uint32_t i = 0; i < n; i++) {
        out[i] = wire_get_text(r);
    }
    return out;
}

bool wire_get_spawn(struct wire_reader *r, struct wire_spawn *ret) {
    struct wire_spawn s = {0};
    s.uid = wire_get_uid(r);
    s.attempt = wire_get_u32(r);
    s.rank = wire_get_u32(r);
    s.total = wire_get_u32(r);
    s.role = wire_get_text(r);
    s.index = wire_get_u32(r);
    s.note = wire_get_text(r);
    s.log_cap = wire_get_u64(r);
    s.cwd = wire_get_text(r);
    s.make_cwd = wire_get_u32(r);
    s.argv = get_texts(r);
    s.env = get_texts(r);
    if (r->bad || r->p != r->end || s.attempt == 0 || s.total > WIRE_RANKS_MAX || s.rank >= s.total ||
        s.cwd[0] != '/' || s.argv[0] == NULL) {
        wire_spawn_done(&s);
        return false;
    }
    *ret = s;
    return true;
}

void wire_spawn_done(struct wire_spawn *s) {
    mem_free(s->argv);
    mem_free(s->env);
    s->argv = s->env = NULL;
}

bool wire_get_report(struct wire_reader *r, enum wire_kind kind, struct wire_report *ret) {
    if (kind < WIRE_STARTED || kind > WIRE_GONE) {
        return false;
    }
    ret->uid = wire_get_uid(r);
    ret->attempt = wire_get_u32(r);
    ret->rank = wire_get_u32(r);
    ret->pid = wire_get_u32(r);
    ret->status = (int)wire_get_u32(r);
    ret->time_ns = (int64_t)wire_get_u64(r);
    ret->text = wire_get_text(r);
    return !r->bad && r->p == r->end && ret->attempt != 0 && ret->rank < WIRE_RANKS_MAX;
}
