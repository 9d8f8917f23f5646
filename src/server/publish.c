/* Differences between two images, applied. Images share what did not change, so the differences are
 * found without looking at the rest: making the ten-thousandth topic costs what the first one cost.
 *
 * Configuration: the new struct config is put in place for all loops at once; the old one is let go
 * when every loop has come round, for a handler that still reads it ends before that. */
#include "server/publish.h"

#include "api/coordinators.h"
#include "base/mem.h"
#include "meta/image.h"
#include "meta/topic_name.h"
#include "net/net.h"
#include "os/diag.h"
#include "repl/partition_table.h"
#include "repl/quorum.h"
#include "repl/replica_moves.h"
#include "server/publish_log.h"
#include "server/settings.h"

#include <stdatomic.h>
#include <stdio.h>

/* ---- configuration ---- */

struct retired_config {
    const struct config *config;
    atomic_int pending;
    struct retired_task {
        struct loop_task task;
        struct retired_config *retired;
    } tasks[];
};

static void loop_came_round(struct loop_task *task)
{
    struct retired_config *retired = LIST_ITEM(task, struct retired_task, task)->retired;
    if (atomic_fetch_sub(&retired->pending, 1) != 1)
        return;
    config_unref(retired->config);
    mem_free(retired);
}

static void retire(struct publisher *publisher, const struct config *config)
{
    int count = publisher->loop_count;
    struct retired_config *retired =
        mem_zalloc(sizeof *retired + (size_t)count * sizeof retired->tasks[0]);
    retired->config = config;
    atomic_init(&retired->pending, count);
    for (int i = 0; i < count; i++) {
        retired->tasks[i].retired = retired;
        retired->tasks[i].task.run = loop_came_round;
        list_init(&retired->tasks[i].task.link);
        loop_post(publisher->loops[i], &retired->tasks[i].task);
    }
}

static bool broker_config_changed(const struct meta_image *old, const struct meta_image *new,
                                  int32_t node_id)
{
    char id[16];
    struct slice own = slice_of(id, (size_t)snprintf(id, sizeof id, "%d", node_id));
    return meta_image_config(old, META_RESOURCE_BROKER, own) !=
               meta_image_config(new, META_RESOURCE_BROKER, own) ||
           meta_image_config(old, META_RESOURCE_BROKER, slice_str("")) !=
               meta_image_config(new, META_RESOURCE_BROKER, slice_str(""));
}

/* Kafka resizes its pools; here threads are made once, when the node starts, as its file says. */
static void tell_threads(const struct config *before, const struct config *config)
{
    static const enum broker_key keys[] = {BROKER_KEY_NUM_NETWORK_THREADS,
                                           BROKER_KEY_NUM_RECOVERY_THREADS_PER_DATA_DIR};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int64_t value = config_int(config, keys[i]);
        if (value != config_int(before, keys[i]))
            diag(DIAG_SERVER, DIAG_WARN,
                 "%s=%lld is stored and shown, but this node keeps the threads that it started "
                 "with; set it in the properties file and restart",
                 conf_key(CONF_KIND_BROKER, (int)keys[i])->name, (long long)value);
    }
}

/* Once for each set of them: an alteration of another key does not tell it again. */
static void tell_ignored(const struct config *before, const struct config *config)
{
    struct slice ignored = config_ignored(config);
    if (ignored.size > 0 && !slice_eq(ignored, config_ignored(before)))
        diag(DIAG_SERVER, DIAG_WARN,
             "dynamic settings without effect, here as in Apache Kafka; delete them: %.*s",
             SLICE_FMT(ignored));
}

/* Names are resolved, which may take long: only when the setting changed, as in Kafka. */
static void publish_ip_limits(struct publisher *publisher, const struct config *before,
                              const struct config *config)
{
    enum broker_key key = BROKER_KEY_MAX_CONNECTIONS_PER_IP_OVERRIDES;
    if (slice_eq(config_string(before, key), config_string(config, key)))
        return;
    size_t count;
    struct net_ip_limit *limits = settings_ip_limits(publisher->context->io, config, &count);
    net_limit_ips(publisher->net, limits, count);
    mem_free(limits);
}

