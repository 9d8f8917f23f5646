/* The steps down, each started by the end of the one before, all on the metadata loop.
 *
 *  1. controlled shutdown: the fencing records are written and committed
 *  2. listeners and connections close; requests under way lose their connection
 *  3. partitions and coordinators are taken down: everything parked ends
 *  4. what is still under way (a metadata change, an append's flush, the end of a transaction, the
 *     reading of a file for a client that is gone) is awaited
 *  5. logs are flushed and closed, checkpoints and clean shutdown files written
 *  6. stopped
 *
 * A node that was stopped while it started skips what it has not started. */
#include "api/coordinators.h"
#include "conf/config.h"
#include "os/diag.h"
#include "repl/quorum.h"
#include "server/node_internal.h"

enum { DRAIN_NS = 2000000 };

static void finish_later(struct node *node)
{
    loop_timer_set(node->meta_loop, &node->drain_timer, io_mono_ns(node->options.io) + DRAIN_NS);
}

/* Behind what jobs have posted to this loop, such as that a folder failed. That may have asked for
 * a stop, too; from here on nobody does, for the node may be gone when it is told of it. */
static void stopped(struct loop_task *task)
{
    struct node *node = LIST_ITEM(task, struct node, net_task);
    bool on_its_way = atomic_exchange(&node->stop_posted, true) && !node->stop_asked;
    if (on_its_way) {
        finish_later(node);
        return;
    }
    node->state = NODE_STOPPED;
    node->options.stopped(node->options.context, node->exit_status);
}

/* 6. Once the metadata log has no job on a worker any more. */
static void finish(struct loop_timer *timer)
{
    struct node *node = LIST_ITEM(timer, struct node, drain_timer);
    if (node->quorum_started && !quorum_idle(node->context.quorum)) {
        finish_later(node);
        return;
    }
    node->net_task.run = stopped;
    loop_post(node->meta_loop, &node->net_task);
}

static void folders_stopped(struct log_dirs_stop *stop)
{
    struct node *node = stop->context;
    node->drain_timer.expired = finish;
    finish(&node->drain_timer);
}

/* 5. */
static void stop_folders(struct node *node)
{
    node->dirs_stop.context = node;
    node->dirs_stop.done = folders_stopped;
    node->dirs_stop.broker_epoch =
        node->quorum_started ? quorum_broker_epoch(node->context.quorum) : -1;
    log_dirs_stop(node->context.log_dirs, node->meta_loop, &node->dirs_stop);
}

static int64_t under_way(struct node *node)
{
    return atomic_load(&node->context.request_count) + atomic_load(&node->context.flush_count) +
           coordinators_loading(node->context.groups) +
           coordinators_loading(node->context.transactions) +
           atomic_load(&node->context.duty_count) + net_is_busy(node->net);
}

/* What does not end is on a worker that a disk holds: it may come back to the node's memory at any
 * time, so nothing goes on without it. The owner is told. */
static void tell_hung(struct node *node, const char *what)
{
    diag(DIAG_SERVER, DIAG_ERROR,
         "%s: a disk does not answer. The process ends without closing its logs; the next start "
         "recovers them",
         what);
    if (node->options.hung)
        node->options.hung(node->options.context);
}

static int64_t hung_ns(const struct node *node)
{
    return io_mono_ns(node->options.io) + (int64_t)node->options.hung_after_ms * 1000000;
}

/* 4. */
static void drain(struct loop_timer *timer)
{
    struct node *node = LIST_ITEM(timer, struct node, drain_timer);
    if (under_way(node) == 0) {
        stop_folders(node);
        return;
    }
    int64_t now_ns = io_mono_ns(node->options.io);
    if (node->drain_hung_ns <= now_ns) {
        node->drain_hung_ns = INT64_MAX;
        tell_hung(node, "requests under way do not end");
    }
    loop_timer_set(node->meta_loop, timer, now_ns + DRAIN_NS);
}

/* 3. */
static void net_down(struct loop_task *task)
{
    struct node *node = LIST_ITEM(task, struct node, net_task);
    publish_nothing(&node->publisher);
    node->drain_hung_ns = hung_ns(node);
    node->drain_timer.expired = drain;
    drain(&node->drain_timer);
}

static void net_stopped(void *context)
{
    struct node *node = context;
    node->net_task.run = net_down;
    list_init(&node->net_task.link);
    loop_post(node->meta_loop, &node->net_task);
}

/* 2. */
static void close_network(struct node *node)
{
    net_stop(node->net, net_stopped, node);
}

static void shutdown_done(struct quorum_op *op)
{
    struct node *node = LIST_ITEM(op, struct node, shutdown_op);
    loop_timer_cancel(node->meta_loop, &node->drain_timer);
    if (op->error)
        diag(DIAG_SERVER, DIAG_WARN, "the controlled shutdown was not recorded: %s",
             err_text(op->error));
    close_network(node);
}

static void shutdown_hangs(struct loop_timer *timer)
{
    tell_hung(LIST_ITEM(timer, struct node, drain_timer),
              "the controlled shutdown cannot be recorded");
}

/* 1. */
void node_begin_stop(struct node *node)
{
    if (node->state >= NODE_STOPPING)
        return;
    node->state = NODE_STOPPING;
    if (!node->quorum_started) {
        close_network(node);
        return;
    }
    node->drain_timer.expired = shutdown_hangs;
    loop_timer_set(node->meta_loop, &node->drain_timer, hung_ns(node));
    node->shutdown_op =
        (struct quorum_op){.done = shutdown_done, .loop = node->meta_loop, .arena = &node->arena};
    quorum_shutdown(node->context.quorum, &node->shutdown_op);
}
