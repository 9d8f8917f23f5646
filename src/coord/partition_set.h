/* Inside coord only: a set of topic partitions, ordered by topic (bytes) and number, so that equal
 * sets read and encode the same. */
#ifndef KLAMM_COORD_PARTITION_SET_H
#define KLAMM_COORD_PARTITION_SET_H

#include <stdint.h>

#include "base/slice.h"

struct partition_set_topic {
    struct slice name;   /* owned */
    int32_t *partitions; /* rising */
    size_t count, capacity;
};

struct partition_set {
    struct partition_set_topic *topics; /* by name; none without partitions */
    size_t topic_count, capacity;
    size_t count; /* partitions in all topics */
};

/* Zeroed memory is an empty set, too. */
void partition_set_init(struct partition_set *set);
void partition_set_fini(struct partition_set *set);
/* `set` becomes a copy of `other`; what it held is freed. */
void partition_set_copy(struct partition_set *set, const struct partition_set *other);
bool partition_set_has(const struct partition_set *set, struct slice topic, int32_t partition);
/* False when it was there already. */
bool partition_set_add(struct partition_set *set, struct slice topic, int32_t partition);
/* False when it was not there. */
bool partition_set_remove(struct partition_set *set, struct slice topic, int32_t partition);

#endif
