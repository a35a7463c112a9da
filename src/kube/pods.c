#include "kube/pods.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 600 };
#define DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"

// ---- Why a container waits

struct waiting {
    const char *word; // the kubelet's
    enum job_reason reason;
};

// Words that only say "a moment" are not here: ContainerCreating, PodInitializing.
static const struct waiting waits[] = {
    {"ImagePullBackOff", REASON_IMAGE_PULL},        {"ErrImagePull", REASON_IMAGE_PULL},
    {"InvalidImageName", REASON_IMAGE_PULL},        {"ErrImageNeverPull", REASON_IMAGE_PULL},
    {"RegistryUnavailable", REASON_IMAGE_PULL},     {"ImageInspectError", REASON_IMAGE_PULL},
    {"CrashLoopBackOff", REASON_CRASH_LOOP},        {"CreateContainerConfigError", REASON_CREATE_FAILED},
    {"CreateContainerError", REASON_CREATE_FAILED}, {"RunContainerError", REASON_CREATE_FAILED},
    {"ContainerCannotRun", REASON_CREATE_FAILED},
};

static enum job_reason waiting_reason(const char *word) {
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        if (str_same(waits[i].word, word)) {
            return waits[i].reason;
        }
    }
    return REASON_NONE;
}

// What is worst is told first.
static int gravity(enum job_reason reason) {
    static const enum job_reason order[] = {REASON_INITIALIZING, REASON_NODE_LOST,     REASON_UNSCHEDULABLE,
                                            REASON_CRASH_LOOP,   REASON_CREATE_FAILED, REASON_IMAGE_PULL,
                                            REASON_PREEMPTED,    REASON_EVICTED};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        if (order[i] == reason) {
            return (int)i + 1;
        }
    }
    return reason == REASON_NONE ? 0 : 1;
}