/* True when it changed. */
static bool publish_config(struct publisher *publisher, const struct meta_image *old,
                           const struct meta_image *new)
{
    struct api_context *context = publisher->context;
    if (!broker_config_changed(old, new, context->node_id))
        return false;
    const struct config *before = context->config;
    struct config *config = meta_image_node_config(new, publisher->static_config);
    context->config = config;
    tell_threads(before, config);
    tell_ignored(before, config);
    struct net_config net = settings_net(config, publisher->memory, &publisher->files);
    net_configure(publisher->net, &net);
    publish_ip_limits(publisher, before, config);
    struct cleaner_config cleaner = settings_cleaner(config);
    log_dirs_configure_cleaner(context->log_dirs, &cleaner);
    settings_cordon(config, context->log_dirs);
    struct replica_moves_config moves = settings_moves(config);
    replica_moves_configure(context->moves, &moves);
    retire(publisher, before);
    return true;
}

/* ---- coordinators ---- */

static void publish_coordinators(struct publisher *publisher, const struct meta_image *new)
{
    struct api_context *context = publisher->context;
    struct coord_config coord = settings_coord(context->config, new);
    coord.producer_id_trusted = log_dirs_producer_id_trusted(context->log_dirs);
    coordinators_configure(context->groups, &coord);
    coordinators_configure(context->transactions, &coord);
}

/* They work by this feature's level, which is in no configuration. */
static bool transaction_version_changed(const struct meta_image *old, const struct meta_image *new)
{
    struct slice name = SLICE_LIT("transaction.version");
    return meta_image_feature(old, name) != meta_image_feature(new, name);
}

/* Whose topic it is; NULL = of no coordinator. */
static struct coordinators *coordinators_of(struct api_context *context, struct slice topic)
{
    if (slice_eq(topic, coordinators_topic(context->groups)))
        return context->groups;
    if (slice_eq(topic, coordinators_topic(context->transactions)))
        return context->transactions;
    return NULL;
}

/* ---- deletions ---- */

