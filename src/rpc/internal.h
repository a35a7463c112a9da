// What the files of rpc/ share. Nobody outside includes this. Everything belongs to the loop thread unless it says so.
#ifndef RPC_INTERNAL_H
#define RPC_INTERNAL_H

#include "base/arena.h"
#include "base/list.h"
#include "base/str.h"
#include "job/table.h"
#include "rpc/rpc.h"

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <stdatomic.h>

struct rpc_call;

// ---- Methods: one file each, one const struct each; table.c holds the list ------------------------------------------

enum rpc_kind {
    RPC_UNARY,
    RPC_SERVER_STREAM, // one request, then messages until the method or the client ends it
    RPC_BIDI,          // requests are read by the method itself
};

struct rpc_method {
    const char *path; // "/trainer.v1.TrainerService/Get"
    enum rpc_kind kind;
    // Called once a call; data is the request (NULL for BIDI) and valid during the call. true: it was answered, or will
    // be. false: err is the answer. NULL: the contract has the method, this version does not.
    bool (*run)(struct rpc_call *call, const void *data, size_t n, struct err *err);
};

extern const struct rpc_method rpc_method_submit, rpc_method_submit_batch, rpc_method_submit_and_watch,
    rpc_method_render, rpc_method_get, rpc_method_list, rpc_method_watch, rpc_method_cancel, rpc_method_delete,
    rpc_method_suspend, rpc_method_resume, rpc_method_scale, rpc_method_logs, rpc_method_events,
    rpc_method_report_metrics, rpc_method_query_metrics, rpc_method_list_runtimes, rpc_method_get_runtime,
    rpc_method_info;
extern const struct rpc_method rpc_method_health_check, rpc_method_health_watch, rpc_method_health_list,
    rpc_method_reflect, rpc_method_reflect_alpha;

enum { RPC_METHODS_MAX = 32 };
extern const struct rpc_method *const rpc_methods[]; // NULL-terminated; those of TrainerService first
size_t rpc_methods_count(void);
const char *rpc_method_name(const struct rpc_method *m); // "Get"

// ---- Completion queues: cq.c ----------------------------------------------------------------------------------------

// What C core gives back when an operation is done. Its owner may not go before it has come back.
struct rpc_tag {
    atomic_uint magic;
    bool ok; // written by the queue's thread before it posts
    struct loop_message message;
    void (*fn)(struct rpc_tag *tag, bool ok); // on the loop
};
void rpc_tag_init(struct rpc_tag *tag, void (*fn)(struct rpc_tag *tag, bool ok));
void *rpc_tag_hand_out(struct rpc_tag *tag); // for C core, once for each operation

struct rpc_queue {
    grpc_completion_queue *core;
    struct loop *loop;
    struct loop_thread *thread;
};
// The first does the I/O and takes new and unary calls; streams share the others, which only carry completions. With
// eight of them ten thousand streams cost half of what they do with one.
enum { RPC_QUEUES = 9 };
void rpc_queues_create(struct rpc_queue *queues);
// Between these, what finishes at once on this thread is posted here, without a detour over the queue's thread.
void rpc_queue_catch(struct rpc_queue *q);
void rpc_queue_caught(struct rpc_queue *q);
void rpc_queues_start(struct rpc_queue *queues, struct loop *loop);
// Returns when every operation has come back and been delivered. None may be started after this was called.
void rpc_queues_finish(struct rpc_queue *queues);
void rpc_queues_destroy(struct rpc_queue *queues);

// ---- Server ---------------------------------------------------------------------------------------------------------

struct rpc_connection;

// A way in: a listening socket and a grpc_server of its own, so that a call's server says beyond doubt how its client
// came in (C core's peer is only "fd:7", and descriptors are reused).
struct rpc_side {
    struct rpc_server *server;
    bool local; // unix socket of the same user: needs no token
    grpc_server *core;
    void *registered[RPC_METHODS_MAX];
    struct rpc_tag stopped_tag;
    bool is_stopped;
    int fd; // listening; -1 when closed
    struct loop_io io;
    struct loop_timer pause; // after EMFILE
    char *path;              // unix: to be removed at the end, while it is still the same file
    uint64_t device, inode;
    int port; // tcp
};

struct rpc_share_slot {
    struct job_event *event; // a reference, or NULL
    grpc_slice slice;
};
enum { RPC_SHARE_SLOTS = 64 };

struct rpc_server {
    struct loop *loop;
    struct flow *flow;
    char *token;
    struct rpc_queue queues[RPC_QUEUES];
    size_t next_queue; // for the next stream
    struct rpc_side sides[2];
    size_t side_count;
    grpc_server_credentials *credentials;
    // connections: accept.c
    struct list connections;
    int64_t connection_count, max_connections, refused;
    int closed_fd; // epoll: tells of connections that C core has closed
    struct loop_io closed;
    int reserve_fd; // given up for a moment when descriptors run out
    int64_t refused_logged_ns;
    // calls: call.c
    struct list calls;
    int64_t call_count, posted;
    int64_t open_calls, refused_calls; // in the list; those of them that came after the beginning of the end
    // streams with something to do: stream.c
    struct list ready;
    struct loop_task pump;
    struct rpc_share_slot share[RPC_SHARE_SLOTS];
    // health.c
    struct list health_watchers;
    // the end, in this order
    bool draining; // new calls are refused, streams have been ended
    bool hung_up;  // nothing is left that was admitted: connections are being closed
    bool stopped;  // C core has been told to stop: no new slots
    bool closing;  // no new operations
    bool finished;
    struct loop_timer grace;
    struct loop_task finish;
    void (*done)(void *ctx);
    void *done_ctx;
};

