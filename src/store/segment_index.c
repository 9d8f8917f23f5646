/* Makes the offset and time indexes of a segment again from its batches, as recovery and a damaged
 * index file need it. Same rule as when appending: an entry before a batch once more than
 * index.interval.bytes went by since the last one. Under the log's lock, or recovery.
 *
 * Recovery looks at indexes from the recovery point on only. One below it can be damaged all the
 * same (a bad disk, a file that was copied badly, a power cut on a disk that forgets what it
 * synced), so a look-up believes no entry before it has seen a batch there. */
#include "store/segment.h"

#include "base/mem.h"
#include "os/diag.h"
#include "os/io.h"

static enum err empty_file(struct segment *segment, enum segment_file kind, struct index *index)
{
    index_fini(index);
    index_init(index, index->entry_size);
    int fd;
    enum err err = log_file_pin(&segment->files[kind], true, &fd);
    if (err)
        return err;
    err = io_truncate(segment_io(segment), fd, 0);
    log_file_unpin(&segment->files[kind]);
    return err;
}

enum err segment_rebuild_indexes(struct segment *segment, int32_t index_interval)
{
    enum err err = empty_file(segment, SEGMENT_INDEX, &segment->offsets);
    if (!err)
        err = empty_file(segment, SEGMENT_TIME_INDEX, &segment->times);
    int fd;
    if (!err)
        err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    if (err)
        return err;
    uint8_t *window = mem_alloc(SEGMENT_SCAN_HEAP);
    struct segment_scan scan;
    segment_scan_init(&scan, segment_io(segment), fd, 0, segment->size, window, SEGMENT_SCAN_HEAP);
    segment->indexed = segment->times_known = true;
    segment->max_timestamp = -1;
    segment->max_timestamp_offset = segment->base;
    segment->first_timestamp = -1;
    segment->size = 0;
    segment->index_gap = 0;
    struct batch_info info;
    uint32_t position;
    while (!(err = segment_scan_next(&scan, &info, &position)))
        segment_add_batch(segment, index_interval, info.size, info.offset_last, info.max_timestamp);
    segment->size = scan.end;
    mem_free(window);
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    segment->index_made++;
    if (err != ERR_NOT_FOUND)
        return err;
    err = segment_write_indexes(segment, true);
    return err == ERR_DISK_FULL ? ERR_NONE : err;
}

enum err segment_mend_indexes(struct segment *segment, int32_t index_interval)
{
    /* Nothing to worry about: Kafka's indexes have their room ahead, which a crash leaves behind.
     */
    diag(DIAG_STORE, DIAG_INFO,
         "%s: the offset and time index of segment %lld did not fit its batches and are made anew",
         segment->path->text, (long long)segment->base);
    enum err err = segment_rebuild_indexes(segment, index_interval);
    return err == ERR_CORRUPT_MESSAGE ? ERR_NONE : err;
}

bool segment_entry_fits(struct segment *segment, struct index_position entry)
{
    int fd;
    if (log_file_pin(&segment->files[SEGMENT_LOG], false, &fd))
        return false;
    uint8_t window[BATCH_HEADER_SIZE];
    struct segment_scan scan;
    segment_scan_init(&scan, segment_io(segment), fd, entry.position, segment->size, window,
                      sizeof window);
    struct batch_info info;
    uint32_t position;
    bool fits = !segment_scan_next(&scan, &info, &position) && info.offset_base >= segment->base &&
                info.offset_last <= entry.offset;
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    return fits;
}
