// JSON to messages and back: each kind of field, and what is refused with its path.
#include "api/internal.h"

#include <criterion/criterion.h>

static bool there_and_back(const char *message, const char *text, struct str *out, struct err *err) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(str_done) struct str wire = STR_INIT;
    const struct json *tree = NULL;
    cr_assert(json_parse(&a, text, strlen(text), &json_limits_default, &tree, err), "%s", text);
    return api_json_to_wire(message, tree, &wire, err) &&
           api_wire_to_json(message, str_text(&wire), wire.len, out, err);
}

static const char spec[] = "trainer.v1.JobSpec";
static const char list[] = "trainer.v1.ListResponse";

static const struct {
    const char *message, *in, *out;
} good[] = {
    {spec, "{}", "{}"},
    {spec, "{\"name\":\"\"}", "{}"},
    {spec, "{\"name\":null,\"roles\":null}", "{}"},
    {spec, "{\"name\":\"\xc3\xa9\\n\\\"\"}", "{\"name\":\"\xc3\xa9\\n\\\"\"}"},
    {spec, "{\"namePrefix\":\"a\"}", "{\"name_prefix\":\"a\"}"},
    {spec, "{\"labels\":{\"a.b/c\":\"\",\"\":\"x\"}}", "{\"labels\":{\"a.b/c\":\"\",\"\":\"x\"}}"},
    {spec, "{\"roles\":[{},{\"name\":\"w\",\"args\":[\"\",\"b\"]}]}",
     "{\"roles\":[{},{\"name\":\"w\",\"args\":[\"\",\"b\"]}]}"},
    {spec, "{\"roles\":[{\"replicas\":0}]}", "{\"roles\":[{\"replicas\":0}]}"}, // set, though it is 0
    {spec, "{\"roles\":[{\"replicas\":\"7\"}]}", "{\"roles\":[{\"replicas\":7}]}"},
    {spec, "{\"roles\":[{\"replicas\":1e3}]}", "{\"roles\":[{\"replicas\":1000}]}"},
    {spec, "{\"roles\":[{\"replicas\":-2147483648}]}", "{\"roles\":[{\"replicas\":-2147483648}]}"},
    {spec, "{\"roles\":[{\"host_network\":true}]}", "{\"roles\":[{\"host_network\":true}]}"},
    {spec, "{\"roles\":[{\"host_network\":false}]}", "{\"roles\":[{}]}"},
    {spec, "{\"roles\":[{\"restart_policy\":\"on_failure\"}]}", "{\"roles\":[{\"restart_policy\":\"ON_FAILURE\"}]}"},
    {spec, "{\"roles\":[{\"restart_policy\":2}]}", "{\"roles\":[{\"restart_policy\":\"ON_FAILURE\"}]}"},
    {spec, "{\"roles\":[{\"restart_policy\":77}]}", "{\"roles\":[{\"restart_policy\":77}]}"}, // of a newer contract
    {spec, "{\"roles\":[{\"volumes\":[{\"config_map\":\"\"}]}]}",
     "{\"roles\":[{\"volumes\":[{\"config_map\":\"\"}]}]}"},
    {spec, "{\"roles\":[{\"volumes\":[{\"config_map\":\"x\",\"secret\":null}]}]}",
     "{\"roles\":[{\"volumes\":[{\"config_map\":\"x\"}]}]}"},
    {spec, "{\"roles\":[{\"tolerations\":[{\"toleration_seconds\":\"-9223372036854775808\"}]}]}",
     "{\"roles\":[{\"tolerations\":[{\"toleration_seconds\":\"-9223372036854775808\"}]}]}"},
    {spec, "{\"run_policy\":{\"active_deadline\":\"90s\"}}", "{\"run_policy\":{\"active_deadline\":\"90s\"}}"},
    {spec, "{\"run_policy\":{\"active_deadline\":\"-0.5s\"}}", "{\"run_policy\":{\"active_deadline\":\"-0.5s\"}}"},
    {spec, "{\"run_policy\":{\"active_deadline\":\"0s\"}}", "{\"run_policy\":{\"active_deadline\":\"0s\"}}"},
    {spec, "{\"run_policy\":{\"active_deadline\":\"1.000000001s\"}}",
     "{\"run_policy\":{\"active_deadline\":\"1.000000001s\"}}"},
    {spec, "{\"params\":{\"a\":null,\"b\":[1,2.5,\"x\",true,{}],\"c\":{\"d\":[]}}}",
     "{\"params\":{\"a\":null,\"b\":[1,2.5,\"x\",true,{}],\"c\":{\"d\":[]}}}"},
    {list, "{\"total\":9223372036854775807}", "{\"total\":\"9223372036854775807\"}"},
    {list, "{\"total\":\"5\"}", "{\"total\":\"5\"}"},
    {list, "{\"jobs\":[{\"create_time\":\"2026-01-02T03:04:05Z\"}]}",
     "{\"jobs\":[{\"create_time\":\"2026-01-02T03:04:05Z\"}]}"},
};

