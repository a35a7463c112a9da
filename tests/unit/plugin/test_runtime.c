// What a runtime says to a spec, and what the host says to a plugin that is wrong.
#include "support.h"

#include "base/log.h"

struct outcome {
    bool ok;
    char *said;
};

// Validates one spec with one runtime; the plan too when it is valid.
static struct outcome try_spec(const struct runtime *r, const char *yaml) {
    struct err err = ERR_INIT;
    struct arena a = {0};
    struct str plan = STR_INIT;
    const struct json *tree = NULL;
    struct job_spec *spec = spec_of(yaml);
    struct outcome o = {.ok = runtime_validate(r, spec, &a, &tree, &err)};
    if (o.ok) {
        o.ok = runtime_plan_local(r, tree, &plan, &err);
    }
    cr_expect_eq(o.ok, !err_set(&err));
    o.said = o.ok ? mem_strdup("") : said(&err);
    err_done(&err);
    str_done(&plan);
    arena_done(&a);
    job_spec_unref(spec);
    return o;
}

static void expect_said(const struct runtime *r, const char *yaml, const char *expected) {
    struct outcome o = try_spec(r, yaml);
    cr_expect_str_eq(o.said, expected, "%s\n-> %s", yaml, o.said);
    mem_free(o.said);
}

#define SPEC(runtime, rest) "{name: a, runtime: " runtime ", roles: [" rest "]}"
#define ROLE(name, replicas) "{name: " name ", replicas: " replicas ", command: [x]}"

// ---- S04: role names, case, counts

Test(roles, S04_table) {
    static const char pytorch_roles[] = "(roles: master (at most 1), worker)";
    static const char tf_roles[] = "(roles: chief (at most 1), master (at most 1), ps, worker, evaluator)";
    const struct {
        const char *runtime, *roles, *said, *allowed;
    } cases[] = {
        {"pytorch", ROLE("Worker", "2"), "", ""},
        {"pytorch", ROLE("MASTER", "1") ", " ROLE("wOrKeR", "2"), "", ""},
        {"pytorch", ROLE("master", "2"), "roles[0].replicas: role master takes at most 1, not 2 ", pytorch_roles},
        {"pytorch", ROLE("ps", "1"), "roles[0].name: runtime pytorch has no role \"ps\" ", pytorch_roles},
        {"pytorch", ROLE("wroker", "1"),
         "roles[0].name: runtime pytorch has no role \"wroker\", did you mean \"worker\"? ", pytorch_roles},
        {"tensorflow", ROLE("chief", "1") ", " ROLE("master", "1"), "roles: a job has a chief or a master, not both",
         ""},
        {"tensorflow", ROLE("worker", "1") ", " ROLE("Evaluater", "1"),
         "roles[1].name: runtime tensorflow has no role \"Evaluater\", did you mean \"evaluator\"? ", tf_roles},
        {"tensorflow", ROLE("PS", "2") ", " ROLE("worker", "1"), "", ""},
        {"tensorflow", ROLE("ps", "2"), "roles: a job needs a chief, a master or a worker: their exit decides", ""},
        {"tensorflow", ROLE("chief", "3") ", " ROLE("worker", "1"),
         "roles[0].replicas: role chief takes at most 1, not 3 ", tf_roles},
        {"xgboost", ROLE("worker", "2"), "roles: runtime xgboost needs a role master ",
         "(roles: master (required, at most 1), worker)"},
        {"jax", ROLE("worker", "2") ", " ROLE("master", "1"), "roles[1].name: runtime jax has no role \"master\" ",
         "(roles: worker (required))"},
        {"mpi", ROLE("launcher", "2") ", " ROLE("worker", "1"),
         "roles[0].replicas: role launcher takes at most 1, not 2 ", "(roles: launcher (required, at most 1), worker)"},
        {"mpi", ROLE("worker", "1"), "roles: runtime mpi needs a role launcher ",
         "(roles: launcher (required, at most 1), worker)"},
        {"process", ROLE("master", "1"),
         "roles[0].name: runtime process has no role \"master\" (roles: worker (required))\n"
         "roles: runtime process needs a role worker ",
         "(roles: worker (required))"},
    };
    struct plugins *p = plugins_new();
    struct err err = ERR_INIT;
    cr_assert(plugins_load_directory(p, RUNTIMES, NULL, &err), "%s", err.message);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *yaml = mem_printf("{name: a, runtime: %s, roles: [%s]}", cases[i].runtime, cases[i].roles);
        char *expected = mem_printf("%s%s", cases[i].said, cases[i].allowed);
        expect_said(plugins_find(p, cases[i].runtime), yaml, expected);
        mem_free(expected);
        mem_free(yaml);
    }
    plugins_free(p);
}

