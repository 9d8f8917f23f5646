/* A simulated client's connection: frames out of a buffer, answers matched in order.
 *
 * A connection ends when the peer closes it, when it is reset, or when the oldest call is not
 * answered within timeout_ms; then every call is done without a response, in order, and its owner
 * decides what to repeat. An answer that cannot be decoded, or that does not match the oldest call,
 * is a bug of the node and ends the run. */
#include "client.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "world.h"

enum { READ_SIZE = 16 * 1024, FRAME_SIZE_MAX = 16 * 1024 * 1024 };

static void on_ready(struct loop_watch *watch, unsigned events);
static void on_deadline(struct loop_timer *timer);

void client_init(struct client *client, struct io *io, struct loop *loop, const char *name,
                 void *owner)
{
    *client = (struct client){.io = io, .loop = loop, .name = name, .owner = owner};
    client->timeout_ms = 20000;
    client->watch = (struct loop_watch){.fd = -1, .ready = on_ready};
    client->deadline.expired = on_deadline;
    buf_init(&client->out);
    buf_init(&client->in);
    list_init(&client->calls);
}

void client_fini(struct client *client)
{
    client_close(client);
    buf_fini(&client->out);
    buf_fini(&client->in);
}

static void call_end(struct client *client, struct call *call, void *response)
{
    list_remove(&call->link);
    call->response = response;
    call->done(client, call);
    arena_fini(&call->arena);
    mem_free(call);
}

void client_close(struct client *client)
{
    if (client->in_callback) { /* the reader of `in` is below us */
        client->close_wanted = true;
        return;
    }
    if (client->watch.fd >= 0) {
        loop_watch_remove(client->loop, &client->watch);
        io_close(client->io, client->watch.fd);
        client->watch.fd = -1;
    }
    loop_timer_cancel(client->loop, &client->deadline);
    client->connected = client->connecting = client->close_wanted = false;
    buf_clear(&client->out);
    buf_clear(&client->in);
    client->sent = 0;
    struct list lost;
    list_init(&lost);
    list_move_all(&lost, &client->calls);
    while (!list_empty(&lost))
        call_end(client, LIST_ITEM(lost.next, struct call, link), NULL);
}

bool client_connect(struct client *client, const struct io_address *address)
{
    int fd;
    if (io_connect(client->io, address, &fd))
        return false;
    client->watch.fd = fd;
    client->connecting = true;
    loop_watch_set(client->loop, &client->watch, LOOP_WRITABLE);
    return true;
}

bool client_is_up(const struct client *client)
{
    return client->connected && !client->close_wanted;
}

size_t client_calls(const struct client *client)
{
    size_t count = 0;
    LIST_FOREACH(link, &client->calls)
    count++;
    return count;
}

/* ---- out -------------------------------------------------------------------------------------
 */

static void flush(struct client *client)
{
    while (client->sent < client->out.size) {
        struct iovec part = {client->out.data + client->sent, client->out.size - client->sent};
        size_t size = 0;
        enum err err = io_sendv(client->io, client->watch.fd, &part, 1, false, &size);
        if (err == ERR_AGAIN)
            break;
        if (err) {
            client_close(client);
            return;
        }
        client->sent += size;
    }
    if (client->sent == client->out.size) {
        buf_clear(&client->out);
        client->sent = 0;
    }
    loop_watch_set(client->loop, &client->watch,
                   LOOP_READABLE | (client->out.size ? LOOP_WRITABLE : 0U));
}

struct call *client_call_new(struct client *client, enum wire_api_key key, int version)
{
    struct call *call = mem_zalloc(sizeof *call);
    arena_init(&call->arena);
    list_init(&call->link);
    call->api = wire_api_find((int)key);
    ENSURE(call->api && version >= call->api->first && version <= call->api->last);
    call->version = version;
    call->correlation_id = client->correlation_next++;
    return call;
}

static void arm(struct client *client)
{
    if (list_empty(&client->calls))
        loop_timer_cancel(client->loop, &client->deadline);
    else
        loop_timer_set(client->loop, &client->deadline,
                       LIST_ITEM(client->calls.next, struct call, link)->deadline_ns);
}

