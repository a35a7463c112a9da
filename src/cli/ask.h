// Ctrl-C as something to poll for, and single keys from the terminal as the answer to a question.
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include <stdbool.h>
#include <termios.h>

struct ask {
    int signal_fd;
    bool open; // a question stands
    struct termios before;
};

enum ask_answer { ASK_NOTHING, ASK_DETACH, ASK_CANCEL, ASK_GO_ON };

// SIGINT no longer ends the program until ask_done. One at a time.
void ask_init(struct ask *a);
void ask_done(struct ask *a);
int ask_signal_fd(const struct ask *a); // readable after a SIGINT
void ask_take_signal(struct ask *a);
bool ask_open(struct ask *a); // false: stdin is no terminal
enum ask_answer ask_read(struct ask *a);
void ask_close(struct ask *a);

#endif
