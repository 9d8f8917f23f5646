/* Which log belongs to a partition.
 *
 * A loaded log counts only if its partition.metadata has the topic's id: one of a topic that was
 * deleted and made again under the same name is a stray. A replica whose directory in the image is
 * one of this node's that is offline, or may be, stays without a log: making a new one elsewhere
 * would lose what the folder holds. Any other replica without a log gets one, in the directory that
 * the image names or in the one with the fewest logs. */
#include "server/publish_log.h"

#include "base/mem.h"
#include "os/diag.h"
#include "repl/partition_table.h"
#include "repl/quorum.h"
#include "repl/replica_moves.h"

/* NULL: unassigned, or no folder of this node. One that could not be used from the start has no id
 * either, and is not meant by a replica without a directory. */
static struct log_dir *find_dir(struct log_dirs *dirs, const struct uuid *id)
{
    if (uuid_is_zero(id))
        return NULL;
    for (int i = 0; i < log_dirs_count(dirs); i++) {
        struct log_dir *dir = log_dirs_at(dirs, i);
        if (uuid_eq(log_dir_id(dir), id))
            return dir;
    }
    return NULL;
}

static struct log *find_log(struct publish_walk *walk, int32_t index)
{
    struct log_dirs *dirs = walk->context->log_dirs;
    struct log *log = log_dirs_get(dirs, walk->topic->name, index);
    struct uuid id;
    if (!log || !log_topic_id(log, &id) || uuid_eq(&id, &walk->topic->id))
        return log;
    diag(DIAG_SERVER, DIAG_WARN,
         "%.*s-%d belongs to another topic of this name: it is renamed to end in -stray, and kept",
         SLICE_FMT(walk->topic->name), index);
    enum err err = log_dirs_delete(dirs, log, true);
    if (err)
        diag(DIAG_SERVER, DIAG_ERROR, "the old log of %.*s-%d could not be renamed: %s",
             SLICE_FMT(walk->topic->name), index, err_text(err));
    return NULL;
}

static void note_assignment(struct publish_walk *walk, int32_t index, const struct log *log)
{
    struct publish_assignments *list = walk->assignments;
    const struct log_dir *dir = log_dir_of(log);
    if (!dir || log_dirs_count(walk->context->log_dirs) < 2)
        return;
    list->items = mem_grow(list->items, &list->capacity, list->count, sizeof *list->items);
    list->items[list->count++] =
        (struct controller_assignment){walk->topic->id, index, *log_dir_id(dir)};
}

/* True when an offline folder may hold the replica: a folder that failed before its meta.properties
 * was read has no id to be known by, and a start may find a partition whose folder was never told
 * to the controller. */
static bool may_be_offline(const struct publish_walk *walk, const struct uuid *wanted)
{
    bool is_new = uuid_is_zero(wanted) && !walk->is_first && !walk->retrying;
    struct log_dirs *dirs = walk->context->log_dirs;
    bool offline = false;
    for (int i = 0; i < log_dirs_count(dirs); i++)
        offline |= !log_dir_online(log_dirs_at(dirs, i));
    return offline && !is_new;
}

struct partition *publish_new_partition(struct publish_walk *walk, int32_t index,
                                        const struct meta_partition *meta)
{
    struct api_context *context = walk->context;
    struct slice name = walk->topic->name;
    struct uuid wanted = meta_partition_directory(meta, context->node_id);
    struct log_dir *dir = find_dir(context->log_dirs, &wanted);
    struct log *log = find_log(walk, index);
    bool is_found = log != NULL, could_not = false;
    if (!log && (dir ? log_dir_online(dir) : !may_be_offline(walk, &wanted))) {
        enum err err = log_dirs_create(context->log_dirs, dir, name, index, &walk->topic->id,
                                       &walk->log_config, &log);
        if (err) {
            log = NULL;
            could_not = walk->log_missing = true;
            diag(DIAG_SERVER, DIAG_ERROR,
                 "the log of %.*s-%d could not be created: %s. It is tried again, and not served "
                 "until then",
                 SLICE_FMT(name), index, err_text(err));
        }
    }
    struct partition *partition =
        partition_new(context->io, name, &walk->topic->id, index, log, &walk->config);
    /* As in Kafka a node that starts without a folder does not know what was in it. */
    if (!log && !could_not)
        partition->offline = ERR_NOT_LEADER_OR_FOLLOWER;
    partition->flush_count = &context->flush_count;
    if (log && is_found) {
        partition_set_config(partition, &walk->config, &walk->log_config);
        int64_t watermark = log_dirs_watermark(context->log_dirs, name, index);
        if (watermark >= 0)
            partition_restore_watermark(partition, watermark);
    }
    if (log && !uuid_eq(log_dir_id(log_dir_of(log)), &wanted))
        note_assignment(walk, index, log);
    return partition;
}

