// Bytes of a client, looked at as a whole before anything is unpacked: protobuf-c neither checks UTF-8 nor depth, and
// cuts a text at NUL without a word.
#include "api/internal.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

struct walk {
    struct str path;
    struct err *err;
    int depth;
};

struct cursor {
    const uint8_t *p, *end;
};

static bool fail(struct walk *w, const char *what) {
    return err_violate(w->err, w->path.len != 0 ? str_text(&w->path) : "request", "%s", what);
}

static bool varint(struct cursor *c, uint64_t *ret) {
    uint64_t v = 0;
    for (int shift = 0; shift < 70 && c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;
        v |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if ((byte & 0x80) == 0) {
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool take(struct cursor *c, uint64_t n, struct cursor *ret) {
    if (n > (uint64_t)(c->end - c->p)) {
        return false;
    }
    *ret = (struct cursor){.p = c->p, .end = c->p + n};
    c->p += n;
    return true;
}

static int wire_type_of(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return 5;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 1;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return 2;
    default:
        return 0;
    }
}

static bool scalar(struct cursor *c, int wire_type) {
    uint64_t v;
    struct cursor skipped;
    return wire_type == 0 ? varint(c, &v) : take(c, wire_type == 1 ? 8 : 4, &skipped);
}

static bool packed(struct walk *w, struct cursor c, int wire_type) {
    while (c.p < c.end) {
        if (!scalar(&c, wire_type)) {
            return fail(w, "is not a well-formed message");
        }
    }
    return true;
}

static bool message(struct walk *w, const ProtobufCMessageDescriptor *d, struct cursor c);

static bool content(struct walk *w, const ProtobufCFieldDescriptor *f, struct cursor c) {
    size_t n = (size_t)(c.end - c.p);
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        return message(w, f->descriptor, c);
    }
    if (f->type != PROTOBUF_C_TYPE_STRING) {
        return true;
    }
    if (memchr(c.p, '\0', n) != NULL) {
        return fail(w, "contains NUL");
    }
    return str_utf8_valid((const char *)c.p, n) == n || fail(w, "is not valid UTF-8");
}

static bool value(struct walk *w, const ProtobufCFieldDescriptor *f, int wire_type, struct cursor *c) {
    int expected = wire_type_of(f->type);
    struct cursor inner;
    uint64_t n;
    if (wire_type != 2) {
        if (wire_type != expected) {
            return fail(w, "has another wire type than the contract says");
        }
        return scalar(c, wire_type) || fail(w, "is not a well-formed message");
    }
    if (!varint(c, &n) || !take(c, n, &inner)) {
        return fail(w, "is not a well-formed message");
    }
    if (expected == 2) {
        return content(w, f, inner);
    }
    if (f->label != PROTOBUF_C_LABEL_REPEATED) {
        return fail(w, "has another wire type than the contract says");
    }
    return packed(w, inner, expected);
}

// "roles[1]", "labels" and so on; counts are per field of this message.
static size_t enter(struct walk *w, const ProtobufCFieldDescriptor *f, uint32_t index) {
    size_t mark = w->path.len;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE &&
        strcmp(((const ProtobufCMessageDescriptor *)f->descriptor)->name, "trainer.v1.JobSpec") == 0) {
        return mark; // paths of a spec begin at the spec
    }
    str_printf(&w->path, "%s%s", mark != 0 ? "." : "", f->name);
    if (f->label == PROTOBUF_C_LABEL_REPEATED && wire_type_of(f->type) == 2) {
        str_printf(&w->path, "[%u]", index);
    }
    return mark;
}

static void leave(struct walk *w, size_t mark) {
    w->path.len = mark;
    if (w->path.data != NULL) {
        w->path.data[mark] = '\0';
    }
}

static bool fields(struct walk *w, const ProtobufCMessageDescriptor *d, struct cursor c, uint32_t *counts) {
    while (c.p < c.end) {
        uint64_t key;
        if (!varint(&c, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff) {
            return fail(w, "is not a well-formed message");
        }
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(d, (unsigned)(key >> 3));
        if (f == NULL) {
            char text[160];
            snprintf(
                text, sizeof text,
                "has an unknown field with number %u: this server is older than its client, or the request is no %s",
                (unsigned)(key >> 3), d->name);
            return fail(w, text);
        }
        size_t mark = enter(w, f, counts[f - d->fields]++);
        bool ok = value(w, f, (int)(key & 7), &c);
        leave(w, mark);
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool message(struct walk *w, const ProtobufCMessageDescriptor *d, struct cursor c) {
    if (w->depth == API_DEPTH_MAX) {
        return fail(w, "is nested deeper than 64 messages");
    }
    uint32_t few[32] = {0};
    uint32_t *counts = d->n_fields <= ARRAY_LEN(few) ? few : mem_zalloc(d->n_fields * sizeof *counts);
    w->depth++;
    bool ok = fields(w, d, c, counts);
    w->depth--;
    if (counts != few) {
        mem_free(counts);
    }
    return ok;
}

bool api_wire_check(const ProtobufCMessageDescriptor *d, const void *data, size_t n, struct err *err) {
    struct walk w = {.err = err};
    const uint8_t *p = data;
    bool ok = n == 0 || message(&w, d, (struct cursor){.p = p, .end = p + n});
    str_done(&w.path);
    return ok;
}

// ---- Unpack and pack
// ----------------------------------------------------------------------------------------------------------

static void *arena_alloc_fn(void *arena, size_t size) {
    return arena_try_alloc(arena, size);
}

static void arena_free_fn(void *arena UNUSED, void *p UNUSED) {
}

void *api_unpack(const ProtobufCMessageDescriptor *d, struct arena *a, const void *data, size_t n, struct err *err) {
    if (!api_wire_check(d, data, n, err)) {
        return NULL;
    }
    size_t limit = a->limit;
    a->limit = a->used + API_COST_MAX;
    ProtobufCAllocator allocator = {.alloc = arena_alloc_fn, .free = arena_free_fn, .allocator_data = a};
    void *m = protobuf_c_message_unpack(d, &allocator, n, data);
    a->limit = limit;
    if (m == NULL) {
        err_fail(err, ERR_EXHAUSTED, "REQUEST_TOO_LARGE", "the request would take more than %d bytes of memory",
                 API_COST_MAX);
    }
    return m;
}

void api_pack(const ProtobufCMessage *m, struct str *out) {
    size_t n = protobuf_c_message_get_packed_size(m);
    str_reserve(out, n);
    out->len += protobuf_c_message_pack(m, (uint8_t *)out->data + out->len);
    out->data[out->len] = '\0';
}
