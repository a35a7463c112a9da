#include "cli/board.h"

#include "base/attr.h"
#include "base/fd.h"
#include "cli/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct winsize size(void) {
    struct winsize ws = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) != 0 || ws.ws_col == 0 || ws.ws_row == 0) {
        ws = (struct winsize){.ws_col = 80, .ws_row = 24};
    }
    return ws;
}

// One write an update: the screen never shows half of it. A terminal that is gone takes nothing; the job goes on.
static void put(const struct str *text) {
    fflush(stdout);
    (void)!fd_write_all(STDERR_FILENO, str_text(text), text->len);
}

void board_init(struct board *b) {
    const char *term = getenv("TERM");
    *b = (struct board){.live = isatty(STDERR_FILENO) && !str_is_empty(term) && !str_same(term, "dumb")};
}

size_t board_height(void) {
    return size().ws_row;
}

static void add_hide(struct board *b, struct str *out) {
    if (b->shown > 0) {
        str_printf(out, "\r\033[%zuA\033[J", b->shown);
        b->shown = 0;
    }
}

void board_hide(struct board *b) {
    CLEANUP(str_done) struct str out = STR_INIT;
    add_hide(b, &out);
    put(&out);
}

void board_show(struct board *b, const struct str *lines) {
    if (!b->live) {
        return;
    }
    CLEANUP(str_done) struct str out = STR_INIT;
    size_t width = size().ws_col;
    add_hide(b, &out);
    for (const char *at = str_text(lines); *at != '\0';) {
        CLEANUP(str_done) struct str line = STR_INIT;
        size_t n = strcspn(at, "\n");
        str_add_bytes(&line, at, n);
        text_fit(&out, str_text(&line), width - 1);
        str_add_char(&out, '\n');
        b->shown++;
        at += n + (at[n] == '\n');
    }
    put(&out);
}

void board_say(struct board *b, const char *line) {
    CLEANUP(str_done) struct str out = STR_INIT;
    add_hide(b, &out);
    str_printf(&out, "%s\n", line);
    put(&out);
}
