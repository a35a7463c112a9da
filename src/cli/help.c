#include "cli/commands.h"
#include "cli/internal.h"

#include <stdio.h>
#include <string.h>

static void print_flags(const struct cli_flag *flags, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char left[64];
        const char *letter = flags[i].letter;
        snprintf(left, sizeof left, "%s%s%s--%s%s%s", letter != NULL ? "-" : "  ", letter != NULL ? letter : "",
                 letter != NULL ? ", " : "  ", flags[i].name, flags[i].value != NULL ? " " : "",
                 flags[i].value != NULL ? flags[i].value : "");
        printf("  %-26s %s\n", left, flags[i].help);
    }
}

static void print_indented(const char *lines) {
    for (const char *at = lines; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        printf("  %.*s\n", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

static void print_command(const struct cli_command *c) {
    printf("%s\n\nusage: trainctl %s%s%s%s\n", c->summary, c->name, c->flag_count > 0 ? " [flags]" : "",
           c->args[0] != '\0' ? " " : "", c->args);
    if (c->help[0] != '\0') {
        printf("\n%s\n", c->help);
    }
    if (c->flag_count > 0) {
        printf("\nflags:\n");
        print_flags(c->flags, c->flag_count);
    }
    if (c->examples[0] != '\0') {
        printf("\nexamples:\n");
        print_indented(c->examples);
    }
    printf("\nglobal flags (--server, -n, -o, ...): trainctl help\n");
}

static void print_overview(void) {
    printf("trainctl: submits training jobs to trainerd and follows them\n\n"
           "usage: trainctl COMMAND [flags] [arguments]\n\ncommands:\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (!cli_commands[i]->hidden) {
            printf("  %-12s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
        }
    }
    printf("\nglobal flags:\n");
    print_flags(cli_global_flags, cli_global_flag_count);
    printf("\nfirst steps:\n"
           "  trainctl run -- echo hello\n"
           "  trainctl run --runtime pytorch --workers 2 -- python3 train.py\n"
           "  trainctl help run\n"
           "\nexit status: 0 fine, 1 the call failed, 2 wrong use, 3 no server, 4 detached by Ctrl-C;\n"
           "run, submit --follow and watch --until-terminal end with the job's own (130: canceled)\n");
}

void help_print(const struct cli_command *command) {
    if (command != NULL) {
        print_command(command);
    } else {
        print_overview();
    }
}

static int run_help(struct cli *cli) {
    const struct cli_command *command = NULL;
    if (cli->args.word_count > 0) {
        command = cli_find_command(cli->args.words[0]);
        if (command == NULL) {
            return cli_usage(cli, "no help for \"%s\": trainctl help lists the commands", cli->args.words[0]);
        }
    }
    help_print(command);
    return CLI_OK;
}

const struct cli_command command_help = {
    .name = "help",
    .args = "[COMMAND]",
    .summary = "show help, for a command with its flags and examples",
    .help = "",
    .examples = "trainctl help run",
    .max_args = 1,
    .words = WORDS_COMMAND,
    .run = run_help,
};

static int run_version(struct cli *cli) {
    (void)cli;
    puts("trainctl " TRAINERD_VERSION);
    return CLI_OK;
}

const struct cli_command command_version = {
    .name = "version",
    .args = "",
    .summary = "show the version of trainctl (the server's: trainctl info)",
    .help = "",
    .examples = "",
    .run = run_version,
};
