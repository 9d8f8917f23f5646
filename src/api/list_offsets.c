/* ListOffsets: the ends of a log, and look-ups by time.
 *
 * A negative timestamp that the version does not know gets UNSUPPORTED_VERSION before anything else
 * is looked at. A partition named twice gets INVALID_REQUEST, once, as in Kafka. What lies beyond
 * the isolation's bound does not exist: a look-up that lands there finds nothing. */
#include "api/context.h"
#include "api/families.h"
#include "api/held.h"
#include "api/named.h"
#include "api/request.h"
#include "wire/api.h"
#include "wire_list_offsets.h"

enum { READ_UNCOMMITTED = 0, READ_COMMITTED = 1, DEBUGGING_REPLICA = -2, CONSUMER_REPLICA = -1 };

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

static void count_names(const struct list_offsets_request *body, struct named *named)
{
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct list_offsets_request_list_offsets_topic *topic = &body->topics[t];
        for (int32_t i = 0; i < topic->partitions_count; i++)
            ++*named_count(named, topic->name, NULL, topic->partitions[i].partition_index);
    }
}

static enum err list_one(struct request *request, int32_t named_count, struct slice topic,
                         const struct list_offsets_request_list_offsets_partition *from,
                         struct log_time_offset *found)
{
    const struct list_offsets_request *body = request->body;
    if (!is_known_timestamp(from->timestamp, request->version))
        return ERR_UNSUPPORTED_VERSION;
    if (named_count > 1)
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

static void list_topic(struct request *request, struct named *named,
                       const struct list_offsets_request_list_offsets_topic *from,
                       struct list_offsets_response_list_offsets_topic_response *to)
{
    to->name = from->name;
    struct list_offsets_response_list_offsets_partition_response *items =
        list_offsets_response_list_offsets_topic_response_partitions_new(&request->arena, to,
                                                                         from->partitions_count);
    int32_t count = 0;
    for (int32_t i = 0; i < from->partitions_count; i++) {
        int32_t *times = named_count(named, from->name, NULL, from->partitions[i].partition_index);
        if (*times < 0) /* answered above */
            continue;
        struct log_time_offset found = {-1, -1, -1};
        struct list_offsets_response_list_offsets_partition_response *item = &items[count++];
        item->partition_index = from->partitions[i].partition_index;
        item->error_code =
            err_to_wire(list_one(request, *times, from->name, &from->partitions[i], &found));
        item->timestamp = found.timestamp;
        item->offset = found.offset;
        if (request->version >= 4)
            item->leader_epoch = found.leader_epoch;
        *times = -1;
    }
    to->partitions_count = count;
}

/* An isolation level that does not exist fails all that is named, as often as it is named. */
static void refuse_all(struct request *request, struct list_offsets_response *response)
{
    const struct list_offsets_request *body = request->body;
    struct list_offsets_response_list_offsets_topic_response *topics =
        list_offsets_response_topics_new(&request->arena, response, body->topics_count);
    for (int32_t t = 0; t < body->topics_count; t++) {
        topics[t].name = body->topics[t].name;
        int32_t count = body->topics[t].partitions_count;
        struct list_offsets_response_list_offsets_partition_response *items =
            list_offsets_response_list_offsets_topic_response_partitions_new(&request->arena,
                                                                             &topics[t], count);
        for (int32_t i = 0; i < count; i++) {
            items[i].partition_index = body->topics[t].partitions[i].partition_index;
            items[i].error_code = err_to_wire(ERR_UNKNOWN_SERVER_ERROR);
        }
    }
    request_reply(request, response);
}

static void handle(struct request *request)
{
    const struct list_offsets_request *body = request->body;
    struct list_offsets_response *response = request_response(request);
    if (body->isolation_level != READ_UNCOMMITTED && body->isolation_level != READ_COMMITTED) {
        refuse_all(request, response);
        return;
    }
    struct named named;
    named_init(&named, &request->arena);
    count_names(body, &named);
    struct list_offsets_response_list_offsets_topic_response *topics =
        list_offsets_response_topics_new(&request->arena, response, body->topics_count);
    int32_t count = 0;
    for (int32_t t = 0; t < body->topics_count; t++) {
        list_topic(request, &named, &body->topics[t], &topics[count]);
        count += topics[count].partitions_count > 0 || !body->topics[t].partitions_count;
    }
    response->topics_count = count;
    named_fini(&named);
    request_reply(request, response);
}

API_FAMILY(api_list_offsets, {WIRE_API_LIST_OFFSETS, API_BROKER, handle});