static void say(struct kube_pod *pod, enum job_reason reason, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void say(struct kube_pod *pod, enum job_reason reason, const char *fmt, ...) {
    if (gravity(reason) <= gravity(pod->reason)) {
        return;
    }
    CLEANUP(str_done) struct str text = STR_INIT;
    char part[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(part, sizeof part, fmt, ap);
    va_end(ap);
    part[str_utf8_valid(part, strlen(part))] = '\0'; // it may have been cut within a character
    str_printf(&text, "pod %s: %s", pod->name, part);
    mem_free(pod->message);
    pod->message = str_take(&text);
    pod->reason = reason;
}

// ---- Containers

static void keep_exit(struct kube_pod *pod, const char *container, const struct json *ended) {
    int64_t code = 0;
    int64_t signal = 0;
    int64_t at = 0;
    (void)json_int(json_get(ended, "exitCode"), &code);
    (void)json_int(json_get(ended, "signal"), &signal);
    if (code == 0 && signal == 0) {
        return;
    }
    (void)clock_parse(json_string(json_get(ended, "finishedAt"), ""), &at);
    if (pod->exit.present && pod->ended_ns != 0 && at >= pod->ended_ns) {
        return; // not the first
    }
    if (signal == 0 && code > 128 && code < 160) {
        signal = code - 128; // as a shell and the kubelet write it
    }
    const char *reason = json_string(json_get(ended, "reason"), "Error");
    const char *message = json_string(json_get(ended, "message"), "");
    mem_free((char *)(uintptr_t)pod->exit.message);
    pod->exit = (struct job_exit){
        .present = true,
        .index = pod->index,
        .exit_code = (int32_t)code,
        .signal = (int32_t)signal,
        .role = pod->role,
        .node = pod->node,
        .message = mem_printf("container %s: %s%s%.*s", container, reason, message[0] != '\0' ? ": " : "",
                              (int)str_utf8_valid(message, strnlen(message, TEXT_MAX)), message)};
    pod->ended_ns = at;
}

static void read_container(struct kube_pod *pod, const struct json *status, bool init) {
    const char *name = json_string(json_get(status, "name"), "?");
    const struct json *waiting = json_path(status, "state.waiting");
    const char *word = json_string(json_get(waiting, "reason"), "");
    int64_t restarts = 0;
    if (json_int(json_get(status, "restartCount"), &restarts) && restarts > 0 && restarts < INT32_MAX) {
        pod->restarts += (int32_t)restarts;
    }
    enum job_reason reason = waiting_reason(word);
    if (reason != REASON_NONE) {
        const char *message = json_string(json_get(waiting, "message"), "");
        say(pod, reason, "%s %s: %s%s%s", init ? "init container" : "container", name, word,
            message[0] != '\0' ? ": " : "", message);
    }
    keep_exit(pod, name, json_path(status, "state.terminated"));
    keep_exit(pod, name, json_path(status, "lastState.terminated"));
}

static void read_containers(struct kube_pod *pod, const struct json *status) {
    JSON_EACH (one, json_get(status, "initContainerStatuses")) {
        read_container(pod, one, true);
        bool done = json_path(one, "state.terminated") != NULL;
        if (!done && pod->phase == POD_PENDING && json_path(one, "state.running") != NULL) {
            pod->phase = POD_INITIALIZING;
            say(pod, REASON_INITIALIZING, "init container %s runs", json_string(json_get(one, "name"), "?"));
        }
    }
    JSON_EACH (one, json_get(status, "containerStatuses")) {
        read_container(pod, one, false);
    }
}

// ---- The pod

static void read_conditions(struct kube_pod *pod, const struct json *status) {
    const struct json *scheduled = json_path(status, "conditions[type=PodScheduled]");
    if (str_same(json_string(json_get(scheduled, "status"), ""), "False")) {
        const char *word = json_string(json_get(scheduled, "reason"), "Unschedulable");
        say(pod, REASON_UNSCHEDULABLE, "%s", json_string(json_get(scheduled, "message"), word));
    }
    const struct json *disrupted = json_path(status, "conditions[type=DisruptionTarget]");
    if (str_same(json_string(json_get(disrupted, "status"), ""), "True")) {
        const char *word = json_string(json_get(disrupted, "reason"), "");
        bool preempted = strstr(word, "Preempt") != NULL;
        say(pod, preempted ? REASON_PREEMPTED : REASON_EVICTED, "%s",
            json_string(json_get(disrupted, "message"), word));
    }
    const char *word = json_string(json_get(status, "reason"), "");
    if (str_same(word, "Evicted")) {
        say(pod, REASON_EVICTED, "%s", json_string(json_get(status, "message"), "evicted"));
    } else if (str_same(word, "NodeLost")) {
        say(pod, REASON_NODE_LOST, "node %s: %s", pod->node, json_string(json_get(status, "message"), "lost"));
    }
}

static enum kube_pod_phase phase_of(const char *word) {
    static const struct {
        const char *word;
        enum kube_pod_phase phase;
    } rows[] = {{"Running", POD_RUNNING}, {"Succeeded", POD_SUCCEEDED}, {"Failed", POD_FAILED}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_same(rows[i].word, word)) {
            return rows[i].phase;
        }
    }
    return POD_PENDING; // Unknown as well: it will be told by its node
}

struct kube_pod *kube_pod_read(const struct json *object, const struct kube_target *target) {
    const struct json *meta = json_get(object, "metadata");
    const struct json *labels = json_get(meta, "labels");
    const struct json *status = json_get(object, "status");
    const char *name = json_string(json_get(meta, "name"), NULL);
    int64_t index;
    if (name == NULL) {
        return NULL;
    }
    struct kube_pod *pod = NEW(struct kube_pod);
    list_init(&pod->link);
    pod->name = mem_strdup(name);
    pod->uid = mem_strdup(json_string(json_get(meta, "uid"), ""));
    pod->role = mem_strdup(json_string(json_get(labels, target->role_label), ""));
    pod->node = mem_strdup(json_string(json_path(object, "spec.nodeName"), ""));
    const char *first = json_string(json_path(object, "spec.containers[0].name"), "");
    const char *chosen = json_string(json_get(json_get(meta, "annotations"), DEFAULT_CONTAINER), first);
    pod->container = mem_strdup(chosen);
    bool has_index = str_to_int64(json_string(json_get(labels, target->index_label), ""), 0, INT32_MAX, &index);
    pod->index = has_index ? (int32_t)index : -1;
    pod->phase = phase_of(json_string(json_get(status, "phase"), ""));
    pod->terminating = json_get(meta, "deletionTimestamp") != NULL;
    read_containers(pod, status);
    read_conditions(pod, status);
    return pod;
}

void kube_pod_free(struct kube_pod *pod) {
    if (pod == NULL) {
        return;
    }
    mem_free(pod->name);
    mem_free(pod->uid);
    mem_free(pod->role);
    mem_free(pod->node);
    mem_free(pod->container);
    mem_free(pod->message);
    mem_free((char *)(uintptr_t)pod->exit.message);
    mem_free(pod);
}

bool kube_pod_same(const struct kube_pod *a, const struct kube_pod *b) {
    return a->phase == b->phase && a->terminating == b->terminating && a->restarts == b->restarts &&
           a->reason == b->reason && str_same(a->message, b->message) && str_same(a->uid, b->uid) &&
           a->exit.present == b->exit.present && a->exit.exit_code == b->exit.exit_code &&
           a->exit.signal == b->exit.signal && str_same(a->node, b->node);
}

// ---- All of them

static struct job_role_count *role_of(struct kube_situation *s, const char *name) {
    for (size_t i = 0; i < s->role_count; i++) {
        if (str_same(s->roles[i].name, name)) {
            return &s->roles[i];
        }
    }
    if (s->role_count == ARRAY_LEN(s->roles)) {
        return NULL;
    }
    s->roles[s->role_count] = (struct job_role_count){.name = name};
    return &s->roles[s->role_count++];
}

static void count(struct kube_situation *s, const struct kube_pod *pod) {
    struct job_role_count *role = role_of(s, pod->role);
    s->pods++;
    s->restarts += pod->restarts;
    s->active += pod->phase <= POD_RUNNING || pod->terminating;
    if (role != NULL) {
        role->pending += pod->phase == POD_PENDING || pod->phase == POD_INITIALIZING;
        role->running += pod->phase == POD_RUNNING;
        role->succeeded += pod->phase == POD_SUCCEEDED;
        role->failed += pod->phase == POD_FAILED;
    }
}

void kube_situation_read(const struct list *pods, struct kube_situation *ret) {
    const struct kube_pod *first = NULL;
    *ret = (struct kube_situation){0};
    LIST_EACH (node, pods) {
        const struct kube_pod *pod = CONTAINER_OF(node, struct kube_pod, link);
        count(ret, pod);
        if (gravity(pod->reason) > gravity(ret->reason)) {
            ret->reason = pod->reason;
            ret->message = pod->message;
        }
        if (pod->exit.present && (first == NULL || pod->ended_ns < first->ended_ns)) {
            first = pod;
        }
    }
    ret->exit = first != NULL ? &first->exit : NULL;
}
