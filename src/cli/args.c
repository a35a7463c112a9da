#include "cli/args.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/internal.h"
#include "cli/text.h"

#include <inttypes.h>
#include <string.h>

static const struct cli_flag *table_find(const struct cli_flag *flags, size_t n, const char *name, size_t name_length,
                                         char letter) {
    for (size_t i = 0; i < n; i++) {
        bool by_name =
            name != NULL && strlen(flags[i].name) == name_length && strncmp(flags[i].name, name, name_length) == 0;
        if (by_name || (letter != '\0' && flags[i].letter != NULL && flags[i].letter[0] == letter)) {
            return &flags[i];
        }
    }
    return NULL;
}

// A verb's own flags come before the global ones: -f means what the verb says.
static const struct cli_flag *find(const struct args *args, const char *name, size_t n, char letter) {
    const struct cli_flag *flag = NULL;
    if (args->command != NULL) {
        flag = table_find(args->command->flags, args->command->flag_count, name, n, letter);
    }
    return flag != NULL ? flag : table_find(cli_global_flags, cli_global_flag_count, name, n, letter);
}

static bool unknown_flag(const struct args *args, const char *word, struct err *err) {
    const char *names[128];
    size_t n = 0;
    for (size_t i = 0; args->command != NULL && i < args->command->flag_count && n < ARRAY_LEN(names); i++) {
        names[n++] = args->command->flags[i].name;
    }
    for (size_t i = 0; i < cli_global_flag_count && n < ARRAY_LEN(names); i++) {
        names[n++] = cli_global_flags[i].name;
    }
    const char *verb = args->command != NULL ? args->command->name : "";
    const char *space = args->command != NULL ? " " : "";
    CLEANUP(mem_free_ptr) char *bare = mem_strndup(word, strcspn(word, "="));
    const char *nearest = str_starts(bare, "--") ? str_nearest(bare + 2, names, n) : NULL;
    return nearest != NULL
               ? err_fail(err, ERR_INVALID, "USAGE", "unknown flag %s; did you mean --%s?", bare, nearest)
               : err_fail(err, ERR_INVALID, "USAGE", "unknown flag %s; see trainctl%s%s --help", bare, space, verb);
}

