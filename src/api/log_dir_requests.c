/* DescribeLogDirs and AlterReplicaLogDirs: which folder holds which replica, and which one is to.
 *
 * A folder is named by its absolute path, as Kafka prints it. Moves are begun on the metadata loop
 * (repl/replica_moves); the answer tells that they were, not that they are over. */
#include "api/context.h"
#include "api/families.h"
#include "api/held.h"
#include "api/request.h"
#include "base/mem.h"
#include "conf/config.h"
#include "repl/partition_table.h"
#include "repl/replica_moves.h"
#include "store/log_dirs.h"
#include "wire/api.h"
#include "wire_alter_replica_log_dirs.h"
#include "wire_describe_log_dirs.h"

#include <stdlib.h>

/* ---- DescribeLogDirs ---- */

struct replica {
    struct partition *partition; /* referenced */
    struct log_dir *dir;
    int64_t size;
    int64_t lag;    /* of a future one */
    bool is_future; /* it is being copied to the folder */
};

/* The reply ends the request's memory, and the references are let go after it. */
struct replica_list {
    struct replica *items; /* mem_alloc */
    size_t count, capacity;
};

/* Takes the reference. */
static void replica_add(struct replica_list *list, struct partition *partition)
{
    struct replica replica = {.partition = partition};
    if (!partition_size(partition, &replica.size, &replica.dir)) {
        partition_unref(partition); /* its folder is offline */
        return;
    }
    list->items = mem_grow(list->items, &list->capacity, list->count, sizeof *list->items);
    list->items[list->count++] = replica;
    struct partition_future future;
    if (!partition_future(partition, &future))
        return;
    list->items = mem_grow(list->items, &list->capacity, list->count, sizeof *list->items);
    list->items[list->count++] = (struct replica){.partition = partition_ref(partition),
                                                  .dir = future.dir,
                                                  .size = future.size,
                                                  .lag = future.lag,
                                                  .is_future = true};
}

static void find_replicas(struct request *request, struct replica_list *list)
{
    const struct describe_log_dirs_request *body = request->body;
    struct partition_table *table = request->context->partitions;
    if (body->topics_count < 0) {
        size_t count;
        struct partition **all = partition_table_all(table, &count);
        for (size_t i = 0; i < count; i++)
            replica_add(list, all[i]);
        mem_free(all);
        return;
    }
    for (int32_t t = 0; t < body->topics_count; t++) {
        for (int32_t i = 0; i < body->topics[t].partitions_count; i++) {
            struct partition *partition =
                partition_table_get(table, body->topics[t].topic, body->topics[t].partitions[i]);
            if (partition)
                replica_add(list, partition);
        }
    }
}

static int compare_replicas(const void *a, const void *b)
{
    const struct replica *x = a, *y = b;
    int order = slice_cmp(x->partition->topic, y->partition->topic);
    if (order)
        return order;
    order =
        (x->partition->index > y->partition->index) - (x->partition->index < y->partition->index);
    return order ? order : x->is_future - y->is_future;
}

/* By topic and index, each once. */
static void sort_replicas(struct replica_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_replicas);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && compare_replicas(&list->items[kept - 1], &list->items[i]) == 0)
            partition_unref(list->items[i].partition);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* The replicas of one folder, topic by topic. */
static void add_topics(struct request *request, const struct replica_list *list,
                       const struct log_dir *dir,
                       struct describe_log_dirs_response_describe_log_dirs_result *to)
{
    struct arena *arena = &request->arena;
    int32_t topic_count = 0, replica_count = 0;
    struct slice last = SLICE_NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].dir != dir)
            continue;
        topic_count += !slice_eq(last, list->items[i].partition->topic);
        last = list->items[i].partition->topic;
        replica_count++;
    }
    struct describe_log_dirs_response_describe_log_dirs_topic *topics =
        describe_log_dirs_response_describe_log_dirs_result_topics_new(arena, to, topic_count);
    struct describe_log_dirs_response_describe_log_dirs_topic all;
    struct describe_log_dirs_response_describe_log_dirs_partition *items =
        describe_log_dirs_response_describe_log_dirs_topic_partitions_new(arena, &all,
                                                                          replica_count);
    struct describe_log_dirs_response_describe_log_dirs_topic *topic = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct replica *replica = &list->items[i];
        if (replica->dir != dir)
            continue;
        if (!topic || !slice_eq(topic->name, replica->partition->topic)) {
            topic = topic ? topic + 1 : topics;
            topic->name = replica->partition->topic;
            topic->partitions = items;
        }
        items->partition_index = replica->partition->index;
        items->partition_size = replica->size;
        items->offset_lag = replica->lag;
        items->is_future_key = replica->is_future;
        topic->partitions_count++;
        items++;
    }
}

static void describe_dir(struct request *request, const struct replica_list *list, int index,
                         struct describe_log_dirs_response_describe_log_dirs_result *to)
{
    const struct log_dir *dir = log_dirs_at(request->context->log_dirs, index);
    to->log_dir = slice_str(log_dir_path(dir));
    if (!log_dir_online(dir)) {
        to->error_code = ERR_KAFKA_STORAGE_ERROR;
        return;
    }
    to->is_cordoned = log_dir_cordoned(dir);
    struct io_space space;
    if (log_dir_space(dir, &space)) {
        to->total_bytes = space.total;
        to->usable_bytes = space.free;
    }
    add_topics(request, list, dir, to);
}

