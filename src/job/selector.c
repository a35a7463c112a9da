// Selectors: the conditions of a request, compiled once, asked for every job and event.
#include "job/selector.h"

#include "base/mem.h"
#include "base/str.h"
#include "job/internal.h"

#include <string.h>

enum { REQUIREMENTS_MAX = 64, VALUES_MAX = 256, UIDS_MAX = 1000, SELECTOR_MAX = 8192 };

enum match { MATCH_IN, MATCH_NOT_IN, MATCH_EXISTS, MATCH_MISSING };

struct requirement {
    const char *key;
    enum match match;
    const char **values;
    size_t count;
};

struct job_selector {
    struct arena arena;
    const char *namespace_, *group, *runtime, *name_contains; // NULL: any
    struct requirement *requirements;
    size_t requirement_count;
    const char *const *uids;
    size_t uid_count;
    struct hash uid_set;
    uint32_t states;
    uint64_t hash;
};

// ---- The label grammar
// -----------------------------------------------------------------------------------------------------------

struct lexer {
    struct arena *arena;
    const char *text, *p;
    struct err *err;
};

static bool fail(struct lexer *l, const char *what) {
    return err_violate(l->err, "selector.label_selector", "at character %zu: %s", (size_t)(l->p - l->text) + 1, what);
}

static void skip(struct lexer *l) {
    l->p += strspn(l->p, " \t");
}

static bool sign(struct lexer *l, const char *text) {
    skip(l);
    if (!str_starts(l->p, text)) {
        return false;
    }
    l->p += strlen(text);
    return true;
}

static const char *word(struct lexer *l) {
    skip(l);
    size_t n = strcspn(l->p, " \t,=!()");
    const char *w = arena_strndup(l->arena, l->p, n);
    l->p += n;
    return w;
}

static bool value(struct lexer *l, struct requirement *r) {
    const char *v = word(l);
    if (r->count == VALUES_MAX) {
        return fail(l, "too many values");
    }
    if (!job_label_value_valid(v)) {
        return fail(l, "that is no label value");
    }
    r->values[r->count++] = v;
    return true;
}

static bool values(struct lexer *l, struct requirement *r) {
    if (!sign(l, "(")) {
        return fail(l, "expected ( and a list of values");
    }
    do {
        if (!value(l, r)) {
            return false;
        }
    } while (sign(l, ","));
    return sign(l, ")") || fail(l, "expected , or )");
}

static bool requirement(struct lexer *l, struct requirement *r) {
    r->values = ARENA_NEW_ARRAY(l->arena, const char *, VALUES_MAX);
    bool missing = sign(l, "!");
    r->key = word(l);
    if (!job_label_key_valid(r->key)) {
        return fail(l, "expected a label key");
    }
    r->match = missing ? MATCH_MISSING : MATCH_EXISTS;
    if (missing) {
        return true;
    }
    if (sign(l, "!=")) {
        r->match = MATCH_NOT_IN;
        return value(l, r);
    }
    if (sign(l, "==") || sign(l, "=")) {
        r->match = MATCH_IN;
        return value(l, r);
    }
    skip(l);
    if (*l->p == ',' || *l->p == '\0') {
        return true;
    }
    const char *op = word(l);
    if (!str_same(op, "in") && !str_same(op, "notin")) {
        return fail(l, "expected =, ==, !=, in or notin");
    }
    r->match = str_same(op, "in") ? MATCH_IN : MATCH_NOT_IN;
    return values(l, r);
}

static bool parse_labels(struct job_selector *s, const char *text, struct err *err) {
    struct lexer l = {.arena = &s->arena, .text = text, .p = text, .err = err};
    if (strlen(text) > SELECTOR_MAX) {
        return err_violate(err, "selector.label_selector", "is longer than %d bytes", SELECTOR_MAX);
    }
    skip(&l);
    if (*l.p == '\0') {
        return true;
    }
    s->requirements = ARENA_NEW_ARRAY(&s->arena, struct requirement, REQUIREMENTS_MAX);
    do {
        if (s->requirement_count == REQUIREMENTS_MAX) {
            return fail(&l, "too many requirements");
        }
        if (!requirement(&l, &s->requirements[s->requirement_count++])) {
            return false;
        }
    } while (sign(&l, ","));
    skip(&l);
    return *l.p == '\0' || fail(&l, "expected , or the end");
}

