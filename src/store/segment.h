/* One segment of a log: its .log file and the indexes beside it.
 *
 * Covered by the lock of its log; only references and pinned descriptors leave that lock (see
 * store/file_cache.h). A segment taken out of its log lives on until the last range that points
 * into it is released; its files may have been renamed or unlinked by then. */
#ifndef KLAMM_STORE_SEGMENT_H
#define KLAMM_STORE_SEGMENT_H

#include "record/batch.h"
#include "store/file_cache.h"
#include "store/index.h"
#include "store/log_path.h"
#include "store/time_index.h"

#include <sys/uio.h>

struct io;

enum segment_file {
    SEGMENT_LOG,
    SEGMENT_INDEX,
    SEGMENT_TIME_INDEX,
    SEGMENT_TXN_INDEX,
    SEGMENT_FILE_COUNT,
};

enum { SEGMENT_PATH_MAX = 4096, SEGMENT_NAME_DIGITS = 20 };

struct segment {
    uint32_t refs;
    bool indexed;     /* indexes are attached (or empty for a new segment) */
    bool times_known; /* max_timestamp is known */
    bool txn_known;   /* txn_count is known */
    bool index_files; /* the index files are there */
    /* Changes of the indexes (of the offset and time index: once it was rolled) that a flush is to
     * make durable, and how many of them it did. */
    uint32_t index_made, index_synced, txn_made, txn_synced;
    struct file_cache *cache;
    struct log_path *path;
    const char *suffix; /* of its files' names: "" or one of the below */
    int64_t base;
    uint32_t size;                               /* bytes of .log that count */
    uint32_t index_gap;                          /* bytes appended since the last index entry */
    uint32_t txn_count;                          /* entries of .txnindex */
    int64_t max_timestamp, max_timestamp_offset; /* -1: none; last offset of that batch */
    int64_t first_timestamp; /* of the first batch (its largest); SEGMENT_UNKNOWN, -1: none */
    int64_t created_ms;      /* when this process opened it; segment.ms without timestamps */
    struct index offsets, times;
    struct log_file files[SEGMENT_FILE_COUNT];
};

#define SEGMENT_UNKNOWN INT64_MIN

#define SEGMENT_DELETED ".deleted"
#define SEGMENT_CLEANED ".cleaned" /* being written by the cleaner */
#define SEGMENT_SWAP    ".swap"    /* complete, about to take the place of others */

/* A segment of one reference whose files are not touched yet, of size 0. */
struct segment *segment_new(struct file_cache *cache, struct log_path *path, int64_t base,
                            int64_t now_ms);
struct segment *segment_ref(struct segment *segment);
void segment_unref(struct segment *segment); /* any thread; accepts NULL */

static inline struct io *segment_io(const struct segment *segment)
{
    return file_cache_io(segment->cache);
}

/* "FOLDER/00000000000000000000.log" or the like into `path`. */
void segment_path(const struct segment *segment, enum segment_file kind,
                  char path[SEGMENT_PATH_MAX]);
/* Base offset of a file name of a segment (or snapshot) with the suffix `suffix`; false when it is
 * not one. */
bool segment_parse_name(const char *name, const char *suffix, int64_t *ret_base);

/* Makes the empty .log file, dropping files of that name; index files come when there is something
 * to write. */
enum err segment_create(struct segment *segment);
/* Opens the indexes of a loaded segment if that is still to be done. A damaged or missing one is
 * made again from the .log file. */
enum err segment_open_indexes(struct segment *segment, int32_t index_interval);
/* Makes max_timestamp known. */
enum err segment_load_times(struct segment *segment, int32_t index_interval);
/* Makes first_timestamp known (-1 for an empty segment). */
enum err segment_load_first_timestamp(struct segment *segment);

/* Writes `size` bytes behind the segment; on failure the file is cut back and nothing changed. The
 * caller then counts them batch by batch with segment_add_batch. */
enum err segment_write(struct segment *segment, const struct iovec *parts, int count);
/* Counts one batch just written at segment->size and indexes it. Never fails: an index that cannot
 * be written only stays sparser. */
void segment_add_batch(struct segment *segment, int32_t index_interval, uint32_t size,
                       int64_t offset_last, int64_t max_timestamp);
/* Writes out index entries still in memory, and `last`: the closing entry of the time index. Makes
 * the index files even when they are empty. */
enum err segment_write_indexes(struct segment *segment, bool last);

/* The first batch whose last offset is >= `offset`. ERR_NOT_FOUND: none below segment->size.
 * ret_info->data is NULL. */
enum err segment_locate(struct segment *segment, int32_t index_interval, int64_t offset,
                        uint32_t *ret_position, struct batch_info *ret_info);
/* An offset of a batch that begins among the last `room` bytes, near their start; the base when the
 * segment is not larger. ERR_NOT_FOUND: the index has no entry there. */
enum err segment_tail(struct segment *segment, int32_t index_interval, uint32_t room,
                      int64_t *ret_offset);
/* Offset after the last batch; the base when it is empty. */
enum err segment_offset_next(struct segment *segment, int32_t index_interval,
                             int64_t *ret_offset_next);

/* Drops all from `position` on; offset_next is that of what stays. */
enum err segment_truncate(struct segment *segment, int32_t index_interval, uint32_t position,
                          int64_t offset_next);

/* ---- making the indexes again (store/segment_index.c) -----------------------------------------
 */

/* Empties the offset and time indexes and fills them from the batches in [0, size). On a full disk
 * what cannot be written stays in memory. */
enum err segment_rebuild_indexes(struct segment *segment, int32_t index_interval);
/* The same for indexes that a look-up found wrong. ERR_NONE also when the batches are damaged, too:
 * what lies before the damage is indexed then. */
enum err segment_mend_indexes(struct segment *segment, int32_t index_interval);
/* True when the batch at the entry's position is one that the entry can speak of: a batch that ends
 * at its offset, or before it (older Kafka made one entry for several batches appended at once). */
bool segment_entry_fits(struct segment *segment, struct index_position entry);

/* ---- walking batches (store/segment_scan.c) ----------------------------------------------------
 */

/* Walks the heads of the batches of a file part. */
struct segment_scan {
    struct io *io;
    int fd;
    uint32_t position, end;
    uint8_t *window; /* the caller's */
    uint32_t window_max, window_from, window_size;
};
enum { SEGMENT_SCAN_STACK = 4096, SEGMENT_SCAN_HEAP = 256 * 1024 };

void segment_scan_init(struct segment_scan *scan, struct io *io, int fd, uint32_t from,
                       uint32_t end, uint8_t *window, uint32_t window_max);
/* The next batch: its head (info.data valid until the next call, BATCH_HEADER_SIZE bytes at least)
 * and where it starts. ERR_NOT_FOUND at the end; ERR_CORRUPT_MESSAGE when what is there is no whole
 * batch. */
enum err segment_scan_next(struct segment_scan *scan, struct batch_info *ret_info,
                           uint32_t *ret_position);
/* Checks length, structure and CRC of the batch that segment_scan_next gave. */
enum err segment_scan_check(struct segment_scan *scan, const struct batch_info *info,
                            uint32_t position);
/* The whole bytes of that batch: in the window, or in *ret_owned (mem_alloc, the caller frees). */
enum err segment_scan_bytes(struct segment_scan *scan, const struct batch_info *info,
                            uint32_t position, struct slice *ret_bytes, uint8_t **ret_owned);

#endif
