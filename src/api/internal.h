// What the files of api/ share. Generated headers are included in .c files of this room only.
#ifndef API_INTERNAL_H
#define API_INTERNAL_H

#include "api/api.h"

#include <protobuf-c/protobuf-c.h>

enum { API_COST_MAX = 64 * 1024 * 1024, API_DEPTH_MAX = 64 };

// wire.c: well-formed, depth, UTF-8, no NUL, no unknown fields. The path begins at the message; within a JobSpec it
// begins anew.
bool api_wire_check(const ProtobufCMessageDescriptor *d, const void *data, size_t n, struct err *err);
// Checked, then unpacked into the arena: nothing has to be freed.
void *api_unpack(const ProtobufCMessageDescriptor *d, struct arena *a, const void *data, size_t n, struct err *err);
void api_pack(const ProtobufCMessage *m, struct str *out);

// to_json.c
void api_message_to_json(const ProtobufCMessage *m, struct json_writer *w);
// known.c: google.protobuf types that have a JSON form of their own
enum known { KNOWN_NOT, KNOWN_TIMESTAMP, KNOWN_DURATION, KNOWN_WRAPPER, KNOWN_STRUCT, KNOWN_VALUE, KNOWN_LIST };
enum known api_known(const ProtobufCMessageDescriptor *d);
bool api_is_map(const ProtobufCFieldDescriptor *f); // repeated entries of key and value
const ProtobufCMessageDescriptor *api_find_message(const char *full_name);
// requests.c
void api_page_token(uint64_t selector_hash, int64_t before, char out[40]);

#endif