// ---- S05: a role with no replicas is not there; what remains is counted from the user's list.

Test(roles, S05_zero_replicas) {
    struct plugins *p = plugins_new();
    const struct runtime *r = load(p, RUNTIMES, "pytorch");
    struct err err = ERR_INIT;
    struct arena a = {0};
    const struct json *tree = NULL;
    struct job_spec *spec = spec_of(SPEC("pytorch", ROLE("worker", "0") ", " ROLE("master", "1")));
    cr_assert(runtime_validate(r, spec, &a, &tree, &err), "%s", err.message);
    cr_assert_eq(json_get(tree, "roles")->count, 1);
    cr_expect_str_eq(json_string(json_path(tree, "roles[0].name"), NULL), "master");
    arena_done(&a);
    job_spec_unref(spec);
    plugins_free(p);
}

// ---- The canonical tree

Test(roles, canonical_tree) {
    struct plugins *p = plugins_new();
    const struct runtime *r = load(p, RUNTIMES, "pytorch");
    struct err err = ERR_INIT;
    struct arena a = {0};
    const struct json *tree = NULL;
    struct job_spec *spec =
        spec_of("{name: a, runtime: pytorch, params: {nproc_per_node: 2}, roles: [{name: WORKER, replicas: 3, command: "
                "[w], restart_policy: ALWAYS}, {name: Master, command: [m], working_dir: /tmp}]}");
    cr_assert(runtime_validate(r, spec, &a, &tree, &err), "%s", err.message);
    static const struct {
        const char *path, *text;
    } expected[] = {
        {"roles[0].name", "master"},      {"roles[0].restart_policy", "ON_FAILURE"},
        {"roles[0].working_dir", "/tmp"}, {"roles[0].command[0]", "m"},
        {"roles[1].name", "worker"},      {"roles[1].restart_policy", "ALWAYS"},
        {"roles[1].command[0]", "w"},     {"name", "a"},
        {"runtime", "pytorch"},
    };
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        cr_expect_str_eq(json_string(json_path(tree, expected[i].path), "(nothing)"), expected[i].text, "%s",
                         expected[i].path);
    }
    int64_t n;
    cr_expect(json_int(json_path(tree, "roles[0].replicas"), &n) && n == 1);
    cr_expect(json_int(json_path(tree, "roles[0].position"), &n) && n == 1);
    cr_expect(json_int(json_path(tree, "roles[1].replicas"), &n) && n == 3);
    cr_expect(json_int(json_path(tree, "roles[1].position"), &n) && n == 0);
    cr_expect(json_int(json_path(tree, "params.nproc_per_node"), &n) && n == 2);
    cr_expect_eq(json_get(tree, "roles")->count, 2);
    cr_expect_str_eq(json_string(json_path(spec->tree, "roles[0].name"), NULL), "WORKER", "the spec is untouched");
    arena_done(&a);
    job_spec_unref(spec);
    plugins_free(p);
}

// ---- S09: names that the runtime sets. Names only, never values.

Test(environment, S09_reserved) {
    static const struct {
        const char *runtime, *role, *name;
        bool refused;
    } cases[] = {
        {"pytorch", "worker", "MASTER_PORT", true},
        {"pytorch", "worker", "MASTER_ADDR", true},
        {"pytorch", "worker", "WORLD_SIZE", true},
        {"pytorch", "worker", "RANK", true},
        {"pytorch", "worker", "LOCAL_RANK", true},
        {"pytorch", "worker", "PET_NNODES", true},
        {"pytorch", "worker", "PET_", true},
        {"pytorch", "worker", "PET", false},
        {"pytorch", "worker", "RANKS", false},
        {"pytorch", "worker", "PYTHONUNBUFFERED", false},
        {"tensorflow", "worker", "TF_CONFIG", true},
        {"tensorflow", "worker", "TF_CPP_MIN_LOG_LEVEL", false},
        {"xgboost", "master", "DMLC_TRACKER_URI", true},
        {"xgboost", "master", "WORKER_ADDRS", true},
        {"mpi", "launcher", "OMPI_MCA_plm_rsh_agent", true},
        {"mpi", "launcher", "OMPI_MCA_btl", false},
        {"jax", "worker", "COORDINATOR_ADDRESS", true},
        {"paddle", "worker", "PADDLE_MASTER", true},
        {"process", "worker", "RANK", true},
    };
    struct plugins *p = plugins_new();
    struct err err = ERR_INIT;
    cr_assert(plugins_load_directory(p, RUNTIMES, NULL, &err), "%s", err.message);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *yaml = mem_printf("{name: a, runtime: %s, roles: [{name: %s, command: [x], env: [{name: FINE, value: "
                                "s3cret}, {name: %s, value: s3cret}]}]}",
                                cases[i].runtime, cases[i].role, cases[i].name);
        char *expected = cases[i].refused ? mem_printf("roles[0].env[1].name: %s is set by runtime %s", cases[i].name,
                                                       cases[i].runtime)
                                          : mem_strdup("");
        struct outcome o = try_spec(plugins_find(p, cases[i].runtime), yaml);
        cr_expect_str_eq(o.said, expected, "%s", o.said);
        cr_expect_null(strstr(o.said, "s3cret"));
        mem_free(o.said);
        mem_free(expected);
        mem_free(yaml);
    }
    plugins_free(p);
}