void rpc_server_go_on_ending(struct rpc_server *s); // after a call, a connection or a side has ended

// accept.c
bool rpc_listen_unix(struct rpc_side *side, const char *path, struct err *err) MUST_CHECK;
bool rpc_listen_tcp(struct rpc_side *side, const char *address, struct err *err) MUST_CHECK;
bool rpc_accept_init(struct rpc_server *s, struct err *err) MUST_CHECK;
void rpc_accept_start(struct rpc_side *side);
void rpc_accept_stop(struct rpc_side *side);        // closes the socket and removes the file
void rpc_accept_drop_waiting(struct rpc_server *s); // connections that C core has not seen
void rpc_accept_hang_up(struct rpc_server *s);      // the others: C core reads their end
void rpc_accept_done(struct rpc_server *s);

// args.c
grpc_channel_args *rpc_server_args(const struct rpc_options *options);
void rpc_server_args_free(grpc_channel_args *args);

// log.c
void rpc_log_to_ours(void); // C core's own log goes to base/log.h

// auth.c
bool rpc_authenticate(const struct rpc_call *call, struct err *err) MUST_CHECK;

// ---- One call: call.c -----------------------------------------------------------------------------------------------

struct rpc_call {
    struct list link; // server->calls
    struct rpc_server *server;
    struct rpc_side *side;
    struct rpc_queue *queue;         // where its operations come back
    size_t index;                    // in rpc_methods
    const struct rpc_method *method; // NULL: one that nobody knows
    grpc_call *core;
    gpr_timespec deadline;
    grpc_metadata_array metadata;
    grpc_call_details details; // of unknown methods
    grpc_byte_buffer *payload;
    struct arena arena; // for what the request is decoded into; gone with the call
    // One tag per kind of operation: at most one of each is under way.
    struct rpc_tag arrived, closed, sent, received, ended;
    int pending; // of them that have not come back
    int cancelled;
    bool close_asked, close_with_status, close_known; // RECV_CLOSE_ON_SERVER
    bool initial_sent, sending, status_sent;
    bool refused; // came after the beginning of the end
    grpc_slice details_bin;
    grpc_metadata trailer;
    grpc_byte_buffer *incoming;
    // The method's, until it has ended the call.
    void (*stop)(void *ctx); // once, when the call ends otherwise: client gone, deadline, shutdown
    void *stop_ctx;
    void (*on_sent)(struct rpc_call *call);
    void (*on_received)(struct rpc_call *call, grpc_byte_buffer *message); // NULL: the client has no more
    struct flow_op *op;
    void *state; // of stream.c
    int64_t began_ns;
};

void rpc_calls_post(struct rpc_side *side, int32_t pending_calls);
const char *rpc_call_name(const struct rpc_call *call); // for logs
void rpc_call_on_stop(struct rpc_call *call, void (*stop)(void *ctx), void *ctx);
// The answer of a unary call: moves the text.
void rpc_call_reply(struct rpc_call *call, struct str *take_message);
// Ends a call with OK (err NULL) or an error. Streams may have one message under way.
void rpc_call_end(struct rpc_call *call, const struct err *err);
void rpc_call_end_draining(struct rpc_call *call); // with UNAVAILABLE
// Streams: sends one message; on_sent follows. more: another one follows at once.
void rpc_call_send(struct rpc_call *call, grpc_slice take_message, bool more);
void rpc_call_send_headers(struct rpc_call *call); // on_sent follows
void rpc_call_receive(struct rpc_call *call);      // on_received follows
// Lets a flow_op run until it answers or the call stops. Answered at once: op is NULL.
void rpc_call_wait(struct rpc_call *call, struct flow_op *op);
// The contents of a message as one slice, which the caller unrefs.
grpc_slice rpc_message_read(grpc_byte_buffer *message);
void rpc_calls_drain(struct rpc_server *s); // ends every stream, in the next turns

// status.c
// What is sent: a copy cut to what fits into a trailer, and its google.rpc.Status ("" when even that is too long).
void rpc_status_write(const struct err *err, struct err *ret_sent, struct str *details);

// ---- Streams: stream.c ----------------------------------------------------------------------------------------------

enum rpc_source_result { RPC_SOURCE_MESSAGE, RPC_SOURCE_WAIT, RPC_SOURCE_END, RPC_SOURCE_FAILED };

// What a stream sends: pulled when there is room. Not called again after END or FAILED.
struct rpc_source {
    enum rpc_source_result (*next)(void *ctx, grpc_slice *ret, struct err *err);
    void (*close)(void *ctx); // once, at the end, whatever it was
};
void rpc_stream_start(struct rpc_call *call, const struct rpc_source *source, void *ctx);
void rpc_stream_wake(struct rpc_call *call); // after WAIT: there may be something
void rpc_streams_init(struct rpc_server *s);
// One slice for all streams that send this event. data is copied the first time.
grpc_slice rpc_share_event(struct rpc_server *s, struct job_event *event, const void *data, size_t n);
void rpc_share_clear(struct rpc_server *s);
grpc_slice rpc_slice_take(struct str *take); // moves the text

// health.c
void rpc_health_shutdown(struct rpc_server *s);

#endif
