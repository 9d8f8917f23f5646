/* The simulated network: streams between sockets of any machines.
 *
 * A sent piece is a segment in the receiver's queue with the time it arrives; the queue is the
 * socket buffer of both sides, bounded, so a reader that does not read stops the writer. Nothing
 * has to run for a segment to arrive: a socket is readable once the head's time has come and the
 * link is not cut. An empty segment is the end of the stream. */
#include "sim_internal.h"

#include <stdio.h>
#include <string.h>

struct segment {
    struct list link;
    int64_t arrival_ns;
    size_t from, size; /* bytes left: data[from, size) */
    uint8_t data[];
};

struct sim_socket {
    struct sim_process *process;
    bool bound, listening, connecting, refused, reset, write_closed, end_read;
    struct io_address local, remote;
    int64_t ready_ns; /* connecting: when the result is known; waiting: when it can be accepted */
    struct sim_socket *peer;
    struct list segments; /* towards this socket, in order */
    size_t queued, buffer_size;
    struct list backlog; /* listening: sockets that wait */
    struct list link;    /* in a backlog; else unlinked */
    int backlog_count, backlog_max;
};

static struct sim *world(const struct sim_socket *s)
{
    return s->process->machine->sim;
}

static int64_t latency_ns(struct sim *sim)
{
    return (int64_t)sim_between(sim, (uint64_t)sim->latency_min_us, (uint64_t)sim->latency_max_us) *
           1000;
}

static struct sim_socket *socket_new(struct sim_process *process)
{
    struct sim_socket *s = mem_zalloc(sizeof *s);
    s->process = process;
    list_init(&s->segments);
    list_init(&s->backlog);
    list_init(&s->link);
    s->buffer_size = sim_between(process->machine->sim, 512, 65536);
    return s;
}

static enum err socket_fd(struct sim_socket *s, int *ret_fd)
{
    enum err e = fd_new(s->process, FD_SOCKET, ret_fd);
    if (!e)
        fd_get(s->process, *ret_fd, FD_SOCKET)->socket = s;
    return e;
}

static struct sim_socket *socket_of(struct io *io, int fd)
{
    return fd_get(process_of(io), fd, FD_SOCKET)->socket;
}

struct sim_machine *socket_peer_machine(const struct sim_socket *s)
{
    return s->peer ? s->peer->process->machine : NULL;
}

static bool link_is_cut(const struct sim_socket *s)
{
    return s->peer && world(s)->cut[s->process->machine->index][s->peer->process->machine->index];
}

static void drop_segments(struct sim_socket *s)
{
    for (struct list *link; (link = list_pop_front(&s->segments));)
        mem_free(LIST_ITEM(link, struct segment, link));
    s->queued = 0;
}

/* ---- connecting -------------------------------------------------------------------------------
 */

enum err sim_io_resolve(struct io *io, const char *host, uint16_t port,
                        struct io_address *ret_address)
{
    (void)io;
    struct io_address address = {.port = port};
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    else if (!host[0])
        host = "0.0.0.0";
    if (strspn(host, "0123456789.:abcdef") != strlen(host))
        return ERR_NOT_FOUND;
    snprintf(address.host, sizeof address.host, "%s", host);
    *ret_address = address;
    return ERR_NONE;
}

