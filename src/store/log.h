/* One partition's log on disk: a folder of segments with their indexes, producer snapshots and the
 * leader epoch checkpoint, byte-compatible with Apache Kafka 4.4.
 *
 * Locking. A log is not locked inside: its holder's lock (LOCK_PARTITION) covers every call that
 * takes a `struct log *`, bar the `_run` functions of the job triples below. log_attach tells the
 * log that lock, so that the jobs of store/log_dirs (retention, flushing, checkpoints) can take it.
 *
 * Blocking. Calls do memory work and at most a few short file calls. What may take long comes as a
 * triple: `x_prepare` (under the lock) fills a job object with references, `x_run` works on it on a
 * worker with no lock held, `x_finish` (under the lock) takes over the result and ends the object.
 * Between prepare and finish the log may be used, and even be closed.
 *
 * Offsets: `offset_next`, `offset_end`, LEO and HW are exclusive; `offset_last` is inclusive.
 *
 * Errors. Kafka's codes where Kafka has one (OUT_OF_ORDER_SEQUENCE_NUMBER, OFFSET_OUT_OF_RANGE...).
 * ERR_DISK_FULL: nothing was appended and the log goes on. ERR_IO: the log folder failed; the log
 * answers KAFKA_STORAGE_ERROR from then on (log_failed), and so do all logs of that folder.
 * ERR_TOO_MANY_FILES never fails a folder. */
#ifndef KLAMM_STORE_LOG_H
#define KLAMM_STORE_LOG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/uuid.h"

struct io;
struct lock;
struct log;
struct log_dir;
struct log_file;
struct log_path;
struct segment;

/* ---- settings ------------------------------------------------------------------------------- */

/* A topic's effective settings as far as its logs need them; -1 or INT64_MAX = without limit, as
 * the config keys have it. log_config_init sets Kafka's defaults. */
struct log_config {
    int32_t segment_size_max;     /* segment.bytes */
    int64_t segment_ms;           /* segment.ms */
    int64_t segment_jitter_ms;    /* segment.jitter.ms */
    int32_t index_size_max;       /* segment.index.bytes */
    int32_t index_interval;       /* index.interval.bytes */
    int64_t retention_ms;         /* retention.ms */
    int64_t retention_size;       /* retention.bytes */
    int64_t file_delete_delay_ms; /* file.delete.delay.ms */
    int64_t flush_messages;       /* flush.messages */
    int64_t flush_ms;             /* flush.ms */
    int64_t producer_expiry_ms;   /* producer.id.expiration.ms (broker setting) */
    bool verify_transactions;     /* transaction.partition.verification.enable (broker setting) */
    bool cleanup_delete;          /* cleanup.policy contains delete */
    bool cleanup_compact;         /* cleanup.policy contains compact */
    double dirty_ratio_min;       /* min.cleanable.dirty.ratio */
    int64_t compact_lag_min_ms;   /* min.compaction.lag.ms */
    int64_t compact_lag_max_ms;   /* max.compaction.lag.ms */
    int64_t delete_retention_ms;  /* delete.retention.ms: of tombstones and markers */
    int32_t record_size_max;      /* max.decompressed.message.bytes */
};
void log_config_init(struct log_config *config);

/* ---- life ----------------------------------------------------------------------------------- */

/* How a log is opened by itself, without store/log_dirs (the metadata log, tools, tests). Logs of
 * topics are made and loaded by store/log_dirs. */
struct log_open_options {
    struct io *io;
    struct log_dir *dir; /* the folder it belongs to (shared file cache, reserves, failure);
                            NULL: it stands alone */
    const char *path;    /* the partition's folder; created when absent */
    struct slice topic;
    int32_t partition;
    struct log_config config;
    int64_t recovery_point; /* all before it is known to be flushed */
    int64_t log_start;      /* from log-start-offset-checkpoint; 0 when not there */
    bool clean;             /* the folder was shut down cleanly: no recovery */
    /* How much before a producer snapshot may be read for the older ones of the last five batches;
     * 0: LOG_TAIL_MAX. */
    uint32_t tail_size;
    /* Recovered as a whole at each start, which finds all leader epochs in the batches (the
     * metadata log): a flush does not wait for their file. */
    bool epochs_unsynced;
    /* A log that stands alone: segments that go stay as .deleted files, which the caller unlinks
     * once it holds no lock. */
    bool deleted_stay;
};

enum { LOG_TAIL_MIN = 256 << 10, LOG_TAIL_MAX = 4 << 20 };

/* Loads or creates. May take long when it recovers: worker or start-up. ERR_CORRUPT when the
 * folder cannot be made sense of (log_open never drops data that recovery cannot explain). */
enum err log_open(const struct log_open_options *options, struct log **ret_log);

