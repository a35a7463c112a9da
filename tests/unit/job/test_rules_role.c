// The rules within one role: a row each, and the row beside it that is allowed.
#include "violations.h"

#define ROLE "runtime: process\nroles:\n- name: w\n  "
#define DNS_RULE " must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SYNTAX "must be a number with one of the suffixes m, k, M, G, T, Ki, Mi, Gi, Ti, such as 500m, 2 or 1.5Gi"
#define WHOLE "must be a whole number after its suffix is applied, such as 512Mi or 2"
#define ONE_SOURCE "set exactly one of secret, config_map and field_path, and no value beside it"

Test(rules_role, directory_and_image) {
    violations_check(ROLE, (const struct violations_row[]){
                               {"working_dir: /a b", "ok"},
                               {"working_dir: ''", "ok"},
                               {"working_dir: a/b", "roles[0].working_dir: must be an absolute path"},
                               {"image: registry:5000/a/b@sha256:0", "ok"},
                               {"image: 'a b'", "roles[0].image: contains white space or a control character"},
                               {"image: \"a\\n\"", "roles[0].image: contains white space or a control character"},
                               {"image: \"a\\x7f\"", "roles[0].image: contains white space or a control character"},
                               {NULL, NULL},
                           });
}

Test(rules_role, env) {
    violations_check(
        ROLE,
        (const struct violations_row[]){
            {"env: [{name: A, value: b}, {name: a}, {name: a.b-c_}]", "ok"},
            {"env: [{name: A}, {name: 1A, value: hidden}]",
             "roles[0].env[1].name: \"1A\" must match [-._a-zA-Z][-._a-zA-Z0-9]*"},
            {"env: [{value: hidden}]", "roles[0].env[0].name: \"\" must match [-._a-zA-Z][-._a-zA-Z0-9]*"},
            {"env: [{name: A, value: hidden}, {name: B}, {name: A, value: secret}]",
             "roles[0].env[2].name: \"A\" is there twice"},
            {"env: [{name: A, value_from: {secret: {name: s, key: k}}}]", "ok"},
            {"env: [{name: A, value: '', value_from: {field_path: status.podIP}}]", "ok"},
            {"env: [{name: A, value: hidden, value_from: {field_path: f}}]", "roles[0].env[0].value_from: " ONE_SOURCE},
            {"env: [{name: A, value_from: {}}]", "roles[0].env[0].value_from: " ONE_SOURCE},
            {"env: [{name: A, value_from: {field_path: f, secret: {name: s}}}]",
             "roles[0].env[0].value_from: " ONE_SOURCE},
            {NULL, NULL},
        });
}

Test(rules_role, resources) {
    violations_check(
        ROLE, (const struct violations_row[]){
                  {"resources: {cpu: 500m, memory: 1.5Gi, gpu: 2, extended: {rdma/hca: '1'}}", "ok"},
                  {"resources: {cpu: 1x}", "roles[0].resources.cpu: \"1x\" " SYNTAX},
                  {"resources: {memory: '-1'}", "roles[0].resources.memory: \"-1\" must not be negative"},
                  {"resources: {memory: '0.5'}", "roles[0].resources.memory: \"0.5\" " WHOLE},
                  {"resources: {ephemeral_storage: 8Ei}", "roles[0].resources.ephemeral_storage: \"8Ei\" is too large"},
                  {"resources: {cpu: 1}",
                   "roles[0].resources.cpu: must be a quantity in quotes, such as \"2\" or \"1.5Gi\", not a number"},
                  {"resources: {gpu: -1}", "roles[0].resources.gpu: is -1, must be from 0 to 1024"},
                  {"resources: {extended: {hca: '1'}}",
                   "roles[0].resources.extended[\"hca\"]: must be a full resource name such as nvidia.com/gpu"},
                  {"resources: {extended: {A.b/: '1'}}",
                   "roles[0].resources.extended[\"A.b/\"]: must be a full resource name such as nvidia.com/gpu"},
                  {"resources: {extended: {a/b: '0.5'}}", "roles[0].resources.extended[\"a/b\"]: \"0.5\" " WHOLE},
                  {"resources: {requests: {cpu: 100m, memory: 1Gi, ephemeral_storage: 1Gi}}", "ok"},
                  {"resources: {cpu: '1', requests: {cpu: 1000m}}", "ok"},
                  {"resources: {cpu: '1', requests: {cpu: 1001m}}",
                   "roles[0].resources.requests[\"cpu\"]: is more than the limit \"1\""},
                  {"resources: {memory: 1G, requests: {memory: 1Gi}}",
                   "roles[0].resources.requests[\"memory\"]: is more than the limit \"1G\""},
                  {"resources: {requests: {gpu: '1'}}", "roles[0].resources.requests[\"gpu\"]: only cpu, memory and "
                                                        "ephemeral_storage may be requested below their limits"},
                  {"resources: {requests: {memory: 1.5}}",
                   "roles[0].resources.requests[\"memory\"]: must be a text, not a number"},
                  {"resources: {requests: {cpu: much}}", "roles[0].resources.requests[\"cpu\"]: \"much\" " SYNTAX},
                  {NULL, NULL},
              });
}

