// Submitting one job and following it to its end: states on stderr, logs on stdout, Ctrl-C asks.
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "base/str.h"

struct cli;
struct document;

// submit: JSON text of a SubmitRequest, with a request_id. doc: the file it came from, for errors; or NULL. Returns
// the exit status, which is the job's own.
int follow_submit(struct cli *cli, const struct str *submit, const struct document *doc);

#endif
