/* One partition that this node holds a replica of: its log, who leads it, the high watermark, and
 * who waits for it to move.
 *
 * One lock (LOCK_PARTITION) covers the log and everything marked "lock" below; it is held for
 * memory work and one write at most. Every function here takes it itself; none runs a callback
 * under it: operations that end are collected and posted to their loops after unlock. They may be
 * called from any thread, also with a coordinator lock held.
 *
 * With this node as the only in-sync replica the high watermark follows the LEO at once, or with
 * flush.messages=1 when the flush returned. */
#ifndef KLAMM_REPL_PARTITION_H
#define KLAMM_REPL_PARTITION_H

#include "conf/topic_config.h"
#include "os/io.h"
#include "os/lock.h"
#include "repl/parked.h"
#include "store/log.h"

struct log_dirs;

struct partition {
    struct lock lock;
    struct io *io;
    struct slice topic;   /* owned; fixed */
    struct uuid topic_id; /* fixed */
    int32_t index;        /* fixed */

    /* lock */
    struct log *log;  /* NULL: offline or deleted */
    enum err offline; /* what requests get while log is NULL */
    bool leading;
    int32_t leader_id; /* -1 none */
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t isr_count, replica_count; /* replicas assigned, those being added too */
    int64_t offset_epoch_start;       /* LEO when this node became leader */
    struct topic_config config;
    struct watch_set watches;
    bool flushing;
    bool flush_stale;         /* the log of the flush under way was replaced */
    struct log *future;       /* a copy that is made in another folder; NULL: none */
    struct lock *future_lock; /* of class LOCK_FUTURE, taken inside `lock`; covers `future` */

    struct replica_move *move; /* repl/replica_moves; metadata loop */

    atomic_bool gone; /* deleted, or made anew: look it up again. Any thread, no lock */

    /* private */
    struct log_flush flush;
    struct io_job flush_job;
    _Atomic int64_t *flush_count; /* flushes under way are counted here; NULL = nobody asks */
    atomic_int ref_count;
    struct partition_key *key; /* of the table */
};

/* Takes over nothing: `log` belongs to log_dirs and is attached here (log_attach). NULL log: the
 * partition is offline with KAFKA_STORAGE_ERROR. The reference returned is the caller's. */
struct partition *partition_new(struct io *io, struct slice topic, const struct uuid *topic_id,
                                int32_t index, struct log *log, const struct topic_config *config);
struct partition *partition_ref(struct partition *partition);
void partition_unref(struct partition *partition); /* accepts NULL */

/* What the metadata image says. Leading starts a new epoch in the log when leader_epoch rose; a
 * change of either ends every wait. An error is of the disk. */
struct partition_state {
    int32_t leader_id;
    bool leading;
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t isr_count, replica_count;
};
enum err partition_set_state(struct partition *partition, const struct partition_state *state);
void partition_set_config(struct partition *partition, const struct topic_config *config,
                          const struct log_config *log_config);
struct topic_config partition_config(struct partition *partition);
/* The high watermark found in the checkpoint; before the partition serves. */
void partition_restore_watermark(struct partition *partition, int64_t offset);

/* False: offline. A move to another folder, on a worker, puts one log in the place of another. */
bool partition_has_log(struct partition *partition);

/* Detaches the log and returns it (NULL when it had none); requests get `error` from now on and
 * every wait ends. */
struct log *partition_take_log(struct partition *partition, enum err error);

/* ---- append --------------------------------------------------------------------------------- */

struct partition_append {
    enum log_origin origin;
    bool all_in_sync;     /* acks=all: refuse below the min ISR */
    struct slice batches; /* validated */
    /* Transactional data: the guard of partition_verify_begin; 0: none was needed. */
    int64_t guard;
    /* Batches that hold an end marker (LOG_COORDINATOR): see struct log_txn. */
    int16_t transaction_version;
    /* results */
    struct log_appended appended;
    int32_t leader_id, leader_epoch; /* also on NOT_LEADER_OR_FOLLOWER: for the hints of KIP-951 */
    int64_t offset_next;             /* acks=all: acknowledged when the high watermark is here */
    int64_t high_watermark;          /* now */
    bool flush_waits; /* flush.messages=1: acks=1 waits for the high watermark, too */
};
/* NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, KAFKA_STORAGE_ERROR, and those of log_append. */
enum err partition_append(struct partition *partition, struct partition_append *append);

/* Before transactional data is appended (KIP-890). *ret_guard == 0: append it without asking, its
 * transaction is open here at that epoch. Else ask the transaction's coordinator whether the
 * partition is part of it (or to add it) and, once it said yes, append with the guard. The guard
 * loses its worth when the transaction ends in between or other data of it was appended:
 * INVALID_TXN_STATE from partition_append; a later guard of the same producer is the same one while
 * it stands. See log_verify_begin.
 * NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR, INVALID_PRODUCER_EPOCH (older than the log knows).
 */
enum err partition_verify_begin(struct partition *partition, int64_t producer_id, int16_t epoch,
                                int32_t sequence, bool epoch_bump, int64_t *ret_guard);

/* The end of a transaction in this partition. */
struct partition_marker {
    int64_t producer_id;
    int16_t producer_epoch;
    int32_t coordinator_epoch;
    bool commit;
    int16_t transaction_version; /* of the request; 0 where it has none */
};
/* Appends a control batch with the marker, as acks=all. `append` tells the rest as after
 * partition_append; nothing in it needs to be set. INVALID_PRODUCER_EPOCH (by the transaction
 * version's rule, struct log_txn), TRANSACTION_COORDINATOR_FENCED (a newer coordinator has marked),
 * and those of partition_append. A marker without data before it is appended, too. */
