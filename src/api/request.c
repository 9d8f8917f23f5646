/* The end of a request: encoding its answer into the connection's output queue and freeing what it
 * held, exactly once.
 *
 * request_reply, request_no_reply and request_close may come from any thread; off the loop they
 * post the request's task. request_finish runs on the loop alone, so `conn` needs no lock: it is
 * set to NULL there by dispatch_closed when the connection goes first. The request is freed before
 * the connection resumes, because resuming may parse the next frame and come back here. */
#include "api/request.h"

#include "api/context.h"
#include "api/request_life.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "net/conn.h"
#include "net/net.h"
#include "os/diag.h"
#include "wire/api.h"

#include <stdatomic.h>

struct request_files {
    struct request_files *next;
    struct outq_item *items;
    size_t count;
    bool sent;
};

static void files_release(struct request *request)
{
    for (struct request_files *files = request->files; files; files = files->next) {
        for (size_t i = 0; !files->sent && i < files->count; i++) {
            if (files->items[i].release)
                files->items[i].release(files->items[i].owner);
        }
    }
    request->files = NULL;
}

void *request_attach(struct request *request, struct outq_item *items, size_t count)
{
    struct request_files *files = arena_alloc(&request->arena, sizeof *files);
    *files = (struct request_files){request->files, items, count, false};
    request->files = files;
    return files;
}

void *request_response(struct request *request)
{
    const struct wire_schema *schema = request->api->response;
    void *response = arena_alloc(&request->arena, wire_schema_size(schema));
    wire_init(schema, response);
    return response;
}

void request_free_frame(struct request *request)
{
    frame_free(&request->frame);
}

void request_charge(struct request *request)
{
    enum { CHARGED_MIN = 64 * 1024 };
    size_t size = request->arena.used;
    if (size < CHARGED_MIN || size <= request->charged)
        return;
    net_memory_take(request->net, size - request->charged);
    request->charged = size;
}

void request_limit_idle(struct request *request, int64_t limit_ms)
{
    if (request->conn)
        conn_limit_idle(request->conn, limit_ms);
}

struct slice request_client_host(const struct request *request)
{
    return slice_str(request->client_host);
}

bool request_local_address(const struct request *request, struct io_address *ret_address)
{
    if (!request->conn)
        return false;
    *ret_address = *conn_local(request->conn);
    return true;
}

/* Cuts the encoded reply at its splices and queues memory and files in turn. */
static void send_spliced(struct conn *conn, struct buf *body, struct wire_splices *splices)
{
    size_t count = 1 + splices->count;
    for (size_t i = 0; i < splices->count; i++)
        count += ((struct request_files *)splices->items[i].ext)->count;
    struct outq_item *items = mem_array(count, sizeof *items);
    size_t used = 0, at = 0;
    for (size_t i = 0; i < splices->count; i++) {
        struct request_files *files = splices->items[i].ext;
        size_t to = splices->items[i].at;
        if (to > at)
            items[used++] = outq_memory(slice_of(body->data + at, to - at), NULL, NULL);
        memcpy(items + used, files->items, files->count * sizeof *items);
        used += files->count;
        files->sent = true;
        at = to;
    }
    /* The last piece frees the buffer; it may be empty, and still stands behind all others. */
    items[used++] = outq_memory(slice_of(body->data + at, body->size - at), mem_free, body->data);
    conn_send(conn, items, used);
    mem_free(items);
    buf_init(body);
}

/* False when the connection must be closed instead: the size of a frame has 31 bits, and a single
 * batch may fill them. */
static bool send_reply(struct request *request)
{
    struct buf body;
    buf_init(&body);
    body.size_max = INT32_MAX;
    struct wire_splices splices;
    wire_splices_init(&splices);
    wire_api_put_response_header(request->api, request->version, request->correlation_id, &body);
    enum err err =
        wire_encode(request->api->response, request->version, request->response, &body, &splices);
    if (!err && splices.size > INT32_MAX - body.size)
        err = ERR_TOO_LARGE;
    if (err)
        diag(DIAG_API, DIAG_ERROR, "the answer to %s version %d could not be written: %s",
             request->api->name, request->version, err_name(err));
    else if (splices.count)
        send_spliced(request->conn, &body, &splices);
    else
        conn_send_buf(request->conn, &body);
    wire_splices_fini(&splices);
    buf_fini(&body);
    return !err;
}

