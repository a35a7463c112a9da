// trainctl: the command line of trainerd.
#include "base/mem.h"
#include "base/paths.h"
#include "cli/commands.h"
#include "cli/internal.h"
#include "cli/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const struct cli_command *const cli_commands[] = {
    &command_run,        &command_submit, &command_get,     &command_list,     &command_watch,
    &command_logs,       &command_events, &command_cancel,  &command_delete,   &command_suspend,
    &command_resume,     &command_scale,  &command_render,  &command_runtimes, &command_info,
    &command_completion, &command_help,   &command_version, &command_complete, NULL};

const struct cli_flag cli_global_flags[] = {
    {"server", NULL, "ADDR", "unix:/path or host:port; default $TRAINERD_ADDR, else the socket in the state directory",
     NULL, WORDS_NONE},
    {"token-file", NULL, "FILE",
     "bearer token for TCP; default $TRAINERD_TOKEN_FILE, else the one in the state directory", NULL, WORDS_FILE},
    {"namespace", "n", "NAME", "namespace of the jobs; default \"default\"", NULL, WORDS_NONE},
    {"output", "o", "FORMAT", "table, wide, json, yaml or name", "table|wide|json|yaml|name", WORDS_NONE},
    {"no-color", NULL, NULL, "no colours; also with NO_COLOR in the environment", NULL, WORDS_NONE},
    {"verbose", "v", NULL, "say which calls are made", NULL, WORDS_NONE},
    {"help", "h", NULL, "help, also for a command", NULL, WORDS_NONE},
    {"version", NULL, NULL, "version of trainctl", NULL, WORDS_NONE},
};
const size_t cli_global_flag_count = ARRAY_LEN(cli_global_flags);

const struct cli_command *cli_find_command(const char *name) {
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (str_same(cli_commands[i]->name, name)) {
            return cli_commands[i];
        }
    }
    return NULL;
}

static void say(const struct cli *cli, const char *colour, const char *text) {
    CLEANUP(str_done) struct str line = STR_INIT;
    CLEANUP(str_done) struct str safe = STR_INIT;
    text_safe(&safe, text);
    text_colour(&line, cli->err_colours, colour, "trainctl:");
    str_printf(&line, " %s\n", str_text(&safe));
    fputs(str_text(&line), stderr);
}

static char *format(const char *fmt, va_list ap) {
    char *text = NULL;
    return vasprintf(&text, fmt, ap) >= 0 ? text : mem_strdup("");
}

void cli_note(const struct cli *cli, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    CLEANUP(mem_free_ptr) char *text = format(fmt, ap);
    va_end(ap);
    fflush(stdout); // in the order of writing, where both go to one place
    say(cli, "2", text);
}

int cli_usage(const struct cli *cli, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    CLEANUP(mem_free_ptr) char *text = format(fmt, ap);
    va_end(ap);
    say(cli, "31;1", text);
    return CLI_USAGE;
}

static int status_of(const struct err *err) {
    if (str_same(err->reason, "USAGE")) {
        return CLI_USAGE;
    }
    // What a server says carries its own reason; without one nobody answered.
    bool nobody = err->code == ERR_UNAVAILABLE && (str_is_empty(err->reason) || str_same(err->reason, "NO_SERVER"));
    return nobody ? CLI_NO_SERVER : CLI_FAILED;
}

static void print_violations(const struct cli *cli, const struct err *err) {
    size_t n = err->violation_count < ERR_VIOLATIONS_MAX ? err->violation_count : ERR_VIOLATIONS_MAX;
    for (size_t i = 0; i < n; i++) {
        CLEANUP(str_done) struct str line = STR_INIT;
        CLEANUP(str_done) struct str field = STR_INIT;
        text_safe(&field, err->violations[i].field);
        str_add(&line, "  ");
        text_colour(&line, cli->err_colours, "1", str_text(&field));
        str_add(&line, ": ");
        text_safe(&line, err->violations[i].description);
        fprintf(stderr, "%s\n", str_text(&line));
    }
}

int cli_fail(const struct cli *cli, const struct err *err) {
    static const struct {
        enum err_code code;
        const char *hint;
    } hints[] = {
        {ERR_UNAVAILABLE, "the connection broke; whether the server did what was asked is not known"},
        {ERR_UNAUTHENTICATED, "the token is in STATE_DIR/token of the server: give its path with --token-file"},
        {ERR_DEADLINE, "the server did not answer in time; whether it did what was asked is not known"},
    };
    fflush(stdout);
    if (err->violation_count > 0) {
        say(cli, "31;1", "not valid:");
        print_violations(cli, err);
    } else {
        say(cli, "31;1", err->message != NULL ? err->message : err_code_name(err->code));
    }
    for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
        // A reason says more than the code does.
        if (hints[i].code == err->code && (err->code != ERR_UNAVAILABLE || str_is_empty(err->reason))) {
            fprintf(stderr, "  %s\n", hints[i].hint);
        }
    }
    return status_of(err);
}

int cli_finish(int status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("trainctl: stdout cannot be written\n", stderr);
        return status == CLI_OK ? CLI_FAILED : status;
    }
    return status;
}

static bool wants_colours(const struct cli *cli, int fd) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fd) && !args_has(&cli->args, "no-color") && str_is_empty(no_color) && !str_same(term, "dumb");
}

static enum cli_output output_of(const char *text) {
    static const char *const names[] = {"table", "wide", "json", "yaml", "name"};
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(names) && !str_same(names[i], text)) {
        i++;
    }
    return (enum cli_output)i;
}

static int dispatch(struct cli *cli) {
    const struct cli_command *command = cli->args.command;
    if (args_has(&cli->args, "version")) {
        command = &command_version;
    } else if (command == NULL || args_has(&cli->args, "help")) {
        help_print(command);
        return command != NULL || args_has(&cli->args, "help") ? CLI_OK : CLI_USAGE;
    }
    cli->command = command;
    return command->run(cli);
}

static void prepare(struct cli *cli) {
    CLEANUP(str_done) struct str dir = STR_INIT;
    paths_state_dir(&dir);
    cli->state_dir = arena_strdup(&cli->arena, str_text(&dir));
    cli->output = output_of(args_text(&cli->args, "output", "table"));
    cli->name_space = args_text(&cli->args, "namespace", "default");
    cli->verbose = args_has(&cli->args, "verbose");
    cli->out_colours = wants_colours(cli, STDOUT_FILENO);
    cli->err_colours = wants_colours(cli, STDERR_FILENO);
}

int main(int argc, char **argv) {
    struct cli cli = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    arena_init(&cli.arena, 0);
    bool ok = args_parse(&cli.args, argc, argv, &err);
    prepare(&cli);
    int status = cli_finish(ok ? dispatch(&cli) : cli_fail(&cli, &err));
    if (cli.client != NULL) {
        rpc_client_free(cli.client);
    }
    args_done(&cli.args);
    arena_done(&cli.arena);
    return status;
}
