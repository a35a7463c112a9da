// JSON schema for parameters: a table of keywords. Each has a check of the schema itself, run when a plugin is loaded,
// and a check of a value. Unknown keywords are refused then, so that no rule of a schema is ever silently ignored.
#include "plugin/internal.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

enum { NAMES_MAX = 64, SHOWN_MAX = 400, KEY_MAX = 80 };

// One value under check: where it is, and the schema that holds for it.
struct subject {
    const struct json *schema, *value;
    const char *field;
    struct err *err;
};

struct keyword {
    const char *name;
    const char *wants;                                               // what the keyword's own value must be
    bool (*well_formed)(const struct json *rule);                    // NULL: an annotation, anything goes
    void (*check)(const struct json *rule, const struct subject *s); // NULL: nothing to check by itself
};

static void check(const struct subject *s);

static char *child_field(const struct subject *s, const char *key) {
    bool plain = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == strlen(key);
    int n = text_cut(key, KEY_MAX);
    return plain && key[0] != '\0' ? mem_printf("%s.%.*s", s->field, n, key)
                                   : mem_printf("%s[\"%.*s\"]", s->field, n, key);
}

// ---- type

static bool is_whole(const struct json *value) {
    double d;
    return json_double(value, &d) && isfinite(d) && floor(d) == d;
}

static const struct {
    const char *name;
    enum json_type type;
    const char *shown;
} types[] = {
    {"null", JSON_NULL, "null"},
    {"boolean", JSON_BOOL, "true or false"},
    {"integer", JSON_NUMBER, "a whole number"},
    {"number", JSON_NUMBER, "a number"},
    {"string", JSON_STRING, "a text"},
    {"array", JSON_ARRAY, "a list"},
    {"object", JSON_OBJECT, "an object"},
};

// Index in types, or -1.
static int type_find(const struct json *name) {
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_same(json_string(name, NULL), types[i].name)) {
            return (int)i;
        }
    }
    return -1;
}

static bool type_well_formed(const struct json *rule) {
    if (rule->type != JSON_ARRAY) {
        return type_find(rule) >= 0;
    }
    JSON_EACH (name, rule) {
        if (type_find(name) < 0) {
            return false;
        }
    }
    return rule->count > 0;
}

// true when the value has one of the types; otherwise the violation is there.
static bool check_type(const struct subject *s) {
    const struct json *rule = json_get(s->schema, "type");
    if (rule == NULL) {
        return true;
    }
    CLEANUP(str_done) struct str wanted = STR_INIT;
    const struct json *one = rule->type == JSON_ARRAY ? rule->first : rule;
    for (; one != NULL; one = rule->type == JSON_ARRAY ? one->next : NULL) {
        int t = type_find(one); // known: the schema was verified
        bool whole = t >= 0 && str_same(types[t].name, "integer");
        if (t >= 0 && s->value->type == types[t].type && (!whole || is_whole(s->value))) {
            return true;
        }
        str_printf(&wanted, "%s%s", wanted.len != 0 ? " or " : "", t >= 0 ? types[t].shown : "nothing");
    }
    const char *found = s->value->type == JSON_NUMBER ? s->value->text : json_type_name(s->value->type);
    return err_violate(s->err, s->field, "must be %s, not %.*s", str_text(&wanted), text_cut(found, KEY_MAX), found);
}

// ---- enum, const

static void add_shown(struct str *out, const struct json *value) {
    CLEANUP(str_done) struct str text = STR_INIT;
    json_write(&text, value);
    str_printf(out, "%s%s", out->len != 0 ? ", " : "", str_text(&text));
}

static bool is_filled_array(const struct json *rule) {
    return rule->type == JSON_ARRAY && rule->count > 0;
}

static void check_enum(const struct json *rule, const struct subject *s) {
    CLEANUP(str_done) struct str allowed = STR_INIT;
    const char *names[NAMES_MAX];
    size_t n = 0;
    JSON_EACH (one, rule) {
        if (json_equal(one, s->value)) {
            return;
        }
        add_shown(&allowed, one);
        if (one->type == JSON_STRING && n < NAMES_MAX) {
            names[n++] = one->text;
        }
    }
    const char *text = json_string(s->value, NULL);
    const char *nearest = text != NULL ? str_nearest(text, names, n) : NULL;
    if (nearest != NULL) {
        err_violate(s->err, s->field, "must be one of %.*s; did you mean \"%s\"?",
                    text_cut(str_text(&allowed), SHOWN_MAX), str_text(&allowed), nearest);
    } else {
        err_violate(s->err, s->field, "must be one of %.*s", text_cut(str_text(&allowed), SHOWN_MAX),
                    str_text(&allowed));
    }
}

// ---- numbers

static bool is_number(const struct json *rule) {
    double d;
    return rule->type == JSON_NUMBER && json_double(rule, &d);
}

