/* Looks into the table of held partitions first, which nearly always answers; only a miss asks the
 * metadata image which of the errors it is. */
#include "api/held.h"

#include "api/context.h"
#include "meta/image.h"
#include "repl/quorum.h"

enum err held_find(struct api_context *context, struct slice topic, const struct uuid *topic_id,
                   int32_t index, struct partition **ret_partition)
{
    struct partition *found = topic.data
                                  ? partition_table_get(context->partitions, topic, index)
                                  : partition_table_get_id(context->partitions, topic_id, index);
    if (found) {
        *ret_partition = found;
        return ERR_NONE;
    }
    struct meta_image *image = quorum_image(context->quorum);
    const struct meta_topic *known =
        topic.data ? meta_image_topic(image, topic) : meta_image_topic_by_id(image, topic_id);
    enum err err = ERR_NOT_LEADER_OR_FOLLOWER;
    if (!known)
        err = topic.data ? ERR_UNKNOWN_TOPIC_OR_PARTITION : ERR_UNKNOWN_TOPIC_ID;
    else if (!meta_topic_partition(known, index))
        err = ERR_UNKNOWN_TOPIC_OR_PARTITION;
    meta_image_unref(image);
    return err;
}
