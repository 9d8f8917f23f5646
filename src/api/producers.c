/* DescribeProducers: who writes to a partition that this node leads, for finding transactions that
 * hang. */
#include "api/context.h"
#include "api/families.h"
#include "api/held.h"
#include "api/request.h"
#include "meta/image.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_describe_producers.h"

static enum err describe_partition(struct request *request, struct slice topic,
                                   struct describe_producers_response_partition_response *to)
{
    struct partition *partition;
    enum err err = held_find(request->context, topic, NULL, to->partition_index, &partition);
    if (err)
        return err;
    int32_t count = 0;
    struct log_producer *from = partition_producers(partition, &request->arena, &count, &err);
    partition_unref(partition);
    if (err)
        return err;
    struct describe_producers_response_producer_state *items =
        describe_producers_response_partition_response_active_producers_new(&request->arena, to,
                                                                            count);
    for (int32_t i = 0; i < count; i++) {
        items[i].producer_id = from[i].producer_id;
        items[i].producer_epoch = from[i].producer_epoch;
        items[i].last_sequence = from[i].last_sequence;
        items[i].last_timestamp = from[i].last_timestamp;
        items[i].coordinator_epoch = from[i].coordinator_epoch;
        items[i].current_txn_start_offset = from[i].txn_offset_first;
    }
    return ERR_NONE;
}

/* Kafka finds an unknown topic earlier than an unknown partition, and says more about it. */
static void explain(struct request *request,
                    const struct describe_producers_response_topic_response *topic)
{
    struct meta_image *image = quorum_image(request->context->quorum);
    bool known = meta_image_topic(image, topic->name) != NULL;
    meta_image_unref(image);
    for (int32_t i = 0; i < topic->partitions_count && !known; i++) {
        if (topic->partitions[i].error_code == ERR_UNKNOWN_TOPIC_OR_PARTITION)
            topic->partitions[i].error_message =
                SLICE_LIT("This server does not host this topic-partition.");
    }
}

static void describe_producers(struct request *request)
{
    const struct describe_producers_request *body = request->body;
    struct describe_producers_response *response = request_response(request);
    struct describe_producers_response_topic_response *topics =
        describe_producers_response_topics_new(&request->arena, response, body->topics_count);
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct describe_producers_request_topic_request *from = &body->topics[t];
        topics[t].name = from->name;
        struct describe_producers_response_partition_response *items =
            describe_producers_response_topic_response_partitions_new(
                &request->arena, &topics[t], from->partition_indexes_count);
        for (int32_t i = 0; i < from->partition_indexes_count; i++) {
            items[i].partition_index = from->partition_indexes[i];
            items[i].error_code = err_to_wire(describe_partition(request, from->name, &items[i]));
        }
        explain(request, &topics[t]);
    }
    request_reply(request, response);
}

API_FAMILY(api_producers, {WIRE_API_DESCRIBE_PRODUCERS, API_BROKER, describe_producers});
