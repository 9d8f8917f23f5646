/* One node: broker and controller over one struct io. The product runs one in its process, the
 * simulator several.
 *
 * Life: node_start -> `ready` (or `stopped`, when starting fails late or it was told to stop) ->
 * node_stop -> `stopped` -> node_free. Everything after node_start's checks is asynchronous: steps
 * run on the node's metadata loop, what blocks runs on workers. */
#ifndef KLAMM_SERVER_NODE_H
#define KLAMM_SERVER_NODE_H

#include "base/err.h"
#include "os/io.h"

struct config;
struct node;

struct node_options {
    struct io *io;
    struct loop *loop;           /* the metadata loop; the caller's, outlives the node */
    const struct config *config; /* referenced */
    int64_t memory;              /* bytes the node may use; 0 = a quarter of what there is */
    /* What the user has set folders and addresses with, for texts that refuse them; NULL = the keys
     * of the configuration. */
    const char *dirs_key, *listeners_key;
    /* Callbacks run on the metadata loop. */
    void (*ready)(void *context, struct node *node);
    void (*stopped)(void *context, int exit_status);
    /* While stopping: a disk has not answered for hung_after_ms (0 = 10 s), and the node waits on,
     * for its memory is in use. A process may end itself here: what was acknowledged is as safe as
     * after kill -9. NULL = wait. */
    void (*hung)(void *context);
    int32_t hung_after_ms;
    void *context;
};

/* Whether node_start could take the addresses of the listeners; none is kept. On failure *ret_text
 * (mem_free). `key` as listeners_key above. */
enum err node_try_listeners(struct io *io, const struct config *config, const char *key,
                            char **ret_text);

/* Checks and takes what can be refused at once: addresses, folders, the metadata log. On failure
 * *ret_text (mem_free) says what is wrong and what to do, and nothing is left behind. */
enum err node_start(const struct node_options *options, struct node **ret_node, char **ret_text);

/* Asks it to stop, at any time after node_start, from any thread; again does nothing. */
void node_stop(struct node *node);

/* After `stopped`, not from one of the node's loops. Ends the loops and frees all. NULL allowed. */
void node_free(struct node *node);

/* "PLAINTEXT 127.0.0.1:9092, CONTROLLER 127.0.0.1:9093", from ready on. */
const char *node_addresses(struct node *node);
struct slice node_cluster_id(struct node *node);
uint16_t node_port(struct node *node); /* of the first broker listener */

/* For tests in the same process: the services that handlers use. */
struct api_context *node_context(struct node *node);

#endif