/* Clean close: pending index entries, the last time index entry and the producer snapshot are
 * written; `sync` also flushes all and moves the recovery point to the end. Afterwards only
 * log_recovery_point, log_start, log_high_watermark and log_free may be called. */
enum err log_close(struct log *log, bool sync);
/* Frees without writing anything (after log_close, after deletion, or to act as if killed). Ranges
 * handed out stay valid. Accepts NULL. */
void log_free(struct log *log);

/* Tells the lock that covers the log: the background jobs of its log_dirs, which see the log before
 * as well, take it from now on. Call it with no lock held: it waits for one that is in the log. */
void log_attach(struct log *log, struct lock *lock);
/* Tells another lock, with both locks held; then, with no lock held, log_reattached waits until
 * nobody comes by the old one any more. */
void log_reattach(struct log *log, struct lock *lock);
void log_reattached(struct log *log);
/* Who is told when a background job has flushed the log: with flush.messages=1 the high watermark
 * follows the recovery point, and the holder's own flush may have failed on a full disk. `flushed`
 * runs on a worker with no lock held; log_detach ends it, and waits for one that runs. */
void log_on_flushed(struct log *log, void (*flushed)(void *context), void *context);
/* Ends both; on return no background job uses the lock, or calls `flushed`. Call it with no lock
 * held, before log_free and before the lock goes. */
void log_detach(struct log *log);

void log_set_config(struct log *log, const struct log_config *config);
const struct log_config *log_config_of(const struct log *log);

struct slice log_topic(const struct log *log);
int32_t log_partition(const struct log *log);
struct log_dir *log_dir_of(const struct log *log); /* NULL: stands alone */
const char *log_path(const struct log *log);

/* Topic id of partition.metadata; false when the file is not there. */
bool log_topic_id(const struct log *log, struct uuid *ret_id);
/* Writes partition.metadata when absent. ERR_INCONSISTENT_TOPIC_ID when it has another id. */
enum err log_set_topic_id(struct log *log, const struct uuid *id);

/* True once an I/O error took the log's folder offline. */
bool log_failed(const struct log *log);
/* This log alone counts as failed from now on. */
void log_fail(struct log *log);

/* ---- where it stands (cheap) ---------------------------------------------------------------- */

int64_t log_start(const struct log *log); /* log start offset */
int64_t log_end(const struct log *log);   /* LEO */
int64_t log_base(const struct log *log);  /* of the oldest segment, at or below the log start */
int64_t log_high_watermark(const struct log *log);
/* First offset not known to be flushed. */
int64_t log_recovery_point(const struct log *log);
/* All before it survives a power cut. Above the recovery point while the disk has no room for the
 * leader epochs, which go with that: a start would recover from there once more. */
int64_t log_durable_end(const struct log *log);
/* min(first offset of the oldest open or not yet replicated transaction, HW). */
int64_t log_last_stable(const struct log *log);
int64_t log_size(const struct log *log); /* bytes of all segments' .log files */
int32_t log_segment_count(const struct log *log);

/* Moves the high watermark, also back after truncation; clamped to [start, LEO]. True when it
 * moved. Transactions ended below it stop holding back the last stable offset. */
bool log_set_high_watermark(struct log *log, int64_t offset);

/* ---- append --------------------------------------------------------------------------------- */

enum log_origin {
    LOG_CLIENT,      /* Produce: offsets are assigned; needs the most free space */
    LOG_COORDINATOR, /* offsets topic, markers: offsets are assigned; may use a reserve */
    LOG_REPLICA,     /* fetched from a leader: offsets and epochs are kept; they must rise */
    LOG_RAFT_LEADER, /* metadata log: offsets are assigned; may use the last bytes */
    LOG_RAFT_FOLLOWER,
};

struct log_appended {
    int64_t offset_first; /* of a duplicate: of the batch that is there already */
    int64_t offset_last;
    int64_t append_time_ms; /* of a topic with LogAppendTime; else -1. Of a duplicate: the largest
                               timestamp of the batch that is there, whatever the topic says */
    int64_t log_start;
    bool duplicate; /* nothing was appended */
};

/* Appends whole batches of magic 2 that record/validate passed (LOG_REPLICA: CRC and structure
 * checked). `batches` is not changed: base offsets and the leader epoch are set in what is written.
 * Sequence numbers and producer epochs are checked, transaction markers applied. Either all is
 * appended or nothing.
 * Errors: OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED,
 * INVALID_TXN_STATE, RECORD_LIST_TOO_LARGE (above segment.bytes), OFFSET_OUT_OF_RANGE (replica:
 * offsets do not follow), ERR_DISK_FULL, ERR_IO, ERR_TOO_MANY_FILES, ERR_CORRUPT_MESSAGE. */