void client_call_send(struct client *client, struct call *call, const void *request, bool answered,
                      void (*done)(struct client *client, struct call *call), void *argument)
{
    ENSURE(client->connected);
    size_t from = client->out.size;
    buf_put_i32(&client->out, 0);
    wire_api_put_request_header(call->api, call->version, call->correlation_id,
                                slice_str(client->name), &client->out);
    enum err err = wire_encode(call->api->request, call->version, request, &client->out, NULL);
    if (err)
        world_fail("%s v%d cannot be encoded: %s", call->api->name, call->version, err_name(err));
    be_put_u32(client->out.data + from, (uint32_t)(client->out.size - from - 4));
    call->done = done;
    call->argument = argument;
    call->deadline_ns = io_mono_ns(client->io) + client->timeout_ms * 1000000;
    if (answered) {
        list_push_back(&client->calls, &call->link);
        arm(client);
    } else {
        call_end(client, call, NULL);
    }
    loop_watch_set(client->loop, &client->watch, LOOP_READABLE | LOOP_WRITABLE);
}

/* ---- in --------------------------------------------------------------------------------------
 */

static void answer(struct client *client, struct slice frame)
{
    if (list_empty(&client->calls))
        world_fail("%s: an answer of %zu bytes that nobody asked for", client->name, frame.size);
    struct call *call = LIST_ITEM(client->calls.next, struct call, link);
    struct cursor c = cursor_of(frame);
    struct response_header header;
    enum err err = wire_decode(&wire_response_header,
                               wire_api_response_header_version(call->api, call->version), &c,
                               &call->arena, &header);
    if (err || header.correlation_id != call->correlation_id)
        world_fail("%s: the answer to %s v%d has correlation id %d, wanted %d", client->name,
                   call->api->name, call->version, header.correlation_id, call->correlation_id);
    void *response = arena_alloc(&call->arena, wire_schema_size(call->api->response));
    err = wire_decode(call->api->response, call->version, &c, &call->arena, response);
    if (err || cursor_left(&c))
        world_fail("%s: the answer to %s v%d: %s, %zu bytes left", client->name, call->api->name,
                   call->version, err_name(err), cursor_left(&c));
    call_end(client, call, response);
}

static void take_frames(struct client *client)
{
    size_t at = 0;
    client->in_callback = true;
    while (!client->close_wanted && client->in.size - at >= 4) {
        size_t size = be_u32(client->in.data + at);
        if (size > FRAME_SIZE_MAX)
            world_fail("%s: a frame of %zu bytes", client->name, size);
        if (client->in.size - at - 4 < size)
            break;
        answer(client, slice_of(client->in.data + at + 4, size));
        at += 4 + size;
    }
    client->in_callback = false;
    if (client->close_wanted) {
        client_close(client);
        return;
    }
    memmove(client->in.data, client->in.data + at, client->in.size - at);
    client->in.size -= at;
    arm(client);
}

static void receive(struct client *client)
{
    for (;;) {
        if (!buf_reserve(&client->in, READ_SIZE))
            world_fail("no memory for an answer");
        size_t size = 0;
        enum err err = io_recv(client->io, client->watch.fd, client->in.data + client->in.size,
                               READ_SIZE, &size);
        if (err == ERR_AGAIN)
            break;
        if (err || !size) {
            client_close(client);
            return;
        }
        client->in.size += size;
    }
    if (client->in.size)
        take_frames(client);
}

static void on_ready(struct loop_watch *watch, unsigned events)
{
    struct client *client = LIST_ITEM(watch, struct client, watch);
    if (client->connecting) {
        if (io_connect_result(client->io, watch->fd)) {
            client_close(client);
            return;
        }
        client->connecting = false;
        client->connected = true;
        loop_watch_set(client->loop, watch, LOOP_READABLE);
        return;
    }
    if (events & (LOOP_READABLE | LOOP_HANGUP))
        receive(client);
    if (client->watch.fd >= 0 && client->connected)
        flush(client);
}

static void on_deadline(struct loop_timer *timer)
{
    client_close(LIST_ITEM(timer, struct client, deadline));
}
