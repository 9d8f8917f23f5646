/* A set of topic partitions as sorted arrays: a transaction's partitions are few, added in bursts
 * and walked in order by every record. Pure. */
#include "coord/partition_set.h"

#include "base/mem.h"

void partition_set_init(struct partition_set *set)
{
    *set = (struct partition_set){0};
}

static void topic_fini(struct partition_set_topic *topic)
{
    slice_free(&topic->name);
    mem_free(topic->partitions);
}

void partition_set_fini(struct partition_set *set)
{
    for (size_t i = 0; i < set->topic_count; i++)
        topic_fini(&set->topics[i]);
    mem_free(set->topics);
    partition_set_init(set);
}

/* Index of the first topic whose name is not before. */
static size_t find_topic(const struct partition_set *set, struct slice name)
{
    size_t low = 0, high = set->topic_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(set->topics[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_topic(const struct partition_set *set, size_t index, struct slice name)
{
    return index < set->topic_count && slice_eq(set->topics[index].name, name);
}

static size_t find_partition(const struct partition_set_topic *topic, int32_t partition)
{
    size_t low = 0, high = topic->count;
    if (high > 0 && topic->partitions[high - 1] < partition)
        return high; /* the common case: they come in order */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (topic->partitions[middle] < partition)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool partition_set_has(const struct partition_set *set, struct slice name, int32_t partition)
{
    size_t index = find_topic(set, name);
    if (!has_topic(set, index, name))
        return false;
    const struct partition_set_topic *topic = &set->topics[index];
    size_t at = find_partition(topic, partition);
    return at < topic->count && topic->partitions[at] == partition;
}

bool partition_set_add(struct partition_set *set, struct slice name, int32_t partition)
{
    size_t index = find_topic(set, name);
    if (!has_topic(set, index, name)) {
        set->topics = mem_grow(set->topics, &set->capacity, set->topic_count, sizeof *set->topics);
        memmove(&set->topics[index + 1], &set->topics[index],
                (set->topic_count - index) * sizeof *set->topics);
        set->topics[index] = (struct partition_set_topic){.name = slice_dup(name)};
        set->topic_count++;
    }
    struct partition_set_topic *topic = &set->topics[index];
    size_t at = find_partition(topic, partition);
    if (at < topic->count && topic->partitions[at] == partition)
        return false;
    topic->partitions =
        mem_grow(topic->partitions, &topic->capacity, topic->count, sizeof *topic->partitions);
    memmove(&topic->partitions[at + 1], &topic->partitions[at],
            (topic->count - at) * sizeof *topic->partitions);
    topic->partitions[at] = partition;
    topic->count++;
    set->count++;
    return true;
}

bool partition_set_remove(struct partition_set *set, struct slice name, int32_t partition)
{
    if (!partition_set_has(set, name, partition))
        return false;
    size_t index = find_topic(set, name);
    struct partition_set_topic *topic = &set->topics[index];
    size_t at = find_partition(topic, partition);
    memmove(&topic->partitions[at], &topic->partitions[at + 1],
            (topic->count - at - 1) * sizeof *topic->partitions);
    topic->count--;
    set->count--;
    if (topic->count == 0) {
        topic_fini(topic);
        memmove(topic, topic + 1, (set->topic_count - index - 1) * sizeof *topic);
        set->topic_count--;
    }
    return true;
}

void partition_set_copy(struct partition_set *set, const struct partition_set *other)
{
    struct partition_set copy;
    partition_set_init(&copy);
    if (other->topic_count > 0) {
        copy.topics = mem_array(other->topic_count, sizeof *copy.topics);
        copy.topic_count = copy.capacity = other->topic_count;
        copy.count = other->count;
    }
    for (size_t i = 0; i < other->topic_count; i++) {
        const struct partition_set_topic *from = &other->topics[i];
        struct partition_set_topic *to = &copy.topics[i];
        to->name = slice_dup(from->name);
        to->partitions = mem_array(from->count, sizeof *to->partitions);
        to->count = to->capacity = from->count;
        memcpy(to->partitions, from->partitions, from->count * sizeof *to->partitions);
    }
    partition_set_fini(set);
    *set = copy;
}
