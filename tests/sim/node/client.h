/* A Kafka client's connection in the simulated world: requests out, answers in, through the same
 * codec and over the same seam as the node. One connection at a time; calls are answered in order,
 * several may be under way. Everything runs on the clients' loop. */
#ifndef KLAMM_TESTS_SIM_CLIENT_H
#define KLAMM_TESTS_SIM_CLIENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "os/io.h"
#include "wire/api.h"

struct client;

/* One request under way. Freed after `done`. */
struct call {
    struct list link;
    const struct wire_api *api;
    int version;
    int32_t correlation_id;
    int64_t deadline_ns;
    struct arena arena; /* request and response */
    void *response;     /* in `done`: NULL when the connection was lost or no answer is due */
    void (*done)(struct client *client, struct call *call);
    void *argument;
};

struct client {
    struct io *io;
    struct loop *loop;
    const char *name;
    void *owner;
    struct loop_watch watch;
    struct loop_timer deadline;
    struct buf out, in;
    size_t sent;
    struct list calls; /* not answered yet, oldest first */
    int32_t correlation_next;
    bool connected, connecting;
    int64_t timeout_ms;
    bool in_callback, close_wanted;
};

void client_init(struct client *client, struct io *io, struct loop *loop, const char *name,
                 void *owner);
void client_fini(struct client *client);
/* Starts connecting; false when the network refuses at once. */
bool client_connect(struct client *client, const struct io_address *address);
bool client_is_up(const struct client *client);
/* Ends the connection; all calls are done without a response. */
void client_close(struct client *client);
size_t client_calls(const struct client *client);

/* A call whose request is filled in its arena, then sent. */
struct call *client_call_new(struct client *client, enum wire_api_key key, int version);
/* `request` is encoded at once. answered = false: acks=0, `done` is called when all is queued. */
void client_call_send(struct client *client, struct call *call, const void *request, bool answered,
                      void (*done)(struct client *client, struct call *call), void *argument);

#endif