Test(rules_role, shared_memory) {
    violations_check(
        ROLE, (const struct violations_row[]){
                  {"shm_size: 1Gi", "ok"},
                  {"shm_size: 1Gi\n  resources: {memory: 1024Mi}", "ok"},
                  {"shm_size: 2Gi\n  resources: {memory: 1Gi}",
                   "roles[0].shm_size: \"2Gi\" is more than resources.memory (\"1Gi\"), which it counts against"},
                  {"shm_size: big", "roles[0].shm_size: \"big\" " SYNTAX},
                  {"shm_size: 1Gi\n  volumes: [{name: a, empty_dir: {}}]\n"
                   "  volume_mounts: [{name: a, mount_path: /a}, {name: a, mount_path: /dev/shm}]",
                   "roles[0].volume_mounts[1].mount_path: /dev/shm is what shm_size mounts; set only one of them"},
                  {NULL, NULL},
              });
}

Test(rules_role, volumes) {
    violations_check(ROLE, (const struct violations_row[]){
                               {"volumes: [{name: a, secret: s}, {name: b, raw: {nfs: {server: x}}}]\n"
                                "  volume_mounts: [{name: a, mount_path: /a}, {name: a, mount_path: /b}]",
                                "ok"},
                               {"volumes: [{name: A, secret: s}]", "roles[0].volumes[0].name: \"A\"" DNS_RULE},
                               {"volumes: [{secret: s, host_path: /p}]", "roles[0].volumes[0].name: \"\"" DNS_RULE},
                               {"volumes: [{name: a, secret: s}, {name: a, secret: t}]",
                                "roles[0].volumes[1].name: \"a\" is there twice"},
                               {"volumes: [{name: a}]", "roles[0].volumes[0]: must have a name and exactly one source"},
                               {"volumes: [{name: a, secret: s, config_map: c}]",
                                "roles[0].volumes[0]: must have a name and exactly one source"},
                               {"volumes: [{name: a, secret: s}]\n  volume_mounts: [{name: a, mount_path: a}]",
                                "roles[0].volume_mounts[0].mount_path: must be an absolute path"},
                               {"volumes: [{name: a, secret: s}]\n  volume_mounts: [{name: a}]",
                                "roles[0].volume_mounts[0].mount_path: must be an absolute path"},
                               {"volumes: [{name: a, secret: s}]\n"
                                "  volume_mounts: [{name: a, mount_path: /x}, {name: a, mount_path: /x}]",
                                "roles[0].volume_mounts[1].mount_path: \"/x\" is mounted twice"},
                               {"volume_mounts: [{name: b, mount_path: /x}]",
                                "roles[0].volume_mounts[0].name: \"b\" is none of this role's volumes"},
                               {NULL, NULL},
                           });
}

