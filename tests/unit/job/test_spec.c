// The shape of a spec (types, bounds, unknown fields), and what a right one is read as.
#include "violations.h"

#define BASE "runtime: process\nroles:\n- name: w\n"
#define DURATION "must be a duration in seconds such as \"90s\" or \"0.5s\""

static struct job_spec *parse(const char *yaml) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    const struct json *tree = NULL;
    struct job_spec *spec = NULL;
    cr_assert(json_parse_yaml(&a, yaml, strlen(yaml), &json_limits_default, &tree, &err), "%s", err.message);
    cr_assert(job_spec_parse(tree, &spec, &err), "%s", err.message);
    return spec;
}

Test(spec, types) {
    violations_check(
        BASE,
        (const struct violations_row[]){
            {"name: 1", "name: must be a text, not a number"},
            {"name: null", "name: must be a text, not null"},
            {"labels: [a]", "labels: must be an object of texts, not a list"},
            {"params: 1", "params: must be an object, not a number"},
            {"params: {a: [null, 1.5, {b: c}]}", "ok"},
            {"labels: [-]\nannotations: x",
             "labels: must be an object of texts, not a list\nannotations: must be an object of texts, not a text"},
            {"  resources: {extended: ['1']}", "roles[0].resources.extended: must be an object of texts, not a list"},
            {"  resources: {requests: ['1']}", "roles[0].resources.requests: must be an object of texts, not a list"},
            {"elastic: []", "elastic: must be an object, not a list"},
            {"depends_on: {job: a}", "depends_on: must be a list, not an object"},
            {"depends_on: [a]", "depends_on[0]: must be an object, not a text\ndepends_on[0].job: is required"},
            {"metrics: {names: [a, 1]}", "metrics.names[1]: must be a text, not a number"},
            {"run_policy: {suspend: 'true'}", "run_policy.suspend: must be true or false, not a text"},
            {"run_policy: {backoff_limit: 1.5}", "run_policy.backoff_limit: must be a whole number from 0 to 1000"},
            {"run_policy: {backoff_limit: x}", "run_policy.backoff_limit: must be a whole number from 0 to 1000"},
            {"run_policy: {backoff_limit: '7'}", "ok"}, // as proto JSON writes an int64
            {"run_policy: {clean_pods: all}", "run_policy.clean_pods: must be one of RUNNING, ALL, NONE"},
            {"run_policy: {clean_pods: 1}", "run_policy.clean_pods: must be one of RUNNING, ALL, NONE"},
            {"  restart_policy: Never", "roles[0].restart_policy: must be one of NEVER, ON_FAILURE, ALWAYS, EXIT_CODE"},
            {"  command: python", "roles[0].command: must be a list of texts, not a text"},
            {"  command: [a, 2]", "roles[0].command[1]: must be a text, not a number"},
            {NULL, NULL},
        });
    violations_check("", (const struct violations_row[]){
                             {"", "spec: must be an object"},
                             {"[]", "spec: must be an object"},
                             {"text", "spec: must be an object"},
                             {NULL, NULL},
                         });
}

Test(spec, unknown_fields) {
    violations_check(
        BASE, (const struct violations_row[]){
                  {"nam: a", "nam: unknown field, did you mean name?"},
                  {"Group: a", "Group: unknown field, did you mean group?"},
                  {"zzzzzzzzzz: a", "zzzzzzzzzz: unknown field"},
                  {"'': a", "[\"\"]: unknown field"},
                  {"  comand: [a]", "roles[0].comand: unknown field, did you mean command?"},
                  {"  env: [{name: A, valeu: hidden}]", "roles[0].env[0].valeu: unknown field, did you mean value?"},
                  {"  resources: {memry: 1Gi}", "roles[0].resources.memry: unknown field, did you mean memory?"},
                  {"run_policy: {timeout: 1s}", "run_policy.timeout: unknown field"},
                  {NULL, NULL},
              });
}