static void drop_partition(struct publisher *publisher, const struct meta_topic *topic,
                           int32_t index)
{
    struct api_context *context = publisher->context;
    struct partition *partition = partition_table_remove(context->partitions, topic->name, index);
    if (!partition)
        return;
    struct coordinators *coordinators = coordinators_of(context, topic->name);
    if (coordinators)
        coordinators_resign(coordinators, index);
    replica_moves_forget(context->moves, partition);
    struct log *log = partition_take_log(partition, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    if (log) {
        enum err err = log_dirs_delete(context->log_dirs, log, false);
        if (err)
            diag(DIAG_SERVER, DIAG_ERROR,
                 "the log of the deleted %.*s-%d could not be removed: %s. The next start sets it "
                 "aside",
                 SLICE_FMT(topic->name), index, err_text(err));
    }
    partition_unref(partition);
}

struct deletions {
    struct publisher *publisher;
    struct slice *names;
    size_t count, capacity;
};

static void delete_topic(void *data, const struct meta_topic *old, const struct meta_topic *new)
{
    struct deletions *deletions = data;
    if (!old || (new &&uuid_eq(&new->id, &old->id)))
        return;
    for (int32_t i = 0; i < old->partition_count; i++)
        drop_partition(deletions->publisher, old, i);
    deletions->names =
        mem_grow(deletions->names, &deletions->capacity, deletions->count, sizeof(struct slice));
    deletions->names[deletions->count++] = old->name;
}

static void publish_deletions(struct publisher *publisher, const struct meta_image *old,
                              const struct meta_image *new)
{
    struct deletions deletions = {.publisher = publisher};
    meta_image_topics_diff(old, new, delete_topic, &deletions);
    if (deletions.count)
        coordinators_topics_deleted(publisher->context->groups, deletions.names, deletions.count);
    mem_free(deletions.names);
}

/* ---- topics ---- */

enum { RETRY_MS = 1000 };

static void retry_logs(struct loop_timer *timer);

/* Partitions without a log are tried again: the disk may have space by then. */
static void retry_later(struct publisher *publisher)
{
    publisher->retry.expired = retry_logs;
    loop_timer_set(publisher->meta_loop, &publisher->retry,
                   io_mono_ns(publisher->context->io) + (int64_t)RETRY_MS * 1000000);
}

static void publish_partition(struct publisher *publisher, struct publish_walk *walk, int32_t index)
{
    struct api_context *context = publisher->context;
    const struct meta_partition *meta = meta_topic_partition(walk->topic, index);
    if (!meta)
        return;
    struct partition *partition =
        partition_table_get_id(context->partitions, &walk->topic->id, index);
    if (!meta_partition_has_replica(meta, context->node_id)) {
        partition_unref(partition);
        if (partition)
            drop_partition(publisher, walk->topic, index);
        return;
    }
    if (partition && walk->retrying && !partition_has_log(partition)) {
        atomic_store(&partition->gone, true); /* whoever kept it looks it up again */
        partition_unref(partition_table_remove(context->partitions, partition->topic, index));
        partition_unref(partition);
        publisher->log_count--;
        partition = NULL;
    }
    bool is_new = !partition;
    if (is_new) {
        partition = publish_new_partition(walk, index, meta);
        partition_table_add(context->partitions, partition_ref(partition));
        publisher->log_count++;
    }
    struct partition_state state = {
        .leader_id = meta->leader,
        .leading = meta->leader == context->node_id && partition_has_log(partition),
        .leader_epoch = meta->leader_epoch,
        .partition_epoch = meta->partition_epoch,
        .isr_count = meta->isr_count,
        .replica_count = meta->replica_count,
    };
    bool moved = is_new || partition->leading != state.leading ||
                 partition->leader_epoch != state.leader_epoch;
    enum err err = partition_set_state(partition, &state);
    if (err)
        diag(DIAG_SERVER, DIAG_ERROR, "the new leader epoch of %.*s-%d could not be written: %s",
             SLICE_FMT(walk->topic->name), index, err_text(err));
    if (moved && walk->coordinators) {
        if (state.leading && !err)
            coordinators_lead(walk->coordinators, partition);
        else
            coordinators_resign(walk->coordinators, index);
    }
    partition_unref(partition);
}

/* One walk over the topics that changed. */
struct topics_walk {
    struct publisher *publisher;
    const struct meta_image *old, *new;
    struct publish_assignments assignments;
    bool retrying;
};

static void publish_topic(void *data, const struct meta_topic *old, const struct meta_topic *topic)
{
    (void)old;
    struct topics_walk *topics = data;
    struct publisher *publisher = topics->publisher;
    if (!topic)
        return;
    struct publish_walk walk = {
        .context = publisher->context,
        .image = topics->new,
        .topic = topic,
        .assignments = &topics->assignments,
        .retrying = topics->retrying,
        .is_first = publisher->is_first,
        .coordinators = coordinators_of(publisher->context, topic->name),
    };
    settings_topic(publisher->context->config, topics->new, topic->name, &walk.config,
                   &walk.log_config);
    if (walk.coordinators)
        coordinators_set_partition_count(walk.coordinators, topic->partition_count);
    for (int32_t i = 0; i < topic->partition_count; i++)
        publish_partition(publisher, &walk, i);
    if (walk.log_missing)
        retry_later(publisher);
}

static void publish_topics(struct publisher *publisher, const struct meta_image *old,
                           const struct meta_image *new)
{
    struct topics_walk walk = {.publisher = publisher, .old = old, .new = new};
    meta_image_topics_diff(old, new, publish_topic, &walk);
    publish_assign(publisher->context, publisher->meta_loop, &walk.assignments);
    struct coordinators *const all[] = {publisher->context->groups,
                                        publisher->context->transactions};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!meta_image_topic(new, coordinators_topic(all[i])))
            coordinators_set_partition_count(all[i], 0);
    }
}

static bool misses_log(struct publisher *publisher, const struct meta_topic *topic)
{
    bool misses = false;
    for (int32_t i = 0; i < topic->partition_count && !misses; i++) {
        struct partition *partition =
            partition_table_get_id(publisher->context->partitions, &topic->id, i);
        misses = partition && !partition_has_log(partition);
        partition_unref(partition);
    }
    return misses;
}

