/* From bytes to frames: a 4-byte size, then as many bytes. Loop thread.
 *
 * Where received bytes go decides what a request costs:
 * - shared: most requests are small. They are received into one chunk of the loop that all its
 *   connections use in turn, so an idle connection holds no buffer. Small frames are copied out (a
 *   parked one must not pin the chunk), bigger ones are views into it.
 * - direct: a connection whose last frame was big gets a chunk of its own for the next one: size
 *   and frame arrive in one system call, in place, without a copy.
 * - body: the rest of a frame whose beginning is there goes right behind it. The chunk grows with
 *   the bytes received, never by the size announced.
 * - prefix: when memory is nearly used up, only the size is read, to know whether the frame may
 *   come in at all (small ones have a reserve).
 *
 * A frame whose size is negative or above socket.request.max.bytes ends the connection with one
 * line of diagnostics, before any memory is taken, as in Kafka. Bytes behind a frame whose request
 * is under way wait in `stash`. */
#include "base/be.h"
#include "base/ensure.h"
#include "net/conn_internal.h"
#include "os/diag.h"

enum {
    SHARED_SIZE = 64 * 1024,  /* the loop's chunk */
    VIEW_SIZE_MIN = 8 * 1024, /* frames of this size are views into the chunk they came in */
    DIRECT_SIZE_MIN = 16 * 1024,
};

static struct budget *budget_of(struct conn *conn)
{
    return &conn->home->net->budget;
}

static bool may_parse(const struct conn *conn)
{
    return !conn->closed && !conn->busy && !conn->blocked && !conn->close_after_send &&
           !conn->waits_memory;
}

/* Whether the next of several frames is still of this turn. The first one always is, and alone it
 * costs no look at the clock. */
static bool may_go_on(struct conn *conn)
{
    if (!may_parse(conn))
        return false;
    if (conn->turn_frames == 0)
        return true;
    int64_t now_ns = io_mono_ns(conn->home->net->io);
    if (conn->turn_frames == 1)
        conn->turn_end_ns = now_ns + CONN_TURN_NS;
    return now_ns < conn->turn_end_ns;
}

/* Takes memory for a frame of frame_size; waits for it when there is none. */
static bool take_memory(struct conn *conn, size_t size, size_t frame_size)
{
    struct net *net = conn->home->net;
    bool small = frame_size <= (size_t)atomic_load(&net->small_frame_size);
    if (budget_take(budget_of(conn), size, small, conn))
        return true;
    conn_wait_for_memory(conn);
    /* Memory released between the refusal and the waiting woke nobody: ask again. */
    if (budget_take(budget_of(conn), size, small, conn)) {
        list_remove(&conn->wait);
        conn->waits_memory = false;
        atomic_fetch_sub(&budget_of(conn)->waiters, 1);
        return true;
    }
    return false;
}

static void out_of_memory(struct conn *conn, size_t size)
{
    diag(DIAG_NET, DIAG_ERROR, "closing the connection of %s:%u: no memory for %zu bytes",
         conn->peer.host, conn->peer.port, size);
    conn_close(conn);
}

/* A charged chunk; NULL when the connection now waits for memory or was closed. */
static struct chunk *take_chunk(struct conn *conn, size_t capacity, size_t frame_size)
{
    capacity = chunk_capacity(capacity);
    if (!take_memory(conn, capacity, frame_size))
        return NULL;
    struct chunk *chunk = chunk_new(conn->home, capacity);
    if (!chunk) {
        net_release_memory(conn->home->net, capacity);
        out_of_memory(conn, capacity);
        return NULL;
    }
    chunk->charged = capacity;
    return chunk;
}

static void deliver(struct conn *conn, struct chunk *chunk, uint8_t *data, size_t size)
{
    struct frame frame = {data, size, chunk};
    conn->prefix_size = 0;
    conn->turn_frames++;
    conn->size_hint = (uint32_t)(size < CHUNK_POOLED_MAX ? size : CHUNK_POOLED_MAX);
    if (budget_end_exemption(budget_of(conn), conn))
        net_wake_waiting(conn->home->net);
    conn_deliver(conn, &frame);
    if (conn->outq.size >= CONN_BATCH_SIZE)
        conn_flush(conn);
}

/* The size in conn->prefix. False: the connection was closed for it. */
static bool check_size(struct conn *conn, size_t *ret_size)
{
    int32_t size = be_i32(conn->prefix);
    int32_t size_max = atomic_load(&conn->home->net->request_size_max);
    if (size < 0 || size > size_max) {
        diag(DIAG_NET, DIAG_WARN,
             "closing the connection of %s:%u on listener %s: it announced a request of %d bytes, "
             "allowed are 0 to %d (socket.request.max.bytes)",
             conn->peer.host, conn->peer.port, listener_info(conn->listener)->name, size, size_max);
        count(&conn->home->net->frames_bad, 1);
        conn_close(conn);
        return false;
    }
    *ret_size = (size_t)size;
    return true;
}

