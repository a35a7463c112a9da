// JSON to a message, by its descriptor: built in an arena as protobuf-c's own structs, then packed.
#include "api/internal.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct build {
    struct arena *arena;
    struct err *err;
    struct str path;
};

static bool message(struct build *b, const ProtobufCMessageDescriptor *d, const struct json *node,
                    ProtobufCMessage **ret);

static bool fail(struct build *b, const char *what) {
    return err_violate(b->err, b->path.len != 0 ? str_text(&b->path) : "request", "%s", what);
}

static size_t enter(struct build *b, const char *name) {
    size_t mark = b->path.len;
    str_printf(&b->path, "%s%s", mark != 0 && name[0] != '[' ? "." : "", name);
    return mark;
}

static void leave(struct build *b, size_t mark) {
    b->path.len = mark;
    if (b->path.data != NULL) {
        b->path.data[mark] = '\0';
    }
}

// ---- Scalars
// -----------------------------------------------------------------------------------------------------------------------

static bool integer(struct build *b, const struct json *node, int64_t min, int64_t max, int64_t *ret) {
    bool ok = node->type == JSON_STRING ? str_to_int64(node->text, min, max, ret)
                                        : json_int(node, ret) && *ret >= min && *ret <= max;
    if (!ok) {
        double v;
        ok = json_double(node, &v) && v >= (double)min && v <= (double)max && floor(v) == v && fabs(v) < 9e15; // 1e3
        if (ok) {
            *ret = (int64_t)v;
        }
    }
    if (!ok) {
        char text[96];
        snprintf(text, sizeof text, "must be a whole number from %lld to %lld", (long long)min, (long long)max);
        return fail(b, text);
    }
    return true;
}

static bool floating(struct build *b, const struct json *node, double *ret) {
    static const struct {
        const char *name;
        double value;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    if (json_double(node, ret)) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_same(words[i].name, json_string(node, NULL))) {
            *ret = words[i].value;
            return true;
        }
    }
    return fail(b, "must be a number");
}

static bool enumeration(struct build *b, const ProtobufCEnumDescriptor *d, const struct json *node, int *ret) {
    int64_t number;
    const char *names[128];
    unsigned n = d->n_value_names < ARRAY_LEN(names) ? d->n_value_names : (unsigned)ARRAY_LEN(names);
    if (json_int(node, &number)) {
        return integer(b, node, INT32_MIN, INT32_MAX, &number) && (*ret = (int)number, true);
    }
    const char *text = json_string(node, "");
    for (unsigned i = 0; i < n; i++) {
        names[i] = d->values_by_name[i].name;
        if (str_same_nocase(names[i], text)) {
            *ret = d->values[d->values_by_name[i].index].value;
            return true;
        }
    }
    CLEANUP(str_done) struct str known = STR_INIT;
    for (unsigned i = 0; i < d->n_values; i++) {
        if (!str_ends(d->values[i].name, "UNSPECIFIED")) {
            str_printf(&known, "%s%s", known.len == 0 ? "must be one of " : ", ", d->values[i].name);
        }
    }
    return fail(b, str_text(&known));
}

static bool bytes(struct build *b, const struct json *node, ProtobufCBinaryData *ret) {
    if (node->type != JSON_STRING) {
        return fail(b, "must be base64 text");
    }
    char *text = arena_strndup(b->arena, node->text, node->length);
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '=') {
        text[--n] = '\0';
    }
    for (char *p = text; *p != '\0'; p++) {
        *p = (char)(*p == '+' ? '-' : *p == '/' ? '_' : *p);
    }
    ret->data = arena_alloc(b->arena, n);
    long got = id_base64url_decode(text, ret->data, n);
    ret->len = got > 0 ? (size_t)got : 0;
    return got >= 0 || fail(b, "must be base64 text");
}

static bool put(struct build *b, const ProtobufCFieldDescriptor *f, const struct json *node, void *at) {
    int64_t number;
    double real;
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return integer(b, node, INT32_MIN, INT32_MAX, &number) && (*(int32_t *)at = (int32_t)number, true);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        return integer(b, node, 0, UINT32_MAX, &number) && (*(uint32_t *)at = (uint32_t)number, true);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return integer(b, node, INT64_MIN, INT64_MAX, &number) && (memcpy(at, &number, sizeof number), true);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return integer(b, node, 0, INT64_MAX, &number) && (memcpy(at, &number, sizeof number), true);
    case PROTOBUF_C_TYPE_FLOAT:
        return floating(b, node, &real) && (*(float *)at = (float)real, true);
    case PROTOBUF_C_TYPE_DOUBLE:
        return floating(b, node, &real) && (memcpy(at, &real, sizeof real), true);
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = json_bool(node, false);
        return node->type == JSON_BOOL || fail(b, "must be true or false");
    case PROTOBUF_C_TYPE_ENUM:
        return enumeration(b, f->descriptor, node, at);
    case PROTOBUF_C_TYPE_STRING: {
        const char *text = node->text;
        memcpy(at, &text, sizeof text);
        return node->type == JSON_STRING || fail(b, "must be a text");
    }
    case PROTOBUF_C_TYPE_BYTES:
        return bytes(b, node, at);
    case PROTOBUF_C_TYPE_MESSAGE: {
        ProtobufCMessage *m = NULL;
        bool ok = message(b, f->descriptor, node, &m);
        memcpy(at, &m, sizeof m);
        return ok;
    }
    }
    return false;
}

