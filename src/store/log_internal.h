/* The inside of a log, shared by the log_*.c files; nobody else includes it. Everything here is
 * under the log's lock. */
#ifndef KLAMM_STORE_LOG_INTERNAL_H
#define KLAMM_STORE_LOG_INTERNAL_H

#include "os/lock.h"
#include "store/leader_epochs.h"
#include "store/log.h"
#include "store/producer_state.h"
#include "store/segment.h"
#include "store/verification.h"

struct cleaner_output;

enum { LOG_RECENT_MAX = 16 };

/* A batch appended lately to the active segment; tail reads find their place here. */
struct log_recent {
    int64_t offset_first, offset_last;
    uint32_t position;
};

struct log {
    struct io *io;
    struct log_dir *dir;            /* NULL: stands alone */
    struct lock *lock;              /* of the holder; atomic; NULL: detached */
    struct lock own_lock;           /* covers it while it is detached */
    uint32_t visits;                /* background jobs that come to it (log_walk.c); table lock */
    void (*flushed)(void *context); /* table lock; NULL: nobody is told */
    void *flushed_context;
    struct log_path *path;
    struct file_cache *cache;
    char *topic;
    int32_t partition;
    bool failed, closed;
    bool flush_held; /* see log_flush_hold */
    bool future; /* being filled to take the place of the log in another folder (log_future.c) */
    uint32_t truncations; /* so far; copies begin again, flushes under way do not count */
    bool has_topic_id;
    /* Changes of names in the folder, and how many of them a flush made durable. */
    uint32_t names_made, names_synced;
    bool folder_created; /* its own name is not durable yet */
    struct uuid topic_id;
    struct log_config config;
    int64_t jitter_ms; /* of the active segment */

    struct segment **segments; /* by base offset; at least one while open */
    uint32_t segment_count, segment_capacity;
    int64_t size; /* bytes of all segments */

    int64_t start, end, high_watermark, recovery_point;
    int64_t synced_end;  /* the recovery point, if it were not for epochs that found no room */
    int64_t decided_end; /* transactions that began below have their markers on the disk */
    /* What the checkpoint on the disk says of recovery_point, and what it is about to say. */
    int64_t recovery_saved, recovery_noted;
    int64_t unflushed_size;     /* bytes at or after the recovery point, as far as known */
    int64_t unflushed_since_ms; /* monotonic; when the first of them came */

    struct producer_state producers;
    uint32_t tail_size; /* see struct log_open_options */
    struct verifications verifications;
    /* No segment of this base or above has aborted transactions; INT64_MAX: that is not known. Set
     * to it by whoever adds a segment with a transaction index. */
    int64_t aborted_end;
    int64_t *snapshots; /* offsets of the snapshot files, rising */
    uint32_t snapshot_count, snapshot_capacity;

    struct leader_epochs epochs;
    bool epochs_unsynced; /* see struct log_open_options */
    bool deleted_stay;    /* the same */

    struct log_recent *recent; /* ring; NULL until the first append */
    uint32_t recent_count, recent_next;
    /* The last bound that had to be looked up: the batch of `bound_offset` starts there. */
    int64_t bound_offset;
    struct segment *bound_segment; /* compared only, never followed */
    uint32_t bound_position;

    /* Of the cleaner. */
    int64_t first_dirty; /* cleaned up to here; -1: never */
    bool cleaning;       /* a round is under way: retention waits */
    bool uncleanable;    /* a round failed in a way that another one would, too */
    enum err clean_err;  /* of the last round */
    struct cleaner_output
        *swapping; /* complete on disk as .swap files; see cleaner_output_revoke */

    /* Of store/log_dirs. */
    char *name;     /* TOPIC-PARTITION, the key in its table */
    int64_t serial; /* tells this log from a later one at the same address */
    struct list dirty_link;
};

static inline struct segment *log_active(const struct log *log)
{
    return log->segments[log->segment_count - 1];
}

/* log_flush.c: something waits for a flush: bytes, epochs, or what belongs to a segment that was
 * rolled when its bytes were flushed. */
