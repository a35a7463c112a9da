// trainctl: one file a verb over the contract. Everything it sends and shows is a JSON tree made and read through the
// descriptors; no message has a struct here. One thread, except for the pumps of follow.c.
#ifndef CLI_INTERNAL_H
#define CLI_INTERNAL_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/args.h"
#include "rpc/client.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Exit statuses, as docs/trainctl.md has them. Verbs that follow a job end with the job's own.
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NO_SERVER = 3,
    CLI_DETACHED = 4,
    CLI_CANCELED = 130,
};

enum cli_output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_NAME };

struct cli {
    struct arena arena; // lives as long as the program
    const struct cli_command *command;
    struct args args;
    enum cli_output output;
    size_t documents;       // written as YAML
    const char *name_space; // of -n, or "default"
    bool verbose;
    bool out_colours, err_colours;
    const char *state_dir;
    const char *address;  // NULL before server_find
    bool address_default; // nobody named it
    const char *token;
    struct rpc_client *client;
};

extern const struct cli_command *const cli_commands[]; // NULL-terminated
const struct cli_command *cli_find_command(const char *name);
extern const struct cli_flag cli_global_flags[];
extern const size_t cli_global_flag_count;

// Prints what went wrong and returns the exit status that belongs to it.
int cli_fail(const struct cli *cli, const struct err *err);
// The same for wrong use.
int cli_usage(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);
void cli_note(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3); // one line on stderr
// Flushes stdout; output that could not be written is a failure.
int cli_finish(int status);

// ---- server.c: finding and starting it

// Fills address, token and client. Does not connect.
bool server_find(struct cli *cli, struct err *err) MUST_CHECK;
// Whether somebody accepts at a unix: address; other addresses count as alive.
bool server_alive(const char *address);
// Fails with what to do when nobody is there; before a call that would only say "unavailable".
bool server_check(const struct cli *cli, struct err *err) MUST_CHECK;
// Starts trainerd for this user when the address is the default one and nobody is there.
bool server_ensure(struct cli *cli, struct err *err) MUST_CHECK;

// ---- call.c

extern const struct json_limits call_limits; // of answers
// method: short name, "Get". request: JSON text of its input. The answer lives in a.
bool call_unary(struct cli *cli, const char *method, const struct str *request, struct arena *a,
                const struct json **ret, struct err *err) MUST_CHECK;
// JobRef as a JSON value: a uid (32 hex digits) or a name in cli's namespace.
void call_write_ref(const struct cli *cli, struct json_writer *w, const char *job);
bool call_is_uid(const char *text);
// The uid of a job that is named by name or uid.
bool call_find_uid(struct cli *cli, const char *job, struct arena *a, const char **ret, struct err *err) MUST_CHECK;
int64_t call_int(const struct json *node); // int64 comes as text; 0 when absent
bool call_time(const struct json *node, int64_t *ret_wall);

// ---- out.c

// Prints an answer as -o json, yaml or name says; false when the verb has to show it as a table.
bool out_tree(struct cli *cli, const struct json *tree);
void out_text(const struct str *text);                         // to stdout, without what could steer a terminal
void out_line(const struct cli *cli, const struct json *tree); // one of a stream: a JSON line or a YAML document

#endif
