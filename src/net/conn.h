/* One accepted connection: frames in, replies out. It belongs to one loop; all calls but conn_ref,
 * conn_unref and the getters are made there. A handler whose answer comes later holds a reference
 * (conn_ref), and completes by posting a task to conn_loop(conn), which then calls conn_send and
 * conn_resume.
 *
 *     on_frame -> ... -> conn_send (none for acks=0) -> conn_resume -> next on_frame
 *
 * Between on_frame and conn_resume nothing more is parsed: answers leave in the order of requests.
 * After conn_resume the next frame waits until the client took most of the answer, so a slow reader
 * holds one answer at most.
 *
 * All calls are allowed on a connection that closed meanwhile: conn_send then only releases. */
#ifndef KLAMM_NET_CONN_H
#define KLAMM_NET_CONN_H

#include "base/buf.h"
#include "net/frame.h"
#include "net/listener.h"
#include "net/net.h"
#include "net/outq.h"

struct conn;

struct conn *conn_ref(struct conn *conn); /* any thread; returns conn */
void conn_unref(struct conn *conn);       /* any thread */

/* Fixed for the life of the connection; any thread. */
struct loop *conn_loop(const struct conn *conn);
struct net *conn_net(const struct conn *conn);
const struct listener_info *conn_listener(const struct conn *conn);
const struct io_address *conn_local(const struct conn *conn); /* the address it came in by */
const struct io_address *conn_peer(const struct conn *conn);

/* The handler's own state (client, session, principal ...). Loop thread. */
void conn_set_user(struct conn *conn, void *user);
void *conn_user(const struct conn *conn);

/* True once closed: on_close was or is about to be called. Loop thread. */
bool conn_is_closed(const struct conn *conn);

/* Queues one reply made of the items; the connection adds the 4-byte size prefix. Takes over the
 * items (their release), also when the connection is closed. Nothing is sent before conn_resume (or
 * the end of on_frame). At most one reply for one request. */
void conn_send(struct conn *conn, const struct outq_item *items, size_t count);
/* The same for one buffer, whose memory is taken: *body is empty afterwards. */
void conn_send_buf(struct conn *conn, struct buf *body);

/* The request under way is done: sends what is queued and lets the next frame come. May call
 * on_frame before it returns, unless it was called from inside on_frame. */
void conn_resume(struct conn *conn);

/* Until further notice, closes the connection when it was idle for limit_ms, if that is earlier
 * than connections.max.idle.ms would have it; 0 takes the limit away. */
void conn_limit_idle(struct conn *conn, int64_t limit_ms);

/* Closes at once; what is queued is dropped. on_close follows before the loop turn ends (never from
 * inside this call). */
void conn_close(struct conn *conn);

#endif