Test(spec, durations) {
    violations_check(
        BASE "run_policy: ",
        (const struct violations_row[]){
            {"{active_deadline: 1s, ttl_after_finished: 0s, start_deadline: 1.000000001s}", "ok"},
            {"{active_deadline: 8589934592s}", "ok"},
            {"{active_deadline: 0.5s}", "run_policy.active_deadline: is 0.5s, must be from 1 to 8589934592 seconds"},
            {"{active_deadline: 8589934593s}",
             "run_policy.active_deadline: is 8589934593s, must be from 1 to 8589934592 seconds"},
            {"{ttl_after_finished: -1s}",
             "run_policy.ttl_after_finished: is -1s, must be from 0 to 8589934592 seconds"},
            {"{start_deadline: 999999999999s}", "run_policy.start_deadline: " DURATION},
            {"{active_deadline: 90}", "run_policy.active_deadline: " DURATION},
            {"{active_deadline: '90'}", "run_policy.active_deadline: " DURATION},
            {"{active_deadline: 1m}", "run_policy.active_deadline: " DURATION},
            {"{active_deadline: .5s}", "run_policy.active_deadline: " DURATION},
            {"{active_deadline: 1.s}", "run_policy.active_deadline: " DURATION},
            {"{active_deadline: 1.0000000001s}", "run_policy.active_deadline: " DURATION},
            {"{active_deadline: 1 s}", "run_policy.active_deadline: " DURATION},
            {"{active_deadline: ''}", "run_policy.active_deadline: " DURATION},
            {NULL, NULL},
        });
}

