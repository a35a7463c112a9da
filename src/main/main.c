// trainerd: boot order, signals, shutdown order.
//
// Up: config -> state directory and its lock (the journal's) -> plugins -> journal -> supervisor and backend -> flow ->
// gRPC. Down: no new work -> calls end -> gRPC -> flow's last words -> backend lets go (jobs go on) -> journal.
#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/mem.h"
#include "flow/flow.h"
#include "kube/kube.h"
#include "local/local.h"
#include "loop/loop.h"
#include "main/config.h"
#include "plugin/plugin.h"
#include "rpc/rpc.h"
#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKENDS_MAX = 2, WANTS_MAX = 256 };

struct daemon {
    struct config config;
    struct loop *loop;
    struct plugins *plugins;
    struct store *store;
    struct backend *backends[BACKENDS_MAX];
    size_t backend_count;
    struct flow *flow;
    struct rpc_server *rpc;
    char *token;
    struct loop_signal term, interrupt;
    bool stopping;
};

// ---- Boot
// -----------------------------------------------------------------------------------------------------------------------

static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); // the connection cap holds either way
    }
}

static bool make_state_dir(const char *path, struct err *err) {
    struct stat st;
    if (!fd_make_dirs(path, 0700, err)) {
        err_wrap(err, "state directory");
        return false;
    }
    if (stat(path, &st) != 0 || st.st_uid != geteuid()) {
        return err_fail(err, ERR_PRECONDITION, "STATE_DIR", "state directory %s belongs to another user", path);
    }
    return true;
}

// The bearer token that TCP clients need: made once, kept in a file that only its owner reads.
static bool load_token(struct daemon *d, struct err *err) {
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/token", d->config.state_dir);
    struct stat st;
    if (stat(path, &st) != 0) {
        uint8_t bytes[32];
        char text[48];
        id_random(bytes, sizeof bytes);
        id_base64url(bytes, sizeof bytes, text);
        if (!fd_write_file(path, text, strlen(text), 0600, err)) {
            return false;
        }
    } else if ((st.st_mode & 077) != 0) {
        return err_fail(err, ERR_PRECONDITION, "TOKEN_FILE",
                        "%s can be read by others: chmod 600 it, or delete it to get a new one", path);
    }
    CLEANUP(str_done) struct str text = STR_INIT;
    if (!fd_read_file(path, 4096, &text, err)) {
        return false;
    }
    while (text.len > 0 && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == ' ')) {
        text.data[--text.len] = '\0';
    }
    if (text.len < 16) {
        return err_fail(err, ERR_PRECONDITION, "TOKEN_FILE",
                        "%s holds fewer than 16 characters; delete it to get a new one", path);
    }
    d->token = str_take(&text);
    return true;
}

static const char *none_to_null(const char *text) {
    return strcmp(text, "none") == 0 ? NULL : text;
}

static bool boot_plugins(struct daemon *d, struct err *err) {
    d->plugins = plugins_new();
    if (!plugins_load_directory(d->plugins, d->config.plugin_dir, d->config.plugins, err)) {
        err_wrap(err, "plugin directory (plugin_dir)");
        return false;
    }
    if (plugins_count(d->plugins) == 0) {
        log_warn("main", "no plugin in %s: this server can run nothing", d->config.plugin_dir);
    }
    return true;
}

static const char *unless_empty(const char *text) {
    return text[0] != '\0' ? text : NULL;
}

// Every kind that some runtime renders is of interest.
static size_t list_wants(const struct daemon *d, struct kube_want *out, size_t max) {
    size_t n = 0;
    for (size_t i = 0; i < plugins_count(d->plugins); i++) {
        for (const struct trainer_target *t = plugins_at(d->plugins, i)->plugin->targets; t->name != NULL; t++) {
            if (n < max) {
                out[n++] = (struct kube_want){.target = t->name, .kind = t->kind};
            }
        }
    }
    return n;
}

static bool boot_kube(struct daemon *d, struct err *err) {
    const struct config *c = &d->config;
    struct kube_want wants[WANTS_MAX];
    const char *kubeconfig = none_to_null(c->kubeconfig);
    if (kubeconfig == NULL) {
        return true;
    }
    const struct kube_options options = {
        .name = c->kube_name,
        .kubeconfig = strcmp(kubeconfig, "default") == 0 ? NULL : kubeconfig,
        .context = unless_empty(c->kube_context),
        .namespace_ = unless_empty(c->kube_namespace),
        .wants = wants,
        .want_count = list_wants(d, wants, WANTS_MAX),
    };
    return kube_backend_new(&options, d->loop, &d->backends[d->backend_count], err) && ++d->backend_count != 0;
}

static bool boot_local(struct daemon *d, struct err *err) {
    const struct config *c = &d->config;
    const struct local_options options = {
        .name = c->local_name,
        .state_dir = c->state_dir,
        .supervisor_path = c->supervisor,
        .cpu_slots_milli = c->cpu_milli,
        .gpu_slots = (int32_t)c->gpu,
        .log_cap_bytes = c->log_cap,
        .port_first = (int32_t)c->port_first,
        .port_last = (int32_t)c->port_last,
        .grace_ms = c->grace_s * 1000,
    };
    return local_backend_new(&options, d->loop, &d->backends[d->backend_count], err) && ++d->backend_count != 0;
}

