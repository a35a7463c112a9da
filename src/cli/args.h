// Verbs and flags as tables, and the parser that reads a command line by them.
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli;

// What completes a word.
enum cli_words { WORDS_NONE, WORDS_JOB, WORDS_RUNTIME, WORDS_FILE, WORDS_DIRECTORY, WORDS_COMMAND, WORDS_SHELL };

struct cli_flag {
    const char *name;
    const char *letter;  // "f"; NULL: none
    const char *value;   // what stands for it in help, "FILE"; NULL: a switch
    const char *help;    // one line
    const char *choices; // "a|b|c", checked; NULL: any
    enum cli_words words;
};

struct cli_command {
    const char *name;
    const char *args; // "NAME...", for the usage line
    const char *summary;
    const char *help;     // further lines, may be ""
    const char *examples; // lines
    const struct cli_flag *flags;
    size_t flag_count;
    size_t min_args, max_args;
    bool program;         // the first word that is no flag, or "--", ends the flags: a program and its arguments
    enum cli_words words; // completes its arguments
    bool hidden;
    int (*run)(struct cli *cli);
};

struct args_value {
    const struct cli_flag *flag;
    const char *text; // "" of a switch
};

enum { ARGS_VALUES_MAX = 4096 };

struct args {
    struct args_value *values; // as they came
    size_t value_count;
    const char **words; // that are no flags, the verb excluded
    size_t word_count;
    const struct cli_command *command; // NULL: none was given
};

// Borrows argv. Errors: ERR_INVALID "USAGE". args_done also after a failure.
bool args_parse(struct args *args, int argc, char *const *argv, struct err *err) MUST_CHECK;
void args_done(struct args *args);

bool args_has(const struct args *args, const char *flag);
const char *args_text(const struct args *args, const char *flag, const char *fallback); // the last one
// Every value of a flag in turn: `size_t at = 0; while ((v = args_next(args, "env", &at)) != NULL)`.
const char *args_next(const struct args *args, const char *flag, size_t *at);
// Absent: *ret is left alone.
bool args_int(const struct args *args, const char *flag, int64_t min, int64_t max, int64_t *ret,
              struct err *err) MUST_CHECK;
// "90s", "10m", "1h30m", "2d": milliseconds. Absent: *ret is left alone.
bool args_duration(const struct args *args, const char *flag, int64_t *ret_ms, struct err *err) MUST_CHECK;

#endif
