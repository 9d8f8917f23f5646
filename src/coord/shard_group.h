/* Inside coord only: the shard of a __consumer_offsets partition: groups and committed offsets. */
#ifndef KLAMM_COORD_SHARD_GROUP_H
#define KLAMM_COORD_SHARD_GROUP_H

#include "coord/shard.h"

struct shard_groups {
    struct map groups;       /* group id -> struct group, newest view */
    struct list ghosts;      /* struct group whose tombstone is not committed yet */
    struct map offsets;      /* group id -> struct offset_group */
    struct list sweeps;      /* struct offset_group with tombstones to be dropped once committed */
    struct map transactions; /* producer id -> struct offset_txn */
    struct shard_timer expiry;
    /* Those of the look-up before, for records come in rows of one; NULL = none. */
    struct group *group_before;
    struct offset_topic *topic_before;
};

extern const struct shard_machine shard_group_machine;

static inline struct shard_groups *shard_groups(const struct coord_shard *shard)
{
    return shard->state;
}

/* The group in the newest view; NULL when absent. */
struct group *shard_group(struct coord_shard *shard, struct slice group_id);
/* The group as committed reads see it; NULL when absent. */
struct group *shard_group_committed(const struct coord_shard *shard, struct slice group_id);
void shard_group_add(struct coord_shard *shard, struct group *group);
/* Takes the group out of the newest view (the map's reference goes): `offset` is that of its
 * tombstone, INT64_MAX when nothing was ever written. */
void shard_group_remove(struct coord_shard *shard, struct group *group, int64_t offset);
/* shard_append for a write with a group, which it holds a reference to until it is done. */
void shard_group_append(struct coord_shard *shard, const struct shard_records *records,
                        const struct shard_write *write);

#endif
