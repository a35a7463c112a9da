// Ports for rendezvous. Between our own jobs there is no race: a port belongs to one attempt until that is gone. That
// nobody else has it is tried by binding it.
#include "local/executor.h"

#include "base/id.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int32_t range(const struct local *l) {
    return l->options.port_last - l->options.port_first + 1;
}

void ports_init(struct local *l) {
    uint32_t random;
    l->port_taken = mem_zalloc((size_t)range(l) * sizeof *l->port_taken);
    id_random(&random, sizeof random); // two daemons of one machine would try the same ports otherwise
    l->port_next = (int32_t)(random % (uint32_t)range(l));
}

static bool is_free(int32_t port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_ANY)};
    // Without SO_REUSEADDR: not every framework sets it, and a port that rests in TIME_WAIT would fail it.
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

static bool take(struct local *l, int32_t *ret) {
    int32_t n = range(l);
    for (int32_t tries = 0; tries < n; tries++) {
        int32_t at = (l->port_next + tries) % n;
        if (!l->port_taken[at] && is_free(l->options.port_first + at)) {
            l->port_taken[at] = true;
            l->port_next = (at + 1) % n; // round robin: a port rests before it is used again
            *ret = l->options.port_first + at;
            return true;
        }
    }
    return false;
}

bool ports_take(struct run *r) {
    size_t n = r->plan->port_count;
    ports_release(r);
    r->ports = mem_zalloc((n + 1) * sizeof *r->ports);
    for (size_t i = 0; i < n; i++) {
        if (!take(r->local, &r->ports[i])) {
            ports_release(r);
            return false;
        }
    }
    return true;
}

static bool in_range(const struct local *l, int64_t port) {
    return port >= l->options.port_first && port <= l->options.port_last;
}

void ports_release(struct run *r) {
    const struct local *l = r->local;
    for (size_t i = 0; r->ports != NULL && i < r->plan->port_count; i++) {
        if (in_range(l, r->ports[i])) {
            l->port_taken[r->ports[i] - l->options.port_first] = false;
        }
    }
    mem_free(TAKE(r->ports));
}

// The supervisor keeps this text with the process, so that a restarted daemon knows the ports again.
void ports_note(const struct run *r, struct str *out) {
    for (size_t i = 0; r->ports != NULL && i < r->plan->port_count; i++) {
        str_printf(out, "%s%d", i == 0 ? "" : ",", r->ports[i]);
    }
}

void ports_take_noted(struct run *r, const char *note) {
    const struct local *l = r->local;
    const char *p = note;
    if (r->ports != NULL || r->plan->port_count == 0) {
        return;
    }
    r->ports = mem_zalloc((r->plan->port_count + 1) * sizeof *r->ports);
    for (size_t i = 0; i < r->plan->port_count; i++) {
        char *end;
        long port = strtol(p, &end, 10);
        if (in_range(l, port)) {
            r->ports[i] = (int32_t)port;
            l->port_taken[port - l->options.port_first] = true;
        }
        p = *end == ',' ? end + 1 : end;
    }
}
