#include "loop/internal.h"

#include "base/clock.h"

#include <string.h>

_Static_assert(sizeof(ev_io) <= sizeof(((struct loop_io *)0)->ev), "the watcher fits");
_Static_assert((int)LOOP_READ == (int)EV_READ && (int)LOOP_WRITE == (int)EV_WRITE, "events pass through");

static ev_io *watcher(struct loop_io *io) {
    return (ev_io *)(void *)&io->ev;
}

static void on_io(struct ev_loop *ev UNUSED, ev_io *w, int events) {
    struct loop_io *io = w->data;
    struct loop *loop = io->loop;
    const char *name = io->name;
    LOOP_CALL(loop, name, io->fn(io->ctx, events & (EV_READ | EV_WRITE)));
}

void loop_io_init(struct loop_io *io, struct loop *loop, const char *name, void (*fn)(void *, int), void *ctx) {
    memset(io, 0, sizeof *io);
    io->loop = loop;
    io->name = name;
    io->fn = fn;
    io->ctx = ctx;
    io->fd = -1;
    ev_init(watcher(io), on_io);
    watcher(io)->data = io;
}

void loop_io_start(struct loop_io *io, int fd, int events) {
    ev_io_stop(io->loop->ev, watcher(io));
    ev_io_set(watcher(io), fd, events);
    io->fd = fd;
    ev_io_start(io->loop->ev, watcher(io));
}

void loop_io_stop(struct loop_io *io) {
    if (io->loop != NULL) {
        ev_io_stop(io->loop->ev, watcher(io));
        io->fd = -1;
    }
}
