/* Copying a log into another one, piece by piece, for a replica that moves to another log folder:
 * the same batches at the same offsets, in segments that begin where the source's do, with the
 * indexes, producers, transactions and leader epochs that follow from them.
 *
 * A job triple as in store/log.h: prepare under the source's lock, run on a worker with no lock,
 * finish under the target's lock. The copy may stop anywhere: what the target has is a log. */
#ifndef KLAMM_STORE_LOG_COPY_H
#define KLAMM_STORE_LOG_COPY_H

#include "store/log.h"

struct log_copy {
    struct io *io;
    size_t size_max; /* of a piece, about: a larger batch is still taken whole */
    /* The source as of prepare. */
    struct log_range range; /* size 0: there is nothing to copy */
    size_t available;       /* bytes of that segment from the range's position on */
    int64_t segment_base;
    int64_t start, end, high_watermark;
    uint32_t truncations;
    /* of run */
    uint8_t *bytes; /* whole batches, checked */
    size_t size;
};

/* Makes `target` empty, to begin where the source's oldest segment does, with its producers as of
 * there. Both locks. */
enum err log_copy_begin(struct log *source, struct log *target);

/* The next piece from `offset`, the target's end, on. OFFSET_OUT_OF_RANGE: the source has it no
 * more (retention, truncation): begin again. */
enum err log_copy_prepare(struct log *source, int64_t offset, size_t size_max,
                          struct log_copy *ret_copy);
/* Reads and checks the piece. ERR_CORRUPT_MESSAGE when the source is damaged there. */
enum err log_copy_run(struct log_copy *copy);
/* Appends the piece; the target's high watermark and start follow the source's. ERR_DISK_FULL: the
 * target is as before, or has a part of the piece. */
enum err log_copy_finish(struct log *target, struct log_copy *copy);
/* Ends the object, whatever became of it. Any thread. */
void log_copy_end(struct log_copy *copy);

/* `log` ends where `from` does and takes its place: what memory knows about producers and epochs,
 * the settings, start and high watermark go over to it. Both locks. */
void log_copy_take_over(struct log *log, struct log *from);

#endif
