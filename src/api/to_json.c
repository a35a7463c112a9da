// A message to its proto3 JSON form, by its descriptor. Fields with their default are left out; names are those of the
// .proto.
#include "api/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/struct.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_base64(struct json_writer *w, const ProtobufCBinaryData *b) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    CLEANUP(str_done) struct str out = STR_INIT;
    str_reserve(&out, b->len / 3 * 4 + 4);
    for (size_t i = 0; i < b->len; i += 3) {
        size_t have = b->len - i < 3 ? b->len - i : 3;
        uint32_t v = (uint32_t)b->data[i] << 16 | (have > 1 ? (uint32_t)b->data[i + 1] << 8 : 0) |
                     (have > 2 ? b->data[i + 2] : 0U);
        for (size_t k = 0; k < 4; k++) {
            str_add_char(&out, k <= have ? alphabet[v >> (18 - 6 * k) & 63] : '=');
        }
    }
    json_add_bytes(w, str_text(&out), out.len);
}

static void put_enum(struct json_writer *w, const ProtobufCEnumDescriptor *d, int value) {
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(d, value);
    if (v != NULL) {
        json_add_string(w, v->name);
    } else {
        json_add_int(w, value); // of a newer contract
    }
}

static void put_int64_text(struct json_writer *w, bool is_signed, const void *at) {
    char text[24];
    if (is_signed) {
        int64_t v;
        memcpy(&v, at, sizeof v);
        snprintf(text, sizeof text, "%" PRId64, v);
    } else {
        uint64_t v;
        memcpy(&v, at, sizeof v);
        snprintf(text, sizeof text, "%" PRIu64, v);
    }
    json_add_string(w, text);
}

static void put_value(struct json_writer *w, const ProtobufCFieldDescriptor *f, const void *at) {
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        json_add_int(w, *(const int32_t *)at);
        return;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        json_add_int(w, *(const uint32_t *)at);
        return;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        put_int64_text(w, true, at);
        return;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        put_int64_text(w, false, at);
        return;
    case PROTOBUF_C_TYPE_FLOAT:
        json_add_double(w, (double)*(const float *)at);
        return;
    case PROTOBUF_C_TYPE_DOUBLE:
        json_add_double(w, *(const double *)at);
        return;
    case PROTOBUF_C_TYPE_BOOL:
        json_add_bool(w, *(const protobuf_c_boolean *)at != 0);
        return;
    case PROTOBUF_C_TYPE_ENUM:
        put_enum(w, f->descriptor, *(const int *)at);
        return;
    case PROTOBUF_C_TYPE_STRING:
        json_add_string(w, *(const char *const *)at);
        return;
    case PROTOBUF_C_TYPE_BYTES:
        put_base64(w, at);
        return;
    case PROTOBUF_C_TYPE_MESSAGE:
        api_message_to_json(*(const ProtobufCMessage *const *)at, w);
        return;
    }
}

static size_t size_of(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static bool is_default(const ProtobufCFieldDescriptor *f, const void *at) {
    static const char zeros[16] = {0};
    if (f->type == PROTOBUF_C_TYPE_STRING) {
        const char *text = *(const char *const *)at;
        return text == NULL || text[0] == '\0';
    }
    if (f->type == PROTOBUF_C_TYPE_BYTES) {
        return ((const ProtobufCBinaryData *)at)->len == 0;
    }
    return memcmp(at, zeros, size_of(f->type)) == 0;
}

static void put_repeated(struct json_writer *w, const ProtobufCFieldDescriptor *f, const void *array, size_t n) {
    const char *at = array;
    json_begin_array(w);
    for (size_t i = 0; i < n; i++, at += size_of(f->type)) {
        put_value(w, f, at);
    }
    json_end_array(w);
}

static const void *member(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    return (const char *)m + f->offset;
}

// An entry may come without its value, which then has its default: as a message it is not there at all.
static void put_entry(struct json_writer *w, const ProtobufCFieldDescriptor *f, const void *at) {
    if (f->type != PROTOBUF_C_TYPE_MESSAGE || *(const ProtobufCMessage *const *)at != NULL) {
        put_value(w, f, at);
    } else if (api_known(f->descriptor) == KNOWN_VALUE) {
        json_add_null(w);
    } else {
        json_begin_object(w);
        json_end_object(w);
    }
}

// Keys of this contract's maps are texts.
static void put_map(struct json_writer *w, const ProtobufCFieldDescriptor *f, const void *array, size_t n) {
    const ProtobufCMessage *const *entries = array;
    const ProtobufCMessageDescriptor *d = f->descriptor;
    json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        const char *key = *(const char *const *)member(entries[i], &d->fields[0]);
        json_key(w, key != NULL ? key : "");
        put_entry(w, &d->fields[1], member(entries[i], &d->fields[1]));
    }
    json_end_object(w);
}