static bool is_choice(const char *choices, const char *text) {
    size_t n = strlen(text);
    for (const char *at = choices; at != NULL; at = strchr(at, '|') != NULL ? strchr(at, '|') + 1 : NULL) {
        if (n != 0 && strcspn(at, "|") == n && strncmp(at, text, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_value(struct args *args, const struct cli_flag *flag, const char *text, struct err *err) {
    if (flag->choices != NULL && !is_choice(flag->choices, text)) {
        return err_fail(err, ERR_INVALID, "USAGE", "--%s: \"%s\" is none of %s", flag->name, text, flag->choices);
    }
    if (args->value_count == ARGS_VALUES_MAX) {
        return err_fail(err, ERR_INVALID, "USAGE", "more than %d flags", (int)ARGS_VALUES_MAX);
    }
    args->values[args->value_count++] = (struct args_value){.flag = flag, .text = text};
    return true;
}

struct cursor {
    int argc;
    char *const *argv;
    int at;
};

static bool take_value(struct args *args, struct cursor *c, const struct cli_flag *flag, const char *attached,
                       struct err *err) {
    if (attached == NULL && ++c->at == c->argc) {
        return err_fail(err, ERR_INVALID, "USAGE", "--%s needs a value: --%s %s", flag->name, flag->name, flag->value);
    }
    return add_value(args, flag, attached != NULL ? attached : c->argv[c->at], err);
}

static bool read_long(struct args *args, struct cursor *c, struct err *err) {
    const char *word = c->argv[c->at];
    const char *equals = strchr(word, '=');
    size_t n = equals != NULL ? (size_t)(equals - word) - 2 : strlen(word) - 2;
    const struct cli_flag *flag = find(args, word + 2, n, '\0');
    if (flag == NULL) {
        return unknown_flag(args, word, err);
    }
    if (flag->value != NULL) {
        return take_value(args, c, flag, equals != NULL ? equals + 1 : NULL, err);
    }
    if (equals != NULL) {
        return err_fail(err, ERR_INVALID, "USAGE", "--%s takes no value", flag->name);
    }
    return add_value(args, flag, "", err);
}

// "-f", "-fv", "-ojson", "-o json".
static bool read_letters(struct args *args, struct cursor *c, struct err *err) {
    for (const char *at = c->argv[c->at] + 1; *at != '\0'; at++) {
        const struct cli_flag *flag = find(args, NULL, 0, *at);
        if (flag == NULL) {
            return unknown_flag(args, c->argv[c->at], err);
        }
        if (flag->value != NULL) {
            return take_value(args, c, flag, at[1] != '\0' ? at + 1 + (at[1] == '=') : NULL, err);
        }
        if (!add_value(args, flag, "", err)) {
            return false;
        }
    }
    return true;
}

static bool set_command(struct args *args, const char *name, struct err *err) {
    args->command = cli_find_command(name);
    if (args->command != NULL) {
        return true;
    }
    const char *names[64];
    size_t n = 0;
    for (; cli_commands[n] != NULL && n < ARRAY_LEN(names); n++) {
        names[n] = cli_commands[n]->name;
    }
    const char *nearest = str_nearest(name, names, n);
    return nearest != NULL
               ? err_fail(err, ERR_INVALID, "USAGE", "unknown command \"%s\"; did you mean %s?", name, nearest)
               : err_fail(err, ERR_INVALID, "USAGE", "unknown command \"%s\"; see trainctl help", name);
}

static bool read_word(struct args *args, struct cursor *c, bool *only_words, struct err *err) {
    if (args->command == NULL) {
        return set_command(args, c->argv[c->at], err);
    }
    *only_words = *only_words || args->command->program;
    args->words[args->word_count++] = c->argv[c->at];
    return true;
}

static bool read_all(struct args *args, struct cursor *c, struct err *err) {
    bool only_words = false;
    for (c->at = 1; c->at < c->argc; c->at++) {
        const char *word = c->argv[c->at];
        bool flag = !only_words && word[0] == '-' && word[1] != '\0';
        if (flag && str_same(word, "--")) {
            only_words = true;
            continue;
        }
        bool ok = !flag ? read_word(args, c, &only_words, err)
                        : (word[1] == '-' ? read_long(args, c, err) : read_letters(args, c, err));
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool check_count(const struct args *args, struct err *err) {
    const struct cli_command *command = args->command;
    if (command == NULL || args_has(args, "help")) {
        return true;
    }
    if (args->word_count < command->min_args) {
        return err_fail(err, ERR_INVALID, "USAGE", "something is missing: trainctl %s %s", command->name,
                        command->args);
    }
    if (args->word_count > command->max_args) {
        return err_fail(err, ERR_INVALID, "USAGE", "\"%s\" is too much: trainctl %s %s", args->words[command->max_args],
                        command->name, command->args);
    }
    return true;
}

bool args_parse(struct args *args, int argc, char *const *argv, struct err *err) {
    *args = (struct args){0};
    args->values = mem_realloc_array(NULL, ARGS_VALUES_MAX, sizeof *args->values);
    args->words = mem_realloc_array(NULL, (size_t)argc + 1, sizeof *args->words);
    struct cursor c = {.argc = argc, .argv = argv};
    return read_all(args, &c, err) && check_count(args, err);
}

void args_done(struct args *args) {
    mem_free(args->values);
    mem_free(args->words);
    *args = (struct args){0};
}

const char *args_next(const struct args *args, const char *flag, size_t *at) {
    while (*at < args->value_count) {
        const struct args_value *value = &args->values[(*at)++];
        if (str_same(value->flag->name, flag)) {
            return value->text;
        }
    }
    return NULL;
}

bool args_has(const struct args *args, const char *flag) {
    size_t at = 0;
    return args_next(args, flag, &at) != NULL;
}

const char *args_text(const struct args *args, const char *flag, const char *fallback) {
    const char *last = fallback;
    size_t at = 0;
    for (const char *text = args_next(args, flag, &at); text != NULL; text = args_next(args, flag, &at)) {
        last = text;
    }
    return last;
}

bool args_int(const struct args *args, const char *flag, int64_t min, int64_t max, int64_t *ret, struct err *err) {
    const char *text = args_text(args, flag, NULL);
    if (text == NULL || str_to_int64(text, min, max, ret)) {
        return true;
    }
    return err_fail(err, ERR_INVALID, "USAGE", "--%s: \"%s\" is not a whole number from %" PRId64 " to %" PRId64, flag,
                    text, min, max);
}

bool args_duration(const struct args *args, const char *flag, int64_t *ret_ms, struct err *err) {
    const char *text = args_text(args, flag, NULL);
    if (text == NULL || text_parse_duration(text, ret_ms)) {
        return true;
    }
    return err_fail(err, ERR_INVALID, "USAGE", "--%s: \"%s\" is not a duration such as 90s, 10m or 1h30m", flag, text);
}
