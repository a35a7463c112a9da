// Completion: thin scripts for the shells, which ask the hidden verb __complete; that reads the same tables as the
// parser, and the server for names.
#include "cli/commands.h"
#include "cli/internal.h"
#include "cli/pages.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *shell, *script;
} shells[] = {
    {"bash", "_trainctl() {\n"
             "    local IFS=$'\\n'\n"
             "    COMPREPLY=($(\"${COMP_WORDS[0]}\" __complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
             "}\n"
             "complete -o default -F _trainctl trainctl\n"},
    {"zsh", "#compdef trainctl\n"
            "_trainctl() {\n"
            "    local -a found\n"
            "    found=(${(f)\"$(\"${words[1]}\" __complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
            "    if (( ${#found} )); then compadd -a found; else _files; fi\n"
            "}\n"
            // As a file of fpath this is the body of _trainctl, and its first call is a completion already.
            "if [[ \"${funcstack[1]}\" == _trainctl ]]; then _trainctl \"$@\"; else compdef _trainctl trainctl; fi\n"},
    {"fish", "function __trainctl_complete\n"
             "    set -l words (commandline -opc)\n"
             "    set -l found ($words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null)\n"
             "    if test (count $found) -gt 0\n"
             "        printf '%s\\n' $found\n"
             "    else\n"
             "        __fish_complete_path (commandline -ct)\n"
             "    end\n"
             "end\n"
             "complete -c trainctl -f -a '(__trainctl_complete)'\n"},
};

static int run_completion(struct cli *cli) {
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (str_same(shells[i].shell, cli->args.words[0])) {
            fputs(shells[i].script, stdout);
            return CLI_OK;
        }
    }
    return cli_usage(cli, "no completion for \"%s\": bash, zsh and fish have one", cli->args.words[0]);
}

const struct cli_command command_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .summary = "print the completion script of a shell: commands, flags, job names",
    .help = "",
    .examples = "source <(trainctl completion bash)\n"
                "trainctl completion zsh > \"${fpath[1]}/_trainctl\"\n"
                "trainctl completion fish > ~/.config/fish/completions/trainctl.fish",
    .min_args = 1,
    .max_args = 1,
    .words = WORDS_SHELL,
    .run = run_completion,
};

// ---- Candidates

static void offer(const char *partial, const char *prefix, const char *word) {
    CLEANUP(str_done) struct str text = STR_INIT;
    str_printf(&text, "%s%s", prefix, word);
    if (str_starts(str_text(&text), partial)) {
        puts(str_text(&text));
    }
}

static void offer_flags(const char *partial, const struct cli_flag *flags, size_t n) {
    for (size_t i = 0; i < n; i++) {
        offer(partial, "--", flags[i].name);
    }
}

static void offer_choices(const char *partial, const char *choices) {
    for (const char *at = choices; *at != '\0';) {
        CLEANUP(str_done) struct str word = STR_INIT;
        size_t n = strcspn(at, "|");
        str_add_bytes(&word, at, n);
        offer(partial, "", str_text(&word));
        at += n + (at[n] == '|');
    }
}

static void on_page(void *ctx, const struct json *response) {
    const char *partial = ctx;
    JSON_EACH (job, json_get(response, "jobs")) {
        offer(partial, "", json_string(json_get(job, "name"), ""));
    }
}

static void offer_jobs(struct cli *cli, const char *partial) {
    enum { MOST = 200 };
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    CLEANUP(str_done) struct str selector = STR_INIT;
    pages_write_selector(cli, &selector);
    (void)!pages_each(cli, &selector, MOST, on_page, (void *)(uintptr_t)partial, &ignored);
}

static void offer_runtimes(struct cli *cli, const char *partial) {
    CLEANUP(err_done) struct err ignored = ERR_INIT;
    CLEANUP(str_done) struct str request = STR_INIT;
    const struct json *answer = NULL;
    str_add(&request, "{}");
    if (call_unary(cli, "ListRuntimes", &request, &cli->arena, &answer, &ignored)) {
        JSON_EACH (runtime, json_get(answer, "runtimes")) {
            offer(partial, "", json_string(json_get(runtime, "name"), ""));
        }
    }
}

static void offer_words(struct cli *cli, const char *partial, enum cli_words words) {
    switch (words) {
    case WORDS_JOB:
        offer_jobs(cli, partial);
        break;
    case WORDS_RUNTIME:
        offer_runtimes(cli, partial);
        break;
    case WORDS_COMMAND:
        for (size_t i = 0; cli_commands[i] != NULL; i++) {
            if (!cli_commands[i]->hidden) {
                offer(partial, "", cli_commands[i]->name);
            }
        }
        break;
    case WORDS_SHELL:
        for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
            offer(partial, "", shells[i].shell);
        }
        break;
    case WORDS_FILE:
    case WORDS_DIRECTORY:
    case WORDS_NONE:
        break; // nothing: the shell offers files
    }
}

// ---- Where the cursor is

struct place {
    const struct cli_command *command;
    const struct cli_flag *flag; // whose value is being written
    bool program;                // in the words of another program
};

static const struct cli_flag *in_table(const struct cli_flag *flags, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++) {
        bool by_letter = word[0] == '-' && flags[i].letter != NULL && word[1] == flags[i].letter[0] && word[2] == '\0';
        if (by_letter || (str_starts(word, "--") && str_same(word + 2, flags[i].name))) {
            return &flags[i];
        }
    }
    return NULL;
}

static struct place read_words(const char **words, size_t n) {
    struct place p = {0};
    for (size_t i = 0; i < n; i++) {
        if (p.flag != NULL) {
            p.flag = NULL;
        } else if (words[i][0] == '-' && words[i][1] != '\0') {
            p.program = p.program || str_same(words[i], "--");
            p.flag = p.command != NULL ? in_table(p.command->flags, p.command->flag_count, words[i]) : NULL;
            p.flag = p.flag != NULL ? p.flag : in_table(cli_global_flags, cli_global_flag_count, words[i]);
            p.flag = p.flag != NULL && p.flag->value != NULL ? p.flag : NULL;
        } else if (p.command == NULL) {
            p.command = cli_find_command(words[i]);
        } else {
            p.program = p.program || p.command->program;
        }
    }
    return p;
}

static int run_complete(struct cli *cli) {
    size_t n = cli->args.word_count;
    const char *partial = n > 0 ? cli->args.words[n - 1] : "";
    struct place p = read_words(cli->args.words, n > 0 ? n - 1 : 0);
    if (p.program) {
        return CLI_OK;
    }
    if (p.flag != NULL && p.flag->choices != NULL) {
        offer_choices(partial, p.flag->choices);
    } else if (p.flag != NULL) {
        offer_words(cli, partial, p.flag->words);
    } else if (partial[0] == '-') {
        if (p.command != NULL) {
            offer_flags(partial, p.command->flags, p.command->flag_count);
        }
        offer_flags(partial, cli_global_flags, cli_global_flag_count);
    } else {
        offer_words(cli, partial, p.command != NULL ? p.command->words : WORDS_COMMAND);
    }
    return CLI_OK;
}

const struct cli_command command_complete = {
    .name = "__complete",
    .args = "",
    .summary = "",
    .help = "",
    .examples = "",
    .max_args = SIZE_MAX,
    .program = true,
    .hidden = true,
    .run = run_complete,
};
