/* Second pass of a round of the cleaner: what stays of each batch. Pure: bytes in, bytes out.
 *
 * Kafka's rules (4.4, KIP-98, KIP-534). Of a data batch those records stay that are the last of
 * their key, or lie beyond what the map knows; records without a key go. A record without a value
 * (a tombstone) that is the last of its key stays until the delete horizon of its batch, which the
 * first pass over it sets: attribute bit 6, and the base timestamp becomes the horizon. Records of
 * aborted transactions go at once. A transaction's marker stays while there are batches of the
 * transaction, then gets a horizon of its own. A batch stays, without records if need be, when it
 * has the last sequence (or, after a marker raised the epoch, the epoch) of an active producer, and
 * when it is the last one of the round, so that the log does not lose its end.
 *
 * A batch that stays whole is copied as it is. Else it is written anew in its own codec: offsets,
 * producer fields, leader epoch and last offset as before, base timestamp that of the first record
 * that stays (or the horizon), max timestamp that of those that stay. Batches of magic 0 and 1
 * become such of magic 2. One thread. */
#ifndef KLAMM_STORE_CLEANER_FILTER_H
#define KLAMM_STORE_CLEANER_FILTER_H

#include "base/buf.h"
#include "record/batch.h"
#include "store/cleaner_map.h"
#include "store/cleaner_txns.h"

/* The last that an active producer wrote. */
struct cleaner_last {
    int64_t producer_id;
    int64_t offset_last; /* of its last data batch; -1: none of its present epoch */
    int16_t epoch;
};

struct cleaner_counts {
    uint64_t records_read, records_kept;
    uint64_t keyless; /* records without a key, dropped */
};

struct cleaner_filter {
    const struct cleaner_map *map;
    struct cleaner_txns *txns;
    const struct cleaner_last *lasts; /* by producer id, rising */
    size_t last_count;
    int64_t now_ms;
    int64_t delete_retention_ms;
    int64_t offset_end;          /* of the round */
    bool keep_legacy_tombstones; /* of the segment: magic 0 and 1 have no horizon */
    size_t record_size_max;      /* 0: none */

    /* Aborted transactions whose markers stayed: for the new segment's transaction index. */
    struct txn_index_entry *indexed;
    size_t indexed_count, indexed_capacity;
    struct cleaner_counts counts;

    uint64_t *bits; /* which records of the present batch stay */
    size_t bits_capacity;
};

/* The rest is the caller's to fill. */
void cleaner_filter_init(struct cleaner_filter *filter);
void cleaner_filter_fini(struct cleaner_filter *filter);

/* Appends what stays of a batch to `out`, as one batch or nothing. Batches come in the order of the
 * log, from its start on. `bytes` as for cleaner_records_begin. On an error `out` is as before. */
enum err cleaner_filter_batch(struct cleaner_filter *filter, const struct batch_info *info,
                              struct slice bytes, struct buf *out);

#endif
