/* ListOffsets: the ends of a log, and look-ups by time.
 *
 * A negative timestamp that the version does not know gets UNSUPPORTED_VERSION before anything else
 * is looked at. A partition named twice gets INVALID_REQUEST, as in Kafka. What lies beyond the
 * isolation's bound does not exist: a look-up that lands there finds nothing. */
#include "api/context.h"
#include "api/families.h"
#include "api/held.h"
#include "api/request.h"
#include "base/be.h"
#include "base/map.h"
#include "wire/api.h"
#include "wire_list_offsets.h"

enum { READ_COMMITTED = 1, DEBUGGING_REPLICA = -2, CONSUMER_REPLICA = -1 };

static bool is_known_timestamp(int64_t timestamp, int16_t version)
{
    switch (timestamp) {
    case LIST_MAX_TIMESTAMP: return version >= 7;
    case LIST_EARLIEST_LOCAL: return version >= 8;
    case LIST_LATEST_TIERED: return version >= 9;
    case LIST_EARLIEST_PENDING_UPLOAD: return version >= 11;
    default: return timestamp >= LIST_EARLIEST;
    }
}

static enum partition_bound bound_of(const struct list_offsets_request *body)
{
    if (body->replica_id != CONSUMER_REPLICA)
        return PARTITION_TO_LEO;
    return body->isolation_level == READ_COMMITTED ? PARTITION_TO_LSO : PARTITION_TO_HW;
}

static struct slice key_of(struct request *request, struct slice topic, int32_t index)
{
    uint8_t *key = arena_alloc(&request->arena, topic.size + 4);
    memcpy(key, topic.data, topic.size);
    be_put_u32(key + topic.size, (uint32_t)index);
    return slice_of(key, topic.size + 4);
}

/* How often the request names each partition. Keys and counts live in the arena. */
static struct map count_names(struct request *request)
{
    const struct list_offsets_request *body = request->body;
    struct map names;
    map_init(&names);
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct list_offsets_request_list_offsets_topic *topic = &body->topics[t];
        for (int32_t i = 0; i < topic->partitions_count; i++) {
            struct slice key = key_of(request, topic->name, topic->partitions[i].partition_index);
            int32_t *count = map_get(&names, key);
            if (!count) {
                count = arena_alloc(&request->arena, sizeof *count);
                map_put(&names, key, count);
            }
            ++*count;
        }
    }
    return names;
}

static bool is_named_twice(struct request *request, const struct map *names, struct slice topic,
                           int32_t index)
{
    const int32_t *count = map_get(names, key_of(request, topic, index));
    return count && *count > 1;
}

static enum err list_one(struct request *request, const struct map *names, struct slice topic,
                         const struct list_offsets_request_list_offsets_partition *from,
                         struct log_time_offset *found)
{
    const struct list_offsets_request *body = request->body;
    if (!is_known_timestamp(from->timestamp, request->version))
        return ERR_UNSUPPORTED_VERSION;
    if (is_named_twice(request, names, topic, from->partition_index))
        return ERR_INVALID_REQUEST;
    struct partition *partition;
    enum err err = held_find(request->context, topic, NULL, from->partition_index, &partition);
    if (err)
        return err;
    err = partition_list_offset(partition, from->current_leader_epoch, from->timestamp,
                                bound_of(body), found);
    partition_unref(partition);
    return err;
}

static void handle(struct request *request)
{
    const struct list_offsets_request *body = request->body;
    struct list_offsets_response *response = request_response(request);
    struct map names = count_names(request);
    struct list_offsets_response_list_offsets_topic_response *topics =
        list_offsets_response_topics_new(&request->arena, response, body->topics_count);
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct list_offsets_request_list_offsets_topic *from = &body->topics[t];
        topics[t].name = from->name;
        struct list_offsets_response_list_offsets_partition_response *items =
            list_offsets_response_list_offsets_topic_response_partitions_new(
                &request->arena, &topics[t], from->partitions_count);
        for (int32_t i = 0; i < from->partitions_count; i++) {
            struct log_time_offset found = {-1, -1, -1};
            items[i].partition_index = from->partitions[i].partition_index;
            items[i].error_code =
                err_to_wire(list_one(request, &names, from->name, &from->partitions[i], &found));
            items[i].timestamp = found.timestamp;
            items[i].offset = found.offset;
            if (request->version >= 4)
                items[i].leader_epoch = found.leader_epoch;
        }
    }
    map_fini(&names);
    request_reply(request, response);
}

API_FAMILY(api_list_offsets, {WIRE_API_LIST_OFFSETS, API_BROKER, handle});