static void request_free(struct request *request)
{
    struct api_context *context = request->context;
    files_release(request);
    frame_free(&request->frame);
    arena_fini(&request->arena);
    if (request->charged)
        net_memory_give(request->net, request->charged);
    mem_free(request);
    atomic_fetch_sub(&context->request_count, 1);
}

/* For those who want to know what clients do: kafka.request.logger=DEBUG. */
static void tell(const struct request *request)
{
    static const char *const ends[] = {
        [REQUEST_RUNNING] = "",
        [REQUEST_REPLY] = "answered",
        [REQUEST_NO_REPLY] = "done",
        [REQUEST_CLOSE] = "closed",
    };
    enum { CLIENT_SIZE_MAX = 200 }; /* of 32 kB: a line has room for 2 */
    struct slice client = request->client_id;
    if (client.size > CLIENT_SIZE_MAX)
        client.size = CLIENT_SIZE_MAX;
    int64_t us = (io_mono_ns(request->context->io) - request->received_ns) / 1000;
    diag_write(DIAG_API, DIAG_DEBUG,
               "%s version %d of %s, client \"%.*s\", id %d: %s after %lld us", request->api->name,
               request->version, request->client_host + 1, SLICE_FMT(client),
               request->correlation_id, request->conn ? ends[request->end] : "the client was gone",
               (long long)us);
}

static void request_finish(struct request *request)
{
    if (request->api && diag_level_of(DIAG_API) >= DIAG_DEBUG)
        tell(request);

    struct conn *conn = request->conn;
    bool close = request->end == REQUEST_CLOSE;
    if (conn) {
        conn_set_user(conn, NULL);
        if (request->end == REQUEST_REPLY && !conn_is_closed(conn) && !send_reply(request))
            close = true;
    }
    request_free(request);
    if (!conn)
        return;
    if (close)
        conn_close(conn);
    else
        conn_resume(conn);
    conn_unref(conn);
}

static void run_posted(struct loop_task *task)
{
    struct request *request = LIST_ITEM(task, struct request, task);
    if (request->posted) {
        void (*posted)(struct request *) = request->posted;
        request->posted = NULL;
        posted(request);
        return;
    }
    request_finish(request);
}

struct request *request_new(struct api_context *context, struct conn *conn, struct frame *frame)
{
    struct request *request = mem_zalloc(sizeof *request);
    request->context = context;
    atomic_fetch_add_explicit(&context->request_count, 1, memory_order_relaxed);
    request->conn = conn_ref(conn);
    request->net = conn_net(conn);
    request->loop = conn_loop(conn);
    request->frame = frame_take(frame);
    request->received_ns = io_mono_ns(context->io);
    request->task.run = run_posted;
    list_init(&request->task.link);
    arena_init(&request->arena);
    const struct io_address *peer = conn_peer(conn);
    request->client_host[0] = '/';
    memcpy(request->client_host + 1, peer->host, sizeof peer->host);
    conn_set_user(conn, request);
    return request;
}

void request_conn_closed(struct request *request)
{
    struct conn *conn = request->conn;
    request->conn = NULL;
    conn_unref(conn);
    if (request->cancel)
        request->cancel(request);
}

void request_abandon(struct request *request)
{
    if (request->conn)
        conn_close(request->conn);
}

static void end(struct request *request, enum request_end how, const void *response)
{
    ENSURE(request->end == REQUEST_RUNNING);
    request->end = how;
    request->response = response;
    if (loop_is_current(request->loop))
        request_finish(request);
    else
        loop_post(request->loop, &request->task);
}

void request_reply(struct request *request, const void *response)
{
    end(request, REQUEST_REPLY, response);
}

void request_no_reply(struct request *request)
{
    end(request, REQUEST_NO_REPLY, NULL);
}

void request_close(struct request *request)
{
    end(request, REQUEST_CLOSE, NULL);
}

void request_post(struct request *request, void (*fn)(struct request *request))
{
    request->posted = fn;
    loop_post(request->loop, &request->task);
}
