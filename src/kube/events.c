// Warnings of the cluster about a job's object: what its operator could not do, and why. Pods speak for themselves.
#include "kube/executor.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 800 };

// By the event's reason, or by a word of its message.
static enum job_reason reason_of(const char *reason, const char *message) {
    static const struct {
        const char *in_reason, *in_message;
        enum job_reason means;
    } rows[] = {
        {NULL, "exceeded quota", REASON_QUOTA_EXCEEDED}, {"FailedValidation", NULL, REASON_VALIDATION_FAILED},
        {"FailedCreate", NULL, REASON_CREATE_FAILED},    {"CreationFailed", NULL, REASON_CREATE_FAILED},
        {"Failed", "create", REASON_CREATE_FAILED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool by_reason = rows[i].in_reason == NULL || strstr(reason, rows[i].in_reason) != NULL;
        bool by_message = rows[i].in_message == NULL || strstr(message, rows[i].in_message) != NULL;
        if (by_reason && by_message) {
            return rows[i].means;
        }
    }
    return REASON_NONE;
}

static void keep_early(struct kube *k, const char *object_uid, enum job_reason reason, const char *text) {
    struct kube_early *e = &k->early[k->early_next++ % KUBE_EARLY];
    mem_free(e->text);
    snprintf(e->object_uid, sizeof e->object_uid, "%s", object_uid);
    e->reason = reason;
    e->text = mem_strdup(text);
}

void kube_early_take(struct kube_job *j) {
    for (size_t i = 0; i < KUBE_EARLY; i++) {
        struct kube_early *e = &j->kube->early[i];
        if (e->text != NULL && str_same(e->object_uid, j->object_uid)) {
            kube_trouble(j, e->reason, e->text);
            mem_free(TAKE(e->text));
        }
    }
}

void kube_early_free(struct kube *k) {
    for (size_t i = 0; i < KUBE_EARLY; i++) {
        mem_free(TAKE(k->early[i].text));
    }
}

static void on_event(void *ctx, const struct json *event) {
    struct kube *k = ctx;
    const char *object_uid = json_string(json_path(event, "involvedObject.uid"), "");
    struct kube_job *j = hash_get(&k->homes, object_uid);
    const char *reason = json_string(json_get(event, "reason"), "");
    const char *message = json_string(json_get(event, "message"), "");
    enum job_reason means = reason_of(reason, message);
    if (means == REASON_NONE) {
        return;
    }
    CLEANUP(mem_free_ptr)
    char *text = mem_printf("%.80s: %.*s", reason, (int)str_utf8_valid(message, strnlen(message, TEXT_MAX)), message);
    if (j != NULL) {
        kube_trouble(j, means, text);
    } else {
        keep_early(k, object_uid, means, text);
    }
}

static void on_event_gone(void *ctx UNUSED, const char *uid UNUSED, const struct json *object UNUSED) {
}

static void on_events_listed(void *ctx UNUSED) {
}

static void on_events_health(void *ctx UNUSED, const char *problem UNUSED) {
    // events explain; without them everything else is still true
}

const struct reflector_handler kube_event_handler = {
    .object = on_event, .gone = on_event_gone, .listed = on_events_listed, .health = on_events_health};
