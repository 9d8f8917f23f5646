/* The life of the node under test: formatted once, then started, killed, cut off from power and
 * told to stop, over and over on the same disk. Called from outside all callbacks.
 *
 * A killed node's memory is left behind, as it would be with its process. A node that ends in order
 * must leave nothing: no loop, no job, no open file or socket (sim_machine_exit). */
#include "base/ensure.h"
#include "base/mem.h"
#include "conf/config.h"
#include "os/diag.h"
#include "server/node.h"
#include "store/checkpoint.h"
#include "store/log_dirs.h"
#include "world.h"

enum { START_MS = 300000, STOP_MS = 120000, RESERVE_STEP = 256 << 10 };

static void sink(void *context, struct slice line)
{
    struct world *world = context;
    if (world->verbose)
        world_say("%.*s", SLICE_FMT(line));
}

/* ---- the disk, before the node ---- */

static struct uuid random_uuid(struct io *io)
{
    uint8_t random[16];
    struct uuid uuid;
    do {
        io_random(io, random, sizeof random);
    } while (!uuid_from_random(random, &uuid));
    return uuid;
}

void node_life_format(struct world *world)
{
    struct io *io = sim_machine_start(world->server);
    struct uuid cluster = random_uuid(io);
    for (int i = 0; i < world->settings.dirs; i++) {
        char path[16];
        snprintf(path, sizeof path, "/d%d", i);
        ENSURE(io_mkdir(io, path) == ERR_NONE);
        struct log_meta meta = {.version = 1, .node_id = 1, .directory_id = random_uuid(io)};
        uuid_format(&cluster, meta.cluster_id);
        ENSURE(log_meta_write(io, path, &meta) == ERR_NONE);
    }
    ENSURE(io_sync_dir(io, "/") == ERR_NONE);
    sim_machine_exit(world->server);
}

/* After a power cut: the recovery points that are on disk are promises. */
static void read_recovery_points(struct world *world)
{
    for (int d = 0; d < world->settings.dirs; d++) {
        char path[16];
        snprintf(path, sizeof path, "/d%d", d);
        struct checkpoint checkpoint;
        checkpoint_init(&checkpoint);
        enum err err = checkpoint_read(&checkpoint, world->io, path, CHECKPOINT_RECOVERY_POINT);
        if (err)
            world_fail("%s/%s is damaged after a power cut: %s", path, CHECKPOINT_RECOVERY_POINT,
                       err_name(err));
        for (int32_t t = 0; t < world->model.topic_count; t++) {
            struct model_topic *topic = &world->model.topics[t];
            int64_t offset;
            for (int32_t p = 0; p < topic->partition_count; p++)
                if (checkpoint_get(&checkpoint, slice_str(topic->name), p, &offset))
                    model_recovery_point(&topic->partitions[p], offset);
        }
        checkpoint_fini(&checkpoint);
    }
}

/* ---- up ---- */

static struct config *make_config(struct world *world)
{
    const struct world_settings *s = &world->settings;
    struct buf text;
    buf_init(&text);
    buf_printf(&text, "process.roles=broker,controller\nnode.id=1\n"
                      "listeners=PLAINTEXT://10.0.0.1:9092,CONTROLLER://10.0.0.1:9093\n"
                      "controller.listener.names=CONTROLLER\n"
                      "controller.quorum.voters=1@10.0.0.1:9093\n"
                      "offsets.topic.replication.factor=1\nnum.partitions=2\n"
                      "log.retention.ms=-1\nproducer.id.expiration.ms=2147483647\n"
                      "log.message.timestamp.before.max.ms=9223372036854775807\n"
                      "log.message.timestamp.after.max.ms=9223372036854775807\nlog.dirs=");
    for (int i = 0; i < s->dirs; i++)
        buf_printf(&text, "%s/d%d", i ? "," : "", i);
    buf_printf(&text,
               "\nnum.network.threads=%d\noffsets.topic.num.partitions=%d\n"
               "group.initial.rebalance.delay.ms=%d\n"
               "log.flush.offset.checkpoint.interval.ms=%lld\n"
               "log.flush.start.offset.checkpoint.interval.ms=%lld\n"
               "replica.high.watermark.checkpoint.interval.ms=%lld\n"
               "log.retention.check.interval.ms=%lld\nlog.initial.task.delay.ms=500\n"
               "metadata.log.max.record.bytes.between.snapshots=%lld\n"
               "log.cleaner.backoff.ms=%d\nlog.cleaner.threads=%d\n"
               "transaction.state.log.num.partitions=%d\ntransaction.state.log.min.isr=1\n"
               "transaction.state.log.replication.factor=1\n"
               "transaction.abort.timed.out.transaction.cleanup.interval.ms=%d\n",
               s->network_threads, s->groups_partitions, s->rebalance_delay_ms,
               (long long)s->checkpoint_ms, (long long)s->checkpoint_ms,
               (long long)s->checkpoint_ms, (long long)s->retention_check_ms,
               (long long)s->snapshot_bytes, s->cleaner_backoff_ms, s->cleaner_threads,
               s->transactions_partitions, s->timeouts_ms);
    if (s->roll_ms)
        buf_printf(&text, "log.roll.ms=%lld\n", (long long)s->roll_ms);
    if (s->flush_all)
        buf_printf(&text, "log.flush.interval.messages=1\n");
    struct properties properties;
    properties_init(&properties);
    int line;
    ENSURE(properties_parse(&properties, buf_slice(&text), &line) == ERR_NONE);
    struct config *config;
    char *message = NULL;
    if (config_new(&properties, &config, &message))
        world_fail("the configuration is refused: %s", message);
    properties_fini(&properties);
    buf_fini(&text);
    return config;
}

