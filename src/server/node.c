/* The life of a node, seen from outside: made, told to stop, freed. The steps are in node_start.c
 * and node_stop.c.
 *
 * Threads: one metadata loop (commits, publishing, starting and stopping) and loop_count loops for
 * connections. node_start and node_free are called from the thread that owns the node, node_stop
 * from anywhere. */
#include "server/node.h"

#include "api/coordinators.h"
#include "api/fetch_session.h"
#include "api/producer_ids.h"
#include "base/mem.h"
#include "conf/config.h"
#include "repl/partition_table.h"
#include "repl/quorum.h"
#include "repl/replica_moves.h"
#include "server/node_internal.h"

static void run_stop(struct loop_task *task)
{
    struct node *node = LIST_ITEM(task, struct node, stop_task);
    node->stop_asked = true;
    if (node->state == NODE_READY)
        node_begin_stop(node);
    /* While starting: the step under way looks at stop_asked when it is done. */
}

void node_stop(struct node *node)
{
    if (!atomic_exchange(&node->stop_posted, true))
        loop_post(node->meta_loop, &node->stop_task);
}

static void free_services(struct node *node)
{
    struct api_context *context = &node->context;
    net_free(node->net);
    fetch_sessions_free(context->sessions);
    producer_ids_free(context->producer_ids);
    partition_table_free(context->partitions);
    coordinators_free(context->groups);
    coordinators_free(context->transactions);
    if (context->quorum)
        quorum_close(context->quorum);
    replica_moves_free(context->moves);
    log_dirs_free(context->log_dirs);
}

void node_free(struct node *node)
{
    if (!node)
        return;
    if (node->state == NODE_STARTING) { /* node_start failed: nobody ever connected */
        net_free(node->net);
        node->net = NULL;
    }
    /* The quorum is closed after the loops that post to it, while its own loop still runs. */
    for (int i = 0; i < node->loop_count; i++) {
        if (node->loops[i])
            loop_stop(node->loops[i]);
    }
    free_services(node);
    meta_image_unref(node->load_image);
    config_unref(node->load_config);
    config_unref(node->context.config);
    config_unref(node->static_config);
    mem_free(node->loops);
    buf_fini(&node->addresses);
    arena_fini(&node->arena);
    mem_free(node);
}

enum { HUNG_AFTER_MS = 10000 };

enum err node_start(const struct node_options *options, struct node **ret_node, char **ret_text)
{
    struct node *node = mem_zalloc(sizeof *node);
    node->options = *options;
    if (!node->options.hung_after_ms)
        node->options.hung_after_ms = HUNG_AFTER_MS;
    node->static_config = config_ref(options->config);
    node->context.config = config_ref(options->config);
    arena_init(&node->arena);
    buf_init(&node->addresses);
    atomic_init(&node->stop_posted, false);
    node->stop_task.run = run_stop;
    list_init(&node->stop_task.link);
    enum err err = node_build(node, ret_text);
    if (err) {
        node_free(node);
        return err;
    }
    *ret_node = node;
    node_load(node);
    return ERR_NONE;
}

const char *node_addresses(struct node *node)
{
    return (const char *)node->addresses.data;
}

struct slice node_cluster_id(struct node *node)
{
    return node->context.cluster_id;
}

struct api_context *node_context(struct node *node)
{
    return &node->context;
}
