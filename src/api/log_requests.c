/* Requests about the shape of a log: OffsetForLeaderEpoch and DeleteRecords. */
#include "api/context.h"
#include "api/families.h"
#include "api/held.h"
#include "api/named.h"
#include "api/request.h"
#include "meta/topic_name.h"
#include "wire/api.h"
#include "wire_delete_records.h"
#include "wire_offset_for_leader_epoch.h"

static enum err epoch_end(
    struct request *request, struct slice topic,
    const struct offset_for_leader_epoch_request_offset_for_leader_partition *from,
    struct offset_for_leader_epoch_response_epoch_end_offset *to)
{
    struct partition *partition;
    enum err err = held_find(request->context, topic, NULL, from->partition, &partition);
    if (err)
        return err;
    int32_t epoch = -1;
    int64_t end = -1;
    err = partition_epoch_end(partition, from->current_leader_epoch, from->leader_epoch, &epoch,
                              &end);
    partition_unref(partition);
    if (err)
        return err;
    to->leader_epoch = epoch;
    to->end_offset = end;
    return ERR_NONE;
}

static void offset_for_leader_epoch(struct request *request)
{
    const struct offset_for_leader_epoch_request *body = request->body;
    struct offset_for_leader_epoch_response *response = request_response(request);
    struct offset_for_leader_epoch_response_offset_for_leader_topic_result *topics =
        offset_for_leader_epoch_response_topics_new(&request->arena, response, body->topics_count);
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct offset_for_leader_epoch_request_offset_for_leader_topic *from =
            &body->topics[t];
        topics[t].topic = from->topic;
        struct offset_for_leader_epoch_response_epoch_end_offset *items =
            offset_for_leader_epoch_response_offset_for_leader_topic_result_partitions_new(
                &request->arena, &topics[t], from->partitions_count);
        for (int32_t i = 0; i < from->partitions_count; i++) {
            items[i].partition = from->partitions[i].partition;
            items[i].error_code =
                err_to_wire(epoch_end(request, from->topic, &from->partitions[i], &items[i]));
        }
    }
    request_reply(request, response);
}

static enum err delete_records_of(
    struct request *request, struct slice topic,
    const struct delete_records_request_delete_records_partition *from, int64_t *low)
{
    struct partition *partition;
    enum err err = held_find(request->context, topic, NULL, from->partition_index, &partition);
    if (err)
        return err;
    if (topic_name_is_internal(topic))
        err = ERR_INVALID_TOPIC_EXCEPTION;
    else
        err = partition_delete_records(partition, from->offset, low);
    partition_unref(partition);
    return err;
}

/* Of a partition named again counts what was said last. */
static void drop_repeated(struct request *request, struct delete_records_request *body)
{
    struct named named;
    named_init(&named, &request->arena);
    for (int32_t t = body->topics_count - 1; t >= 0; t--) {
        struct delete_records_request_delete_records_topic *topic = &body->topics[t];
        int32_t kept = topic->partitions_count;
        for (int32_t i = topic->partitions_count - 1; i >= 0; i--) {
            if (!(*named_count(&named, topic->name, NULL, topic->partitions[i].partition_index))++)
                topic->partitions[--kept] = topic->partitions[i];
        }
        if (kept) /* an empty array is NULL */
            topic->partitions += kept;
        topic->partitions_count -= kept;
    }
    named_fini(&named);
}

static void delete_records(struct request *request)
{
    drop_repeated(request, request->body);
    const struct delete_records_request *body = request->body;
    struct delete_records_response *response = request_response(request);
    struct delete_records_response_delete_records_topic_result *topics =
        delete_records_response_topics_new(&request->arena, response, body->topics_count);
    int32_t count = 0;
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct delete_records_request_delete_records_topic *from = &body->topics[t];
        if (!from->partitions_count)
            continue;
        struct delete_records_response_delete_records_topic_result *to = &topics[count++];
        to->name = from->name;
        struct delete_records_response_delete_records_partition_result *items =
            delete_records_response_delete_records_topic_result_partitions_new(
                &request->arena, to, from->partitions_count);
        for (int32_t i = 0; i < from->partitions_count; i++) {
            items[i].partition_index = from->partitions[i].partition_index;
            items[i].low_watermark = -1;
            items[i].error_code = err_to_wire(delete_records_of(
                request, from->name, &from->partitions[i], &items[i].low_watermark));
        }
    }
    response->topics_count = count;
    request_reply(request, response);
}

API_FAMILY(api_log_requests,
           {WIRE_API_OFFSET_FOR_LEADER_EPOCH, API_BROKER, offset_for_leader_epoch},
           {WIRE_API_DELETE_RECORDS, API_BROKER, delete_records});
