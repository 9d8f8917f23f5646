/* DescribeLogDirs and AlterReplicaLogDirs: which folder holds which replica.
 *
 * A folder is named by its absolute path, as Kafka prints it. A replica that is asked to move to
 * the folder where it is stays there, and that is success. */
#include "api/context.h"
#include "api/families.h"
#include "api/held.h"
#include "api/request.h"
#include "base/mem.h"
#include "conf/config.h"
#include "repl/partition_table.h"
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
};

/* The reply ends the request's memory, and the references are let go after it. */
struct replica_list {
    struct replica *items; /* mem_alloc */
    size_t count;
};

static void replica_add(struct replica_list *list, struct partition *partition)
{
    struct replica *replica = &list->items[list->count];
    replica->partition = partition;
    if (partition_size(partition, &replica->size, &replica->dir))
        list->count++;
    else
        partition_unref(partition); /* its folder is offline */
}

static size_t asked_count(const struct describe_log_dirs_request *body)
{
    size_t count = 0;
    for (int32_t t = 0; t < body->topics_count; t++)
        count += (size_t)body->topics[t].partitions_count;
    return count;
}

static void find_replicas(struct request *request, struct replica_list *list)
{
    const struct describe_log_dirs_request *body = request->body;
    struct partition_table *table = request->context->partitions;
    if (body->topics_count < 0) {
        size_t count;
        struct partition **all = partition_table_all(table, &count);
        list->items = mem_array(count + 1, sizeof *list->items);
        for (size_t i = 0; i < count; i++)
            replica_add(list, all[i]);
        mem_free(all);
        return;
    }
    list->items = mem_array(asked_count(body) + 1, sizeof *list->items);
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
    return (x->partition->index > y->partition->index) -
           (x->partition->index < y->partition->index);
}

/* By topic and index, each once. */
static void sort_replicas(struct replica_list *list)
{
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
        topic->partitions_count++;
        items++;
    }
}

/* cordoned.log.dirs names folders as log.dirs does. */
static bool is_cordoned(const struct config *config, int index)
{
    struct conf_list list = config_list(config, BROKER_KEY_CORDONED_LOG_DIRS);
    struct conf_list dirs = config_log_dirs(config);
    struct slice path = index < dirs.count ? dirs.items[index] : SLICE_NULL;
    for (int32_t i = 0; i < list.count; i++) {
        if (slice_eq(list.items[i], path) || slice_eq_str(list.items[i], "*"))
            return true;
    }
    return false;
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
    to->is_cordoned = is_cordoned(request->context->config, index);
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
    struct replica_list list = {NULL, 0};
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

/* What Kafka checks, in its order: the folder, then the replica. */
static enum err move_replica(struct request *request, struct slice path, struct slice topic,
                             int32_t index)
{
    struct log_dir *to = find_dir(request->context->log_dirs, path);
    if (!to)
        return ERR_LOG_DIR_NOT_FOUND;
    if (!log_dir_online(to))
        return ERR_KAFKA_STORAGE_ERROR;
    struct partition *partition;
    enum err err = held_find(request->context, topic, NULL, index, &partition);
    if (err)
        return err;
    struct log_dir *now;
    int64_t size;
    if (!partition_size(partition, &size, &now))
        err = ERR_KAFKA_STORAGE_ERROR;
    else if (now != to)
        err = ERR_INVALID_REQUEST; /* moving is not served: see docs/COMPATIBILITY.md */
    partition_unref(partition);
    return err;
}

static void alter_replica_log_dirs(struct request *request)
{
    const struct alter_replica_log_dirs_request *body = request->body;
    struct alter_replica_log_dirs_response *response = request_response(request);
    int32_t count = 0;
    for (int32_t d = 0; d < body->dirs_count; d++)
        count += body->dirs[d].topics_count;
    struct alter_replica_log_dirs_response_alter_replica_log_dir_topic_result *to =
        alter_replica_log_dirs_response_results_new(&request->arena, response, count);
    for (int32_t d = 0; d < body->dirs_count; d++) {
        for (int32_t t = 0; t < body->dirs[d].topics_count; t++, to++) {
            const struct alter_replica_log_dirs_request_alter_replica_log_dir_topic *from =
                &body->dirs[d].topics[t];
            to->topic_name = from->name;
            struct alter_replica_log_dirs_response_alter_replica_log_dir_partition_result *items =
                alter_replica_log_dirs_response_alter_replica_log_dir_topic_result_partitions_new(
                    &request->arena, to, from->partitions_count);
            for (int32_t i = 0; i < from->partitions_count; i++) {
                items[i].partition_index = from->partitions[i];
                items[i].error_code = err_to_wire(
                    move_replica(request, body->dirs[d].path, from->name, from->partitions[i]));
            }
        }
    }
    request_reply(request, response);
}

API_FAMILY(api_log_dirs, {WIRE_API_DESCRIBE_LOG_DIRS, API_BROKER, describe_log_dirs},
           {WIRE_API_ALTER_REPLICA_LOG_DIRS, API_BROKER, alter_replica_log_dirs});