bool log_flush_pending(const struct log *log);
/* Where the first undecided transaction begins; the end if there is none. */
int64_t log_decided(const struct log *log);
/* Takes the log's folder offline when `err` says that the disk failed; passes `err` on. */
enum err log_check(struct log *log, enum err err, const char *what);

/* ---- segments (log.c) ------------------------------------------------------------------------ */

void log_add_segment(struct log *log, struct segment *segment); /* takes the reference; last */
/* Takes segments [from, from + count) out: their files are renamed to .deleted and given to the
 * folder's queue of delayed deletions (a log that stands alone unlinks them). */
enum err log_drop_segments(struct log *log, uint32_t from, uint32_t count);
/* Index of the last segment whose base is <= offset; 0 when none is. */
uint32_t log_segment_index(const struct log *log, int64_t offset);
/* Creates an empty active segment at `base`. */
enum err log_new_segment(struct log *log, int64_t base);
/* Rolls; the new segment begins at `base` (>= LEO). */
enum err log_roll_at(struct log *log, int64_t base);
void log_mark_unflushed(struct log *log, int64_t size);

/* ---- producer snapshots (log_producers.c) -----------------------------------------------------
 */

void log_snapshot_add(struct log *log, int64_t offset);
/* Writes the snapshot of the present state, valid up to `offset`, unless there is one. */
enum err log_snapshot_take(struct log *log, int64_t offset);
/* The same by recovery, which believes none that no flush made durable: it is written again. One
 * that cannot be written on a full disk is not there then. */
enum err log_snapshot_retake(struct log *log, int64_t offset);
/* True when the snapshot at `offset` is there and can be read. */
bool log_snapshot_is_good(struct log *log, int64_t offset);
/* Deletes snapshots below `below` and above `above`. */
void log_snapshots_delete(struct log *log, int64_t below, int64_t above);
/* Keeps those that a segment's base or the newest stray one explains, as Kafka does at start. */
void log_snapshots_delete_stray(struct log *log);
/* Fills log->producers up to `offset_end` from the newest good snapshot at or below it and the
 * batches after that. */
enum err log_producers_rebuild(struct log *log, int64_t offset_end);
/* What one batch of magic 2 says about its producer. ERR_NOT_FOUND: nothing. `bytes` is the whole
 * batch, or for a data batch at least its head. */
enum err log_producer_input(struct slice bytes, int64_t offset_first,
                            struct producer_input *ret_input);
/* Replays a batch of the log into log->producers. With `txn_segment` the aborted transactions it
 * ends go into that segment's index. */
enum err log_producer_replay(struct log *log, const struct producer_input *input,
                             struct segment *txn_segment);
/* Fills the segment's transaction index, which is empty, from its batches and the state before it;
 * log->producers stays. */
enum err log_producers_index_aborted(struct log *log, struct segment *segment);

/* ---- aborted transactions (log_aborted.c) -----------------------------------------------------
 */

/* Appends the aborted ones of `changes` to the segment's transaction index, which is loaded. */
enum err log_index_aborted(struct log *log, struct segment *segment,
                           const struct producer_changes *changes);
/* txn_index_load; a damaged index is made again. */
enum err log_load_aborted(struct log *log, struct segment *segment);
/* The same, with a look at every entry: for who reads them all. */
enum err log_check_aborted(struct log *log, struct segment *segment);

/* ---- loading (log_recover.c) ------------------------------------------------------------------
 */

enum err log_load(struct log *log, const struct log_open_options *options, bool *ret_recovered);

/* ---- reading (log_read.c) ---------------------------------------------------------------------
 */

/* Where the batch that holds `offset` starts in `segment`; ERR_NOT_FOUND: behind its end. */
enum err log_position(struct log *log, struct segment *segment, int64_t offset,
                      uint32_t *ret_position, struct log_recent *ret_batch);
void log_recent_add(struct log *log, int64_t offset_first, int64_t offset_last, uint32_t position);
void log_recent_clear(struct log *log);

#endif