static size_t size_of(const ProtobufCFieldDescriptor *f) {
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

// ---- Messages
// ----------------------------------------------------------------------------------------------------------------------

static ProtobufCMessage *new_message(struct build *b, const ProtobufCMessageDescriptor *d) {
    ProtobufCMessage *m = arena_alloc(b->arena, d->sizeof_message);
    protobuf_c_message_init(d, m);
    return m;
}

static bool map(struct build *b, const ProtobufCFieldDescriptor *f, const struct json *node, ProtobufCMessage ***ret,
                size_t *ret_n) {
    const ProtobufCMessageDescriptor *d = f->descriptor;
    if (node->type != JSON_OBJECT) {
        return fail(b, "must be an object");
    }
    ProtobufCMessage **entries = ARENA_NEW_ARRAY(b->arena, ProtobufCMessage *, node->count);
    size_t n = 0;
    JSON_EACH (child, node) {
        char name[300];
        snprintf(name, sizeof name, "[\"%.280s\"]", child->key);
        size_t mark = enter(b, name);
        ProtobufCMessage *e = new_message(b, d);
        memcpy((char *)e + d->fields[0].offset, &child->key, sizeof child->key);
        if (!put(b, &d->fields[1], child, (char *)e + d->fields[1].offset)) {
            return false;
        }
        entries[n++] = e;
        leave(b, mark);
    }
    *ret = entries;
    *ret_n = n;
    return true;
}

static bool repeated(struct build *b, const ProtobufCFieldDescriptor *f, const struct json *node, void **ret,
                     size_t *ret_n) {
    if (node->type != JSON_ARRAY) {
        return fail(b, "must be a list");
    }
    char *items = arena_alloc(b->arena, node->count * size_of(f));
    size_t n = 0;
    JSON_EACH (child, node) {
        char name[32];
        snprintf(name, sizeof name, "[%zu]", n);
        size_t mark = enter(b, name);
        if (!put(b, f, child, items + n * size_of(f))) {
            return false;
        }
        leave(b, mark);
        n++;
    }
    *ret = items;
    *ret_n = n;
    return true;
}

static bool field(struct build *b, const ProtobufCFieldDescriptor *f, const struct json *node, ProtobufCMessage *m) {
    void *at = (char *)m + f->offset;
    void *quantifier = (char *)m + f->quantifier_offset;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        void *items = NULL;
        size_t n = 0;
        bool ok = api_is_map(f) ? map(b, f, node, (ProtobufCMessage ***)&items, &n) : repeated(b, f, node, &items, &n);
        memcpy(at, &items, sizeof items);
        memcpy(quantifier, &n, sizeof n);
        return ok;
    }
    if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        uint32_t chosen;
        memcpy(&chosen, quantifier, sizeof chosen);
        if (chosen != 0) {
            return fail(b, "excludes another field that is set: only one of them may be");
        }
        chosen = f->id;
        memcpy(quantifier, &chosen, sizeof chosen);
    }
    return put(b, f, node, at);
}

// "restartPolicy" for "restart_policy".
static bool same_name(const char *snake, const char *given) {
    const char *g = given;
    for (const char *s = snake; *s != '\0'; s++) {
        if (*s == '_' && s[1] >= 'a' && s[1] <= 'z' && *g == s[1] - 'a' + 'A') {
            s++;
            g++;
        } else if (*g++ != *s) {
            return false;
        }
    }
    return *g == '\0';
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *d, const char *name) {
    for (unsigned i = 0; i < d->n_fields; i++) {
        if (str_same(d->fields[i].name, name) || same_name(d->fields[i].name, name)) {
            return &d->fields[i];
        }
    }
    return NULL;
}

static bool unknown(struct build *b, const ProtobufCMessageDescriptor *d, const char *name) {
    const char *names[64];
    size_t n = 0;
    for (; n < d->n_fields && n < ARRAY_LEN(names); n++) {
        names[n] = d->fields[n].name;
    }
    const char *nearest = str_nearest(name, names, n);
    char text[200];
    snprintf(text, sizeof text, nearest != NULL ? "unknown field, did you mean %s?" : "unknown field",
             nearest != NULL ? nearest : "");
    return fail(b, text);
}

