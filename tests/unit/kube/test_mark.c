#include "kube/mark.h"

#include "base/mem.h"

#include <criterion/criterion.h>
#include <string.h>

static char *identified(const char *text, const struct kube_mark *identity) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    struct str out = STR_INIT;
    cr_assert(json_parse(&a, text, strlen(text), &json_limits_default, &tree, &err), "%s", err.message);
    kube_mark_object(&out, tree, identity);
    return str_take(&out);
}

Test(mark, object_and_every_pod_template_are_marked) {
    const struct kube_mark id = {
        .uid = "0123", .namespace_ = "team", .request_id = "r \"1\"", .spec_hash = "ab", .spec_json = "{}"};
    CLEANUP(mem_free_ptr)
    char *is =
        identified("{\"apiVersion\":\"g/v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}},"
                   "\"spec\":{\"replicas\":{\"Master\":{\"template\":{\"spec\":{\"containers\":[]}}},"
                   "\"Worker\":{\"template\":{\"metadata\":{\"labels\":{\"x\":\"y\"},\"annotations\":{\"p\":\"q\"}},"
                   "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}},"
                   "\"template\":{\"no\":\"pod\"}}}",
                   &id);
    cr_expect_str_eq(
        is,
        "{\"apiVersion\":\"g/v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\",\"namespace\":\"team\",\"labels\":{\"a\":"
        "\"b\",\"app.kubernetes.io/managed-by\":\"trainerd\",\"trainerd/job-uid\":\"0123\"},\"annotations\":{"
        "\"trainerd/request-id\":\"r \\\"1\\\"\",\"trainerd/spec-hash\":\"ab\",\"trainerd/spec\":\"{}\"}},"
        "\"spec\":{\"replicas\":{\"Master\":{\"template\":{\"metadata\":{\"labels\":{\"trainerd/job-uid\":\"0123\"}},"
        "\"spec\":{\"containers\":[]}}},\"Worker\":{\"template\":{\"metadata\":{\"labels\":{\"x\":\"y\","
        "\"trainerd/job-uid\":\"0123\"},\"annotations\":{\"p\":\"q\"}},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}},"
        "\"template\":{\"no\":\"pod\"}}}",
        "%s", is);
}

Test(mark, a_mark_that_the_user_forged_is_replaced_and_a_namespace_kept) {
    const struct kube_mark id = {.uid = "0123", .namespace_ = "team"};
    CLEANUP(mem_free_ptr)
    char *is = identified("{\"metadata\":{\"namespace\":\"own\",\"labels\":{\"trainerd/job-uid\":\"forged\"}}}", &id);
    cr_expect_str_eq(is,
                     "{\"metadata\":{\"namespace\":\"own\",\"labels\":{\"app.kubernetes.io/managed-by\":\"trainerd\","
                     "\"trainerd/job-uid\":\"0123\"},\"annotations\":{}}}",
                     "%s", is);
}

Test(mark, a_long_spec_stays_off_the_object) {
    CLEANUP(mem_free_ptr) char *spec = mem_alloc(KUBE_SPEC_NOTE_MAX + 2);
    memset(spec, 'x', KUBE_SPEC_NOTE_MAX + 1);
    spec[KUBE_SPEC_NOTE_MAX + 1] = '\0';
    struct kube_mark id = {.uid = "0123", .namespace_ = "team", .spec_json = spec};
    CLEANUP(mem_free_ptr) char *without = identified("{\"metadata\":{}}", &id);
    cr_expect_null(strstr(without, "trainerd/spec\""));
    spec[KUBE_SPEC_NOTE_MAX] = '\0';
    CLEANUP(mem_free_ptr) char *with = identified("{\"metadata\":{}}", &id);
    cr_expect_not_null(strstr(with, "trainerd/spec\""));
}
