/* Without moving small segments together, a log that is cleaned again and again would end as many
 * tiny files. A group fits one segment by the sizes that its parts have before they are cleaned,
 * and its offsets fit the 31 bits that indexes have. Where a part ends is taken from where the next
 * one begins. Answers to Kafka's Cleaner.groupSegmentsBySize. */
#include "store/cleaner_group.h"

static int64_t offset_last(const struct cleaner_part *parts, uint32_t count, uint32_t at,
                           const struct cleaner_group_limits *limits)
{
    return (at + 1 < count ? parts[at + 1].base : limits->offset_end) - 1;
}

uint32_t cleaner_group_next(const struct cleaner_part *parts, uint32_t count,
                            const struct cleaner_group_limits *limits)
{
    int64_t size = parts[0].size, index_size = parts[0].index_size,
            time_index_size = parts[0].time_index_size;
    uint32_t at = 1;
    for (; at < count && at < CLEANER_GROUP_MAX; at++) {
        size += parts[at].size;
        index_size += parts[at].index_size;
        time_index_size += parts[at].time_index_size;
        /* An empty one adds no offset to the indexes. */
        if (size > limits->size_max || index_size > limits->index_size_max ||
            time_index_size > limits->index_size_max ||
            (parts[at].size && offset_last(parts, count, at, limits) - parts[0].base > INT32_MAX))
            break;
    }
    return at;
}
