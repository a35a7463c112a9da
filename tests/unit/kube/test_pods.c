#include "kube/pods.h"

#include "base/str.h"

#include <criterion/criterion.h>
#include <string.h>

static struct kube_pod *read_pod(const char *status, const char *more_meta) {
    CLEANUP(arena_done) struct arena a = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    CLEANUP(str_done) struct str text = STR_INIT;
    const struct json *tree = NULL;
    str_printf(
        &text,
        "{\"metadata\":{\"name\":\"j-worker-1\",\"uid\":\"u1\",\"labels\":{\"training.kubeflow.org/replica-type\":"
        "\"worker\",\"training.kubeflow.org/replica-index\":\"1\"}%s},\"spec\":{\"nodeName\":\"n7\",\"containers\":"
        "[{\"name\":\"pytorch\"},{\"name\":\"side\"}]},\"status\":%s}",
        more_meta, status);
    cr_assert(json_parse(&a, str_text(&text), text.len, &json_limits_default, &tree, &err), "%s", err.message);
    return kube_pod_read(tree, kube_target_find("kubeflow.org/v1"));
}

static const struct {
    const char *status;
    enum kube_pod_phase phase;
    enum job_reason reason;
    const char *message;
} rows[] = {
    {"{\"phase\":\"Pending\"}", POD_PENDING, REASON_NONE, NULL},
    {"{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"pytorch\",\"state\":{\"running\":{}}}]}", POD_RUNNING,
     REASON_NONE, NULL},
    {"{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
     "\"Unschedulable\",\"message\":\"0/1 nodes are available: 1 Insufficient cpu.\"}]}",
     POD_PENDING, REASON_UNSCHEDULABLE, "pod j-worker-1: 0/1 nodes are available: 1 Insufficient cpu."},
    {"{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"pytorch\",\"state\":{\"waiting\":{\"reason\":"
     "\"ImagePullBackOff\",\"message\":\"Back-off pulling image nope:1\"}}}]}",
     POD_PENDING, REASON_IMAGE_PULL,
     "pod j-worker-1: container pytorch: ImagePullBackOff: Back-off pulling image nope:1"},
    {"{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"pytorch\",\"state\":{\"waiting\":{\"reason\":"
     "\"ContainerCreating\"}}}]}",
     POD_PENDING, REASON_NONE, NULL},
    {"{\"phase\":\"Pending\",\"initContainerStatuses\":[{\"name\":\"init-pytorch\",\"state\":{\"running\":{}}}]}",
     POD_INITIALIZING, REASON_INITIALIZING, "pod j-worker-1: init container init-pytorch runs"},
    {"{\"phase\":\"Pending\",\"initContainerStatuses\":[{\"name\":\"fetch\",\"state\":{\"waiting\":{\"reason\":"
     "\"CrashLoopBackOff\",\"message\":\"back-off 10s\"}},\"restartCount\":3}]}",
     POD_PENDING, REASON_CRASH_LOOP, "pod j-worker-1: init container fetch: CrashLoopBackOff: back-off 10s"},
    {"{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"pytorch\",\"state\":{\"waiting\":{\"reason\":"
     "\"CreateContainerConfigError\",\"message\":\"secret \\\"s\\\" not found\"}}}]}",
     POD_PENDING, REASON_CREATE_FAILED,
     "pod j-worker-1: container pytorch: CreateContainerConfigError: secret \"s\" not found"},
    {"{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on memory.\"}", POD_FAILED,
     REASON_EVICTED, "pod j-worker-1: The node was low on memory."},
    {"{\"phase\":\"Running\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
     "\"PreemptionByScheduler\",\"message\":\"preempted by a\"}]}",
     POD_RUNNING, REASON_PREEMPTED, "pod j-worker-1: preempted by a"},
    {"{\"phase\":\"Strange\",\"conditions\":{},\"containerStatuses\":\"x\"}", POD_PENDING, REASON_NONE, NULL},
    {"null", POD_PENDING, REASON_NONE, NULL},
};

Test(pods, what_a_status_means) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_pod *pod = read_pod(rows[i].status, "");
        cr_assert_not_null(pod);
        cr_expect_eq(pod->phase, rows[i].phase, "row %zu: phase %d", i, pod->phase);
        cr_expect_eq(pod->reason, rows[i].reason, "row %zu: %s", i, job_reason_name(pod->reason));
        cr_expect(str_same(pod->message, rows[i].message), "row %zu: %s", i, pod->message);
        cr_expect_str_eq(pod->role, "worker");
        cr_expect_str_eq(pod->container, "pytorch");
        cr_expect_eq(pod->index, 1);
        kube_pod_free(pod);
    }
}