// ---- Parameters

Test(params, each_runtime) {
    static const struct {
        const char *yaml, *said;
    } cases[] = {
        {"{name: a, runtime: process, params: {x: 1}, roles: [{name: worker, command: [x]}]}",
         "params.x: is unknown: nothing is allowed here"},
        {"{name: a, runtime: pytorch, params: {nproc_per_node: 0}, roles: [{name: worker, command: [x]}]}",
         "params.nproc_per_node: must be at least 1"},
        {"{name: a, runtime: pytorch, params: {nproc_per_node: tpu}, roles: [{name: worker, command: [x]}]}",
         "params.nproc_per_node: must match the pattern ^(auto|cpu|gpu)$"},
        {"{name: a, runtime: pytorch, params: {nprocs_per_node: 2}, roles: [{name: worker, command: [x]}]}",
         "params.nprocs_per_node: is unknown, did you mean \"nproc_per_node\"? (there are: nproc_per_node)"},
        {"{name: a, runtime: pytorch, params: {nproc_per_node: gpu}, roles: [{name: worker, command: [x]}]}", ""},
        {"{name: a, runtime: tensorflow, params: {success_policy: allworkers}, roles: [{name: worker, command: [x]}]}",
         "params.success_policy: must be one of \"\", \"AllWorkers\"; did you mean \"AllWorkers\"?"},
        {"{name: a, runtime: mpi, params: {slots_per_worker: two}, roles: [{name: launcher, command: [x]}]}",
         "params.slots_per_worker: must be a whole number, not a text"},
        {"{name: a, runtime: mpi, roles: [{name: worker, env: [{name: A, value: b}]}, {name: launcher, command: [x]}]}",
         "roles[0].env: on one machine all ranks inherit the launcher's environment: set it there"},
        // All at once: a role, a variable, a parameter.
        {"{name: a, runtime: pytorch, params: {x: 1}, roles: [{name: ps, command: [x]}, {name: worker, command: [x], "
         "env: [{name: RANK, value: '1'}]}]}",
         "roles[0].name: runtime pytorch has no role \"ps\" (roles: master (at most 1), worker)\n"
         "roles[1].env[0].name: RANK is set by runtime pytorch\n"
         "params.x: is unknown (there are: nproc_per_node)"},
    };
    struct plugins *p = plugins_new();
    struct err err = ERR_INIT;
    cr_assert(plugins_load_directory(p, RUNTIMES, NULL, &err), "%s", err.message);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = {0};
        const char *runtime = json_string(json_get(parse(&a, cases[i].yaml), "runtime"), NULL);
        expect_said(plugins_find(p, runtime), cases[i].yaml, cases[i].said);
        arena_done(&a);
    }
    plugins_free(p);
}

// ---- S01: what a target adds to the name

Test(names, S01_limit) {
    static const struct {
        const char *roles;
        int limit;
    } cases[] = {
        {ROLE("lead", "1"), 63 - 7},     // -lead-0
        {ROLE("worker", "1"), 63 - 9},   // -worker-0
        {ROLE("worker", "10"), 63 - 9},  // -worker-9
        {ROLE("worker", "11"), 63 - 10}, // -worker-10
        {ROLE("lead", "1") ", " ROLE("worker", "1001"), 63 - 12},
    };
    struct plugins *p = plugins_new();
    const struct runtime *r = load(p, TEST_PLUGINS, "misbehave");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *yaml = mem_printf("{name: a, runtime: misbehave, roles: [%s]}", cases[i].roles);
        struct job_spec *spec = spec_of(yaml);
        cr_expect_eq(runtime_name_limit(r, spec, "example.org/v1"), cases[i].limit, "%s", cases[i].roles);
        cr_expect_eq(runtime_name_limit(r, spec, "local"), 63);
        job_spec_unref(spec);
        mem_free(yaml);
    }
    cr_expect_eq(runtime_name_limit(r, NULL, "example.org/v1"), 63 - 9);
    plugins_free(p);
}