enum err log_append(struct log *log, enum log_origin origin, int32_t leader_epoch,
                    struct slice batches, struct log_appended *ret_appended);

/* What an append to a transaction brings along. */
struct log_txn {
    int64_t guard;   /* of log_verify_begin; 0: none */
    int16_t version; /* of an end marker: the transaction.version its coordinator works by. From 2
                        on its epoch must be above the producer's; an equal one is an allowed retry
                        when no transaction is open, or when epochs are exhausted (32767) */
};
/* log_append with that (NULL: guard 0, version 0). Also INVALID_TXN_STATE: transactional data whose
 * transaction is not open in the log at that epoch needs the guard of a verification that is still
 * standing (LOG_CLIENT, LOG_COORDINATOR; with verify_transactions). */
enum err log_append_txn(struct log *log, enum log_origin origin, int32_t leader_epoch,
                        struct slice batches, const struct log_txn *txn,
                        struct log_appended *ret_appended);

/* Begins the verification of transactional data (KIP-890): *ret_guard is 0 when none is needed, as
 * the transaction is open in this log at that epoch; otherwise it is to be given to the append once
 * the coordinator has confirmed. It stands until transactional data or a marker of the producer is
 * appended, or producer.id.expiration.ms has passed; a repeated begin gives the same guard.
 * `sequence`: first of the batch. `epoch_bump`: the producer works by transaction.version 2 (then a
 * producer without remembered batches begins at sequence 0). INVALID_PRODUCER_EPOCH: an older epoch
 * than the log has seen. */
enum err log_verify_begin(struct log *log, int64_t producer_id, int16_t epoch, int32_t sequence,
                          bool epoch_bump, int64_t *ret_guard);

/* Wanted by flush.messages / flush.ms, for what is not durable: the caller should submit a
 * log_flush up to the LEO and, with flush.messages=1, not count the data towards the high watermark
 * before. */
bool log_flush_due(const struct log *log);

/* Rolls to a new active segment even though the current one is not full. */
enum err log_roll(struct log *log);

/* ---- read ----------------------------------------------------------------------------------- */

/* Bytes of a segment file, pinned: deletion, truncation of other parts and folder failure leave fd
 * usable until log_range_release. Truncation of this very part makes the range end early. */
struct log_range {
    struct log_file *file;
    int fd;
    int64_t position;
    size_t size;
};
void log_range_release(struct log_range *range); /* any thread; accepts an empty range */
/* Copies the range's bytes. ERR_CORRUPT when the file ends early. */
enum err log_range_copy(struct io *io, const struct log_range *range, void *ret_data);

struct log_read {
    struct log_range range; /* size 0: nothing there below the bound */
    int64_t offset;         /* as asked */
    int64_t offset_base;    /* base offset of the first batch returned */
    int64_t offset_end;     /* no batch in the range starts at or after this */
};

/* Reads from the batch that contains `offset` on (or the next one, over a gap), up to `size_max`
 * bytes and no batch that starts at or after `offset_end` (HW, LSO or LEO, the caller's choice).
 * The last batch may be cut, as Kafka does; with `whole_first` the first one never is, even beyond
 * size_max. A read ends at a segment's end. offset == LEO gives an empty range.
 * OFFSET_OUT_OF_RANGE outside [log start, LEO]. Release ret_read->range. */
enum err log_read(struct log *log, int64_t offset, size_t size_max, bool whole_first,
                  int64_t offset_end, struct log_read *ret_read);

/* The same, copied into `out` and cut to whole batches; returns the offset to go on from (equal to
 * `offset` when nothing was there). For replay: the first batch may begin before `offset`. */
enum err log_read_copy(struct log *log, int64_t offset, size_t size_max, int64_t offset_end,
                       struct buf *out, int64_t *ret_offset_next);
/* Its second half alone, without the log's lock: copies what log_read (with whole_first) found and
 * releases the range. An error is then to be told under the lock to log_read_failed, which returns
 * what a request gets. */
enum err log_read_take(struct io *io, struct log_read *read, struct buf *out,
                       int64_t *ret_offset_next);
enum err log_read_failed(struct log *log, enum err err);

struct log_aborted {
    int64_t producer_id;
    int64_t offset_first;
};
/* Aborted transactions that touch what `read` returned, in the order of their markers. *ret_list
 * (in arena) may be NULL when there is none. */
enum err log_aborted_for(struct log *log, const struct log_read *read, struct arena *arena,
                         struct log_aborted **ret_list, int32_t *ret_count);

/* Bytes between two offsets of the log as far as the segments tell cheaply (for fetch.min.bytes);
 * exact within the newest batches. */
int64_t log_bytes_between(struct log *log, int64_t offset, int64_t offset_end);

/* ---- look-ups ------------------------------------------------------------------------------- */

