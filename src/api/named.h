/* How often a request names each partition. Kafka keeps most of these lists in maps, so that a
 * partition named again is looked at once: with what was said last (Produce, Fetch, DeleteRecords),
 * or as an error (ListOffsets). */
#ifndef KLAMM_API_NAMED_H
#define KLAMM_API_NAMED_H

#include "base/arena.h"
#include "base/map.h"
#include "base/uuid.h"

struct named {
    struct map counts; /* topic and index -> int32_t */
    struct arena *arena;
};

/* Keys and counts lie in the arena. */
void named_init(struct named *named, struct arena *arena);
void named_fini(struct named *named);
/* The count of a partition, 0 when it is new; the caller's to raise. The topic is its name, or with
 * a null name its id. */
int32_t *named_count(struct named *named, struct slice topic, const struct uuid *topic_id,
                     int32_t index);

#endif