/* ---- spans of received bytes ------------------------------------------------------------------
 */

/* Cuts one frame out of chunk[*from, to). False when it has to stop: not enough bytes (the rest is
 * kept in prefix and body), no memory (nothing is consumed), or closed. */
static bool cut_frame(struct conn *conn, struct chunk *chunk, size_t *from, size_t to)
{
    uint8_t *at = chunk_data(chunk) + *from;
    size_t left = to - *from;
    size_t missing = sizeof conn->prefix - conn->prefix_size;
    size_t part = left < missing ? left : missing;
    memcpy(conn->prefix + conn->prefix_size, at, part);
    conn->prefix_size = (uint8_t)(conn->prefix_size + part);
    at += part;
    left -= part;
    *from += part;
    if (conn->prefix_size < sizeof conn->prefix)
        return false;
    size_t size;
    if (!check_size(conn, &size))
        return false;
    if (left < size) {
        /* The beginning of a frame: room for as much again. */
        size_t room = left * 2 > CHUNK_POOLED_MIN ? left * 2 : CHUNK_POOLED_MIN;
        struct chunk *body = take_chunk(conn, room < size ? room : size, size);
        if (!body)
            return false;
        memcpy(chunk_data(body), at, left);
        conn->body = body;
        conn->body_size = left;
        *from = to;
        return false;
    }
    if (size >= VIEW_SIZE_MIN) {
        if (!take_memory(conn, size, size))
            return false;
        if (!chunk->shared)
            chunk->shared = true; /* read by other threads once frames are out */
        *from += size;
        deliver(conn, chunk_ref(chunk), at, size);
        return true;
    }
    struct chunk *own = take_chunk(conn, size, size);
    if (!own)
        return false;
    memcpy(chunk_data(own), at, size);
    *from += size;
    deliver(conn, own, chunk_data(own), size);
    return true;
}

/* Keeps chunk[from, to) for later, in a chunk of its own. It is counted without asking: these bytes
 * have been received, and a connection keeps at most one shared or direct chunk of them. */
static void keep_rest(struct conn *conn, struct chunk *chunk, size_t from, size_t to)
{
    if (conn->closed || from == to)
        return;
    struct chunk *stash = chunk_new(conn->home, to - from);
    if (!stash) {
        out_of_memory(conn, to - from);
        return;
    }
    atomic_fetch_add(&budget_of(conn)->used, (int64_t)stash->capacity);
    stash->charged = stash->capacity;
    memcpy(chunk_data(stash), chunk_data(chunk) + from, to - from);
    conn->stash = stash;
    conn->stash_from = 0;
    conn->stash_to = to - from;
}

static void parse_span(struct conn *conn, struct chunk *chunk, size_t from, size_t to)
{
    while (from < to && may_go_on(conn) && cut_frame(conn, chunk, &from, to))
        ;
    keep_rest(conn, chunk, from, to);
}

static void parse_stash(struct conn *conn)
{
    struct chunk *stash = conn->stash;
    size_t from = conn->stash_from, to = conn->stash_to;
    conn->stash = NULL;
    while (from < to && may_go_on(conn) && cut_frame(conn, stash, &from, to))
        ;
    if (from < to && !conn->closed) {
        conn->stash = stash;
        conn->stash_from = from;
        conn->stash_to = to;
        return;
    }
    chunk_unref(stash);
}

/* ---- receiving --------------------------------------------------------------------------------
 */

/* Receives up to `size` bytes; false when nothing came. */
static bool receive(struct conn *conn, void *data, size_t size, size_t *ret_size)
{
    struct net *net = conn->home->net;
    enum err e = io_recv(net->io, conn->watch.fd, data, size, ret_size);
    if (e == ERR_AGAIN) {
        conn->readable = false;
        return false;
    }
    if (e) {
        /* A client may close its side and still wait for the answers to what it sent. */
        if (outq_empty(&conn->outq))
            conn_close(conn);
        else
            conn->close_after_send = true;
        return false;
    }
    count(&conn->home->received_size, (int64_t)*ret_size);
    /* A short read emptied the socket: asking again would only cost a call. */
    if (*ret_size < size)
        conn->readable = false;
    return true;
}

static bool grow_body(struct conn *conn, size_t size)
{
    size_t room = conn->body ? conn->body->capacity * 2 : CHUNK_POOLED_MIN;
    struct chunk *bigger = take_chunk(conn, room < size ? room : size, size);
    if (!bigger)
        return false;
    if (conn->body)
        memcpy(chunk_data(bigger), chunk_data(conn->body), conn->body_size);
    chunk_unref(conn->body);
    conn->body = bigger;
    return true;
}