// ---- Making one
// --------------------------------------------------------------------------------------------------------------------

static const char *keep(struct job_selector *s, const char *text) {
    return str_is_empty(text) ? NULL : arena_strdup(&s->arena, text);
}

static bool take_uids(struct job_selector *s, const struct job_selector_args *args, struct err *err) {
    if (args->uid_count > UIDS_MAX) {
        return err_violate(err, "selector.uids", "has %zu entries, at most %d are allowed", args->uid_count, UIDS_MAX);
    }
    const char **uids = ARENA_NEW_ARRAY(&s->arena, const char *, args->uid_count);
    for (size_t i = 0; i < args->uid_count; i++) {
        uids[i] = arena_strdup(&s->arena, args->uids[i]);
        hash_put(&s->uid_set, uids[i], (void *)(uintptr_t)uids[i]);
    }
    s->uids = uids;
    s->uid_count = args->uid_count;
    return true;
}

static uint64_t fingerprint(const struct job_selector *s, const struct job_selector_args *args) {
    CLEANUP(str_done) struct str all = STR_INIT;
    const char *const texts[] = {args->namespace_, args->label_selector, args->group, args->runtime,
                                 args->name_contains};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        str_add(&all, texts[i] != NULL ? texts[i] : "");
        str_add_char(&all, '\n');
    }
    for (size_t i = 0; i < s->uid_count; i++) {
        str_add(&all, s->uids[i]);
        str_add_char(&all, '\n');
    }
    str_printf(&all, "%u", args->states);
    return hash_bytes(str_text(&all), all.len);
}

bool job_selector_new(const struct job_selector_args *args, struct job_selector **ret, struct err *err) {
    struct job_selector *s = NEW(struct job_selector);
    arena_init(&s->arena, 0);
    s->namespace_ = keep(s, args->namespace_);
    s->group = keep(s, args->group);
    s->runtime = keep(s, args->runtime);
    s->name_contains = keep(s, args->name_contains);
    s->states = args->states;
    if (!take_uids(s, args, err) || !parse_labels(s, args->label_selector != NULL ? args->label_selector : "", err)) {
        job_selector_free(s);
        return false;
    }
    s->hash = fingerprint(s, args);
    *ret = s;
    return true;
}

void job_selector_free(struct job_selector *s) {
    if (s == NULL) {
        return;
    }
    hash_done(&s->uid_set);
    arena_done(&s->arena);
    mem_free(s);
}

// ---- Asking
// ------------------------------------------------------------------------------------------------------------------------

static bool among(const struct requirement *r, const char *value) {
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->values[i], value) == 0) {
            return true;
        }
    }
    return false;
}

static bool holds(const struct requirement *r, const struct json *labels) {
    const char *v = json_string(json_get(labels, r->key), NULL);
    switch (r->match) {
    case MATCH_IN:
        return v != NULL && among(r, v);
    case MATCH_NOT_IN: // as in Kubernetes, a missing label is not in the set
        return v == NULL || !among(r, v);
    case MATCH_EXISTS:
        return v != NULL;
    case MATCH_MISSING:
        return v == NULL;
    }
    return false;
}

bool job_selector_matches(const struct job_selector *s, const struct job *job) {
    if ((s->namespace_ != NULL && strcmp(s->namespace_, job->namespace_) != 0) ||
        (s->group != NULL && !str_same(s->group, job->group)) ||
        (s->runtime != NULL && strcmp(s->runtime, job->runtime) != 0) ||
        (s->name_contains != NULL && strstr(job->name, s->name_contains) == NULL) ||
        (s->uid_count != 0 && hash_get(&s->uid_set, job->uid) == NULL)) {
        return false;
    }
    for (size_t i = 0; i < s->requirement_count; i++) {
        if (!holds(&s->requirements[i], job->labels)) {
            return false;
        }
    }
    return true;
}

bool job_selector_wants_state(const struct job_selector *s, enum job_state state) {
    return s->states == 0 || (s->states & (1U << state)) != 0;
}

size_t job_selector_uids(const struct job_selector *s, const char *const **ret) {
    *ret = s->uids;
    return s->uid_count;
}

uint64_t job_selector_hash(const struct job_selector *s) {
    return s->hash;
}