static void on_ready(void *context, struct node *node)
{
    (void)node;
    ((struct world *)context)->state = WORLD_READY;
}

static void on_stopped(void *context, int exit_status)
{
    struct world *world = context;
    world->state = WORLD_ENDED;
    world->exit_status = exit_status;
}

static void on_terminate(void *context)
{
    struct world *world = context;
    if (world->node)
        node_stop(world->node);
}

static bool is_up_or_over(void *context)
{
    return ((struct world *)context)->state != WORLD_STARTING;
}

static void leave_machine(struct world *world)
{
    loop_stop(world->meta_loop);
    config_unref(world->config);
    world->node = NULL;
    world->io = NULL;
    world->state = WORLD_OFF;
    int left = sim_machine_exit(world->server);
    if (left)
        world_fail("the node ended and left %d files or sockets open", left);
}

/* A full disk keeps a node from starting only where no reserve is left for it: there is none in a
 * node's first second, nor after four such starts, and a power cut may take it. */
static bool is_tight(struct world *world)
{
    struct io_stat stat;
    return world->full &&
           (io_stat(world->io, "/d0/.klamm-reserve", &stat) || stat.size < RESERVE_STEP);
}

bool node_life_start(struct world *world)
{
    ENSURE(world->state == WORLD_OFF);
    world->starts++;
    model_restarted(&world->model);
    world->io = sim_machine_start(world->server);
    if (world->points_due && !world->faulty)
        read_recovery_points(world);
    world->points_due = false;
    world->tight = is_tight(world);
    diag_init(world->io, sink, world);
    world->config = make_config(world);
    world->meta_loop = loop_start(world->io, "meta");
    io_on_stop(world->io, world->meta_loop, on_terminate, world);
    struct node_options options = {.io = world->io,
                                   .loop = world->meta_loop,
                                   .config = world->config,
                                   .ready = on_ready,
                                   .stopped = on_stopped,
                                   .context = world};
    char *text = NULL;
    world->state = WORLD_STARTING;
    enum err err = node_start(&options, &world->node, &text);
    if (err) {
        if (!world->faulty && !world->tight)
            world_fail("the node does not start: %s", text ? text : err_name(err));
        world_say("start refused: %s", text ? text : err_name(err));
        mem_free(text);
        leave_machine(world);
        return false;
    }
    if (!sim_run_until(world->sim, is_up_or_over, world, START_MS))
        world_fail("the node is not ready after %d s", START_MS / 1000);
    if (world->state == WORLD_ENDED) {
        if (!world->faulty && !world->tight)
            world_fail("the node ended while it started, status %d", world->exit_status);
        node_life_reap(world);
        return false;
    }
    return true;
}

/* ---- down ---- */

void node_life_reap(struct world *world)
{
    ENSURE(world->state == WORLD_ENDED);
    node_free(world->node);
    leave_machine(world);
}

static void forget(struct world *world)
{
    diag_init(NULL, sink, world);
    world->node = NULL;
    world->config = NULL;
    world->io = NULL;
    world->state = WORLD_OFF;
}

void node_life_kill(struct world *world)
{
    if (world->state == WORLD_OFF)
        return;
    world->kills++;
    sim_machine_kill(world->server);
    forget(world);
}

void node_life_power_cut(struct world *world)
{
    if (world->state == WORLD_OFF)
        return;
    sim_machine_power_cut(world->server);
    forget(world);
    world->cuts++;
    world->lossy = world->points_due = true;
    model_power_cut(&world->model, world->settings.flush_all);
}

static bool is_over(void *context)
{
    return ((struct world *)context)->state == WORLD_ENDED;
}

void node_life_terminate(struct world *world)
{
    if (world->state == WORLD_OFF)
        return;
    world->terminations++;
    world->stopping = true;
    sim_machine_terminate(world->server);
    if (!sim_run_until(world->sim, is_over, world, STOP_MS))
        world_fail("the node has not stopped after %d s", STOP_MS / 1000);
    if (world->exit_status && !world->faulty)
        world_fail("the node stopped with status %d", world->exit_status);
    world->stopping = false;
    node_life_reap(world);
}