static bool plain_message(struct build *b, const ProtobufCMessageDescriptor *d, const struct json *node,
                          ProtobufCMessage *m) {
    bool *seen = ARENA_NEW_ARRAY(b->arena, bool, d->n_fields);
    if (node->type != JSON_OBJECT) {
        return fail(b, "must be an object");
    }
    JSON_EACH (child, node) {
        size_t mark = enter(b, child->key);
        const ProtobufCFieldDescriptor *f = find_field(d, child->key);
        if (f == NULL) {
            return unknown(b, d, child->key);
        }
        if (seen[f - d->fields]) { // "run_policy" and "runPolicy"
            return fail(b, "is set twice, in both spellings");
        }
        seen[f - d->fields] = true;
        if (child->type != JSON_NULL && !field(b, f, child, m)) { // null is absent
            return false;
        }
        leave(b, mark);
    }
    return true;
}

// Both have seconds and nanos as their fields 1 and 2.
static void set_time(const ProtobufCMessageDescriptor *d, ProtobufCMessage *m, int64_t seconds, int32_t nanos) {
    memcpy((char *)m + d->fields[0].offset, &seconds, sizeof seconds);
    memcpy((char *)m + d->fields[1].offset, &nanos, sizeof nanos);
}

static bool timestamp(struct build *b, const ProtobufCMessageDescriptor *d, const struct json *node,
                      ProtobufCMessage *m) {
    int64_t wall;
    if (node->type != JSON_STRING || !clock_parse(node->text, &wall)) {
        return fail(b, "must be a time such as \"2026-01-02T03:04:05Z\"");
    }
    int64_t nanos = wall % CLOCK_SECOND;
    set_time(d, m, (wall - (nanos < 0 ? nanos + CLOCK_SECOND : nanos)) / CLOCK_SECOND,
             (int32_t)(nanos < 0 ? nanos + CLOCK_SECOND : nanos));
    return true;
}

static bool duration(struct build *b, const ProtobufCMessageDescriptor *d, const struct json *node,
                     ProtobufCMessage *m) {
    const char *p = json_string(node, "");
    int sign = *p == '-' ? -1 : 1;
    p += *p == '-';
    char *end = NULL;
    long long seconds = strtoll(p, &end, 10);
    int64_t nanos = 0;
    if (*p < '0' || *p > '9' || seconds > 315576000000LL) {
        return fail(b, "must be a duration in seconds such as \"90s\" or \"0.5s\"");
    }
    if (*end == '.') {
        int64_t unit = CLOCK_SECOND / 10;
        for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10) {
            nanos += (*end - '0') * unit;
        }
    }
    if (strcmp(end, "s") != 0) {
        return fail(b, "must be a duration in seconds such as \"90s\" or \"0.5s\"");
    }
    set_time(d, m, sign * seconds, (int32_t)(sign * nanos));
    return true;
}

// google.protobuf.Value: the member of its oneof that fits the type.
static bool any_value(struct build *b, const ProtobufCMessageDescriptor *d, const struct json *node,
                      ProtobufCMessage *m) {
    static const char *const members[] = {"null_value",   "bool_value", "number_value",
                                          "string_value", "list_value", "struct_value"};
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(d, members[node->type]);
    if (node->type == JSON_NULL) {
        memcpy((char *)m + f->quantifier_offset, &f->id, sizeof f->id);
        return true;
    }
    return field(b, f, node, m);
}

static bool message(struct build *b, const ProtobufCMessageDescriptor *d, const struct json *node,
                    ProtobufCMessage **ret) {
    ProtobufCMessage *m = new_message(b, d);
    *ret = m;
    switch (api_known(d)) {
    case KNOWN_TIMESTAMP:
        return timestamp(b, d, node, m);
    case KNOWN_DURATION:
        return duration(b, d, node, m);
    case KNOWN_WRAPPER:
        return put(b, &d->fields[0], node, (char *)m + d->fields[0].offset);
    case KNOWN_VALUE:
        return any_value(b, d, node, m);
    case KNOWN_STRUCT:
    case KNOWN_LIST:
        return field(b, &d->fields[0], node, m);
    case KNOWN_NOT:
        break;
    }
    return plain_message(b, d, node, m);
}

bool api_json_to_wire(const char *name, const struct json *tree, struct str *out, struct err *err) {
    const ProtobufCMessageDescriptor *d = api_find_message(name);
    CLEANUP(arena_done) struct arena a = {0};
    struct build b = {.arena = &a, .err = err};
    ProtobufCMessage *m = NULL;
    if (d == NULL) {
        return err_fail(err, ERR_INTERNAL, "NO_SUCH_MESSAGE", "there is no message %s", name);
    }
    bool ok = message(&b, d, tree, &m);
    if (ok) {
        api_pack(m, out);
    }
    str_done(&b.path);
    return ok;
}