// ---- Plugins that are wrong: one INTERNAL error that names them

#define LEAD_AND_WORKER ROLE("worker", "1") ", " ROLE("lead", "1")
#define FAULT(function) "INTERNAL plugin misbehave is at fault: " function " "
#define PLAN FAULT("plan_local")

Test(faults, each_call) {
    static const struct {
        const char *how, *said;
    } cases[] = {
        {"fail silently", FAULT("validate") "failed without saying why"},
        {"other status", FAULT("validate") "failed without saying why"},
        {"report and return ok", ": says no"},
        {"report twice", "roles[1].image: must be newer\nroles[0].image: must be older"},
        {"report nonsense", ": is not accepted by the runtime"},
        {"slow", PLAN "planned no process"},
        {"plan says no", "roles[0].command: does not fit"},
        {"no process", PLAN "planned no process"},
        {"no decider", PLAN "planned no process that decides about success"},
        {"rank gap", PLAN "planned 1 processes and no rank 0"},
        {"rank twice", PLAN "planned rank 0, which is taken or not below 2"},
        {"rank beyond", PLAN "planned rank 2, which is taken or not below 2"},
        {"index twice", PLAN "planned index 0 of a role twice"},
        {"index beyond", PLAN "planned a process of an unknown role, or with index 1 beyond its replicas"},
        {"foreign role", PLAN "planned a process of an unknown role, or with index 0 beyond its replicas"},
        {"null role", PLAN "planned a process of an unknown role, or with index 0 beyond its replicas"},
        {"open process", PLAN "left a process open"},
        {"nested process", PLAN "began a process inside another one"},
        {"env outside", PLAN "called plan_env without an open process"},
        {"env twice", PLAN "set the variable A twice"},
        {"env name", PLAN "set a variable whose name is not valid"},
        {"env utf8", PLAN "gave plan_env text that is not UTF-8"},
        {"env null", PLAN "gave plan_env NULL"},
        {"template name", PLAN "used \"${hots}\" in a template, which knows ${host} and ${port.NAME}"},
        {"template port", PLAN "used a port name that is not [a-z0-9-] of at most 63 bytes"},
        {"template end", PLAN "used \"${port.a\" in a template, which knows ${host} and ${port.NAME}"},
        {"env json", PLAN "wrote JSON that is not well-formed into A"},
        {"env unended", PLAN "called plan_process_end inside plan_env_begin"},
        {"env unbegun", PLAN "called plan_env_add without plan_env_begin"},
        {"json in plan", PLAN "wrote JSON into a plan, which takes processes only"},
        {"huge", "RESOURCE_EXHAUSTED the plan of runtime misbehave for this job is too large (4 MiB in all, 128 KiB "
                 "for one variable): use fewer replicas or a smaller environment"},
        {"long variable",
         "RESOURCE_EXHAUSTED the plan of runtime misbehave for this job is too large (4 MiB in all, 128 KiB "
         "for one variable): use fewer replicas or a smaller environment"},
        {"everything", ""},
    };
    struct plugins *p = plugins_new();
    const struct runtime *r = load(p, TEST_PLUGINS, "misbehave");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *yaml =
            mem_printf("{name: a, runtime: misbehave, params: {how: %s}, roles: [" LEAD_AND_WORKER "]}", cases[i].how);
        expect_said(r, yaml, cases[i].said);
        mem_free(yaml);
    }
    plugins_free(p);
}

