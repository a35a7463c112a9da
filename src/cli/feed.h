// A server stream that survives its connection: when it breaks it is opened again with the last resume token.
#ifndef CLI_FEED_H
#define CLI_FEED_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "json/json.h"

#include <stdint.h>

enum feed_kind {
    FEED_MESSAGE, // tree
    FEED_AWAY,    // err: the connection broke; the feed tries again by itself
    FEED_BACK,    // it has been opened again
    FEED_END,     // the server ended it with OK
    FEED_FAILED,  // err; nothing follows
};

struct message {
    struct message *next;
    int source; // for whoever reads several feeds
    enum feed_kind kind;
    struct arena arena;
    const struct json *tree;
    struct err err;
};
void message_free(struct message *m);

struct cli;
struct feed;

// method: "Watch", "SubmitAndWatch" or "Logs". request: JSON text of its input. A SubmitAndWatch goes on as a Watch of
// its job. The feed has a connection of its own and may be used by another thread than cli's.
struct feed *feed_new(const struct cli *cli, const char *method, const struct str *request);
void feed_free(struct feed *f);
// The next message, which the caller frees; NULL when none came in timeout_ms.
struct message *feed_next(struct feed *f, int64_t timeout_ms);

#endif
