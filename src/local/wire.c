#include "local/wire.h"

#include <string.h>

void wire_begin(struct str *out, enum wire_kind kind, size_t *ret_mark) {
    *ret_mark = out->len;
    wire_u32(out, 0); // the length, when it is known
    wire_u32(out, (uint32_t)kind);
}

void wire_u32(struct str *out, uint32_t v) {
    uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
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

void wire_end(struct str *out, size_t mark) {
    struct str length = STR_INIT;
    wire_u32(&length, (uint32_t)(out->len - mark - 4));
    memcpy(out->data + mark, length.data, 4);
    str_done(&length);
}

static uint32_t load(const char *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

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
