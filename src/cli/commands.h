// The verbs, a file each.
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/args.h"

extern const struct cli_command command_run, command_submit, command_get, command_list, command_watch, command_logs,
    command_events, command_cancel, command_delete, command_suspend, command_resume, command_scale, command_render,
    command_runtimes, command_info, command_completion, command_complete, command_help, command_version;

void help_print(const struct cli_command *command); // NULL: the overview

#endif