// One more than may be, and just as much, for one list, map and text of each kind.
Test(spec, bounds) {
    static const struct {
        const char *before, *entry, *after;
        int most;
        const char *right; // beyond it
    } table[] = {
        {"backend: '", "a", "'", 253, "backend: is 254 bytes long, at most 253 are allowed"},
        {"  image: '", "a", "'", 1024, "roles[0].image: is 1025 bytes long, at most 1024 are allowed"},
        {"  command: [", "x,", "]", 1000, "roles[0].command: has 1001 entries, at most 1000 are allowed"},
        {"  args: [", "x,", "]", 10000, "roles[0].args: has 10001 entries, at most 10000 are allowed"},
        {"  image_pull_secrets: [", "x,", "]", 64,
         "roles[0].image_pull_secrets: has 65 entries, at most 64 are allowed"},
        {"  tolerations: [", "{key: a},", "]", 64, "roles[0].tolerations: has 65 entries, at most 64 are allowed"},
        {"  args: ['", "y", "']", 131071, "roles[0].args[0]: is 131072 bytes long, at most 131071 are allowed"},
        {"  env: [{name: A, value: '", "y", "'}]", 130814,
         "roles[0].env[0].value: is 130815 bytes long, at most 130814 are allowed"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        for (int more = 0; more <= 1; more++) {
            CLEANUP(str_done) struct str yaml = STR_INIT;
            CLEANUP(str_done) struct str entries = STR_INIT;
            for (int k = 0; k < table[i].most + more; k++) {
                str_add(&entries, table[i].entry);
            }
            str_printf(&yaml, BASE "%s%s%s", table[i].before, str_text(&entries), table[i].after);
            CLEANUP(mem_free_ptr) char *is = violations(str_text(&yaml));
            cr_expect_str_eq(is, more == 0 ? "ok" : table[i].right, "row %zu, %d more: %s", i, more, is);
        }
    }
}

Test(spec, as_a_whole_at_most_so_much) {
    CLEANUP(str_done) struct str yaml = STR_INIT;
    str_add(&yaml, BASE "  args: [");
    for (int i = 0; i < 10; i++) {
        str_add(&yaml, i == 0 ? "'" : ",'");
        for (int k = 0; k < 120000; k++) {
            str_add_char(&yaml, 'x');
        }
        str_add_char(&yaml, '\'');
    }
    str_add(&yaml, "]");
    CLEANUP(mem_free_ptr) char *is = violations(str_text(&yaml));
    cr_expect(str_starts(is, "spec: is 1200") && str_ends(is, " bytes as JSON, at most 1114112 are allowed"), "%s", is);
}

Test(spec, read) {
    struct job_spec *s = parse("name: n\nnamespace: team\nruntime: pytorch\nbackend: b\ntarget: t/v1\ngroup: g\n"
                               "labels: {k: v}\nannotations: {a: b}\nparams: {p: 1}\n"
                               "roles:\n"
                               "- name: Master\n"
                               "  command: [python, -u]\n"
                               "  args: [train.py, '']\n"
                               "  env: [{name: A, value: b}, {name: E}, {name: S, value_from: {field_path: f}}]\n"
                               "  working_dir: /w\n"
                               "  resources: {cpu: 1500m, memory: 1Gi, gpu: 2}\n"
                               "  restart_policy: EXIT_CODE\n"
                               "- {name: ps, replicas: 0}\n"
                               "- {name: worker, replicas: '3'}\n"
                               "elastic: {min: 2, max: 5}\n"
                               "run_policy: {active_deadline: 1.5s, ttl_after_finished: 0s, start_deadline: 60s,"
                               " backoff_limit: 0, clean_pods: NONE, suspend: true}\n"
                               "depends_on: [{job: x}, {job: y, on: TERMINAL}, {job: z, on: FAILED}]\n");
    cr_expect_str_eq(s->name, "n");
    cr_expect_null(s->name_prefix);
    cr_expect_str_eq(s->namespace_, "team");
    cr_expect_str_eq(s->runtime, "pytorch");
    cr_expect(str_same(s->backend, "b") && str_same(s->target, "t/v1") && str_same(s->group, "g"));
    cr_expect_str_eq(json_string(json_get(s->labels, "k"), ""), "v");
    cr_expect_str_eq(json_string(json_get(s->annotations, "a"), ""), "b");
    cr_expect_not_null(json_get(s->params, "p"));
    cr_expect_null(s->manifest);
    cr_assert_eq(s->role_count, 2); // the one with 0 replicas is left out
    const struct spec_role *m = &s->roles[0];
    static const char *const argv[] = {"python", "-u", "train.py", ""};
    cr_expect_str_eq(m->name, "Master");
    cr_expect_eq(m->replicas, 1);
    cr_assert_eq(m->argc, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_str_eq(m->argv[i], argv[i]);
    }
    cr_expect_null(m->argv[4]);
    cr_assert_eq(m->env_count, 3);
    cr_expect(str_same(m->env[0].name, "A") && str_same(m->env[0].value, "b"));
    cr_expect(str_same(m->env[1].name, "E") && str_same(m->env[1].value, ""));
    cr_expect(str_same(m->env[2].name, "S") && m->env[2].value == NULL);
    cr_expect_str_eq(m->working_dir, "/w");
    cr_expect(m->cpu_milli == 1500 && m->memory_bytes == 1073741824 && m->gpu == 2);
    cr_expect_eq((int)m->restart, (int)RESTART_EXIT_CODE);
    const struct spec_role *w = &s->roles[1];
    cr_expect_str_eq(w->name, "worker");
    cr_expect(w->replicas == 3 && w->argc == 0 && w->argv[0] == NULL && w->env_count == 0 && w->working_dir == NULL);
    cr_expect(w->cpu_milli == 0 && w->memory_bytes == 0 && w->gpu == 0 && w->restart == RESTART_DEFAULT);
    cr_expect(s->elastic_min == 2 && s->elastic_max == 5);
    cr_expect_eq(s->active_deadline_ns, 1500000000);
    cr_expect_eq(s->ttl_ns, 0);
    cr_expect_eq(s->start_deadline_ns, INT64_C(60000000000));
    cr_expect(s->backoff_limit == 0 && s->clean_pods == CLEAN_NONE && s->suspend);
    cr_assert_eq(s->depends_on_count, 3);
    cr_expect(str_same(s->depends_on[0].job, "x") && s->depends_on[0].on == ON_SUCCEEDED);
    cr_expect(str_same(s->depends_on[1].job, "y") && s->depends_on[1].on == ON_TERMINAL);
    cr_expect(str_same(s->depends_on[2].job, "z") && s->depends_on[2].on == ON_FAILED);
    cr_expect_eq(job_spec_ref(s), s);
    job_spec_unref(s);
    job_spec_unref(s);
    job_spec_unref(NULL);
}

Test(spec, defaults) {
    struct job_spec *s = parse(BASE);
    cr_expect_null(s->name);
    cr_expect_str_eq(s->name_prefix, "process");
    cr_expect_str_eq(s->namespace_, "default");
    cr_expect(s->backend == NULL && s->target == NULL && s->group == NULL && s->labels == NULL && s->params == NULL);
    cr_expect(s->active_deadline_ns == 0 && s->ttl_ns == -1 && s->start_deadline_ns == 0 && s->backoff_limit == 3);
    cr_expect(s->clean_pods == CLEAN_RUNNING && !s->suspend && s->elastic_max == 0 && s->depends_on_count == 0);
    cr_expect_str_eq(s->json, "{\"name_prefix\":\"process\",\"namespace\":\"default\",\"roles\":[{\"name\":\"w\","
                              "\"replicas\":1}],\"runtime\":\"process\"}");
    job_spec_unref(s);
}

// Also where the runtime's name is longer than a prefix, or no prefix at all.
Test(spec, what_is_sealed_reads_back) {
    static const char *const runtimes[] = {"p", "process", "a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-x-y-z-a-b",
                                           "ends-in-", "UPPER"};
    static const char *const prefixes[] = {"p", "process", "job", "job", "job"};
    for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        CLEANUP(mem_free_ptr) char *yaml = mem_printf("runtime: %s\nroles: [{name: w}]", runtimes[i]);
        struct job_spec *s = parse(yaml);
        struct job_spec *back = NULL;
        cr_expect_str_eq(s->name_prefix, prefixes[i]);
        cr_assert(job_spec_parse_text(s->json, strlen(s->json), &back, &err), "%s", err.message);
        cr_expect_str_eq(back->json, s->json);
        cr_expect_str_eq(back->hash, s->hash);
        job_spec_unref(s);
        job_spec_unref(back);
    }
}

