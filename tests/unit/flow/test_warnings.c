// What the local backend does not do with a field is said once a field.
#include "support.h"

#define ROLE(more) "{runtime: process, name: a, roles: [{name: worker, command: [x], " more "}]}"
#define POLICY(text) "{runtime: process, name: a, run_policy: {" text "}, roles: [{name: worker, command: [x]}]}"
#define OF_ROLE " of role worker has no effect on the local backend\n"
#define NO_EFFECT " has no effect on the local backend\n"

Test(warnings, each_field) {
    static const struct {
        const char *spec, *right;
    } rows[] = {
        {JOB("a"), ""},
        {ROLE("image: 'i:1'"), "image" OF_ROLE},
        {ROLE("image: ''"), ""},
        {ROLE("volumes: [{name: v, host_path: /v}]"), "volumes" OF_ROLE},
        {ROLE("volumes: [{name: v, host_path: /v}], volume_mounts: [{name: v, mount_path: /v}]"),
         "volumes" OF_ROLE "volume_mounts" OF_ROLE},
        {ROLE("shm_size: 1Gi"), "shm_size" OF_ROLE},
        {ROLE("node_selector: {a: b}"), "node_selector" OF_ROLE},
        {ROLE("node_selector: {}"), ""},
        {ROLE("tolerations: [{key: k}]"), "tolerations" OF_ROLE},
        {ROLE("affinity: {nodeAffinity: {}}"), "affinity" OF_ROLE},
        {ROLE("service_account: s"), "service_account" OF_ROLE},
        {ROLE("image_pull_secrets: [s]"), "image_pull_secrets" OF_ROLE},
        {ROLE("init_containers: [{name: c, image: i}]"), "init_containers" OF_ROLE},
        {ROLE("ports: [{name: p, port: 80}]"), "ports" OF_ROLE},
        {ROLE("pod_overlay: {spec: {}}"), "pod_overlay" OF_ROLE},
        {ROLE("pod_labels: {a: b}"), "pod_labels" OF_ROLE},
        {ROLE("pod_annotations: {a: b}"), "pod_annotations" OF_ROLE},
        {ROLE("host_network: true"), "host_network" OF_ROLE},
        {ROLE("host_network: false"), ""},
        {ROLE("resources: {cpu: '1', gpu: 1}"), ""},
        {ROLE("resources: {ephemeral_storage: 1Gi}"), "resources.ephemeral_storage" OF_ROLE},
        {ROLE("resources: {gpu_resource: amd.com/gpu}"), "resources.gpu_resource" OF_ROLE},
        {ROLE("resources: {extended: {a.b/c: '1'}}"), "resources.extended" OF_ROLE},
        {ROLE("resources: {cpu: '2', requests: {cpu: '1'}}"), "resources.requests" OF_ROLE},
        {ROLE("env: [{name: A, value_from: {field_path: metadata.name}}, {name: B, value: b}]"),
         "env A of role worker: value_from needs a cluster; it is empty here\n"},
        {POLICY("queue: q"), "run_policy.queue" NO_EFFECT},
        {POLICY("priority_class: p"), "run_policy.priority_class" NO_EFFECT},
        {POLICY("gang: true"), "run_policy.gang" NO_EFFECT},
        {POLICY("gang: false"), ""},
        {POLICY("min_available: 1"), "run_policy.min_available" NO_EFFECT},
        {POLICY("backoff_limit: 1, clean_pods: ALL, active_deadline: 5s"), ""},
    };
    struct world w;
    world_new(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer a;
        submit_start(&w, rows[i].spec, NULL, true, &a);
        cr_assert_null(a.err.message, "%s: %s", rows[i].spec, a.err.message);
        cr_expect_str_eq(str_text(&a.warnings), rows[i].right, "%s: %s", rows[i].spec, str_text(&a.warnings));
        answer_done(&a);
    }
    world_done(&w);
}

static void add_text(void *ctx, const char *text) {
    str_add(ctx, text);
}

// One a field, with every role that gives it.
Test(warnings, of_several_roles) {
    CLEANUP(str_done) struct str got = STR_INIT;
    struct job_spec *spec =
        spec_of("{runtime: pytorch, name: a, roles: [{name: master, image: i, command: [x]},"
                " {name: worker, image: i, shm_size: 1Gi, command: [x]}, {name: other, command: [x]}]}");
    flow_warn_ignored(spec, add_text, &got);
    cr_expect_str_eq(str_text(&got), "image of roles master, worker has no effect on the local backend"
                                     "shm_size of role worker has no effect on the local backend");
    job_spec_unref(spec);
}

// They stay with the job: a duplicate and a restarted server say the same.
Test(warnings, are_kept) {
    static const char right[] = "image" OF_ROLE "the backend's own\n";
    struct world w;
    struct answer a;
    world_new(&w);
    w.fake.warning = "the backend's own";
    submit(&w, ROLE("image: i"), "id", &a);
    cr_expect_str_eq(str_text(&a.warnings), right);
    answer_done(&a);
    w.fake.warning = NULL;
    world_reopen(&w);
    submit(&w, ROLE("image: i"), "id", &a);
    cr_expect(a.duplicate);
    cr_expect_str_eq(str_text(&a.warnings), right);
    answer_done(&a);
    world_done(&w);
}

Test(warnings, too_many_are_counted) {
    CLEANUP(str_done) struct str spec = STR_INIT;
    struct world w;
    struct answer a;
    world_new(&w);
    str_add(&spec, "{runtime: process, name: a, roles: [{name: worker, command: [x], env: [");
    for (int i = 0; i < 100; i++) {
        str_printf(&spec, "{name: V%d, value_from: {field_path: a}}, ", i);
    }
    str_add(&spec, "]}]}");
    submit(&w, str_text(&spec), NULL, &a);
    size_t lines = 0;
    for (const char *at = str_text(&a.warnings); (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    cr_expect_eq(lines, 64);
    cr_expect(str_ends(str_text(&a.warnings), "env V62 of role worker: value_from needs a cluster; it is empty here\n"
                                              "and 37 warnings more\n"),
              "%s", str_text(&a.warnings));
    answer_done(&a);
    world_done(&w);
}
