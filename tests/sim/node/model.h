/* What the node has promised, as its clients know it: topics, the record at each offset, committed
 * offsets. Every answer is compared with it, and a difference that docs/PROMISES.md does not allow
 * ends the run.
 *
 * A record's value is made from its id, so that each record read shows whether it was altered. */
#ifndef KLAMM_TESTS_SIM_MODEL_H
#define KLAMM_TESTS_SIM_MODEL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "txn_model.h"

enum {
    MODEL_TOPICS_MAX = 64,
    MODEL_PARTITIONS_MAX = 8,
    MODEL_GROUPS_MAX = 3,
    MODEL_VALUES_MAX = 8,
};

enum model_state {
    MODEL_UNKNOWN, /* a create or delete was not answered: either may be true */
    MODEL_EXISTS,
    MODEL_DELETED,
};

/* What stands, or stood, at an offset. */
#define MODEL_MARKER UINT64_MAX
struct model_slot {
    uint64_t id; /* 0: nothing known; MODEL_MARKER */
    int32_t epoch;
    uint32_t crc; /* of its batch; 0: not read yet */
    bool acked, seen;
};

struct model_partition {
    struct model_topic *topic;
    int32_t index;
    struct model_slot *slots;
    int64_t slot_count, slot_capacity;
    int64_t watermark;  /* highest seen */
    int64_t acked_end;  /* no acknowledged record at or after it */
    int64_t synced_end; /* acknowledged under a flush.messages=1 that held since it was sent */
    int64_t start_max;  /* records below may be gone: DeleteRecords asked for it */
    int32_t epoch;      /* highest leader epoch seen */
    int64_t keep_end;   /* after a power cut: acknowledged records below must be there */
    bool lossy;         /* ... and those after it may be gone */
    int64_t scan_end;   /* acked_end when the scan began */
    int64_t stable;     /* highest last stable offset seen */
    struct model_pending pending[MODEL_PENDING_MAX]; /* of a scan */
    int pending_count;
};

struct model_topic {
    char name[32];
    struct uuid id;
    enum model_state state;
    int32_t partition_count;
    struct model_partition partitions[MODEL_PARTITIONS_MAX];
    bool flushes; /* flush.messages=1, since before its first record */
    /* flush.messages=1 was set while it was used, and has not been taken back since. */
    bool flushes_now;
    int flush_changes; /* how often it may have been taken back */
    bool retention;    /* the node may delete old segments */
    /* cleanup.policy=compact: its records have keys, and only the last one of each must stay. */
    bool compacted;
    bool tombstones_go; /* delete.retention.ms is short: a key may go altogether */
    /* retention.ms: the value last acknowledged, and those that may have come later. */
    int64_t config, config_doubts[MODEL_VALUES_MAX];
    int32_t config_doubt_count;
};

/* Where a record of an idempotent producer stands. */
struct model_place {
    uint64_t txn;                      /* 0: none */
    struct model_partition *partition; /* NULL: not known, or not idempotent */
    int64_t offset;
    bool idempotent;
};

struct model_commit {
    int64_t acked;     /* -1: none */
    int64_t doubt_min; /* lowest one that was sent, not answered, and may still come; else max */
    int64_t sent_max;
    bool under_way; /* one at a time: two connections may be served in any order */
};

struct model_group {
    char name[16];
    int64_t next;
    struct model_commit commits[MODEL_TOPICS_MAX][MODEL_PARTITIONS_MAX];
};

struct model {
    struct model_topic topics[MODEL_TOPICS_MAX];
    int32_t topic_count;
    struct model_group groups[MODEL_GROUPS_MAX];
    /* Of records of idempotent producers: where each stands, by id; see model_place. */
    struct model_place *places;
    size_t place_count, place_capacity;
    int64_t *producer_ids;
    size_t producer_id_count, producer_id_capacity;
    struct model_txn *txns; /* by number */
    size_t txn_count, txn_capacity;
    struct model_cell cells[MODEL_CELLS_MAX];
    bool txn_loose; /* a power cut may have taken transactions back */
    int64_t outcomes_seen[2];
    int64_t records_compacted; /* not there any more, as is right, at each scan */
    int64_t records_acked, records_seen, commits_acked, records_lost;
};

void model_init(struct model *model);
void model_fini(struct model *model);

struct model_topic *model_topic_new(struct model *model);
struct model_topic *model_topic_by_name(struct model *model, struct slice name);
struct model_topic *model_topic_by_id(struct model *model, const struct uuid *id);
/* Of the topics that exist; NULL when there is none. `draw` picks. */
struct model_topic *model_topic_any(struct model *model, uint64_t draw);

/* ---- records ---- */

/* An id that InitProducerId gave out: none is given twice, whatever happened. */
void model_producer_id(struct model *model, int64_t producer_id);

/* Ids start at 1. txn: its transaction's number, 0 for none. */
uint64_t model_id_new(struct model *model, bool idempotent, uint64_t txn);
/* A record of the id for the topic: with a key, and now and then without a value, in a compacted
 * one. */
struct builder;
void model_append(const struct model_topic *topic, uint64_t id, int64_t timestamp,
                  struct builder *builder);

/* A produce answer: `count` records with ids from id_first on. flush_changes: the topic's when the
 * request was sent, < 0 when it had no flush.messages=1 then. */
void model_acked(struct model *model, struct model_partition *partition, int64_t offset,
                 uint64_t id_first, int32_t count, int flush_changes);
static inline int model_flush_sent(const struct model_topic *topic)
{
    return topic->flushes_now ? topic->flush_changes : -1;
}
/* A record batch in a fetch answer, to a fetch that had `offset` as its position: checks all of
 * it. Returns the offset to go on from. */
int64_t model_read(struct model *model, struct model_partition *partition, int64_t offset,
                   struct slice records, struct model_view *view);
/* The same after a disk that lied: batches may be damaged, which their checksum shows, and there
 * may be other ones than before; the records of a whole one are true. Ends at a damaged one. */
int64_t model_read_lied(struct model_partition *partition, int64_t offset, struct slice records);
/* What an answer says of a partition's ends (-1 = nothing). `before` is partition->watermark when
 * the request was sent: answers on several connections overtake each other. */
void model_watermark(struct model_partition *partition, int64_t before, int64_t high_watermark,
                     int64_t log_start);
/* The same for the last stable offset. */
void model_stable(struct model_partition *partition, int64_t before, int64_t stable,
                  int64_t high_watermark);
void model_epoch(struct model_partition *partition, int32_t epoch);

/* The read of a whole partition: model_scan_begin, model_read ..., model_scan_end at the end. */
void model_scan_begin(struct model_partition *partition);
void model_scan_end(struct model *model, struct model_partition *partition, int64_t log_start,
                    int64_t end);

/* A power cut: what may be lost from now on. keep_end: the recovery point that is on disk. */
void model_power_cut(struct model *model, bool everything_flushes);
void model_recovery_point(struct model_partition *partition, int64_t offset);
/* The process ended: nothing that was sent before can still come. */
void model_restarted(struct model *model);

/* ---- commits ---- */

void model_commit_sent(struct model_commit *commit, int64_t value);
void model_commit_ended(struct model *model, struct model_commit *commit, int64_t value,
                        bool answered, bool accepted);
void model_commit_read(struct model *model, const struct model_group *group,
                       const struct model_topic *topic, int32_t partition,
                       const struct model_commit *before, int64_t value);

#endif