// A request that is repeated is known by its hash: the same job is the same text however it is written.
Test(spec, the_same_job_has_the_same_hash) {
    static const struct {
        const char *yaml;
        bool same;
    } table[] = {
        {"{runtime: p, name: a, roles: [{name: w, replicas: 1, command: [c]}]}", true},
        {"{roles: [{command: [c], name: w}], name: a, runtime: p}", true},
        {"{runtime: p, name: a, namespace: default, roles: [{name: w, command: [c]}]}", true},
        {"{runtime: p, name: a, roles: [{name: w, replicas: '1', command: [c], args: [], image: ''}]}", true},
        {"{runtime: p, name: a, roles: [{name: w, command: [c]}, {name: x, replicas: 0}], labels: {}, group: ''}",
         true},
        {"{runtime: p, name: a, roles: [{name: w, command: [d]}]}", false},
        {"{runtime: p, name: a, roles: [{name: w, replicas: 2, command: [c]}]}", false},
        {"{runtime: p, name: b, roles: [{name: w, command: [c]}]}", false},
        {"{runtime: p, name_prefix: a, roles: [{name: w, command: [c]}]}", false},
        {"{runtime: p, name: a, namespace: other, roles: [{name: w, command: [c]}]}", false},
        {"{runtime: p, name: a, roles: [{name: w, command: [c, '']}]}", false},
    };
    struct job_spec *first = parse(table[0].yaml);
    cr_expect_eq(strlen(first->hash), 64);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct job_spec *s = parse(table[i].yaml);
        cr_expect_eq(strcmp(s->hash, first->hash) == 0, table[i].same, "%s gives %s", table[i].yaml, s->json);
        cr_expect_eq(strcmp(s->json, first->json) == 0, table[i].same);
        job_spec_unref(s);
    }
    job_spec_unref(first);
}

Test(spec, text_that_is_no_json) {
    static const char *const wrong[] = {"", "{", "runtime: p", "{} {}", "\xff"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CLEANUP(err_done) struct err err = ERR_INIT;
        struct job_spec *s = NULL;
        cr_expect(!job_spec_parse_text(wrong[i], strlen(wrong[i]), &s, &err), "%s", wrong[i]);
        cr_expect_null(s);
        cr_expect_str_eq(err.reason, "BAD_JSON");
    }
}
