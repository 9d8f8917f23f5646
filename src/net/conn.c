/* One connection on its loop: opening, replies, closing. Frames are cut in framing.c.
 *
 * What a connection waits for, and who goes on:
 *   bytes       readable socket -> framing_run
 *   its request conn_resume -> framing_run
 *   the socket  writable -> conn_flush, then framing_run once the queue is empty
 *   its turn    CONN_TURN_SIZE bytes sent, or CONN_TURN_NS worked -> its own task -> conn_flush or
 *               framing_run
 *   the disk    a cold range -> job on a worker reads it ahead -> conn_flush
 *   memory      waits_memory -> conn_memory_ready
 *
 * The read interest is dropped only when the socket becomes readable at a time when nothing may be
 * read, so that a request that is answered at once costs no epoll_ctl. A connection whose peer is
 * gone for good (hang-up) is closed even with a request under way. A peer that only sends no more
 * may still want its answer: the handler of the request under way is told.
 *
 * References: one of the loop until on_close ran, one for each conn_ref. */
#include "net/conn.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "net/conn_internal.h"
#include "os/diag.h"

/* A job that reads the next file range, so that sending it will not wait for the disk. */
struct read_ahead {
    struct io_job job;
    struct conn *conn;
    struct io *io;
    struct outq_range range;
};

static void watch_ready(struct loop_watch *watch, unsigned events);
static void task_run(struct loop_task *task);
static void limit_expired(struct loop_timer *timer);

/* ---- getters and references -------------------------------------------------------------------
 */

struct conn *conn_ref(struct conn *conn)
{
    atomic_fetch_add_explicit(&conn->refs, 1, memory_order_relaxed);
    return conn;
}

void conn_unref(struct conn *conn)
{
    if (atomic_fetch_sub_explicit(&conn->refs, 1, memory_order_acq_rel) > 1)
        return;
    ENSURE(conn->closed && !conn->read_ahead);
    mem_free(conn);
}

struct loop *conn_loop(const struct conn *conn)
{
    return conn->home->loop;
}

struct net *conn_net(const struct conn *conn)
{
    return conn->home->net;
}

const struct listener_info *conn_listener(const struct conn *conn)
{
    return listener_info(conn->listener);
}

const struct io_address *conn_local(const struct conn *conn)
{
    return &conn->local;
}

const struct io_address *conn_peer(const struct conn *conn)
{
    return &conn->peer;
}

void conn_set_user(struct conn *conn, void *user)
{
    conn->user = user;
}

void *conn_user(const struct conn *conn)
{
    return conn->user;
}

