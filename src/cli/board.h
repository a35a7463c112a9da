// Lines on stderr: a few at the bottom of a terminal that are written anew in place, all others for good.
#ifndef CLI_BOARD_H
#define CLI_BOARD_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct board {
    bool live;    // stderr is a terminal that can move its cursor
    size_t shown; // lines of the block that are on the screen
};

void board_init(struct board *b);
size_t board_height(void); // lines that fit on the screen
// Takes the block off the screen, so that others may write.
void board_hide(struct board *b);
// Shows the block: whole lines, cut to the width of the terminal. Nothing when not live.
void board_show(struct board *b, const struct str *lines);
// A line that stays, above the block, which is hidden.
void board_say(struct board *b, const char *line);

#endif