static void check_minimum(const struct json *rule, const struct subject *s) {
    double least;
    double value;
    if (s->value->type == JSON_NUMBER && json_double(rule, &least) &&
        (!json_double(s->value, &value) || value < least)) {
        err_violate(s->err, s->field, "must be at least %s", rule->text);
    }
}

static void check_maximum(const struct json *rule, const struct subject *s) {
    double most;
    double value;
    if (s->value->type == JSON_NUMBER && json_double(rule, &most) && (!json_double(s->value, &value) || value > most)) {
        err_violate(s->err, s->field, "must be at most %s", rule->text);
    }
}

// ---- strings

static bool is_count(const struct json *rule) {
    int64_t n;
    return rule->type == JSON_NUMBER && json_int(rule, &n) && n >= 0;
}

static int64_t count_of(const struct json *rule) {
    int64_t n = 0;
    return json_int(rule, &n) ? n : 0;
}

// Length in characters, as JSON schema counts.
static int64_t characters(const char *text) {
    int64_t n = 0;
    for (; *text != '\0'; text++) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

static void check_min_length(const struct json *rule, const struct subject *s) {
    if (s->value->type == JSON_STRING && characters(s->value->text) < count_of(rule)) {
        err_violate(s->err, s->field, "must have at least %s characters", rule->text);
    }
}

static void check_max_length(const struct json *rule, const struct subject *s) {
    if (s->value->type == JSON_STRING && characters(s->value->text) > count_of(rule)) {
        err_violate(s->err, s->field, "must have at most %s characters", rule->text);
    }
}

static bool is_pattern(const struct json *rule) {
    return rule->type == JSON_STRING && pattern_is_fit(rule->text);
}

static void check_pattern(const struct json *rule, const struct subject *s) {
    if (s->value->type == JSON_STRING && !pattern_matches(rule->text, s->value->text)) {
        err_violate(s->err, s->field, "must match the pattern %s", rule->text);
    }
}

// ---- arrays

static bool is_object(const struct json *rule) {
    return rule->type == JSON_OBJECT;
}

static void check_items(const struct json *rule, const struct subject *s) {
    size_t i = 0;
    if (s->value->type != JSON_ARRAY) {
        return;
    }
    JSON_EACH (item, s->value) {
        CLEANUP(mem_free_ptr) char *field = mem_printf("%s[%zu]", s->field, i++);
        check(&(struct subject){.schema = rule, .value = item, .field = field, .err = s->err});
    }
}

static void check_min_items(const struct json *rule, const struct subject *s) {
    if (s->value->type == JSON_ARRAY && (int64_t)s->value->count < count_of(rule)) {
        err_violate(s->err, s->field, "must have at least %s items", rule->text);
    }
}

static void check_max_items(const struct json *rule, const struct subject *s) {
    if (s->value->type == JSON_ARRAY && (int64_t)s->value->count > count_of(rule)) {
        err_violate(s->err, s->field, "must have at most %s items", rule->text);
    }
}

// ---- objects

static bool is_text_array(const struct json *rule) {
    JSON_EACH (name, rule) {
        if (name->type != JSON_STRING) {
            return false;
        }
    }
    return rule->type == JSON_ARRAY;
}

static void check_required(const struct json *rule, const struct subject *s) {
    if (s->value->type != JSON_OBJECT) {
        return;
    }
    JSON_EACH (name, rule) {
        if (json_get(s->value, name->text) == NULL) {
            CLEANUP(mem_free_ptr) char *field = child_field(s, name->text);
            err_violate(s->err, field, "is required");
        }
    }
}

static void unknown_property(const struct subject *s, const struct json *member) {
    const struct json *properties = json_get(s->schema, "properties");
    CLEANUP(mem_free_ptr) char *field = child_field(s, member->key);
    CLEANUP(str_done) struct str allowed = STR_INIT;
    const char *names[NAMES_MAX];
    size_t n = 0;
    JSON_EACH (known, properties) {
        str_printf(&allowed, "%s%s", n == 0 ? "" : ", ", known->key);
        if (n < NAMES_MAX) {
            names[n++] = known->key;
        }
    }
    const char *nearest = str_nearest(member->key, names, n);
    if (n == 0) {
        err_violate(s->err, field, "is unknown: nothing is allowed here");
    } else if (nearest != NULL) {
        err_violate(s->err, field, "is unknown, did you mean \"%s\"? (there are: %.*s)", nearest,
                    text_cut(str_text(&allowed), SHOWN_MAX), str_text(&allowed));
    } else {
        err_violate(s->err, field, "is unknown (there are: %.*s)", text_cut(str_text(&allowed), SHOWN_MAX),
                    str_text(&allowed));
    }
}

static bool is_bool_or_object(const struct json *rule) {
    return rule->type == JSON_BOOL || rule->type == JSON_OBJECT;
}

static void check_additional(const struct json *rule, const struct subject *s) {
    if (s->value->type != JSON_OBJECT || (rule->type == JSON_BOOL && rule->boolean)) {
        return;
    }
    JSON_EACH (member, s->value) {
        if (json_get(json_get(s->schema, "properties"), member->key) != NULL) {
            continue;
        }
        if (rule->type == JSON_BOOL) {
            unknown_property(s, member);
            continue;
        }
        CLEANUP(mem_free_ptr) char *field = child_field(s, member->key);
        check(&(struct subject){.schema = rule, .value = member, .field = field, .err = s->err});
    }
}

static void check_properties(const struct json *rule, const struct subject *s) {
    JSON_EACH (property, rule) {
        const struct json *value = json_get(s->value, property->key);
        if (value != NULL) {
            CLEANUP(mem_free_ptr) char *field = child_field(s, property->key);
            check(&(struct subject){.schema = property, .value = value, .field = field, .err = s->err});
        }
    }
}

// ---- The table

static const struct keyword keywords[] = {
    {"type", "a type name or a list of them", type_well_formed, NULL},
    {"properties", "an object of schemas", is_object, check_properties},
    {"required", "a list of names", is_text_array, check_required},
    {"additionalProperties", "true, false or a schema", is_bool_or_object, check_additional},
    {"enum", "a list of at least one value", is_filled_array, check_enum},
    {"minimum", "a number", is_number, check_minimum},
    {"maximum", "a number", is_number, check_maximum},
    {"minLength", "a count", is_count, check_min_length},
    {"maxLength", "a count", is_count, check_max_length},
    {"pattern", "an extended regular expression without references and with few repeats", is_pattern, check_pattern},
    {"items", "a schema", is_object, check_items},
    {"minItems", "a count", is_count, check_min_items},
    {"maxItems", "a count", is_count, check_max_items},
    {"title", NULL, NULL, NULL},
    {"description", NULL, NULL, NULL},
    {"default", NULL, NULL, NULL},
    {"examples", NULL, NULL, NULL},
    {"$schema", NULL, NULL, NULL},
};

static const struct keyword *find(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        if (str_same(keywords[i].name, name)) {
            return &keywords[i];
        }
    }
    return NULL;
}