Test(faults, render_and_observe) {
    static const struct {
        const char *how, *result;
    } cases[] = {
        {"nothing wrong", "{\"kind\":\"example.org/v1\"}"},
        {"render nothing", FAULT("render") "wrote nothing"},
        {"render utf8", FAULT("render") "wrote text that is not UTF-8"},
        {"render without key", FAULT("render") "wrote JSON that is not well-formed"},
        {"render unbalanced", FAULT("render") "wrote JSON that is not well-formed"},
        {"render huge", FAULT("render") "wrote more than 1 MiB"},
        {"render with a plan service", FAULT("render") "called plan_process_end outside of plan_local"},
        {"render copies",
         "{\"kind\":\"example.org/v1\",\"roles\":[{\"name\":\"lead\",\"replicas\":1,\"restart_policy\":\"NEVER\","
         "\"position\":0,\"command\":[\"x\"]}]}"},
    };
    struct plugins *p = plugins_new();
    const struct runtime *r = load(p, TEST_PLUGINS, "misbehave");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct arena a = {0};
        struct str out = STR_INIT;
        const struct json *tree = NULL;
        char *yaml = mem_printf("{name: a, runtime: misbehave, params: {how: %s}, roles: [{name: lead, command: [x]}]}",
                                cases[i].how);
        struct job_spec *spec = spec_of(yaml);
        cr_assert(runtime_validate(r, spec, &a, &tree, &err), "%s", err.message);
        bool ok = runtime_render(r, tree, "example.org/v1", &out, &err);
        char *text = ok ? str_take(&out) : said(&err);
        cr_expect_str_eq(text, cases[i].result, "%s: %s", cases[i].how, text);
        mem_free(text);
        err_done(&err);
        job_spec_unref(spec);
        mem_free(yaml);
        arena_done(&a);
        str_done(&out);
    }
    struct err err = ERR_INIT;
    struct arena a = {0};
    struct str out = STR_INIT;
    cr_assert(runtime_observe(r, parse(&a, "{status: {conditions: [{type: X, status: a}, {type: Done, status: b}]}}"),
                              "example.org/v1", &out, &err));
    cr_expect_str_eq(str_text(&out), "{\"state\":\"b\"}");
    str_done(&out);
    arena_done(&a);
    plugins_free(p);
}

Test(faults, what_a_runtime_cannot_do) {
    struct plugins *p = plugins_new();
    const struct runtime *r = load(p, TEST_PLUGINS, "good");
    struct err err = ERR_INIT;
    struct arena a = {0};
    struct str out = STR_INIT;
    cr_expect(!runtime_render(r, parse(&a, "{}"), "local", &out, &err));
    cr_expect_eq(err.code, ERR_PRECONDITION);
    cr_expect_str_eq(err.message, "runtime good has no objects of a cluster");
    err_done(&err);
    cr_expect(!runtime_observe(r, parse(&a, "{}"), "local", &out, &err));
    cr_expect_str_eq(err.message, "runtime good has no objects of a cluster");
    err_done(&err);
    arena_done(&a);
    plugins_free(p);
}

// Everything that the plan services can write.
Test(plan, everything) {
    struct plugins *p = plugins_new();
    const struct runtime *r = load(p, TEST_PLUGINS, "misbehave");
    struct err err = ERR_INIT;
    struct arena a = {0};
    struct str out = STR_INIT;
    const struct json *tree = NULL;
    struct job_spec *spec = spec_of(
        "{name: a, runtime: misbehave, params: {how: everything}, roles: [{name: worker, replicas: 3, command: [w], "
        "resources: {cpu: '1.5', memory: 1Ki, gpu: 2}}, {name: lead, command: [c], args: ['', '${host}'], working_dir: "
        "/d, resources: {cpu: 500m, gpu: 1}, env: [{name: A, value: '${port.q}'}, {name: PYTHONUNBUFFERED, value: "
        "'0'}]}]}");
    cr_assert(runtime_validate(r, spec, &a, &tree, &err), "%s", err.message);
    cr_assert(runtime_plan_local(r, tree, &out, &err), "%s", err.message);
    cr_expect_str_eq(str_text(&out),
                     "{\"processes\":[{\"role\":\"lead\",\"index\":0,\"rank\":0,\"decides\":true,"
                     "\"argv\":[\"launch\",\"${host}\",\"c\",\"\",\"${host}\"],"
                     "\"env\":[{\"name\":\"LITERAL\",\"value\":\"${host} "
                     "${port.x}\"},{\"name\":\"PYTHONUNBUFFERED\",\"value\":\"1\"},"
                     "{\"name\":\"PLAIN\",\"value\":\"no placeholder\"},"
                     "{\"name\":\"LIST\",\"template\":\"[\\\"\\\\\\\"${port.b}\\\\\\\"\\\",-1,0.5,true,{\\\"how\\\":"
                     "\\\"everything\\\"},"
                     "null]\"},{\"name\":\"PORTS\",\"template\":\"${port.a} ${port.b} ${host}\"},"
                     "{\"name\":\"A\",\"value\":\"${port.q}\"}],"
                     "\"working_dir\":\"/d\",\"restart\":\"NEVER\",\"cpu\":\"5000m\",\"memory\":\"3072\",\"gpu\":7}],"
                     "\"ports\":[\"b\",\"a\"]}",
                     "%s", str_text(&out));
    str_done(&out);
    arena_done(&a);
    job_spec_unref(spec);
    plugins_free(p);
}
