/* Inside coord only: committed offsets of all groups of a shard, in versions, and the pending ones
 * of open transactions. Only replay.c writes here. */
#ifndef KLAMM_COORD_OFFSET_STORE_H
#define KLAMM_COORD_OFFSET_STORE_H

#include "base/uuid.h"
#include "coord/shard_group.h"

/* One commit as its record tells it. One allocation with its metadata. */
struct offset_value {
    struct offset_value *older; /* the version before, kept until this one is committed */
    int64_t record_offset;
    int64_t version_offset; /* readers see it when this one is committed: the record's offset, or
                               that of the transaction's marker */
    int64_t offset;
    int64_t commit_timestamp_ms;
    int64_t expire_timestamp_ms; /* -1 = by offsets.retention.minutes */
    int32_t leader_epoch;        /* -1 = none */
    uint32_t metadata_size : 31;
    uint32_t tombstone : 1;
    struct uuid topic_id; /* zero = unknown */
    uint8_t metadata[];
};

struct offset_entry {
    int32_t partition;
    int32_t pending;             /* open transactions with a commit for it */
    struct offset_value *newest; /* NULL = none */
};

struct offset_topic {
    struct offset_group *group;
    struct slice name;
    struct offset_entry *entries; /* by partition */
    size_t count, capacity;
};

struct offset_group {
    struct slice id;
    struct map topics;         /* name -> struct offset_topic */
    size_t pending;            /* commits of open transactions */
    int32_t open_transactions; /* that have committed offsets for this group: they hold it */
    struct list sweep_link;    /* in the shard's sweeps while it holds tombstones */
    int64_t sweep_offset;      /* of its last tombstone */
};

struct offset_group *offset_store_group(const struct coord_shard *shard, struct slice group_id);
struct offset_topic *offset_store_topic(const struct offset_group *group, struct slice topic);
struct offset_entry *offset_store_entry(const struct offset_topic *topic, int32_t partition);

/* The newest value, what decisions look at; NULL when there is none or a tombstone. */
const struct offset_value *offset_store_newest(const struct offset_entry *entry);
/* The newest committed one, what reads answer with. */
const struct offset_value *offset_store_committed(const struct coord_shard *shard,
                                                  const struct offset_entry *entry);

/* What a record says: `value` has record_offset, offset, timestamps, leader epoch and topic id; all
 * is copied, here and below. */
void offset_store_put(struct coord_shard *shard, struct slice group_id, struct slice topic,
                      int32_t partition, const struct offset_value *value, struct slice metadata);
/* A tombstone removes, and drops pending commits of that partition. */
void offset_store_remove(struct coord_shard *shard, struct slice group_id, struct slice topic,
                         int32_t partition, int64_t record_offset);

/* A commit inside a transaction: waits for offset_store_end. */
void offset_store_put_pending(struct coord_shard *shard, int64_t producer_id, struct slice group_id,
                              struct slice topic, int32_t partition,
                              const struct offset_value *value, struct slice metadata);
/* The marker of the producer's transaction. Of a pending and a plain commit of one partition, the
 * one with the later record stays. */
void offset_store_end(struct coord_shard *shard, int64_t producer_id, bool commit,
                      int64_t marker_offset);

/* Drops tombstones that are committed by now. */
void offset_store_sweep(struct coord_shard *shard);
void offset_store_clear(struct coord_shard *shard);

#endif
