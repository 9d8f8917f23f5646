/* One request from its frame to its reply.
 *
 * Life: dispatch makes it on the connection's loop, decodes the body into its arena and calls the
 * handler there. The handler must end it exactly once, at once or later, with one of request_reply,
 * request_no_reply or request_close; these may be called from any thread (off the loop they post).
 * The reply is encoded on the loop straight into the connection's output queue, then the arena and
 * everything else dies. A connection has one request under way: its next frame is not parsed before
 * the end.
 *
 * The arena has one owner at a time: the handler on the loop, and after the request was handed to
 * somebody else (a parked watcher, the group coordinator, the controller) that party until it ends
 * the request or hands it back with request_post.
 *
 * When the connection closes while the request is parked, `conn` becomes NULL on the loop and
 * `cancel` (if set) is called there once; whoever holds the request must still end it, and the end
 * then only frees. Handlers that do not park need not care. */
#ifndef KLAMM_API_REQUEST_H
#define KLAMM_API_REQUEST_H

#include "base/arena.h"
#include "net/frame.h"
#include "net/outq.h"
#include "os/io.h"

struct api_context;
struct api_handler;
struct conn;
struct wire_api;

enum request_end {
    REQUEST_RUNNING,
    REQUEST_REPLY,    /* encode `response` */
    REQUEST_NO_REPLY, /* produce with acks=0 */
    REQUEST_CLOSE,    /* close the connection without an answer */
};

struct request {
    struct api_context *context;
    struct conn *conn; /* NULL once the connection closed; loop thread only */
    struct loop *loop; /* of the connection */
    const struct wire_api *api;
    const struct api_handler *handler;
    unsigned listener; /* API_BROKER or API_CONTROLLER (api/dispatch.h) */
    int16_t version;
    int32_t correlation_id;
    struct slice client_id; /* a copy in the arena; null when the client sent none */
    char client_host[66];   /* "/127.0.0.1" */
    struct arena arena;
    void *body; /* the decoded request struct; its strings are views into the frame */
    int64_t received_ns;
    void (*cancel)(struct request *request); /* loop thread; see above */
    /* Set by handlers that park for long: the client sends no more, which most often means that it
     * has gone. Loop thread, at any time until the end. */
    void (*peer_closed)(struct request *request);
    void *parked; /* the handler's own state while parked */

    /* private to request.c and dispatch.c */
    struct frame frame;
    struct net *net; /* outlives the request */
    size_t charged;  /* of the arena, in the budget of requests */
    struct request_files *files;
    const void *response;
    enum request_end end;
    struct loop_task task;
    void (*posted)(struct request *request);
};

/* Ends the request with an answer: the response struct of the API, kept alive by the arena. */
void request_reply(struct request *request, const void *response);
/* Ends the request without a word (produce with acks=0). */
void request_no_reply(struct request *request);
/* Ends the request and closes the connection, as Kafka does where no answer can be given. */
void request_close(struct request *request);

/* From now on the client's connection is closed when it was idle for so long; 0: as others. Loop
 * thread. */
void request_limit_idle(struct request *request, int64_t limit_ms);

/* A response struct in the arena, filled with the schema's defaults. */
void *request_response(struct request *request);

/* Frees the frame early (after an append; after parsing). Views into it, the body's strings and
 * records, end here: copy into the arena what the reply still needs. */
void request_free_frame(struct request *request);

/* Counts what the arena holds by now towards the memory of requests (net_memory_take), if it is
 * much: called once the body is decoded, and by handlers that park after taking more. */
void request_charge(struct request *request);

/* Bytes of a reply that lie outside of it, such as file ranges. The pieces are taken over: they are
 * released when sent, or when the request ends in another way. The result goes into the `ext` of a
 * wire_records together with the sum of the sizes. `items` must live in the request's arena. */
void *request_attach(struct request *request, struct outq_item *items, size_t count);

/* Calls fn(request) on the request's loop; any thread. One post at a time. */
void request_post(struct request *request, void (*fn)(struct request *request));

/* For `peer_closed`: gives the connection up; the request goes on without it. */
void request_abandon(struct request *request);

/* The client's address as Kafka writes it ("/127.0.0.1"). */
struct slice request_client_host(const struct request *request);

/* The address this connection came in by; false when the connection is gone. Loop thread. */
bool request_local_address(const struct request *request, struct io_address *ret_address);

#endif