/* ---- telling the controller ---- */

struct assignment_op {
    struct quorum_op op;
    struct arena arena;
    struct publish_assignments list;
    int32_t node_id;
};

static void decide_assignment(struct quorum_op *op, struct controller *controller)
{
    struct assignment_op *assignment = LIST_ITEM(op, struct assignment_op, op);
    controller_assign_dirs(controller, assignment->node_id, assignment->list.items,
                           (int32_t)assignment->list.count);
}

static void assignment_done(struct quorum_op *op)
{
    struct assignment_op *assignment = LIST_ITEM(op, struct assignment_op, op);
    if (op->error)
        diag(DIAG_SERVER, DIAG_WARN, "the folders of new replicas could not be recorded: %s",
             err_text(op->error));
    mem_free(assignment->list.items);
    arena_fini(&assignment->arena);
    mem_free(assignment);
}

void publish_assign(struct api_context *context, struct loop *loop,
                    struct publish_assignments *assignments)
{
    if (!assignments->count)
        return;
    struct assignment_op *assignment = mem_zalloc(sizeof *assignment);
    arena_init(&assignment->arena);
    assignment->list = *assignments;
    assignment->node_id = context->node_id;
    assignment->op = (struct quorum_op){.decide = decide_assignment,
                                        .done = assignment_done,
                                        .loop = loop,
                                        .arena = &assignment->arena};
    *assignments = (struct publish_assignments){0};
    quorum_submit(context->quorum, &assignment->op);
}

struct cordon_op {
    struct quorum_op op;
    struct arena arena;
    struct uuid *dirs;
    int32_t dir_count;
    int32_t node_id;
};

static void decide_cordon(struct quorum_op *op, struct controller *controller)
{
    struct cordon_op *cordon = LIST_ITEM(op, struct cordon_op, op);
    controller_cordon_dirs(controller, cordon->node_id, cordon->dirs, cordon->dir_count);
}

static void cordon_done(struct quorum_op *op)
{
    struct cordon_op *cordon = LIST_ITEM(op, struct cordon_op, op);
    if (op->error)
        diag(DIAG_SERVER, DIAG_WARN, "cordoned.log.dirs could not be recorded: %s",
             err_text(op->error));
    mem_free(cordon->dirs);
    arena_fini(&cordon->arena);
    mem_free(cordon);
}

void publish_cordons(struct api_context *context, struct loop *loop, const struct meta_image *image)
{
    int count = log_dirs_count(context->log_dirs);
    struct uuid *dirs = mem_array((size_t)count, sizeof *dirs);
    int32_t dir_count = 0;
    for (int i = 0; i < count; i++) {
        const struct log_dir *dir = log_dirs_at(context->log_dirs, i);
        if (log_dir_cordoned(dir) && !uuid_is_zero(log_dir_id(dir)))
            dirs[dir_count++] = *log_dir_id(dir);
    }
    if (!controller_cordons_differ(image, context->node_id, dirs, dir_count)) {
        mem_free(dirs);
        return;
    }
    struct cordon_op *cordon = mem_zalloc(sizeof *cordon);
    arena_init(&cordon->arena);
    cordon->dirs = dirs;
    cordon->dir_count = dir_count;
    cordon->node_id = context->node_id;
    cordon->op = (struct quorum_op){
        .decide = decide_cordon, .done = cordon_done, .loop = loop, .arena = &cordon->arena};
    quorum_submit(context->quorum, &cordon->op);
}

/* ---- strays ---- */

struct log_search {
    struct api_context *context;
    const struct meta_image *image;
    struct log **logs;
    size_t count, capacity;
};