static void retry_logs(struct loop_timer *timer)
{
    struct publisher *publisher = LIST_ITEM(timer, struct publisher, retry);
    struct meta_image *image = quorum_image(publisher->context->quorum);
    struct topics_walk walk = {
        .publisher = publisher, .old = image, .new = image, .retrying = true};
    META_IMAGE_FOREACH_TOPIC(topic, image)
    {
        if (misses_log(publisher, topic))
            publish_topic(&walk, topic, topic);
    }
    publish_assign(publisher->context, publisher->meta_loop, &walk.assignments);
    meta_image_unref(image);
}

static void configure_topic(struct publisher *publisher, const struct meta_image *new,
                            const struct meta_topic *topic)
{
    struct topic_config config;
    struct log_config log_config;
    settings_topic(publisher->context->config, new, topic->name, &config, &log_config);
    for (int32_t i = 0; i < topic->partition_count; i++) {
        struct partition *partition =
            partition_table_get_id(publisher->context->partitions, &topic->id, i);
        if (partition)
            partition_set_config(partition, &config, &log_config);
        partition_unref(partition);
    }
}

static void config_changed(void *data, const struct meta_config *old, const struct meta_config *new)
{
    struct topics_walk *walk = data;
    const struct meta_config *config = new ? new : old;
    if (config->type != META_RESOURCE_TOPIC || !meta_image_topic(walk->old, config->resource))
        return;
    const struct meta_topic *topic = meta_image_topic(walk->new, config->resource);
    if (topic)
        configure_topic(walk->publisher, walk->new, topic);
}

/* Topics that were there before; new ones were made with their settings. */
static void publish_topic_configs(struct publisher *publisher, const struct meta_image *old,
                                  const struct meta_image *new, bool all)
{
    struct topics_walk walk = {.publisher = publisher, .old = old, .new = new};
    if (!all) {
        meta_image_configs_diff(old, new, config_changed, &walk);
        return;
    }
    META_IMAGE_FOREACH_TOPIC(topic, new)
    {
        if (meta_image_topic(old, topic->name))
            configure_topic(publisher, new, topic);
    }
}

/* As in Kafka the broker does not register again by itself: someone has asked for it. */
static void tell_unregistered(const struct publisher *publisher, const struct meta_image *old,
                              const struct meta_image *new)
{
    int32_t node_id = publisher->context->node_id;
    if (meta_image_broker(old, node_id) && !meta_image_broker(new, node_id))
        diag(DIAG_SERVER, DIAG_WARN,
             "broker %d, this node, was unregistered by a request (UnregisterBroker): its "
             "partitions have no leader. It registers again when it is started again",
             node_id);
}

void publish_image(struct publisher *publisher, const struct meta_image *old,
                   const struct meta_image *new)
{
    tell_unregistered(publisher, old, new);
    bool config_changed = publish_config(publisher, old, new);
    publish_cordons(publisher->context, publisher->meta_loop, new);
    /* The first time: what the load of the logs found. */
    if (publisher->is_first || config_changed || transaction_version_changed(old, new))
        publish_coordinators(publisher, new);
    publish_deletions(publisher, old, new);
    if (publisher->is_first)
        publish_promote_futures(publisher->context, new);
    publish_topics(publisher, old, new);
    publish_topic_configs(publisher, old, new, config_changed);
    if (publisher->is_first) {
        publisher->is_first = false;
        publish_strays(publisher->context, new);
        publish_resume_futures(publisher->context);
    }
}

void publish_nothing(struct publisher *publisher)
{
    struct api_context *context = publisher->context;
    loop_timer_cancel(publisher->meta_loop, &publisher->retry);
    coordinators_resign_all(context->transactions); /* they write to what the others hold */
    coordinators_resign_all(context->groups);
    replica_moves_stop(context->moves);
    size_t count;
    struct partition **all = partition_table_all(context->partitions, &count);
    for (size_t i = 0; i < count; i++) {
        partition_take_log(all[i], ERR_NOT_LEADER_OR_FOLLOWER);
        partition_unref(partition_table_remove(context->partitions, all[i]->topic, all[i]->index));
        partition_unref(all[i]);
    }
    mem_free(all);
}
