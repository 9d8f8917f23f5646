/* Inside coord only: the records that the group coordinator writes into __consumer_offsets. */
#ifndef KLAMM_COORD_GROUP_RECORD_H
#define KLAMM_COORD_GROUP_RECORD_H

#include "coord/group.h"
#include "coord/offset_store.h"

/* Record types: the int16 in front of a key. */
enum group_record_type {
    GROUP_RECORD_OFFSET_LEGACY = 0,
    GROUP_RECORD_OFFSET = 1,
    GROUP_RECORD_METADATA = 2,
    GROUP_RECORD_CONSUMER_METADATA = 3,
    GROUP_RECORD_CONSUMER_MEMBER = 5,
    GROUP_RECORD_SHARE_MEMBER = 10,
    GROUP_RECORD_SHARE_METADATA = 11,
    GROUP_RECORD_STREAMS_METADATA = 17,
    GROUP_RECORD_STREAMS_MEMBER = 19,
};

/* Strings of keys, and of values before their flexible version, have an int16 length. */
enum { GROUP_RECORD_STRING_MAX = 32767 };

/* A commit: `value` has offset, leader_epoch (any negative one = none), commit and expire timestamp
 * and topic_id; metadata null = empty. OFFSET_METADATA_TOO_LARGE, and no record, for metadata of
 * more than `units_max` UTF-16 units, which is what offset.metadata.max.bytes counts. */
enum err group_record_commit(struct shard_records *records, struct slice group_id,
                             struct slice topic, int32_t partition,
                             const struct offset_value *value, struct slice metadata,
                             int32_t units_max);
void group_record_offset_tombstone(struct shard_records *records, struct slice group_id,
                                   struct slice topic, int32_t partition);
/* The group with its members; their assignment_next when `next`, else their assignment. */
void group_record_metadata(struct shard_records *records, const struct group *group, bool next);
/* A group at its beginning: no members, no protocol, generation 0. */
void group_record_new(struct shard_records *records, const struct group *group);
void group_record_tombstone(struct shard_records *records, struct slice group_id);

#endif