static void describe_log_dirs(struct request *request)
{
    struct describe_log_dirs_response *response = request_response(request);
    struct log_dirs *dirs = request->context->log_dirs;
    struct replica_list list = {0};
    find_replicas(request, &list);
    sort_replicas(&list);
    struct describe_log_dirs_response_describe_log_dirs_result *results =
        describe_log_dirs_response_results_new(&request->arena, response, log_dirs_count(dirs));
    for (int i = 0; i < log_dirs_count(dirs); i++)
        describe_dir(request, &list, i, &results[i]);
    request_reply(request, response);
    for (size_t i = 0; i < list.count; i++)
        partition_unref(list.items[i].partition);
    mem_free(list.items);
}

/* ---- AlterReplicaLogDirs ---- */

static struct log_dir *find_dir(struct log_dirs *dirs, struct slice path)
{
    for (int i = 0; i < log_dirs_count(dirs); i++) {
        if (slice_eq_str(path, log_dir_path(log_dirs_at(dirs, i))))
            return log_dirs_at(dirs, i);
    }
    return NULL;
}

struct alteration {
    struct replica_moves_op op;
    struct request *request;
    struct alter_replica_log_dirs_response *response;
    int16_t **codes; /* where the result of each item goes */
    struct replica_moves_item *items;
};

/* What Kafka checks, in its order: the folder, then the replica. What passes becomes an item. */
static enum err look_at(struct alteration *alteration, struct slice path, struct slice topic,
                        int32_t index, int16_t *ret_code)
{
    struct api_context *context = alteration->request->context;
    struct log_dir *to = find_dir(context->log_dirs, path);
    if (!to)
        return ERR_LOG_DIR_NOT_FOUND;
    if (!log_dir_online(to))
        return ERR_KAFKA_STORAGE_ERROR;
    if (log_dir_cordoned(to))
        return ERR_INVALID_REPLICA_ASSIGNMENT;
    struct partition *partition;
    enum err err = held_find(context, topic, NULL, index, &partition);
    if (err) {
        if (err == ERR_UNKNOWN_TOPIC_OR_PARTITION)
            log_dirs_wish(context->log_dirs, to, topic, index); /* for when it is made */
        return err;
    }
    int32_t at = alteration->op.count++;
    alteration->items[at] = (struct replica_moves_item){.partition = partition, .dir = to};
    alteration->codes[at] = ret_code;
    return ERR_NONE;
}

/* Metadata loop. */
static void altered(struct replica_moves_op *op)
{
    struct alteration *alteration = LIST_ITEM(op, struct alteration, op);
    for (int32_t i = 0; i < op->count; i++) {
        *alteration->codes[i] = err_to_wire(op->items[i].err);
        partition_unref(op->items[i].partition);
    }
    request_reply(alteration->request, alteration->response);
}

static int32_t count_partitions(const struct alter_replica_log_dirs_request *body,
                                int32_t *ret_topics)
{
    int32_t count = 0;
    *ret_topics = 0;
    for (int32_t d = 0; d < body->dirs_count; d++) {
        *ret_topics += body->dirs[d].topics_count;
        for (int32_t t = 0; t < body->dirs[d].topics_count; t++)
            count += body->dirs[d].topics[t].partitions_count;
    }
    return count;
}

static void look_at_topic(
    struct alteration *alteration, struct slice path,
    const struct alter_replica_log_dirs_request_alter_replica_log_dir_topic *from,
    struct alter_replica_log_dirs_response_alter_replica_log_dir_topic_result *to)
{
    to->topic_name = from->name;
    struct alter_replica_log_dirs_response_alter_replica_log_dir_partition_result *items =
        alter_replica_log_dirs_response_alter_replica_log_dir_topic_result_partitions_new(
            &alteration->request->arena, to, from->partitions_count);
    for (int32_t i = 0; i < from->partitions_count; i++) {
        items[i].partition_index = from->partitions[i];
        items[i].error_code = err_to_wire(
            look_at(alteration, path, from->name, from->partitions[i], &items[i].error_code));
    }
}

static void alter_replica_log_dirs(struct request *request)
{
    const struct alter_replica_log_dirs_request *body = request->body;
    struct arena *arena = &request->arena;
    int32_t topic_count;
    size_t count = (size_t)count_partitions(body, &topic_count);
    struct alteration *alteration = arena_alloc(arena, sizeof *alteration);
    *alteration = (struct alteration){.request = request, .response = request_response(request)};
    alteration->codes = arena_array(arena, count, sizeof *alteration->codes);
    alteration->items = arena_array(arena, count, sizeof *alteration->items);
    struct alter_replica_log_dirs_response_alter_replica_log_dir_topic_result *to =
        alter_replica_log_dirs_response_results_new(arena, alteration->response, topic_count);
    for (int32_t d = 0; d < body->dirs_count; d++)
        for (int32_t t = 0; t < body->dirs[d].topics_count; t++)
            look_at_topic(alteration, body->dirs[d].path, &body->dirs[d].topics[t], to++);
    alteration->op.items = alteration->items;
    alteration->op.done = altered;
    if (alteration->op.count)
        replica_moves_submit(request->context->moves, &alteration->op);
    else
        request_reply(request, alteration->response);
}

API_FAMILY(api_log_dirs, {WIRE_API_DESCRIBE_LOG_DIRS, API_BROKER, describe_log_dirs},
           {WIRE_API_ALTER_REPLICA_LOG_DIRS, API_BROKER, alter_replica_log_dirs});