Test(pods, how_a_container_ended) {
    static const struct {
        const char *ended;
        int32_t code, signal;
        const char *message;
    } ends[] = {
        {"{\"exitCode\":3,\"reason\":\"Error\",\"finishedAt\":\"2026-01-02T03:04:05Z\"}", 3, 0,
         "container pytorch: Error"},
        {"{\"exitCode\":137,\"reason\":\"OOMKilled\"}", 137, 9, "container pytorch: OOMKilled"},
        {"{\"exitCode\":143,\"reason\":\"Error\",\"message\":\"told to go\"}", 143, 15,
         "container pytorch: Error: told to go"},
        {"{\"exitCode\":255}", 255, 0, "container pytorch: Error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        CLEANUP(str_done) struct str status = STR_INIT;
        str_printf(&status,
                   "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"pytorch\",\"restartCount\":2,\"state\":{"
                   "\"terminated\":%s}}]}",
                   ends[i].ended);
        struct kube_pod *pod = read_pod(str_text(&status), "");
        cr_assert(pod->exit.present);
        cr_expect_eq(pod->exit.exit_code, ends[i].code);
        cr_expect_eq(pod->exit.signal, ends[i].signal, "%zu: %d", i, pod->exit.signal);
        cr_expect_str_eq(pod->exit.message, ends[i].message, "%s", pod->exit.message);
        cr_expect_str_eq(pod->exit.node, "n7");
        cr_expect_eq(pod->restarts, 2);
        kube_pod_free(pod);
    }
    struct kube_pod *well = read_pod("{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"pytorch\",\"state\":{"
                                     "\"terminated\":{\"exitCode\":0}}}]}",
                                     "");
    cr_expect_not(well->exit.present);
    cr_expect_eq(well->phase, POD_SUCCEEDED);
    kube_pod_free(well);
}

Test(pods, the_annotation_names_the_main_container) {
    struct kube_pod *pod = read_pod("{}", ",\"annotations\":{\"kubectl.kubernetes.io/default-container\":\"side\"}");
    cr_expect_str_eq(pod->container, "side");
    kube_pod_free(pod);
}

Test(pods, one_that_is_being_removed_is_active_until_it_is_gone) {
    struct list pods = LIST_INIT(pods);
    struct kube_situation s;
    struct kube_pod *pod = read_pod("{\"phase\":\"Succeeded\"}", ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"");
    list_push(&pods, &pod->link);
    kube_situation_read(&pods, &s);
    cr_expect_eq(s.active, 1);
    kube_pod_free(pod);
}

Test(pods, a_situation_tells_the_gravest_and_the_first_failure) {
    struct list pods = LIST_INIT(pods);
    static const char *const texts[] = {
        "{\"phase\":\"Running\"}",
        "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"message\":\"no "
        "room\"}]}",
        "{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"waiting\":{\"reason\":"
        "\"ErrImagePull\"}}}]}",
        "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":2,"
        "\"finishedAt\":\"2026-01-02T03:04:06Z\"}}}]}",
        "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":1,"
        "\"finishedAt\":\"2026-01-02T03:04:05Z\"}}}]}",
        "{\"phase\":\"Succeeded\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        list_push(&pods, &read_pod(texts[i], "")->link);
    }
    struct kube_situation s;
    kube_situation_read(&pods, &s);
    cr_expect_eq(s.reason, REASON_IMAGE_PULL);
    cr_expect_str_eq(s.message, "pod j-worker-1: container c: ErrImagePull");
    cr_assert_not_null(s.exit);
    cr_expect_eq(s.exit->exit_code, 1);
    cr_expect_eq(s.pods, 6);
    cr_expect_eq(s.active, 3);
    cr_assert_eq(s.role_count, 1);
    cr_expect_eq(s.roles[0].pending, 2);
    cr_expect_eq(s.roles[0].running, 1);
    cr_expect_eq(s.roles[0].failed, 2);
    cr_expect_eq(s.roles[0].succeeded, 1);
    LIST_EACH (node, &pods) {
        list_remove(node);
        kube_pod_free(CONTAINER_OF(node, struct kube_pod, link));
    }
}
