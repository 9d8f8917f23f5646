/* Partitions of requests about a group's offsets: those that exist, and where their answers go.
 *
 * As in Kafka a topic named by an id that does not exist is UNKNOWN_TOPIC_ID, any other that is
 * missing, and a partition that is, UNKNOWN_TOPIC_OR_PARTITION. Called by the handlers in offsets.c
 * and txn_offset_commit.c. */
#include "api/offset_topics.h"

#include "meta/image.h"

struct offset_topics offset_topics_of(const struct meta_image *image, bool by_id,
                                      size_t partition_count, struct arena *arena)
{
    return (struct offset_topics){.image = image,
                                  .by_id = by_id,
                                  .places = arena_array(arena, partition_count, sizeof(int16_t *))};
}

const struct meta_topic *offset_topics_find(const struct offset_topics *topics, struct slice name,
                                            const struct uuid *id)
{
    return topics->by_id ? meta_image_topic_by_id(topics->image, id)
                         : meta_image_topic(topics->image, name);
}

bool offset_topics_keep(struct offset_topics *topics, const struct meta_topic *topic,
                        int32_t partition, int16_t *error_code)
{
    bool exists = topic && meta_topic_partition(topic, partition);
    if (exists)
        topics->places[topics->count++] = error_code;
    else
        *error_code = err_to_wire(topics->by_id && !topic ? ERR_UNKNOWN_TOPIC_ID
                                                          : ERR_UNKNOWN_TOPIC_OR_PARTITION);
    return exists;
}

void offset_topics_answer(struct offset_topics *topics, int16_t error_code)
{
    if (topics->answered < topics->count)
        *topics->places[topics->answered++] = error_code;
}
