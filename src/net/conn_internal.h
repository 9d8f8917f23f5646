/* The connection as the files of src/net see it; nobody else includes it. */
#ifndef KLAMM_NET_CONN_INTERNAL_H
#define KLAMM_NET_CONN_INTERNAL_H

#include "net/conn.h"
#include "net/net_internal.h"

/* Bytes sent or received for one connection before others get their turn. */
enum { CONN_TURN_SIZE = 1024 * 1024 };
/* Time that the frames behind the first one of a turn may take, for the same reason: they came
 * together, and each of them may cost any amount of work. */
enum { CONN_TURN_NS = 1000000 };
/* Replies that may queue up while requests that came together are worked off. */
enum { CONN_BATCH_SIZE = 64 * 1024 };
/* Answers that take more memory than this count towards the budget of requests until they are sent.
 * Smaller ones are few, for a connection has one request under way. */
enum { CONN_CHARGED_MIN = 64 * 1024 };

struct conn {
    atomic_int refs;
    bool closed;           /* the socket is gone */
    bool busy;             /* a request is under way */
    bool in_turn;          /* framing_run is on the stack */
    bool readable;         /* the socket may have bytes */
    bool blocked;          /* replies are queued that could not be sent yet */
    bool waits_writable;   /* ... because the socket is full */
    bool waits_memory;     /* in home->waiting */
    bool close_after_send; /* no further frame is parsed */
    bool task_posted;
    bool opened, close_told;
    bool peer_closed;    /* the peer sends no more */
    uint8_t prefix_size; /* bytes of the next frame's size that are there */
    uint8_t prefix[4];
    uint32_t size_hint; /* size of the last frame */
    struct chunk *body; /* the frame being received: body_size bytes so far */
    size_t body_size;
    struct chunk *stash; /* received bytes of frames that wait for conn_resume */
    size_t stash_from, stash_to;
    uint32_t turn_frames; /* delivered in this turn */
    int64_t turn_end_ns;  /* from the second frame on */
    struct outq outq;
    size_t charged;                /* memory of large answers in outq, in the budget */
    size_t warm_size;              /* bytes at the head of outq that were read ahead */
    struct read_ahead *read_ahead; /* under way; outq is kept for it even when closed */

    struct net_loop *home;
    struct loop_watch watch; /* watch.fd: the socket */
    struct loop_task task;   /* open, close, continue sending */
    struct list lru, wait;
    int64_t active_ms;
    int64_t idle_limit_ms;         /* conn_limit_idle; 0 = none */
    struct loop_timer limit_timer; /* may be set without a limit: it then does nothing */
    void *user;
    struct listener *listener;
    struct io_address local, peer;
};

/* conn.c */
/* A connection that was counted in (net_admit); takes the socket. Loop 0. */
void conn_open(struct net_loop *home, struct listener *listener, int fd,
               const struct io_address *local, const struct io_address *peer);
void conn_touch(struct conn *conn, int64_t now_ms);
void conn_flush(struct conn *conn);
/* Runs framing_run again, when the loop has served others. */
void conn_next_turn(struct conn *conn);
void conn_update_watch(struct conn *conn);
void conn_deliver(struct conn *conn, struct frame *frame);
void conn_memory_ready(struct conn *conn);
void conn_wait_for_memory(struct conn *conn);

/* framing.c */
/* Parses what is there and reads more, until the connection has to wait for something. */
void framing_run(struct conn *conn);
/* Forgets what was received; the connection is closed. */
void framing_drop(struct conn *conn);

#endif
