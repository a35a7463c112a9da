// Rules of the spec as a whole: names, labels, roles together, policies.
#include "job/rules.h"

#include "job/internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_RULE "must match [a-z]([-a-z0-9]*[a-z0-9])? and have at most %d characters, it has %zu"
enum { REPLICAS_MAX = 10000, ANNOTATIONS_MAX = 262144 };

void rules_at(struct shape_path *path, struct err *err, const char *field, const char *fmt, ...) {
    char text[500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t mark = shape_enter(path, "%s", field);
    err_violate(err, str_text(&path->text), "%s", text);
    shape_leave(path, mark);
}

static const char *text_of(const struct json *object, const char *key) {
    const char *t = json_string(json_get(object, key), NULL);
    return str_is_empty(t) ? NULL : t;
}

static void check_name(const struct json *spec, const char *field, int max, struct shape_path *path, struct err *err) {
    const char *name = text_of(spec, field);
    if (name != NULL && !job_name_valid(name, (size_t)max)) {
        rules_at(path, err, field, "\"%.80s\" " NAME_RULE, name, max, strlen(name));
    }
}

static void check_labels(const struct json *labels, const char *field, struct shape_path *path, struct err *err) {
    JSON_EACH (l, labels) {
        char at[400];
        snprintf(at, sizeof at, "%s[\"%.320s\"]", field, l->key);
        if (!job_label_key_valid(l->key)) {
            rules_at(path, err, at,
                     "is no label key: an optional DNS prefix and /, then at most 63 of [-A-Za-z0-9_.] that begin and "
                     "end with a letter or digit");
        }
        if (l->type == JSON_STRING && !job_label_value_valid(l->text)) {
            rules_at(path, err, at,
                     "is no label value: at most 63 of [-A-Za-z0-9_.] that begin and end with a letter or digit");
        }
    }
}

static void check_annotations(const struct json *annotations, const char *field, struct shape_path *path,
                              struct err *err) {
    size_t total = 0;
    JSON_EACH (a, annotations) {
        total += strlen(a->key) + a->length;
        if (!job_label_key_valid(a->key)) {
            rules_at(path, err, field, "\"%.80s\" is no annotation key", a->key);
        }
    }
    if (total > ANNOTATIONS_MAX) {
        rules_at(path, err, field, "are %zu bytes in all, at most %d are allowed", total, ANNOTATIONS_MAX);
    }
}

void rules_names(const struct json *spec, struct shape_path *path, struct err *err) {
    if (text_of(spec, "name") != NULL && text_of(spec, "name_prefix") != NULL) {
        rules_at(path, err, "name_prefix", "only one of name and name_prefix may be set");
    }
    check_name(spec, "name", JOB_NAME_MAX, path, err);
    check_name(spec, "name_prefix", JOB_NAME_PREFIX_MAX, path, err);
    static const char *const dns[] = {"namespace", "group"};
    for (size_t i = 0; i < ARRAY_LEN(dns); i++) {
        const char *t = text_of(spec, dns[i]);
        if (t != NULL && !job_namespace_valid(t)) {
            rules_at(path, err, dns[i],
                     "\"%.80s\" must match [a-z0-9]([-a-z0-9]*[a-z0-9])? and have at most 63 characters", t);
        }
    }
    check_labels(json_get(spec, "labels"), "labels", path, err);
    check_annotations(json_get(spec, "annotations"), "annotations", path, err);
}

static int64_t replicas_of(const struct json *role) {
    int64_t v = 1;
    (void)shape_int(json_get(role, "replicas"), &v);
    return v;
}

static void check_manifest(const struct json *spec, struct shape_path *path, struct err *err) {
    static const char *const excluded[] = {"roles",  "runtime",     "elastic", "run_policy",
                                           "params", "name_prefix", "target"};
    for (size_t i = 0; i < ARRAY_LEN(excluded); i++) {
        const struct json *v = json_get(spec, excluded[i]);
        if (v != NULL && (v->count != 0 || v->length != 0)) {
            rules_at(path, err, excluded[i], "may not be set together with manifest");
        }
    }
}

void rules_roles(const struct json *spec, struct shape_path *path, struct err *err) {
    if (text_of(spec, "manifest") != NULL) {
        check_manifest(spec, path, err);
        return;
    }
    if (text_of(spec, "runtime") == NULL) {
        rules_at(path, err, "runtime", "is required; ListRuntimes shows which there are");
    }
    const struct json *roles = json_get(spec, "roles");
    if (roles == NULL || roles->type != JSON_ARRAY || roles->count == 0) {
        rules_at(path, err, "roles", "at least one role is required");
        return;
    }
    int64_t total = 0;
    size_t i = 0;
    JSON_EACH (role, roles) {
        size_t mark = shape_enter(path, "roles[%zu]", i);
        const char *name = text_of(role, "name");
        size_t k = 0;
        JSON_EACH (other, roles) {
            if (k++ < i && name != NULL && str_same_nocase(name, text_of(other, "name"))) {
                rules_at(path, err, "name", "\"%.63s\" is there twice", name);
            }
        }
        if (name == NULL) {
            rules_at(path, err, "name", "is required");
        }
        rules_role(role, path, err);
        shape_leave(path, mark);
        int64_t n = replicas_of(role);
        total += n > 0 ? n : 0;
        i++;
    }
    if (total == 0) {
        rules_at(path, err, "roles", "all roles together have no replicas; at least one is needed");
    } else if (total > REPLICAS_MAX) {
        rules_at(path, err, "roles", "have %" PRId64 " replicas in all, at most %d are allowed", total, REPLICAS_MAX);
    }
}

void rules_policies(const struct json *spec, struct shape_path *path, struct err *err) {
    const struct json *elastic = json_get(spec, "elastic");
    int64_t min = 1;
    int64_t max = 1;
    if (elastic != NULL && shape_int(json_get(elastic, "min"), &min) && shape_int(json_get(elastic, "max"), &max) &&
        min > max) {
        rules_at(path, err, "elastic.min", "is %" PRId64 ", more than elastic.max (%" PRId64 ")", min, max);
    }
    size_t i = 0;
    const struct json *all = json_get(spec, "depends_on");
    JSON_EACH (d, all) {
        char at[64];
        snprintf(at, sizeof at, "depends_on[%zu].job", i);
        const char *job = text_of(d, "job");
        if (job == NULL) {
            rules_at(path, err, at, "is required");
        } else if (str_same(job, text_of(spec, "name"))) {
            rules_at(path, err, at, "a job cannot depend on itself");
        }
        size_t k = 0;
        JSON_EACH (other, all) {
            if (k++ < i && job != NULL && str_same(job, text_of(other, "job"))) {
                rules_at(path, err, at, "\"%.63s\" is there twice", job);
            }
        }
        i++;
    }
}