static void put_field(struct json_writer *w, const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    const void *at = member(m, f);
    const void *quantifier = (const char *)m + f->quantifier_offset;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t n;
        memcpy(&n, quantifier, sizeof n);
        if (n == 0) {
            return;
        }
        json_key(w, f->name);
        const void *array = *(const void *const *)at;
        if (api_is_map(f)) {
            put_map(w, f, array, n);
        } else {
            put_repeated(w, f, array, n);
        }
        return;
    }
    if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        uint32_t chosen;
        memcpy(&chosen, quantifier, sizeof chosen);
        if (chosen != f->id) {
            return;
        }
    } else if (is_default(f, at)) {
        return;
    }
    json_key(w, f->name);
    put_value(w, f, at);
}

static void put_timestamp(struct json_writer *w, const Google__Protobuf__Timestamp *t) {
    char text[CLOCK_TEXT_MAX];
    int64_t wall;
    if (__builtin_mul_overflow(t->seconds, CLOCK_SECOND, &wall) || __builtin_add_overflow(wall, t->nanos, &wall)) {
        wall = t->seconds < 0 ? INT64_MIN : INT64_MAX; // nobody's time: the nearest that can be said
    }
    clock_format(wall, text);
    json_add_string(w, text);
}

static void put_duration(struct json_writer *w, const Google__Protobuf__Duration *d) {
    char text[40];
    bool negative = d->seconds < 0 || d->nanos < 0;
    uint64_t seconds = d->seconds < 0 ? -(uint64_t)d->seconds : (uint64_t)d->seconds;
    uint32_t nanos = d->nanos < 0 ? -(uint32_t)d->nanos : (uint32_t)d->nanos;
    int n = snprintf(text, sizeof text, "%s%" PRIu64, negative ? "-" : "", seconds);
    if (nanos != 0) {
        n += snprintf(text + n, sizeof text - (size_t)n, ".%09" PRIu32, nanos);
        while (text[n - 1] == '0') {
            n--;
        }
    }
    snprintf(text + n, sizeof text - (size_t)n, "s");
    json_add_string(w, text);
}

static void put_any_value(struct json_writer *w, const Google__Protobuf__Value *v) {
    switch (v->kind_case) {
    case GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE:
        json_add_double(w, v->number_value);
        return;
    case GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE:
        json_add_string(w, v->string_value);
        return;
    case GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE:
        json_add_bool(w, v->bool_value != 0);
        return;
    case GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE:
        api_message_to_json(&v->struct_value->base, w);
        return;
    case GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE:
        api_message_to_json(&v->list_value->base, w);
        return;
    default:
        json_add_null(w);
        return;
    }
}

void api_message_to_json(const ProtobufCMessage *m, struct json_writer *w) {
    const ProtobufCMessageDescriptor *d = m->descriptor;
    switch (api_known(d)) {
    case KNOWN_TIMESTAMP:
        put_timestamp(w, (const Google__Protobuf__Timestamp *)m);
        return;
    case KNOWN_DURATION:
        put_duration(w, (const Google__Protobuf__Duration *)m);
        return;
    case KNOWN_VALUE:
        put_any_value(w, (const Google__Protobuf__Value *)m);
        return;
    case KNOWN_WRAPPER:
        put_value(w, &d->fields[0], member(m, &d->fields[0]));
        return;
    case KNOWN_STRUCT: {
        const Google__Protobuf__Struct *s = (const Google__Protobuf__Struct *)m;
        put_map(w, &d->fields[0], s->fields, s->n_fields);
        return;
    }
    case KNOWN_LIST: {
        const Google__Protobuf__ListValue *l = (const Google__Protobuf__ListValue *)m;
        put_repeated(w, &d->fields[0], l->values, l->n_values);
        return;
    }
    case KNOWN_NOT:
        break;
    }
    json_begin_object(w);
    for (unsigned i = 0; i < d->n_fields; i++) {
        put_field(w, m, &d->fields[i]);
    }
    json_end_object(w);
}

bool api_wire_to_json(const char *message, const void *data, size_t n, struct str *out, struct err *err) {
    const ProtobufCMessageDescriptor *d = api_find_message(message);
    if (d == NULL) {
        return err_fail(err, ERR_INTERNAL, "NO_SUCH_MESSAGE", "there is no message %s", message);
    }
    // From a server: one that is newer may send fields that are not known here, so only what cannot be read is an
    // error.
    ProtobufCMessage *m = protobuf_c_message_unpack(d, NULL, n, data);
    if (m == NULL) {
        return err_fail(err, ERR_DATA_LOSS, "BAD_MESSAGE", "the bytes are no %s", message);
    }
    struct json_writer w;
    json_writer_init(&w, out);
    api_message_to_json(m, &w);
    protobuf_c_message_free_unpacked(m, NULL);
    return json_writer_ok(&w) || err_fail(err, ERR_INTERNAL, "BAD_MESSAGE", "%s has no JSON form", message);
}
