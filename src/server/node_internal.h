/* What the files of a node share: node.c (life), node_start.c (the steps up), node_lost.c (what
 * stands against them) and node_stop.c (the steps down). */
#ifndef KLAMM_SERVER_NODE_INTERNAL_H
#define KLAMM_SERVER_NODE_INTERNAL_H

#include "api/context.h"
#include "base/arena.h"
#include "meta/controller.h"
#include "net/net.h"
#include "repl/quorum.h"
#include "server/node.h"
#include "server/publish.h"
#include "store/log_dirs.h"

#include <stdatomic.h>

struct listener;

enum { NODE_LISTENERS_MAX = 16 };

enum node_state { NODE_STARTING, NODE_READY, NODE_STOPPING, NODE_STOPPED };

struct node {
    struct node_options options;
    const struct config *static_config;
    struct arena arena; /* texts that live as long as the node */
    struct api_context context;
    struct publisher publisher;
    int64_t memory;
    struct settings_files files; /* how open files are shared out */

    struct loop *meta_loop;
    struct loop **loops; /* that serve connections */
    int loop_count;
    struct net *net;
    struct listener *listeners[NODE_LISTENERS_MAX];
    int listener_count;
    struct buf addresses;

    enum node_state state; /* metadata loop */
    bool stop_asked;       /* metadata loop */
    bool dirs_started;
    bool quorum_started;
    int exit_status;
    struct loop_task stop_task, net_task;
    atomic_bool stop_posted;

    struct log_dirs_load load;
    struct meta_image *load_image; /* what logs are loaded by, ... */
    struct config *load_config;    /* ... while they are */
    struct log_dirs_stop dirs_stop;
    struct quorum_op shutdown_op;
    struct loop_timer drain_timer;
    int64_t load_wait_end_ns, drain_hung_ns;
};

/* node_start.c: everything that can fail at once; then the steps that end with `ready`. */
enum err node_build(struct node *node, char **ret_text);
void node_load(struct node *node);

/* node_lost.c: why the start must not go on (mem_free), or NULL. The first before the metadata log
 * is opened: it is empty or gone, and there are partitions. */
char *node_metadata_lost(struct node *node);
/* After it, before anything else is made: a folder is new, and a partition lies in none of them. */
char *node_folder_lost(struct node *node);
/* After the load: logs, but nothing that could be read in the metadata. Apache Kafka begins a new
 * history then and sets all of them aside. */
char *node_metadata_damaged(struct node *node);

/* node_stop.c: the steps that end with `stopped`. Metadata loop. */
void node_begin_stop(struct node *node);

#endif
