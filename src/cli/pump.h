// Feeds read by threads of their own into one mailbox, so that one poll() waits for several streams and the keyboard.
#ifndef CLI_PUMP_H
#define CLI_PUMP_H

#include "cli/feed.h"

struct mailbox;
struct pump;

struct mailbox *mailbox_new(void);
void mailbox_free(struct mailbox *box);            // after its pumps; NULL is fine
int mailbox_fd(const struct mailbox *box);         // readable while there may be messages
struct message *mailbox_take(struct mailbox *box); // NULL when empty

// Takes the feed; its messages carry `source`. A full mailbox makes the pump wait, and so the server.
struct pump *pump_start(struct mailbox *box, struct feed *feed, int source);
void pump_stop(struct pump *p); // waits for the thread; NULL is fine

#endif