static void note(struct log_search *search, struct log *log)
{
    search->logs = mem_grow(search->logs, &search->capacity, search->count, sizeof(struct log *));
    search->logs[search->count++] = log;
}

/* The partition that a log is of. The folder of a future has a topic's name cut short, if it is
 * long, and counts by the id in it. */
static const struct meta_partition *partition_of(const struct meta_image *image,
                                                 const struct log *log,
                                                 const struct meta_topic **ret_topic)
{
    struct uuid id;
    const struct meta_topic *topic = NULL;
    if (!log_is_future(log))
        topic = meta_image_topic(image, log_topic(log));
    else if (log_topic_id(log, &id))
        topic = meta_image_topic_by_id(image, &id);
    *ret_topic = topic;
    return topic ? meta_topic_partition(topic, log_partition(log)) : NULL;
}

static void find_stray(void *data, struct log *log)
{
    struct log_search *search = data;
    const struct meta_topic *topic;
    const struct meta_partition *partition = partition_of(search->image, log, &topic);
    if (!partition || !meta_partition_has_replica(partition, search->context->node_id))
        note(search, log);
}

void publish_strays(struct api_context *context, const struct meta_image *image)
{
    struct log_search search = {.context = context, .image = image};
    log_dirs_each(context->log_dirs, find_stray, &search);
    for (size_t i = 0; i < search.count; i++) {
        struct log *log = search.logs[i];
        diag(DIAG_SERVER, DIAG_WARN,
             "%s is not in the cluster's metadata: it is renamed to end in -stray, and kept",
             log_path(log));
        enum err err = log_dirs_delete(context->log_dirs, log, true);
        if (err)
            diag(DIAG_SERVER, DIAG_ERROR, "%s could not be renamed: %s; it is left as it is",
                 log_path(log), err_text(err));
    }
    mem_free(search.logs);
}

/* ---- futures ---- */

static void find_future(void *data, struct log *log)
{
    if (log_is_future(log))
        note(data, log);
}

/* True when the replica's log is lost but for the future: it is the controller's wish that the
 * replica is there, or no other folder can hold it. */
static bool takes_place(struct api_context *context, const struct meta_partition *partition,
                        const struct log *future)
{
    struct uuid wanted = meta_partition_directory(partition, context->node_id);
    const struct log_dir *dir = find_dir(context->log_dirs, &wanted);
    if (dir)
        return log_dir_online(dir);
    for (int i = 0; i < log_dirs_count(context->log_dirs); i++)
        if (!log_dir_online(log_dirs_at(context->log_dirs, i)))
            return false;
    return log_dir_online(log_dir_of(future));
}

void publish_promote_futures(struct api_context *context, const struct meta_image *image)
{
    struct log_search search = {.context = context, .image = image};
    log_dirs_each(context->log_dirs, find_future, &search);
    for (size_t i = 0; i < search.count; i++) {
        struct log *log = search.logs[i];
        const struct meta_topic *topic;
        const struct meta_partition *partition = partition_of(image, log, &topic);
        if (!partition || log_dirs_get(context->log_dirs, topic->name, log_partition(log)) ||
            !takes_place(context, partition, log))
            continue;
        diag(DIAG_SERVER, DIAG_WARN, "%s takes the place of %.*s-%d, which is in no other folder",
             log_path(log), SLICE_FMT(topic->name), log_partition(log));
        enum err err = log_dirs_promote(context->log_dirs, topic->name, log);
        if (err)
            diag(DIAG_SERVER, DIAG_ERROR,
                 "%.*s-%d is not served: its log could not be renamed: %s. The next start tries "
                 "again",
                 SLICE_FMT(topic->name), log_partition(log), err_text(err));
    }
    mem_free(search.logs);
}

void publish_resume_futures(struct api_context *context)
{
    struct log_search search = {.context = context};
    log_dirs_each(context->log_dirs, find_future, &search);
    for (size_t i = 0; i < search.count; i++) {
        struct uuid id;
        if (!log_topic_id(search.logs[i], &id))
            continue;
        struct partition *partition =
            partition_table_get_id(context->partitions, &id, log_partition(search.logs[i]));
        if (partition && partition_has_log(partition))
            replica_moves_resume(context->moves, partition, search.logs[i]);
        partition_unref(partition);
    }
    mem_free(search.logs);
}
