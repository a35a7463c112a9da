// Bytes of a client: what is refused, where it is said to be, and what passes.
#include "api/internal.h"

#include <criterion/criterion.h>
#include <string.h>

#define BYTES(text) text, sizeof(text) - 1

struct row {
    const char *what, *message;
    const char *data;
    size_t n;
    const char *field, *says; // NULL: passes
};

static const char submit[] = "trainer.v1.SubmitRequest";
static const char list[] = "trainer.v1.ListRequest";

static const struct row rows[] = {
    {"nothing", submit, BYTES(""), NULL, NULL},
    {"a text", submit,
     BYTES("\x12\x03"
           "abc"),
     NULL, NULL},
    {"an empty text", submit, BYTES("\x12\x00"), NULL, NULL},
    {"UTF-8 of four bytes", submit, BYTES("\x12\x04\xf0\x9f\x98\x80"), NULL, NULL},
    {"a bool", submit, BYTES("\x18\x01"), NULL, NULL},
    {"a varint of ten bytes", list, BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), NULL, NULL},
    {"a varint of eleven bytes", list, BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "page_size",
     "is not a well-formed message"},
    {"a key with no value", submit, BYTES("\x12"), "request_id", "is not a well-formed message"},
    {"a cut key", submit, BYTES("\x92"), "request", "is not a well-formed message"},
    {"a cut varint", submit, BYTES("\x18\x80"), "validate_only", "is not a well-formed message"},
    {"a length beyond the end", submit,
     BYTES("\x12\x04"
           "abc"),
     "request_id", "is not a well-formed message"},
    {"a huge length", submit, BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "request_id",
     "is not a well-formed message"},
    {"field number 0", submit, BYTES("\x02\x00"), "request", "is not a well-formed message"},
    {"an unknown field", submit, BYTES("\xf8\x06\x01"), "request", "has an unknown field with number 111"},
    {"a group", submit, BYTES("\x13\x14"), "request_id", "has another wire type"},
    {"a number where a text is due", submit, BYTES("\x10\x01"), "request_id", "has another wire type"},
    {"a text where a bool is due", submit, BYTES("\x1a\x01x"), "validate_only", "has another wire type"},
    {"NUL in a text", submit,
     BYTES("\x12\x03"
           "a\0b"),
     "request_id", "contains NUL"},
    {"a cut UTF-8 sequence", submit, BYTES("\x12\x02\xf0\x9f"), "request_id", "is not valid UTF-8"},
    {"an overlong UTF-8 sequence", submit, BYTES("\x12\x02\xc0\xaf"), "request_id", "is not valid UTF-8"},
    {"a surrogate", submit, BYTES("\x12\x03\xed\xa0\x80"), "request_id", "is not valid UTF-8"},
    {"a path of a spec begins at the spec", submit, BYTES("\x0a\x03\x0a\x01\xff"), "name", "is not valid UTF-8"},
    {"an index", submit, BYTES("\x0a\x07\x4a\x00\x4a\x03\x0a\x01\xff"), "roles[1].name", "is not valid UTF-8"},
};

static const ProtobufCMessageDescriptor *descriptor(const char *name) {
    const ProtobufCMessageDescriptor *d = api_find_message(name);
    cr_assert_not_null(d, "%s", name);
    return d;
}

Test(wire, every_row) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        CLEANUP(err_done) struct err err = ERR_INIT;
        bool ok = api_wire_check(descriptor(r->message), r->data, r->n, &err);
        cr_expect_eq(ok, r->says == NULL, "%s: %s", r->what, err.message != NULL ? err.message : "passed");
        cr_expect_eq(err_set(&err), !ok, "%s", r->what);
        if (ok || r->says == NULL) {
            continue;
        }
        cr_expect_eq((int)err.code, (int)ERR_INVALID, "%s", r->what);
        cr_assert_eq(err.violation_count, 1, "%s", r->what);
        cr_expect_str_eq(err.violations[0].field, r->field, "%s", r->what);
        cr_expect(str_starts(err.violations[0].description, r->says), "%s: %s", r->what, err.violations[0].description);
    }
}

// spec.params holds values in lists: each level is two messages.
static void nest(struct str *out, int levels) {
    struct str inner = STR_INIT;
    for (int i = 0; i < levels; i++) {
        struct str outer = STR_INIT;
        size_t n = inner.len;
        char head[12];
        size_t used = 0;
        head[used++] = i % 2 == 0 ? 0x32 : 0x0a; // Value.list_value, ListValue.values
        for (; n >= 0x80; n >>= 7) {
            head[used++] = (char)((n & 0x7f) | 0x80);
        }
        head[used++] = (char)n;
        str_add_bytes(&outer, head, used);
        str_add_bytes(&outer, str_text(&inner), inner.len);
        str_done(&inner);
        inner = outer;
    }
    *out = inner;
}

Test(wire, depth_has_a_bound) {
    const ProtobufCMessageDescriptor *d = descriptor("trainer.v1.JobSpec");
    const ProtobufCFieldDescriptor *params = protobuf_c_message_descriptor_get_field_by_name(d, "params");
    const ProtobufCMessageDescriptor *entry =
        ((const ProtobufCMessageDescriptor *)params->descriptor)->fields[0].descriptor;
    const ProtobufCMessageDescriptor *value = entry->fields[1].descriptor;
    for (int levels = 62; levels <= 66; levels += 2) { // an even number begins with a ListValue's field
        CLEANUP(str_done) struct str bytes = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        nest(&bytes, levels + 1);
        bool ok = api_wire_check(value, str_text(&bytes), bytes.len, &err);
        cr_expect_eq(ok, levels + 2 <= API_DEPTH_MAX, "%d levels", levels);
        if (!ok) {
            cr_assert_eq(err.violation_count, 1);
            cr_expect_str_eq(err.violations[0].description, "is nested deeper than 64 messages");
        }
    }
}

Test(wire, memory_has_a_bound) {
    CLEANUP(str_done) struct str bytes = STR_INIT;
    CLEANUP(err_done) struct err err = ERR_INIT;
    struct arena a = {0};
    for (size_t i = 0; i < 1000000; i++) {
        str_add_bytes(&bytes, "\x4a\x00", 2); // roles: two bytes that become a whole struct
    }
    cr_expect_null(api_unpack(descriptor("trainer.v1.JobSpec"), &a, str_text(&bytes), bytes.len, &err));
    cr_expect_eq((int)err.code, (int)ERR_EXHAUSTED);
    cr_expect_str_eq(err.reason, "REQUEST_TOO_LARGE");
    arena_done(&a);
}
