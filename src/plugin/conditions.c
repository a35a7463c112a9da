// The status of a kubeflow.org/v1 kind. Only the set of conditions counts: their order and times do not, since both
// change with every update and have a resolution of one second.
#include "plugin/internal.h"

#include <string.h>

struct meaning {
    const char *condition, *state, *reason;
};

// The first that is True says what the job is.
static const struct meaning meanings[] = {
    {"Failed", "FAILED", "BACKEND_ERROR"},           {"Succeeded", "SUCCEEDED", "COMPLETED"},
    {"Suspended", "SUSPENDED", "SUSPENDED_BY_USER"}, {"Restarting", "RESTARTING", "PROCESS_EXITED"},
    {"Running", "RUNNING", "ALL_RUNNING"},           {"Created", "PENDING", "ACCEPTED"},
};

// What the operator's words mean more exactly.
static const struct {
    const char *state, *word, *reason;
} words[] = {
    {"FAILED", "Evicted", "EVICTED"},
    {"FAILED", "active longer than specified deadline", "DEADLINE_EXCEEDED"},
    {"FAILED", "backoff limit", "BACKOFF_LIMIT_EXCEEDED"},
};

static const struct json *find_true(const struct json *conditions, const char *type) {
    JSON_EACH (one, conditions) {
        if (str_same(json_string(json_get(one, "type"), NULL), type) &&
            str_same(json_string(json_get(one, "status"), NULL), "True")) {
            return one;
        }
    }
    return NULL;
}

static const char *exact_reason(const struct meaning *m, const char *reason, const char *message) {
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i].state, m->state) == 0 &&
            (strstr(reason, words[i].word) != NULL || strstr(message, words[i].word) != NULL)) {
            return words[i].reason;
        }
    }
    return m->reason;
}

static void put(struct json_writer *w, const char *key, const char *text) {
    json_key(w, key);
    json_add_string(w, text);
}

void conditions_observe(struct json_writer *w, const struct json *object) {
    static const struct meaning nothing_yet = {NULL, "PENDING", "ACCEPTED"};
    const struct json *conditions = json_path(object, "status.conditions");
    const struct meaning *m = &nothing_yet;
    const struct json *condition = NULL;
    for (size_t i = 0; condition == NULL && i < ARRAY_LEN(meanings); i++) {
        condition = find_true(conditions, meanings[i].condition);
        m = condition != NULL ? &meanings[i] : m;
    }
    const char *message = json_string(json_get(condition, "message"), "");
    const char *happened = json_string(json_get(condition, "lastTransitionTime"), NULL);
    json_begin_object(w);
    put(w, "state", m->state);
    put(w, "reason", exact_reason(m, json_string(json_get(condition, "reason"), ""), message));
    put(w, "message", message);
    if (happened != NULL) {
        put(w, "happened", happened);
    }
    json_end_object(w);
}