static void check(const struct subject *s) {
    if (!check_type(s)) {
        return; // the other rules would only repeat it
    }
    JSON_EACH (rule, s->schema) {
        const struct keyword *k = find(rule->key);
        if (k != NULL && k->check != NULL) {
            k->check(rule, s);
        }
    }
}

bool schema_check(const struct json *schema, const struct json *value, const char *field, struct err *err) {
    check(&(struct subject){.schema = schema, .value = value, .field = field, .err = err});
    return !err_set(err);
}

// ---- The schema itself

static bool verify(const struct json *schema, const char *path, struct err *err);

static bool verify_keyword(const struct json *rule, const char *path, struct err *err) {
    const struct keyword *k = find(rule->key);
    if (k == NULL) {
        return err_fail(err, ERR_INVALID, "BAD_SCHEMA", "%s: keyword \"%.40s\" is not supported", path, rule->key);
    }
    if (k->well_formed != NULL && !k->well_formed(rule)) {
        return err_fail(err, ERR_INVALID, "BAD_SCHEMA", "%s: \"%s\" must be %s", path, k->name, k->wants);
    }
    CLEANUP(mem_free_ptr) char *below = mem_printf("%s.%s", path, k->name);
    if (k->check == check_properties) {
        JSON_EACH (property, rule) {
            CLEANUP(mem_free_ptr) char *inner = mem_printf("%s.%.80s", below, property->key);
            if (!verify(property, inner, err)) {
                return false;
            }
        }
        return true;
    }
    bool schema_inside = k->check == check_items || (k->check == check_additional && rule->type == JSON_OBJECT);
    return !schema_inside || verify(rule, below, err);
}

static bool verify(const struct json *schema, const char *path, struct err *err) {
    if (schema->type != JSON_OBJECT) {
        return err_fail(err, ERR_INVALID, "BAD_SCHEMA", "%s: a schema must be an object, not %s", path,
                        json_type_name(schema->type));
    }
    JSON_EACH (rule, schema) {
        if (!verify_keyword(rule, path, err)) {
            return false;
        }
    }
    return true;
}

bool schema_verify(const struct json *schema, struct err *err) {
    if (!verify(schema, "schema", err)) {
        return false;
    }
    // Parameters are an object; a schema for anything else could never be met.
    return str_same(json_string(json_get(schema, "type"), NULL), "object") ||
           err_fail(err, ERR_INVALID, "BAD_SCHEMA", "schema: \"type\" must be \"object\"");
}
