// Names and descriptors: the service's methods, its messages, the types with a JSON form of their own.
#include "api/internal.h"

#include "trainer/v1/service.pb-c.h"

#include <string.h>

enum { METHODS_MAX = 64 };

static const ProtobufCServiceDescriptor *service(void) {
    return &trainer__v1__trainer_service__descriptor;
}

static const ProtobufCMethodDescriptor *method_of(const char *name) {
    return protobuf_c_service_descriptor_get_method_by_name(service(), name);
}

const char *api_method_input(const char *method) {
    const ProtobufCMethodDescriptor *m = method_of(method);
    return m != NULL ? m->input->name : NULL;
}

const char *api_method_output(const char *method) {
    const ProtobufCMethodDescriptor *m = method_of(method);
    return m != NULL ? m->output->name : NULL;
}

// protobuf-c's descriptors do not say what streams; the contract does, and a test compares.
bool api_method_streams(const char *method) {
    static const char *const streams[] = {"Watch", "SubmitAndWatch", "Logs"};
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        if (str_same(streams[i], method)) {
            return true;
        }
    }
    return false;
}

const char *const *api_methods(void) {
    static const char *names[METHODS_MAX + 1];
    for (unsigned i = 0; i < service()->n_methods && i < METHODS_MAX; i++) {
        names[i] = service()->methods[i].name;
    }
    return names;
}

const ProtobufCMessageDescriptor *api_find_message(const char *full_name) {
    for (unsigned i = 0; i < service()->n_methods; i++) {
        const ProtobufCMethodDescriptor *m = &service()->methods[i];
        if (str_same(m->input->name, full_name)) {
            return m->input;
        }
        if (str_same(m->output->name, full_name)) {
            return m->output;
        }
    }
    return str_same(full_name, "trainer.v1.JobSpec") ? &trainer__v1__job_spec__descriptor : NULL;
}

enum known api_known(const ProtobufCMessageDescriptor *d) {
    static const struct {
        const char *name;
        enum known known;
    } table[] = {{"Timestamp", KNOWN_TIMESTAMP}, {"Duration", KNOWN_DURATION},   {"Struct", KNOWN_STRUCT},
                 {"Value", KNOWN_VALUE},         {"ListValue", KNOWN_LIST},      {"Int32Value", KNOWN_WRAPPER},
                 {"Int64Value", KNOWN_WRAPPER},  {"UInt32Value", KNOWN_WRAPPER}, {"UInt64Value", KNOWN_WRAPPER},
                 {"BoolValue", KNOWN_WRAPPER},   {"StringValue", KNOWN_WRAPPER}, {"BytesValue", KNOWN_WRAPPER},
                 {"DoubleValue", KNOWN_WRAPPER}, {"FloatValue", KNOWN_WRAPPER}};
    static const char prefix[] = "google.protobuf.";
    if (!str_starts(d->name, prefix)) {
        return KNOWN_NOT;
    }
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_same(table[i].name, d->name + sizeof prefix - 1)) {
            return table[i].known;
        }
    }
    return KNOWN_NOT;
}

bool api_is_map(const ProtobufCFieldDescriptor *f) {
    if (f->label != PROTOBUF_C_LABEL_REPEATED || f->type != PROTOBUF_C_TYPE_MESSAGE) {
        return false;
    }
    const ProtobufCMessageDescriptor *d = f->descriptor;
    return d->n_fields == 2 && str_ends(d->short_name, "Entry") && str_same(d->fields[0].name, "key") &&
           str_same(d->fields[1].name, "value");
}