Test(rules_role, ports) {
    violations_check(
        ROLE,
        (const struct violations_row[]){
            {"ports: [{name: a, port: 1}, {name: b, port: '65535'}]", "ok"},
            {"ports: [{name: abcdefghijklmno, port: 1}]", "ok"},
            {"ports: [{name: A, port: 1}]", "roles[0].ports[0].name: \"A\"" DNS_RULE " and have at most 15 characters"},
            {"ports: [{name: abcdefghijklmnop, port: 1}]",
             "roles[0].ports[0].name: is 16 bytes long, at most 15 are allowed\n"
             "roles[0].ports[0].name: \"abcdefghijklmnop\"" DNS_RULE " and have at most 15 characters"},
            {"ports: [{name: a, port: 1}, {name: a, port: 2}]", "roles[0].ports[1].name: \"a\" is there twice"},
            {"ports: [{name: a, port: 1}, {name: b, port: 1}]", "roles[0].ports[1].port: 1 is there twice"},
            {"ports: [{name: a}]", "roles[0].ports[0].port: is required, from 1 to 65535"},
            {"ports: [{name: a, port: 0}]", "roles[0].ports[0].port: is 0, must be from 1 to 65535"},
            {"ports: [{name: a, port: 65536}]", "roles[0].ports[0].port: is 65536, must be from 1 to 65535"},
            {NULL, NULL},
        });
}

Test(rules_role, tolerations) {
    violations_check(
        ROLE,
        (const struct violations_row[]){
            {"tolerations: [{key: a, value: b}, {operator: Exists}, {key: a, operator: Equal, effect: NoExecute}]",
             "ok"},
            {"tolerations: [{key: a, operator: In}]", "roles[0].tolerations[0].operator: must be Equal or Exists"},
            {"tolerations: [{value: b}]", "roles[0].tolerations[0].operator: must be Exists when the key is empty"},
            {"tolerations: [{key: a, operator: Exists, value: b}]",
             "roles[0].tolerations[0].value: must be empty with operator Exists"},
            {"tolerations: [{key: a, effect: Never}]",
             "roles[0].tolerations[0].effect: must be NoSchedule, PreferNoSchedule, NoExecute or empty"},
            {NULL, NULL},
        });
}

Test(rules_role, init_containers) {
    violations_check(ROLE, (const struct violations_row[]){
                               {"init_containers: [{name: a, image: b, env: [{name: C, value: d}]}]", "ok"},
                               {"init_containers: [{image: b}]", "roles[0].init_containers[0].name: \"\"" DNS_RULE},
                               {"init_containers: [{name: a}, {name: b, image: 'c d', env: [{name: E}, {name: E}]}]",
                                "roles[0].init_containers[1].image: contains white space or a control character\n"
                                "roles[0].init_containers[1].env[1].name: \"E\" is there twice"},
                               {"init_containers: [{name: a}, {name: b}, {name: a}]",
                                "roles[0].init_containers[2].name: \"a\" is there twice"},
                               {NULL, NULL},
                           });
}

// Whatever is wrong with a variable, its value is in no error.
Test(rules_role, values_are_never_shown) {
    static const char *const parts[] = {
        "env: [{name: '', value: hidden}]",
        "env: [{name: A, value: hidden}, {name: A, value: hidden}]",
        "env: [{name: A, value: [hidden]}]",
        "env: [{name: A, value: {hidden: hidden}}]",
        "env: [{name: A, value: hidden, value_from: hidden}]",
        "env: [{name: A, value: hidden, value_from: {field_path: [hidden]}}]",
        "env: hidden",
        "env: [hidden]",
        "env: {A: hidden}",
        "init_containers: [{name: a, env: [{name: '', value: hidden}]}]",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        CLEANUP(mem_free_ptr) char *yaml = mem_printf(ROLE "%s", parts[i]);
        CLEANUP(mem_free_ptr) char *is = violations(yaml);
        cr_expect_neq(strcmp(is, "ok"), 0, "%s", parts[i]);
        cr_expect_null(strstr(is, "hidden"), "%s gives %s", parts[i], is);
    }
}