enum err partition_append_marker(struct partition *partition, const struct partition_marker *marker,
                                 struct partition_append *append);

/* ---- read ----------------------------------------------------------------------------------- */

enum partition_bound { PARTITION_TO_HW, PARTITION_TO_LSO, PARTITION_TO_LEO };

struct partition_read {
    int64_t offset;
    int32_t current_epoch;      /* the client's leader epoch; -1 = not given */
    int32_t last_fetched_epoch; /* -1 = not given */
    size_t size_max;
    bool whole_first;
    enum partition_bound bound;
    struct arena *arena; /* for the aborted list */

    /* results, -1 where unknown */
    struct log_read read; /* release read.range */
    int64_t high_watermark, last_stable, log_start, log_end;
    int32_t leader_id, leader_epoch;
    int32_t diverging_epoch; /* with last_fetched_epoch: where histories part; -1 = they agree */
    int64_t diverging_end;
    struct log_aborted *aborted; /* PARTITION_TO_LSO */
    int32_t aborted_count;
};
/* FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE, disk. */
enum err partition_read(struct partition *partition, struct partition_read *read);

/* For replay: the next whole batches from `offset` on, copied; *ret_offset_next == offset at the
 * high watermark. Also while this node does not lead. The file is read without the lock. */
enum err partition_read_copy(struct partition *partition, int64_t offset, size_t size_max,
                             struct buf *out, int64_t *ret_offset_next);

struct partition_ends {
    int64_t log_start, log_end, high_watermark, last_stable;
    int32_t leader_id, leader_epoch;
};
/* Where it stands; errors as for partition_read. */
enum err partition_ends(struct partition *partition, int32_t current_epoch,
                        struct partition_ends *ret_ends);

/* ListOffsets. `timestamp` is a time or one of Kafka's negative values that the version allows. */
enum {
    LIST_LATEST = -1,
    LIST_EARLIEST = -2,
    LIST_MAX_TIMESTAMP = -3,
    LIST_EARLIEST_LOCAL = -4,
    LIST_LATEST_TIERED = -5,
    LIST_EARLIEST_PENDING_UPLOAD = -6,
};
enum err partition_list_offset(struct partition *partition, int32_t current_epoch,
                               int64_t timestamp, enum partition_bound bound,
                               struct log_time_offset *ret_found);

/* OffsetForLeaderEpoch. */
enum err partition_epoch_end(struct partition *partition, int32_t current_epoch, int32_t epoch,
                             int32_t *ret_epoch, int64_t *ret_end);

/* DeleteRecords: -1 = high watermark. */
enum err partition_delete_records(struct partition *partition, int64_t offset,
                                  int64_t *ret_log_start);

struct log_producer *partition_producers(struct partition *partition, struct arena *arena,
                                         int32_t *ret_count, enum err *ret_err);

/* Size and folder for DescribeLogDirs; false when offline. */
bool partition_size(struct partition *partition, int64_t *ret_size, struct log_dir **ret_dir);

/* ---- moving to another folder (repl/partition_move.c) -----------------------------------------
 */

/* `future` is being made by a copier that alone writes to it; both NULL: no more. The future's lock
 * is that of its attachment. */
void partition_set_future(struct partition *partition, struct log *future, struct lock *lock);

/* As DescribeLogDirs tells it; false when there is none. */
struct partition_future {
    int64_t size, lag;
    struct log_dir *dir;
};
bool partition_future(struct partition *partition, struct partition_future *ret_future);

/* For the copier: ERR_CLOSED when `future` is no longer that of the partition. */
struct log_copy;
/* log_copy_begin. */
enum err partition_copy_begin(struct partition *partition, struct log *future);
/* log_copy_prepare. */
enum err partition_copy_prepare(struct partition *partition, struct log *future, int64_t offset,
                                size_t size_max, struct log_copy *ret_copy);
/* True when what `future` has is the beginning of what the partition's log has, as far as leader
 * epochs tell: for one that a start found. */
bool partition_copy_agrees(struct partition *partition, struct log *future);
/* Copies the rest and puts `future`, which `lock` covers, in the place of the log; *ret_replaced is
 * the old one. ERR_AGAIN when too much is missing for that. Waits for the disk with no lock held,
 * as the next one does. */
enum err partition_replace_log(struct partition *partition, struct log_dirs *dirs,
                               struct log *future, struct lock *lock, struct log **ret_replaced);
/* After that, on the metadata loop, which alone lets logs go: on return nobody comes to `log`, the
 * future that was, by the lock that covered it then. Without a look at a log that is gone. */
void partition_await_reattached(struct partition *partition, struct log *log);
/* Makes that final: `log`, the future that was, gets its name in `dir`. Until then no flush of it
 * counts. Then log_dirs_discard. ERR_IO: a folder failed, and it is over; if that was the old one's
 * the log counts as failed, too, as nobody knows what a start would find. Other errors: again. */
enum err partition_settle_log(struct partition *partition, struct log *log, struct log_dir *dir,
                              const struct log *replaced);
/* Nobody tries any more; the next start does. */
void partition_settle_never(struct partition *partition, const struct log *log);

/* ---- waiting -------------------------------------------------------------------------------- */

/* Adds a watch, if nothing happened since the caller looked: the class's offset is still `seen`
 * (produce: below watch->offset; then seen is ignored) and this node still leads in `leader_epoch`.
 * False: it was not added, do not wait. */
bool partition_watch(struct partition *partition, enum watch_class class, struct watch *watch,
                     int64_t seen, int32_t leader_epoch);
void partition_unwatch(struct partition *partition, struct watch *watch);

#endif
