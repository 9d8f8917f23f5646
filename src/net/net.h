/* The network side of one node: a set of loops, the limits that hold over all connections and the
 * handler that gets the frames. Listeners (net/listener.h) bring connections (net/conn.h) in and
 * spread them over the loops.
 *
 * Life: net_new -> listener_open (any number) -> net_stop -> done callback -> net_free. */
#ifndef KLAMM_NET_NET_H
#define KLAMM_NET_NET_H

#include "os/io.h"

struct conn;
struct frame;
struct net;

/* A limit for one address (max.connections.per.ip.overrides). */
struct net_ip_limit {
    char host[64]; /* numeric text as in struct io_address */
    int32_t connections_max;
};

struct net_config {
    int32_t request_size_max;       /* socket.request.max.bytes */
    int32_t connections_max;        /* max.connections */
    int32_t connections_per_ip_max; /* max.connections.per.ip */
    int64_t idle_max_ms;            /* connections.max.idle.ms; < 0 = never */
    /* queued.max.request.bytes: memory of all frames that are being read or handled, and of what
     * net_memory_take adds (large decoded requests and answers). <= 0 = no limit; the server gives
     * a part of the memory budget instead. */
    int64_t queued_size_max;
    /* Frames of at most this size may use a further 1/8 of queued_size_max, so that heartbeats and
     * commits get through when producers have used up the rest. */
    int32_t small_frame_size;
    /* SO_SNDBUF and SO_RCVBUF; -1 leaves them to the kernel, which then adapts them. Give
     * socket.{send,receive}.buffer.bytes only when the operator set them. */
    int32_t send_buffer_size, receive_buffer_size;
    int32_t backlog; /* socket.listen.backlog.size */
};

/* Fills in Kafka's defaults (no memory limit). */
void net_config_init(struct net_config *config);

/* Both run on the connection's loop; `context` is the one of net_new.
 *
 * on_frame: one request, without its size prefix. The callee owns *frame from now on: it takes it
 * with frame_take or frees it with frame_free before it returns. No further frame of this
 * connection comes until conn_resume.
 * on_close: the connection is gone (peer, idle, error, conn_close, net_stop); called once for each
 * connection that was opened (on_open), also while a request is under way. conn_user may be freed
 * here if no reply under way needs it. The conn itself lives until the last conn_unref; calls on it
 * do nothing from now on. Not called from inside conn_send or conn_resume. */
struct net_handler {
    void (*on_open)(void *context, struct conn *conn); /* NULL allowed; sets conn_user */
    void (*on_frame)(void *context, struct conn *conn, struct frame *frame);
    void (*on_close)(void *context, struct conn *conn); /* NULL allowed */
    /* The peer of a connection with a request under way sends no more (it closed, or shut down its
     * side and waits for the answer). NULL allowed. */
    void (*on_peer_closed)(void *context, struct conn *conn);
};

struct net_counters {
    int64_t connections;          /* open now */
    int64_t connections_accepted; /* since the start */
    int64_t connections_closed;
    int64_t connections_refused; /* above a limit per address */
    int64_t connections_idle_closed;
    /* half a frame, or a large answer not read, for 10 s while memory was short */
    int64_t connections_stalled_closed;
    int64_t frames_bad; /* closed for a size below 0 or above the limit */
    int64_t frames;
    int64_t received_size, sent_size;
    int64_t queued_size;   /* frame memory in use now */
    int64_t pauses_memory; /* times a connection waited for frame memory */
    int64_t pauses_files;  /* times accepting paused for lack of descriptors */
};

/* `loops` are the caller's. Copies config and handler. */
struct net *net_new(struct io *io, const struct net_config *config, struct loop *const *loops,
                    int loop_count, const struct net_handler *handler, void *context);
/* Dynamic change of the limits (max.connections*, ...); for connections and frames to come. Any
 * thread. */
void net_configure(struct net *net, const struct net_config *config);
/* Instead of connections_per_ip_max for these addresses; copied, in place of those set before. Any
 * thread. */
void net_limit_ips(struct net *net, const struct net_ip_limit *limits, size_t count);
/* Closes all listeners and connections. `done` runs on the first loop once on_close was called for
 * every connection. Any thread; once. */
void net_stop(struct net *net, void (*done)(void *context), void *context);
/* Whether a job on a worker still comes back to a connection, closed or not, and holds the files
 * that it was sending. What a disk holds can keep it so for any time after `done`. Any thread. */
bool net_is_busy(const struct net *net);
/* After `done`, when nothing is busy any more, all frames are freed, all conns unreferenced and the
 * loops stopped. Accepts NULL. A net that never accepted (a failed start) needs no net_stop. */
void net_free(struct net *net);

/* Memory that requests and answers take besides their frames, counted with the frames' (see
 * queued_size_max): never refused, but further frames wait until it is given back. Any thread. */
void net_memory_take(struct net *net, size_t size);
void net_memory_give(struct net *net, size_t size);

struct net_counters net_counters(struct net *net); /* any thread */

#endif