Test(json, there_and_back) {
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CLEANUP(arena_done) struct arena a = {0};
        CLEANUP(str_done) struct str out = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        const struct json *got = NULL;
        const struct json *due = NULL;
        cr_expect(there_and_back(good[i].message, good[i].in, &out, &err), "%s: %s", good[i].in, err.message);
        cr_assert(json_parse(&a, good[i].out, strlen(good[i].out), &json_limits_default, &due, &err));
        cr_expect(json_parse(&a, str_text(&out), out.len, &json_limits_default, &got, &err) && json_equal(got, due),
                  "%s became %s", good[i].in, str_text(&out));
    }
}

static const struct {
    const char *in, *field, *says;
} bad[] = {
    {"[]", "request", "must be an object"},
    {"{\"nam\":1}", "nam", "unknown field, did you mean name?"},
    {"{\"roles\":[{},{\"imagee\":\"\"}]}", "roles[1].imagee", "unknown field, did you mean image?"},
    {"{\"name\":1}", "name", "must be a text"},
    {"{\"roles\":{}}", "roles", "must be a list"},
    {"{\"roles\":[null]}", "roles[0]", "must be an object"},
    {"{\"labels\":[]}", "labels", "must be an object"},
    {"{\"labels\":{\"a.b\":1}}", "labels[\"a.b\"]", "must be a text"},
    {"{\"roles\":[{\"replicas\":2147483648}]}", "roles[0].replicas",
     "must be a whole number from -2147483648 to 2147483647"},
    {"{\"roles\":[{\"replicas\":1.5}]}", "roles[0].replicas", "must be a whole number"},
    {"{\"roles\":[{\"replicas\":\" 1\"}]}", "roles[0].replicas", "must be a whole number"},
    {"{\"roles\":[{\"host_network\":\"true\"}]}", "roles[0].host_network", "must be true or false"},
    {"{\"roles\":[{\"restart_policy\":\"SOON\"}]}", "roles[0].restart_policy", "must be one of "},
    {"{\"roles\":[{\"volumes\":[{\"config_map\":\"x\",\"secret\":\"y\"}]}]}", "roles[0].volumes[0].secret",
     "excludes another field"},
    {"{\"run_policy\":{\"active_deadline\":\"5\"}}", "run_policy.active_deadline", "must be a duration"},
    {"{\"run_policy\":{\"active_deadline\":5}}", "run_policy.active_deadline", "must be a duration"},
    {"{\"run_policy\":{\"active_deadline\":\"315576000001s\"}}", "run_policy.active_deadline", "must be a duration"},
    {"{\"run_policy\":{\"active_deadline\":\"\\t5s\"}}", "run_policy.active_deadline", "must be a duration"},
    {"{\"params\":[]}", "params", "must be an object"},
    {"{\"run_policy\":{},\"runPolicy\":{}}", "runPolicy", "is set twice"},
};

Test(json, refused_with_its_path) {
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        cr_expect_not(there_and_back(spec, bad[i].in, &out, &err), "%s became %s", bad[i].in, str_text(&out));
        if (err.violation_count != 1) {
            cr_expect(false, "%s: %zu violations", bad[i].in, err.violation_count);
            continue;
        }
        cr_expect_str_eq(err.violations[0].field, bad[i].field, "%s: %s", bad[i].in, err.violations[0].field);
        cr_expect(str_starts(err.violations[0].description, bad[i].says), "%s: %s", bad[i].in,
                  err.violations[0].description);
    }
}

// A server may be newer or wrong: a field that is not known is passed over, and no number is too far away.
Test(json, reads_what_another_server_says) {
    static const struct {
        const char *bytes;
        size_t n;
        bool ok;
    } answers[] = {
        {"\xf8\x3f\x01", 3, true},  // field 1023
        {"\x0a\x05\x01", 3, false}, // cut
        // a job whose create_time is INT64_MAX and INT64_MIN seconds
        {"\x0a\x0c\x7a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 14, true},
        {"\x0a\x0d\x7a\x0b\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 15, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        cr_expect_eq(api_wire_to_json(list, answers[i].bytes, answers[i].n, &out, &err), answers[i].ok, "%zu", i);
    }
}

// Found by a fuzzer: bytes may leave out what JSON cannot.
Test(json, an_entry_without_its_value_is_null) {
    static const struct {
        const char *bytes, *json;
        size_t n;
    } rows[] = {
        {"\x72\x02\x0a\x00", "{\"params\":{\"\":null}}", 4},
        {"\x72\x05\x0a\x03\x0a\x01k", "{\"params\":{\"k\":null}}", 7},
        {"\x3a\x03\x0a\x01k", "{\"labels\":{\"k\":\"\"}}", 5},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(str_done) struct str out = STR_INIT;
        CLEANUP(err_done) struct err err = ERR_INIT;
        cr_assert(api_wire_to_json(spec, rows[i].bytes, rows[i].n, &out, &err));
        cr_expect_str_eq(str_text(&out), rows[i].json);
    }
}