static size_t receive_body(struct conn *conn)
{
    size_t size, got = 0;
    if (!check_size(conn, &size)) /* the limit may have changed, so no ENSURE */
        return 0;
    if ((!conn->body || conn->body_size == conn->body->capacity) && conn->body_size < size &&
        !grow_body(conn, size))
        return 0;
    if (conn->body_size < size) {
        size_t end = conn->body->capacity < size ? conn->body->capacity : size;
        if (!receive(conn, chunk_data(conn->body) + conn->body_size, end - conn->body_size, &got))
            return 0;
        conn->body_size += got;
    }
    if (conn->body_size == size) {
        struct chunk *body = conn->body ? conn->body : take_chunk(conn, 1, 1);
        if (!body)
            return 0;
        conn->body = NULL;
        conn->body_size = 0;
        deliver(conn, body, chunk_data(body), size);
    }
    return got;
}

static size_t receive_prefix(struct conn *conn)
{
    size_t got = 0;
    if (!receive(conn, conn->prefix + conn->prefix_size, sizeof conn->prefix - conn->prefix_size,
                 &got))
        return 0;
    conn->prefix_size = (uint8_t)(conn->prefix_size + got);
    return got;
}

/* The size and its frame in one call, into a chunk that the last frame fitted. Not a byte more than
 * a frame of the same size has: what belongs to the next one would have to be copied. */
static size_t receive_direct(struct conn *conn)
{
    size_t capacity = chunk_capacity(conn->size_hint);
    if (!budget_take(budget_of(conn), capacity, false, conn))
        return receive_prefix(conn); /* perhaps a small one comes */
    struct chunk *chunk = chunk_new(conn->home, capacity);
    if (!chunk) {
        net_release_memory(conn->home->net, capacity);
        out_of_memory(conn, capacity);
        return 0;
    }
    chunk->charged = capacity;
    uint8_t *start = chunk_data(chunk) - sizeof conn->prefix;
    memcpy(start, conn->prefix, conn->prefix_size);
    size_t got = 0, had = conn->prefix_size, size = 0;
    if (receive(conn, start + had, conn->size_hint + sizeof conn->prefix - had, &got)) {
        size_t prefix_size = had + got < sizeof conn->prefix ? had + got : sizeof conn->prefix;
        memcpy(conn->prefix, start, prefix_size);
        conn->prefix_size = (uint8_t)prefix_size;
    }
    if (got == 0 || conn->prefix_size < sizeof conn->prefix || !check_size(conn, &size)) {
        chunk_unref(chunk);
        if (budget_end_exemption(budget_of(conn), conn))
            net_wake_waiting(conn->home->net);
        return got;
    }
    size_t body_size = had + got - sizeof conn->prefix;
    if (body_size < size) {
        conn->body = chunk;
        conn->body_size = body_size;
        return got;
    }
    /* Bytes of the next frame, when this one is smaller than the last. */
    keep_rest(conn, chunk, size, body_size);
    if (conn->closed)
        chunk_unref(chunk);
    else
        deliver(conn, chunk, chunk_data(chunk), size);
    return got;
}

static size_t receive_shared(struct conn *conn)
{
    struct net_loop *home = conn->home;
    struct chunk *chunk = home->read_chunk;
    home->read_chunk = NULL; /* a handler may run another connection's turn */
    if (!chunk)
        chunk = chunk_new(home, SHARED_SIZE);
    if (!chunk) {
        out_of_memory(conn, SHARED_SIZE);
        return 0;
    }
    size_t got = 0;
    if (receive(conn, chunk_data(chunk), chunk->capacity, &got))
        parse_span(conn, chunk, 0, got);
    if (!home->read_chunk && atomic_load(&chunk->refs) == 1) {
        chunk->shared = false;
        home->read_chunk = chunk;
    } else {
        chunk_unref(chunk);
    }
    return got;
}

void framing_run(struct conn *conn)
{
    if (conn->in_turn)
        return;
    conn->in_turn = true;
    if (!conn->blocked && !outq_empty(&conn->outq) && conn->outq.size >= CONN_BATCH_SIZE)
        conn_flush(conn);
    size_t received = 0;
    conn->turn_frames = 0;
    while (may_go_on(conn)) {
        if (conn->stash) {
            parse_stash(conn);
            continue;
        }
        if (!conn->readable || received >= CONN_TURN_SIZE)
            break;
        if (conn->prefix_size == sizeof conn->prefix)
            received += receive_body(conn);
        else if (budget_is_tight(budget_of(conn)))
            received += receive_prefix(conn);
        else if (conn->size_hint >= DIRECT_SIZE_MIN)
            received += receive_direct(conn);
        else
            received += receive_shared(conn);
    }
    conn->in_turn = false;
    if (conn->closed)
        return;
    if (received > 0)
        conn_touch(conn, io_mono_ms(conn->home->net->io));
    if (!conn->blocked)
        conn_flush(conn);
    if (conn->stash && may_parse(conn))
        conn_next_turn(conn);
    conn_update_watch(conn);
}

void framing_drop(struct conn *conn)
{
    chunk_unref(conn->body);
    chunk_unref(conn->stash);
    conn->body = conn->stash = NULL;
    if (budget_end_exemption(budget_of(conn), conn))
        net_wake_waiting(conn->home->net);
}