static bool boot_rpc(struct daemon *d, struct err *err) {
    const struct config *c = &d->config;
    const struct rpc_options options = {
        .loop = d->loop,
        .flow = d->flow,
        .unix_path = none_to_null(c->socket),
        .tcp_address = none_to_null(c->listen),
        .token = d->token,
        .max_connections = (int32_t)c->max_connections,
        .max_streams_per_connection = (int32_t)c->max_streams,
        .max_message_bytes = c->max_message,
        .pending_calls = (int32_t)c->pending_calls,
    };
    return rpc_server_new(&options, &d->rpc, err);
}

static bool boot(struct daemon *d, struct err *err) {
    const struct config *c = &d->config;
    const struct store_options store = {.directory = c->state_dir, .max_bytes = c->journal_max_bytes};
    struct flow_options flow = {.loop = d->loop, .backends = d->backends, .limits = c->limits};
    raise_descriptor_limit();
    if (!make_state_dir(c->state_dir, err) || !boot_plugins(d, err) || !store_open(&store, d->loop, &d->store, err) ||
        !load_token(d, err) || !boot_local(d, err) || !boot_kube(d, err)) {
        return false;
    }
    flow.store = d->store;
    flow.plugins = d->plugins;
    flow.backend_count = d->backend_count;
    return flow_new(&flow, &d->flow, err) && boot_rpc(d, err);
}

// ---- Shutdown
// ---------------------------------------------------------------------------------------------------------------------

static void on_calls_ended(void *ctx) {
    struct daemon *d = ctx;
    loop_stop(d->loop);
}

static void on_stop_signal(void *ctx, int signal) {
    struct daemon *d = ctx;
    if (d->stopping) {
        return;
    }
    d->stopping = true;
    log_info("main", "%s: shutting down; jobs go on and are found again at the next start", strsignal(signal));
    flow_drain(d->flow);
    rpc_server_shutdown(d->rpc, d->config.shutdown_grace_s * 1000, on_calls_ended, d);
}

// Takes down what boot() has put up, also when that stopped half-way.
static void shut_down(struct daemon *d) {
    if (d->rpc != NULL) {
        rpc_server_free(d->rpc);
    }
    flow_free(d->flow);
    for (size_t i = 0; i < d->backend_count; i++) {
        d->backends[i]->ops->stop(d->backends[i]);
    }
    if (d->store != NULL) {
        store_close(d->store);
    }
    for (size_t i = 0; i < d->backend_count; i++) {
        d->backends[i]->ops->free(d->backends[i]);
    }
    plugins_free(d->plugins);
    mem_free(d->token);
}

static void say_ready(const struct daemon *d) {
    int port = rpc_server_port(d->rpc);
    log_info("main", "trainerd " TRAINERD_VERSION " ready: state %s, socket %s, port %d, %zu runtimes",
             d->config.state_dir, d->config.socket, port, plugins_count(d->plugins));
}

// The port file lets clients find a TCP port that was chosen by the kernel (":0").
static bool write_port(const struct daemon *d, struct err *err) {
    int port = rpc_server_port(d->rpc);
    if (port == 0) {
        return true;
    }
    char text[16];
    int n = snprintf(text, sizeof text, "%d\n", port);
    CLEANUP(mem_free_ptr) char *path = mem_printf("%s/port", d->config.state_dir);
    return fd_write_file(path, text, (size_t)n, 0600, err);
}

// From here on a second signal must not end us half-way down: it stays pending for good.
static void block_stop_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int run(struct daemon *d) {
    CLEANUP(err_done) struct err err = ERR_INIT;
    d->loop = loop_new();
    int status = 1;
    if (boot(d, &err) && write_port(d, &err)) {
        loop_signal_start(&d->term, d->loop, SIGTERM, on_stop_signal, d);
        loop_signal_start(&d->interrupt, d->loop, SIGINT, on_stop_signal, d);
        say_ready(d);
        loop_run(d->loop);
        block_stop_signals();
        loop_signal_stop(&d->term);
        loop_signal_stop(&d->interrupt);
        log_info("main", "stopped");
        status = 0;
    } else {
        log_error("main", "cannot start: %s", err.message);
    }
    shut_down(d);
    loop_free(d->loop);
    return status;
}

int main(int argc, char **argv) {
    struct daemon d = {0};
    CLEANUP(err_done) struct err err = ERR_INIT;
    int status;
    signal(SIGPIPE, SIG_IGN);
    umask(077);
    config_init(&d.config);
    config_read_flags(&d.config, argc, argv, &status);
    if (status == -1 && !config_complete(&d.config, &err)) {
        fprintf(stderr, "trainerd: %s\n", err.message);
        status = 2;
    }
    if (status == -1) {
        status = run(&d);
    }
    config_done(&d.config);
    return status;
}
