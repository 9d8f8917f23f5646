/* Shared by the files of src/net; nobody else includes it. */
#ifndef KLAMM_NET_NET_INTERNAL_H
#define KLAMM_NET_NET_INTERNAL_H

#include "base/map.h"
#include "net/budget.h"
#include "net/chunk.h"
#include "net/listener.h"
#include "net/net.h"
#include "os/io.h"
#include "os/lock.h"

/* What one loop keeps. Belongs to its thread, but for the atomics. */
struct net_loop {
    struct net *net;
    struct loop *loop;
    struct list conns;   /* of conn.lru: the longest idle first */
    struct list waiting; /* of conn.wait: paused for memory, in order */
    struct loop_timer idle_timer;
    struct loop_task stop_task, wake_task;
    atomic_bool wake_posted;
    struct chunk *read_chunk; /* small requests of all connections are received here */
    struct chunk_pool pool;
    _Atomic(int64_t) conn_count; /* open, or on the way from the listener */
    _Atomic(int64_t) frames, received_size, sent_size;
    bool stopped;
};

struct net {
    struct io *io;
    struct net_handler handler;
    void *context;
    struct budget budget;
    _Atomic(int32_t) request_size_max, small_frame_size;
    _Atomic(int64_t) idle_max_ms;

    struct lock lock; /* LOCK_TABLE: limits and what they count */
    struct net_config config;
    struct net_ip_limit *ip_limits;
    size_t ip_limit_count;
    struct map hosts; /* struct host by text */
    int64_t connections;

    struct list listeners; /* loop 0, and the thread that starts the node */
    struct loop_task accept_task;
    atomic_bool accept_posted, accept_paused;
    struct loop_task stop_task, done_task;
    atomic_bool stopping;
    void (*done)(void *context);
    void *done_context;
    /* One for each loop until it stopped, one for each connection until its on_close ran. */
    _Atomic(int64_t) alive;
    _Atomic(int64_t) job_count; /* reads ahead under way */

    _Atomic(int64_t) accepted, closed, refused, idle_closed, stalled, frames_bad;
    _Atomic(int64_t) pauses_memory, pauses_files;
    int loop_count;
    struct net_loop loops[];
};

static inline void count(_Atomic(int64_t) *counter, int64_t by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* net.c */
/* Gives memory back and wakes connections that wait for some. Any thread. */
void net_release_memory(struct net *net, size_t size);
void net_wake_waiting(struct net *net);
void net_alive_down(struct net *net);
enum net_admission { NET_ADMIT, NET_FULL, NET_REFUSE };
/* Counts a connection in if the limits allow it. */
enum net_admission net_admit(struct net *net, const char *host);
void net_leave(struct net *net, const char *host);
/* Whether the listeners should accept at all. */
bool net_has_room(struct net *net);
struct net_loop *net_pick_loop(struct net *net);
void net_watch_idle(struct net_loop *nl);
void net_close_idle(struct conn *conn);

/* listener.c: accepts again after a pause. Loop 0. */
void listener_continue_all(struct net *net);
void listener_close_all(struct net *net);
void listener_free_all(struct net *net); /* connections name their listener to the end */

#endif