struct log_time_offset {
    int64_t timestamp; /* -1: none */
    int64_t offset;    /* -1: none */
    int32_t leader_epoch;
};
/* First record, in offset order within the first fitting segment, whose timestamp is at or above
 * `timestamp` and whose offset is at or above the log start. */
enum err log_offset_by_time(struct log *log, int64_t timestamp, struct log_time_offset *ret_found);
/* ListOffsets -3: the first record that has the largest timestamp. */
enum err log_offset_of_max_time(struct log *log, struct log_time_offset *ret_found);

/* Leader epoch of the batch at `offset` as the epoch history says; -1 = unknown. */
int32_t log_epoch_at(const struct log *log, int64_t offset);
int32_t log_epoch_latest(const struct log *log); /* -1: none */
/* OffsetForLeaderEpoch: the largest known epoch <= `epoch` and the offset where it ends; (-1, -1)
 * when unknown. */
void log_epoch_end(const struct log *log, int32_t epoch, int32_t *ret_epoch, int64_t *ret_end);
/* This node leads with `epoch` from offset LEO on. */
enum err log_epoch_assign(struct log *log, int32_t epoch);

struct log_producer {
    int64_t producer_id;
    int16_t producer_epoch;
    int32_t last_sequence;     /* -1: none */
    int64_t last_timestamp;    /* -1: none */
    int32_t coordinator_epoch; /* -1: none */
    int64_t txn_offset_first;  /* -1: no open transaction */
};
/* Active producers (DescribeProducers), in order of id. */
struct log_producer *log_producers(struct log *log, struct arena *arena, int32_t *ret_count);

/* ---- moving the ends ------------------------------------------------------------------------ */

/* DeleteRecords and the leader's log start: moves the log start forward; <= start is success.
 * OFFSET_OUT_OF_RANGE above the high watermark. Segments wholly below it go with retention. */
enum err log_set_start(struct log *log, int64_t offset);
/* Drops everything at or after `offset`. */
enum err log_truncate_to(struct log *log, int64_t offset);
/* Drops everything; the log is empty and starts at `offset`. */
enum err log_truncate_fully(struct log *log, int64_t offset);

/* ---- flush: a job triple -------------------------------------------------------------------- */

enum { LOG_FLUSH_SEGMENTS_MAX = 8 };

struct log_flush {
    struct io *io;
    struct segment *segments[LOG_FLUSH_SEGMENTS_MAX]; /* one after the other */
    uint8_t pinned[LOG_FLUSH_SEGMENTS_MAX];           /* which of its files: bits 1 << kind */
    uint32_t index_made[LOG_FLUSH_SEGMENTS_MAX];      /* as of prepare */
    uint32_t txn_made[LOG_FLUSH_SEGMENTS_MAX];
    int count;
    int64_t next_base;   /* of the segment after the last of these; -1: that is the active one */
    bool sync_dir;       /* files were created since the last flush */
    bool sync_parent;    /* ... and the partition's folder */
    uint32_t names_made; /* as of prepare */
    uint32_t truncations;
    struct log_path *path;
    uint8_t *epochs; /* new leader-epoch-checkpoint; NULL: as it is */
    size_t epochs_size;
    uint32_t epochs_version;
    int64_t size;       /* bytes that will be flushed, about */
    int64_t offset_end; /* flushed up to here when run succeeds */
    int64_t decided;    /* every transaction that began below it ended below offset_end */
    bool synced;        /* run did all of it, but perhaps the epochs: on a full disk */
    enum err err;       /* result of run */
};
/* False: nothing to flush (no object to finish), or it is held. Several may be under way at once.
 */
bool log_flush_prepare(struct log *log, struct log_flush *flush);
void log_flush_run(struct log_flush *flush); /* any thread, no lock */
/* No flush is prepared while it is held: what is durable does not grow, but for one under way. */
void log_flush_hold(struct log *log, bool hold);
/* The recovery point moves on success; failure takes the folder offline. Returns flush->err.
 * ERR_DISK_FULL, which takes nothing offline: when only the leader epochs found no room
 * log_durable_end moves all the same.
 * `log` NULL: only ends the object (the log is gone). */
enum err log_flush_finish(struct log *log, struct log_flush *flush);

/* ---- retention: done by log_dirs' jobs ------------------------------------------------------ */

/* Deletes what retention.ms, retention.bytes and the log start allow, never beyond the high
 * watermark: segments leave the log and their files are renamed to .deleted; log_dirs unlinks them
 * file.delete.delay.ms later (a log that stands alone: at once). Returns the count. */
int32_t log_apply_retention(struct log *log, int64_t now_ms);
/* Forgets producers idle for producer.id.expiration.ms, and verifications as old. */
void log_expire_producers(struct log *log, int64_t now_ms);

#endif
