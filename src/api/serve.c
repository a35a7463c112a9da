// The messages of health and reflection.
#include "api/internal.h"

#include "base/mem.h"
#include "descriptors.h"

#include "grpc/health/v1/health.pb-c.h"
#include "grpc/reflection/v1/reflection.pb-c.h"

#include <string.h>

bool api_decode_health(struct arena *a, const void *data, size_t n, const char **ret_service, struct err *err) {
    const Grpc__Health__V1__HealthCheckRequest *m =
        api_unpack(&grpc__health__v1__health_check_request__descriptor, a, data, n, err);
    if (m == NULL) {
        return false;
    }
    *ret_service = m->service;
    return true;
}

void api_encode_health(int32_t serving_status, struct str *out) {
    Grpc__Health__V1__HealthCheckResponse m = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    m.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)serving_status;
    api_pack(&m.base, out);
}

// ---- Reflection
// ----------------------------------------------------------------------------------------------------------------------

typedef Grpc__Reflection__V1__ServerReflectionRequest request;
typedef Grpc__Reflection__V1__ServerReflectionResponse response;

static const struct descriptor_file *by_name(const char *name) {
    for (unsigned i = 0; i < descriptor_file_count; i++) {
        if (str_same(descriptor_files[i].name, name)) {
            return &descriptor_files[i];
        }
    }
    return NULL;
}

static const struct descriptor_file *by_symbol(const char *symbol) {
    for (unsigned i = 0; i < descriptor_file_count; i++) {
        for (const char *const *s = descriptor_files[i].symbols; *s != NULL; s++) {
            if (str_same(*s, symbol)) {
                return &descriptor_files[i];
            }
        }
    }
    return NULL;
}

static void put_error(struct arena *a, response *out, const char *fmt, const char *what) {
    Grpc__Reflection__V1__ErrorResponse *e = ARENA_NEW(a, Grpc__Reflection__V1__ErrorResponse);
    grpc__reflection__v1__error_response__init(e);
    e->error_code = ERR_NOT_FOUND;
    e->error_message = arena_printf(a, "%s %.200s", fmt, what);
    str_utf8_mend(e->error_message);
    out->message_response_case = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
    out->error_response = e;
}

static void put_file(struct arena *a, response *out, const struct descriptor_file *f, const char *wanted) {
    if (f == NULL) {
        put_error(a, out, "not found:", wanted);
        return;
    }
    Grpc__Reflection__V1__FileDescriptorResponse *r = ARENA_NEW(a, Grpc__Reflection__V1__FileDescriptorResponse);
    grpc__reflection__v1__file_descriptor_response__init(r);
    r->file_descriptor_proto = ARENA_NEW(a, ProtobufCBinaryData);
    r->file_descriptor_proto[0] = (ProtobufCBinaryData){.len = f->size, .data = (uint8_t *)(uintptr_t)f->data};
    r->n_file_descriptor_proto = 1;
    out->message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
    out->file_descriptor_response = r;
}

static void put_services(struct arena *a, response *out) {
    static const char *const names[] = {"trainer.v1.TrainerService", "grpc.health.v1.Health",
                                        "grpc.reflection.v1.ServerReflection",
                                        "grpc.reflection.v1alpha.ServerReflection"};
    Grpc__Reflection__V1__ListServiceResponse *l = ARENA_NEW(a, Grpc__Reflection__V1__ListServiceResponse);
    grpc__reflection__v1__list_service_response__init(l);
    l->service = ARENA_NEW_ARRAY(a, Grpc__Reflection__V1__ServiceResponse *, ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        Grpc__Reflection__V1__ServiceResponse *s = ARENA_NEW(a, Grpc__Reflection__V1__ServiceResponse);
        grpc__reflection__v1__service_response__init(s);
        s->name = (char *)(uintptr_t)names[i];
        l->service[l->n_service++] = s;
    }
    out->message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
    out->list_services_response = l;
}

bool api_reflect(const void *data, size_t n, struct str *out, struct err *err) {
    CLEANUP(arena_done) struct arena a = {0};
    request *m = api_unpack(&grpc__reflection__v1__server_reflection_request__descriptor, &a, data, n, err);
    if (m == NULL) {
        return false;
    }
    response r = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    r.valid_host = m->host;
    r.original_request = m;
    switch (m->message_request_case) {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        put_services(&a, &r);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        put_file(&a, &r, by_name(m->file_by_filename), m->file_by_filename);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        put_file(&a, &r, by_symbol(m->file_containing_symbol), m->file_containing_symbol);
        break;
    default:
        put_error(&a, &r, "not found:", "this contract has no extensions");
        break;
    }
    api_pack(&r.base, out);
    return true;
}
