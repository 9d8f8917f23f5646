/* DescribeProducers: who writes to a partition that this node leads, for finding transactions that
 * hang. */
#include "api/context.h"
#include "api/families.h"
#include "api/held.h"
#include "api/request.h"
#include "meta/image.h"
#include "meta/topic_name.h"
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

/* A topic that cannot be or is not there, which Kafka finds before it looks at partitions and says
 * more about. */
static enum err check_topic(struct request *request, struct slice name, struct slice *ret_text)
{
    enum err err = topic_name_check(name, &request->arena, ret_text);
    if (err)
        return err;
    struct meta_image *image = quorum_image(request->context->quorum);
    bool known = meta_image_topic(image, name) != NULL;
    meta_image_unref(image);
    if (known)
        return ERR_NONE;
    *ret_text = SLICE_LIT("This server does not host this topic-partition.");
    return ERR_UNKNOWN_TOPIC_OR_PARTITION;
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
        struct slice text = SLICE_NULL;
        enum err topic_err = check_topic(request, from->name, &text);
        for (int32_t i = 0; i < from->partition_indexes_count; i++) {
            items[i].partition_index = from->partition_indexes[i];
            enum err err =
                topic_err ? topic_err : describe_partition(request, from->name, &items[i]);
            items[i].error_code = err_to_wire(err);
            items[i].error_message = text;
        }
    }
    request_reply(request, response);
}

API_FAMILY(api_producers, {WIRE_API_DESCRIBE_PRODUCERS, API_BROKER, describe_producers});
