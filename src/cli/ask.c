#include "cli/ask.h"

#include "base/fd.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

// A signal handler has no context to be given. It is a handler and not a signalfd because gRPC's threads, which are
// there already, do not block the signal.
static volatile sig_atomic_t interrupt_fd = -1;

static void on_interrupt(int number) {
    (void)number;
    int saved = errno;
    const uint64_t one = 1;
    (void)!write((int)interrupt_fd, &one, sizeof one);
    errno = saved;
}

void ask_init(struct ask *a) {
    *a = (struct ask){.signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    interrupt_fd = a->signal_fd;
    const struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
}

void ask_done(struct ask *a) {
    ask_close(a);
    signal(SIGINT, SIG_DFL);
    interrupt_fd = -1;
    fd_close(&a->signal_fd);
}

int ask_signal_fd(const struct ask *a) {
    return a->signal_fd;
}

void ask_take_signal(struct ask *a) {
    uint64_t count;
    (void)!read(a->signal_fd, &count, sizeof count);
}

bool ask_open(struct ask *a) {
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &a->before) != 0) {
        return false;
    }
    struct termios keys = a->before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    a->open = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
    return a->open;
}

enum ask_answer ask_read(struct ask *a) {
    char c;
    (void)a;
    ssize_t n = read(STDIN_FILENO, &c, 1);
    if (n <= 0) {
        return n < 0 && errno == EINTR ? ASK_NOTHING : ASK_DETACH;
    }
    switch (c) {
    case 'd':
    case 'D':
        return ASK_DETACH;
    case 'c':
    case 'C':
        return ASK_CANCEL;
    case '\n':
    case '\r':
        return ASK_GO_ON;
    default:
        return ASK_NOTHING;
    }
}

void ask_close(struct ask *a) {
    if (a->open) {
        tcsetattr(STDIN_FILENO, TCSANOW, &a->before);
        fputc('\n', stderr);
        a->open = false;
    }
}