static bool is_any(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* The socket that holds the address, whether it listens or not. */
static struct sim_socket *find_bound(struct sim_process *process, const char *host, uint16_t port)
{
    for (int i = 0; process && i < process->fd_count; i++) {
        struct sim_socket *s = process->fds[i].kind == FD_SOCKET ? process->fds[i].socket : NULL;
        if (s && s->bound && s->local.port == port &&
            (is_any(s->local.host) || is_any(host) || strcmp(s->local.host, host) == 0))
            return s;
    }
    return NULL;
}

enum err sim_io_bind(struct io *io, const struct io_address *address, int *ret_fd,
                     struct io_address *ret_bound)
{
    struct sim_process *process = process_of(io);
    struct io_address bound = *address;
    while (bound.port == 0 || (address->port == 0 && find_bound(process, "::", bound.port)))
        bound.port = process->machine->port_next++;
    if (find_bound(process, bound.host, bound.port))
        return sim_failed(process, ERR_BUSY, "Address already in use");
    struct sim_socket *s = socket_new(process);
    int fd;
    enum err e = socket_fd(s, &fd);
    if (e) {
        mem_free(s);
        return e;
    }
    s->bound = true;
    s->local = bound;
    if (ret_bound)
        *ret_bound = bound;
    *ret_fd = fd;
    return ERR_NONE;
}

enum err sim_io_listen(struct io *io, int fd, int backlog)
{
    struct sim_socket *s = socket_of(io, fd);
    ENSURE(s->bound);
    s->listening = true;
    s->backlog_max = backlog;
    return ERR_NONE;
}

static struct sim_machine *machine_at(struct sim_process *from, const char *host)
{
    struct sim *sim = from->machine->sim;
    if (strncmp(host, "127.", 4) == 0 || is_any(host))
        return from->machine;
    for (int i = 0; i < sim->machine_count; i++)
        if (strcmp(sim->machines[i]->host, host) == 0)
            return sim->machines[i];
    return NULL;
}

enum err sim_io_connect(struct io *io, const struct io_address *address, int *ret_fd)
{
    struct sim_process *process = process_of(io);
    struct sim *sim = sim_of(io);
    struct sim_socket *s = socket_new(process);
    int fd;
    enum err e = socket_fd(s, &fd);
    if (e) {
        mem_free(s);
        return e;
    }
    struct sim_machine *target = machine_at(process, address->host);
    bool loopback = strncmp(address->host, "127.", 4) == 0;
    snprintf(s->local.host, sizeof s->local.host, "%s",
             loopback ? "127.0.0.1" : process->machine->host);
    s->local.port = process->machine->port_next++;
    s->remote = *address;
    int64_t there_ns = sim->now_ns + latency_ns(sim);
    s->ready_ns = there_ns + latency_ns(sim);
    s->connecting = true;
    struct sim_socket *listener =
        target ? find_bound(target->process, address->host, address->port) : NULL;
    if (!listener || !listener->listening || listener->backlog_count >= listener->backlog_max ||
        sim->cut[process->machine->index][target->index]) {
        s->refused = true;
    } else {
        struct sim_socket *other = socket_new(listener->process);
        other->local = *address;
        other->remote = s->local;
        other->peer = s;
        other->ready_ns = there_ns;
        s->peer = other;
        list_push_back(&listener->backlog, &other->link);
        listener->backlog_count++;
    }
    *ret_fd = fd;
    return ERR_NONE;
}

enum err sim_io_connect_result(struct io *io, int fd)
{
    struct sim_socket *s = socket_of(io, fd);
    if (s->connecting && sim_of(io)->now_ns >= s->ready_ns)
        s->connecting = false;
    return s->refused || s->reset ? ERR_CLOSED : s->connecting ? ERR_AGAIN : ERR_NONE;
}

enum err sim_io_accept(struct io *io, int listen_fd, int *ret_fd, struct io_address *ret_local,
                       struct io_address *ret_peer)
{
    struct sim_socket *listener = socket_of(io, listen_fd);
    ENSURE(listener->listening);
    if (list_empty(&listener->backlog))
        return ERR_AGAIN;
    struct sim_socket *s = LIST_ITEM(listener->backlog.next, struct sim_socket, link);
    if (s->ready_ns > sim_of(io)->now_ns)
        return ERR_AGAIN;
    int fd;
    enum err e = socket_fd(s, &fd);
    if (e)
        return e;
    list_remove(&s->link);
    listener->backlog_count--;
    if (ret_local)
        *ret_local = s->local;
    if (ret_peer)
        *ret_peer = s->remote;
    *ret_fd = fd;
    return ERR_NONE;
}

/* ---- streams ----------------------------------------------------------------------------------
 */

static struct segment *head(const struct sim_socket *s)
{
    return list_empty(&s->segments) ? NULL : LIST_ITEM(s->segments.next, struct segment, link);
}

static struct segment *add_segment(struct sim_socket *to, size_t size)
{
    struct sim *sim = world(to);
    struct segment *segment = mem_zalloc(sizeof *segment + size);
    segment->size = size;
    segment->arrival_ns = sim->now_ns + latency_ns(sim);
    if (!list_empty(&to->segments)) {
        int64_t last_ns = LIST_ITEM(to->segments.prev, struct segment, link)->arrival_ns;
        if (segment->arrival_ns < last_ns)
            segment->arrival_ns = last_ns;
    }
    list_push_back(&to->segments, &segment->link);
    to->queued += size;
    return segment;
}

enum err sim_io_recv(struct io *io, int fd, void *data, size_t size, size_t *ret_size)
{
    struct sim_socket *s = socket_of(io, fd);
    struct sim *sim = sim_of(io);
    if (s->reset || s->end_read)
        return ERR_CLOSED;
    struct segment *segment = head(s);
    if (!segment || segment->arrival_ns > sim->now_ns || link_is_cut(s))
        return ERR_AGAIN;
    size_t done = 0;
    while (segment && segment->arrival_ns <= sim->now_ns && done < size) {
        if (segment->size == 0) {
            if (done > 0)
                break;
            s->end_read = true;
            return ERR_CLOSED;
        }
        size_t part = segment->size - segment->from;
        part = part < size - done ? part : size - done;
        memcpy((uint8_t *)data + done, segment->data + segment->from, part);
        segment->from += part;
        s->queued -= part;
        done += part;
        if (segment->from == segment->size) {
            list_remove(&segment->link);
            mem_free(segment);
        }
        segment = head(s);
        if (sim_chance(sim, 20)) /* not all that is there comes at once */
            break;
    }
    *ret_size = done;
    return ERR_NONE;
}

/* How much may be sent now; also decides about faults. */
static enum err may_send(struct sim_socket *s, size_t *ret_room)
{
    struct sim *sim = world(s);
    if (s->reset || s->refused || s->write_closed)
        return ERR_CLOSED;
    if (s->connecting && sim->now_ns < s->ready_ns)
        return ERR_AGAIN;
    if (!s->peer)
        return ERR_CLOSED;
    if (sim->reset_per_million > 0 && sim_random_below(sim, 1000000) < sim->reset_per_million) {
        sim_note(sim, "reset", s->process->machine->name, s->remote.port);
        socket_reset(s);
        return ERR_CLOSED;
    }
    if (s->peer->queued >= s->peer->buffer_size)
        return ERR_AGAIN;
    size_t room = s->peer->buffer_size - s->peer->queued;
    *ret_room = sim_chance(sim, 20) ? 1 + sim_random_below(sim, room) : room;
    return ERR_NONE;
}

enum err sim_io_sendv(struct io *io, int fd, const struct iovec *parts, int count, bool more,
                      size_t *ret_size)
{
    (void)more;
    struct sim_socket *s = socket_of(io, fd);
    size_t room = 0, total = 0;
    enum err e = may_send(s, &room);
    if (e)
        return e;
    for (int i = 0; i < count; i++)
        total += parts[i].iov_len;
    total = total < room ? total : room;
    *ret_size = total;
    if (total == 0)
        return ERR_NONE;
    struct segment *segment = add_segment(s->peer, total);
    size_t done = 0;
    for (int i = 0; i < count && done < total; i++) {
        size_t part = parts[i].iov_len < total - done ? parts[i].iov_len : total - done;
        memcpy(segment->data + done, parts[i].iov_base, part);
        done += part;
    }
    return ERR_NONE;
}

enum err sim_io_sendfile(struct io *io, int fd, int file_fd, int64_t offset, size_t size,
                         size_t *ret_size)
{
    struct sim_process *process = process_of(io);
    struct sim_socket *s = socket_of(io, fd);
    struct sim_fd *file = fd_get(process, file_fd, FD_FILE);
    size_t room = 0;
    enum err e = fault_check(process, SIM_READ, file->path, NULL);
    if (!e)
        e = may_send(s, &room);
    if (e)
        return e;
    size = size < room ? size : room;
    if (offset >= file->inode->size)
        return ERR_CORRUPT;
    if ((int64_t)size > file->inode->size - offset)
        size = (size_t)(file->inode->size - offset);
    if (!inode_is_cached(file->inode, offset, size))
        process->machine->counters.cold_sends++;
    struct segment *segment = add_segment(s->peer, size);
    inode_read(file->inode, segment->data, size, offset);
    *ret_size = size;
    return ERR_NONE;
}

void sim_io_set_buffers(struct io *io, int fd, int send_size, int receive_size)
{
    struct sim_socket *s = socket_of(io, fd);
    if (receive_size > 0)
        s->buffer_size = (size_t)receive_size;
    if (send_size > 0 && s->peer)
        s->peer->buffer_size = (size_t)send_size;
}

static void lower(int64_t *ret_next_ns, int64_t at_ns)
{
    if (at_ns < *ret_next_ns)
        *ret_next_ns = at_ns;
}

unsigned socket_ready(struct sim_process *process, int fd, int64_t *ret_next_ns)
{
    struct sim_socket *s = fd_get(process, fd, FD_SOCKET)->socket;
    int64_t now_ns = world(s)->now_ns;
    if (s->listening) {
        if (list_empty(&s->backlog))
            return 0;
        int64_t ready_ns = LIST_ITEM(s->backlog.next, struct sim_socket, link)->ready_ns;
        if (ready_ns <= now_ns)
            return LOOP_READABLE;
        lower(ret_next_ns, ready_ns);
        return 0;
    }
    if (s->connecting && now_ns < s->ready_ns) {
        lower(ret_next_ns, s->ready_ns);
        return 0;
    }
    if (s->reset || s->refused)
        return LOOP_READABLE | LOOP_WRITABLE | LOOP_HANGUP;
    unsigned events = 0;
    struct segment *segment = head(s);
    if (segment && !link_is_cut(s)) {
        if (segment->arrival_ns <= now_ns)
            events |= LOOP_READABLE;
        else
            lower(ret_next_ns, segment->arrival_ns);
    }
    if (s->end_read)
        events |= LOOP_READABLE | LOOP_PEER_CLOSED;
    if (!s->peer || s->peer->queued < s->peer->buffer_size)
        events |= LOOP_WRITABLE;
    return events;
}

/* ---- ends -------------------------------------------------------------------------------------
 */

void socket_reset(struct sim_socket *s)
{
    struct sim_socket *peer = s->peer;
    s->reset = true;
    s->peer = NULL;
    drop_segments(s);
    if (!peer)
        return;
    peer->reset = true;
    peer->peer = NULL;
    drop_segments(peer);
}

static void half_close(struct sim_socket *s)
{
    if (s->peer && !s->write_closed)
        add_segment(s->peer, 0);
    s->write_closed = true;
}

void socket_close(struct sim_socket *s, bool reset)
{
    for (struct list *link; (link = list_pop_front(&s->backlog));) {
        struct sim_socket *waiting = LIST_ITEM(link, struct sim_socket, link);
        socket_reset(waiting);
        mem_free(waiting);
    }
    /* Unread bytes at close mean a reset, as TCP does. */
    if (reset || s->queued > 0) {
        socket_reset(s);
    } else {
        half_close(s);
        if (s->peer) {
            /* What the peer sends from now on goes nowhere; it learns at the end of the stream. */
            s->peer->peer = NULL;
        }
        drop_segments(s);
    }
    mem_free(s);
}

void sim_net_half_close(struct io *io, int fd)
{
    half_close(socket_of(io, fd));
}
