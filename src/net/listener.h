/* A listening socket with Kafka's listener name. Accepts on the first loop and hands each
 * connection to the loop that has the fewest.
 *
 * Limits, as in Kafka: above max.connections it stops accepting until one closes (clients wait in
 * the backlog); above max.connections.per.ip the new connection is closed at once. Without file
 * descriptors it pauses and tries again. */
#ifndef KLAMM_NET_LISTENER_H
#define KLAMM_NET_LISTENER_H

#include "base/security_protocol.h"
#include "os/io.h"

struct net;
struct listener;

struct listener_info {
    char name[64]; /* "PLAINTEXT", "CONTROLLER", ... */
    enum security_protocol protocol;
    bool controller;         /* serves the controller's APIs */
    void *user;              /* the caller's */
    struct io_address bound; /* filled in by listener_open */
};

/* Takes the port at once, so that a busy one (ERR_BUSY) is known early. Who connects is refused
 * until listener_start: a client that finds no node tries another, in a backlog it would wait for
 * an answer that may take as long as a recovery. `info` is copied. Caller: start-up thread. The
 * listener belongs to the net and goes with net_stop. */
enum err listener_open(struct net *net, const struct listener_info *info,
                       const struct io_address *address, struct listener **ret_listener);
/* Listens and accepts from now on. Any thread; not after net_stop. */
enum err listener_start(struct listener *listener);
const struct listener_info *listener_info(const struct listener *listener);

#endif
