/* The key of a partition is its topic's name, or id, and its index behind it: the fixed size of the
 * index keeps two of them apart. A request has either names or ids. */
#include "api/named.h"

#include "base/be.h"

void named_init(struct named *named, struct arena *arena)
{
    map_init(&named->counts);
    named->arena = arena;
}

void named_fini(struct named *named)
{
    map_fini(&named->counts);
}

int32_t *named_count(struct named *named, struct slice topic, const struct uuid *topic_id,
                     int32_t index)
{
    if (!topic.data)
        topic = slice_of(topic_id->bytes, sizeof topic_id->bytes);
    uint8_t *key = arena_alloc(named->arena, topic.size + 4);
    if (topic.size)
        memcpy(key, topic.data, topic.size);
    be_put_u32(key + topic.size, (uint32_t)index);
    struct slice whole = slice_of(key, topic.size + 4);
    int32_t *count = map_get(&named->counts, whole);
    if (!count) {
        count = arena_alloc(named->arena, sizeof *count);
        *count = 0;
        map_put(&named->counts, whole, count);
    }
    return count;
}