bool conn_is_closed(const struct conn *conn)
{
    return conn->closed;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static void post_task(struct conn *conn)
{
    if (conn->task_posted)
        return;
    conn->task_posted = true;
    loop_post(conn->home->loop, &conn->task);
}

void conn_next_turn(struct conn *conn)
{
    post_task(conn);
}

void conn_open(struct net_loop *home, struct listener *listener, int fd,
               const struct io_address *local, const struct io_address *peer)
{
    struct net *net = home->net;
    struct conn *conn = mem_zalloc(sizeof *conn);
    atomic_init(&conn->refs, 1);
    conn->home = home;
    conn->listener = listener;
    conn->watch = (struct loop_watch){.fd = fd, .ready = watch_ready};
    conn->task.run = task_run;
    conn->limit_timer.expired = limit_expired;
    list_init(&conn->lru);
    list_init(&conn->wait);
    outq_init(&conn->outq);
    conn->local = *local;
    conn->peer = *peer;
    atomic_fetch_add(&net->alive, 1);
    atomic_fetch_add(&home->conn_count, 1);
    count(&net->accepted, 1);
    post_task(conn);
}

/* First run of the task, on the connection's own loop. */
static void opened(struct conn *conn)
{
    struct net_loop *home = conn->home;
    struct net *net = home->net;
    conn->opened = true;
    conn->active_ms = io_mono_ms(net->io);
    list_push_back(&home->conns, &conn->lru);
    net_watch_idle(home);
    if (net->handler.on_open)
        net->handler.on_open(net->context, conn);
    if (home->stopped)
        conn_close(conn);
    conn_update_watch(conn);
}

void conn_touch(struct conn *conn, int64_t now_ms)
{
    conn->active_ms = now_ms;
    list_remove(&conn->lru);
    list_push_back(&conn->home->conns, &conn->lru);
}

/* A limit comes and goes with single requests: the timer stays as it is then, and is set anew at
 * most once a limit. */
void conn_limit_idle(struct conn *conn, int64_t limit_ms)
{
    conn->idle_limit_ms = limit_ms;
    if (!limit_ms || conn->closed || loop_timer_is_set(&conn->limit_timer))
        return;
    int64_t due_ms = io_mono_ms(conn->home->net->io) + limit_ms;
    loop_timer_set(conn->home->loop, &conn->limit_timer, due_ms * 1000000);
}

static void limit_expired(struct loop_timer *timer)
{
    struct conn *conn = LIST_ITEM(timer, struct conn, limit_timer);
    if (!conn->idle_limit_ms)
        return;
    int64_t now_ms = io_mono_ms(conn->home->net->io);
    int64_t due_ms = (conn->busy ? now_ms : conn->active_ms) + conn->idle_limit_ms;
    if (due_ms > now_ms)
        loop_timer_set(conn->home->loop, timer, due_ms * 1000000);
    else
        net_close_idle(conn);
}

void conn_update_watch(struct conn *conn)
{
    if (conn->closed)
        return;
    bool reads = !conn->busy && !conn->blocked && !conn->close_after_send && !conn->waits_memory &&
                 !conn->stash;
    unsigned events = conn->watch.events & LOOP_READABLE; /* dropped in watch_ready */
    events |= reads ? LOOP_READABLE : 0;
    events |= conn->peer_closed ? 0 : LOOP_PEER_CLOSED;
    events |= conn->waits_writable ? LOOP_WRITABLE : 0;
    enum err e = loop_watch_set(conn->home->loop, &conn->watch, events);
    if (e) {
        diag(DIAG_NET, DIAG_ERROR, "closing the connection of %s:%u: %s", conn->peer.host,
             conn->peer.port, err_text(e));
        conn_close(conn);
    }
}

/* A request that waits may have nobody left to wait for it. */
static void tell_peer_closed(struct conn *conn)
{
    struct net *net = conn->home->net;
    if (conn->peer_closed && conn->busy && !conn->closed && net->handler.on_peer_closed)
        net->handler.on_peer_closed(net->context, conn);
}

static void watch_ready(struct loop_watch *watch, unsigned events)
{
    struct conn *conn = LIST_ITEM(watch, struct conn, watch);
    bool told = conn->peer_closed;
    conn->peer_closed |= (events & LOOP_PEER_CLOSED) != 0;
    if (events & LOOP_HANGUP && !(events & LOOP_READABLE)) {
        conn_close(conn);
        return;
    }
    if (events & LOOP_READABLE)
        conn->readable = true;
    if (events & LOOP_WRITABLE)
        conn_flush(conn);
    if (conn->closed)
        return;
    bool reads = !conn->busy && !conn->blocked && !conn->close_after_send && !conn->waits_memory;
    if (reads) {
        framing_run(conn); /* requests that come with the end are told in conn_deliver */
        return;
    }
    if (events & LOOP_HANGUP) {
        conn_close(conn); /* nothing may be read, and nobody is there to take an answer */
        return;
    }
    if (events & LOOP_READABLE) {
        unsigned kept = watch->events & ~(unsigned)LOOP_READABLE;
        if (conn->peer_closed)
            kept &= ~(unsigned)LOOP_PEER_CLOSED;
        if (loop_watch_set(conn->home->loop, watch, kept))
            conn_close(conn);
    }
    conn_update_watch(conn);
    if (!told)
        tell_peer_closed(conn);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

void conn_deliver(struct conn *conn, struct frame *frame)
{
    struct net *net = conn->home->net;
    count(&conn->home->frames, 1);
    budget_frame_held(&net->budget);
    conn->busy = true;
    net->handler.on_frame(net->context, conn, frame);
    frame_free(frame);
    tell_peer_closed(conn);
}

void conn_resume(struct conn *conn)
{
    if (conn->closed)
        return;
    conn->busy = false;
    framing_run(conn);
}

/* Ranges of files are no memory. */
static void charge(struct conn *conn, const struct outq_item *items, size_t item_count)
{
    size_t size = 0;
    for (size_t i = 0; i < item_count; i++)
        size += items[i].bytes.data ? items[i].bytes.size : 0;
    if (size < CONN_CHARGED_MIN)
        return;
    conn->charged += size;
    net_memory_take(conn->home->net, size);
}

static void discharge(struct conn *conn)
{
    size_t size = conn->charged;
    conn->charged = 0;
    if (size)
        net_memory_give(conn->home->net, size);
}

void conn_send(struct conn *conn, const struct outq_item *items, size_t item_count)
{
    if (conn->closed) {
        outq_release(items, item_count);
        return;
    }
    charge(conn, items, item_count);
    outq_put(&conn->outq, items, item_count);
}

void conn_send_buf(struct conn *conn, struct buf *body)
{
    struct outq_item item = outq_memory(buf_slice(body), mem_free, body->data);
    conn_send(conn, &item, 1);
    buf_init(body);
}

/* ---- waiting for memory -----------------------------------------------------------------------
 */

void conn_wait_for_memory(struct conn *conn)
{
    struct net *net = conn->home->net;
    if (conn->waits_memory)
        return;
    conn->waits_memory = true;
    list_push_back(&conn->home->waiting, &conn->wait);
    atomic_fetch_add(&net->budget.waiters, 1);
    count(&net->pauses_memory, 1);
}

void conn_memory_ready(struct conn *conn)
{
    conn->waits_memory = false;
    atomic_fetch_sub(&conn->home->net->budget.waiters, 1);
    conn->readable = true; /* perhaps; the socket will tell */
    framing_run(conn);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

static void read_ahead_run(struct io_job *job)
{
    struct read_ahead *ahead = LIST_ITEM(job, struct read_ahead, job);
    enum { PART_SIZE = 128 * 1024 };
    void *part = mem_alloc(PART_SIZE);
    while (ahead->range.size > 0) {
        size_t size = ahead->range.size < PART_SIZE ? ahead->range.size : PART_SIZE, got;
        /* What cannot be read will show when it is sent. */
        if (io_pread(ahead->io, ahead->range.fd, part, size, ahead->range.position, &got) ||
            got == 0)
            break;
        ahead->range.position += (int64_t)got;
        ahead->range.size -= got;
    }
    mem_free(part);
}

static void read_ahead_done(struct io_job *job)
{
    struct read_ahead *ahead = LIST_ITEM(job, struct read_ahead, job);
    struct conn *conn = ahead->conn;
    struct net *net = conn->home->net;
    mem_free(ahead);
    conn->read_ahead = NULL;
    if (conn->closed) {
        outq_fini(&conn->outq);
    } else {
        conn_flush(conn);
        if (!conn->blocked && !conn->closed)
            framing_run(conn);
        conn_update_watch(conn);
    }
    conn_unref(conn);
    atomic_fetch_sub(&net->job_count, 1); /* last: who waits for it stops this loop and frees all */
}

static void read_ahead_start(struct conn *conn, const struct outq_range *range)
{
    struct read_ahead *ahead = mem_zalloc(sizeof *ahead);
    *ahead = (struct read_ahead){
        .job = {.run = read_ahead_run, .done = read_ahead_done, .loop = conn->home->loop},
        .conn = conn_ref(conn),
        .io = conn->home->net->io,
        .range = *range,
    };
    conn->read_ahead = ahead;
    conn->warm_size = range->size;
    atomic_fetch_add(&conn->home->net->job_count, 1);
    io_submit(ahead->io, &ahead->job);
}

/* Sends what the socket takes, a turn's worth at most, and notes what to wait for. */
void conn_flush(struct conn *conn)
{
    if (conn->closed || conn->read_ahead)
        return;
    struct net *net = conn->home->net;
    size_t sent = 0;
    enum err e = ERR_NONE;
    bool checked = conn->warm_size == 0;
    if (!outq_empty(&conn->outq)) {
        size_t size_max = checked ? CONN_TURN_SIZE : conn->warm_size;
        e = outq_send(&conn->outq, net->io, conn->watch.fd, size_max, checked, &sent);
        conn->warm_size -= sent < conn->warm_size ? sent : conn->warm_size;
        count(&conn->home->sent_size, (int64_t)sent);
    }
    if (e && e != ERR_AGAIN) {
        if (e == ERR_CORRUPT)
            diag(DIAG_NET, DIAG_ERROR,
                 "closing the connection of %s:%u: a file ended before the range to send",
                 conn->peer.host, conn->peer.port);
        conn_close(conn);
        return;
    }
    if (sent > 0 && conn->blocked)
        conn_touch(conn, io_mono_ms(net->io));
    conn->waits_writable = e == ERR_AGAIN;
    conn->blocked = !outq_empty(&conn->outq);
    if (!conn->blocked) {
        conn->warm_size = 0;
        discharge(conn);
        if (conn->close_after_send)
            conn_close(conn);
        return;
    }
    if (conn->waits_writable)
        return;
    /* Not full and the turn not used up: the queue stopped at a range that is not cached. */
    struct outq_range range;
    if (checked && sent < CONN_TURN_SIZE && outq_next_range(&conn->outq, CONN_TURN_SIZE, &range))
        read_ahead_start(conn, &range);
    else
        post_task(conn);
}

/* ---- closing ----------------------------------------------------------------------------------
 */

void conn_close(struct conn *conn)
{
    if (conn->closed)
        return;
    conn->closed = true;
    struct net_loop *home = conn->home;
    loop_watch_remove(home->loop, &conn->watch);
    io_close(home->net->io, conn->watch.fd);
    list_remove(&conn->lru);
    loop_timer_cancel(home->loop, &conn->limit_timer);
    if (conn->waits_memory) {
        list_remove(&conn->wait);
        conn->waits_memory = false;
        atomic_fetch_sub(&home->net->budget.waiters, 1);
    }
    framing_drop(conn);
    discharge(conn);
    if (!conn->read_ahead) /* a worker may be reading a file that the queue keeps open */
        outq_fini(&conn->outq);
    atomic_fetch_sub(&home->conn_count, 1);
    count(&home->net->closed, 1);
    post_task(conn);
}

/* Last step: after this only references of handlers keep the connection. */
static void closed(struct conn *conn)
{
    struct net *net = conn->home->net;
    conn->close_told = true;
    if (net->handler.on_close)
        net->handler.on_close(net->context, conn);
    net_leave(net, conn->peer.host);
    conn_unref(conn);
    net_alive_down(net);
}

static void task_run(struct loop_task *task)
{
    struct conn *conn = LIST_ITEM(task, struct conn, task);
    conn->task_posted = false;
    if (!conn->opened)
        opened(conn);
    else if (conn->closed && !conn->close_told)
        closed(conn);
    else if (!conn->closed && conn->blocked && !conn->waits_writable) {
        conn_flush(conn);
        if (!conn->closed && !conn->blocked)
            framing_run(conn);
        conn_update_watch(conn);
    } else if (!conn->closed && !conn->blocked && conn->stash) {
        framing_run(conn);
    }
}
