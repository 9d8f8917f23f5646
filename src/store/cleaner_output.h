/* The segment that a group of segments is cleaned into, and the steps by which it takes their
 * place, in Kafka's order so that either node finishes what the other left at a crash:
 *
 * 1. open: X.log.cleaned and its indexes are made. A start that finds them removes them.
 * 2. write, sync: what stays is written; the files are on disk.
 * 3. prepare: all four become X.*.swap, the .log first. While one is still .cleaned a start removes
 *    them all; from the last one on the new segment counts.
 * 4. sync_names: that is on disk, before anything of the old ones goes.
 * 5. swap: the old segments' files become .deleted, the new ones lose their suffix; the log goes on
 *    with the new segment. A start that finds .swap files does the same.
 * 6. sync_names once more.
 *
 * 1, 3 and 5 are under the log's lock and short; 2 and 4 are on a worker with none. In between the
 * log may be truncated or deleted: whoever truncates calls cleaner_output_revoke first, and the
 * caller checks before 3 and 5 that the old segments are what they were. */
#ifndef KLAMM_STORE_CLEANER_OUTPUT_H
#define KLAMM_STORE_CLEANER_OUTPUT_H

#include "base/buf.h"
#include "store/segment.h"
#include "store/txn_index.h"

struct log;

struct cleaner_output {
    struct segment *segment; /* NULL: none */
    bool pinned[SEGMENT_FILE_COUNT];
    struct buf batches;    /* not yet written */
    struct log_path *path; /* of the partition's folder, from open on */
    bool revoked;          /* the log was truncated meanwhile */
};

void cleaner_output_init(struct cleaner_output *output);
/* Frees memory and lets go of files, nothing else. */
void cleaner_output_fini(struct cleaner_output *output);

/* Step 1. On failure nothing is left. */
enum err cleaner_output_open(struct cleaner_output *output, struct log *log, int64_t base);
/* Step 2: writes and indexes output->batches and empties it. ERR_CORRUPT: the offsets or the size
 * do not fit a segment. */
enum err cleaner_output_write(struct cleaner_output *output, int32_t index_interval);
enum err cleaner_output_sync(struct cleaner_output *output);
/* Step 3. The files get `mtime_ms`, the age of the newest of the old ones. */
enum err cleaner_output_prepare(struct cleaner_output *output, struct log *log, int64_t mtime_ms,
                                const struct txn_index_entry *aborted, size_t aborted_count);
/* Steps 4 and 6. */
enum err cleaner_output_sync_names(struct cleaner_output *output, struct io *io);
/* Step 5: takes the place of segments [at, at + count) of the log, whose first has the same base.
 * ERR_IO takes the folder offline; the next start ends the swap. */
enum err cleaner_output_swap(struct cleaner_output *output, struct log *log, uint32_t at,
                             uint32_t count);

/* Gives up before step 5 began, and removes what is on disk. `log` NULL: it is gone, and its folder
 * is about to go. Under the log's lock. Accepts an output that is not open. */
void cleaner_output_drop(struct cleaner_output *output, struct log *log);

/* Between 3 and 5: the .swap files of log->swapping must not count any more. */
enum err cleaner_output_revoke(struct log *log);

#endif
