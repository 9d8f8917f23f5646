/* Cutting the end of a log off, or all of it: a follower that diverged from its leader, the
 * metadata log after a snapshot. Under the log's lock. Answers to Kafka's UnifiedLog.truncateTo and
 * truncateFullyAndStartAt; the batch that holds the target goes, too.
 *
 * What is cut off is made durable at once, though that means to wait for the disk under the lock
 * (it is rare): the offsets are given out again, and a power cut must not leave old batches before
 * or behind the new ones, in segments that recovery has no reason to look at. */
#include "base/mem.h"
#include "os/io.h"
#include "store/cleaner_output.h"
#include "store/log_dir_hooks.h"
#include "store/log_internal.h"
#include "store/txn_index.h"

/* What the cleaner is about to put in place must not bring back what is cut off now. */
static enum err tell_cleaner(struct log *log, int64_t offset)
{
    if (log->first_dirty > offset)
        log->first_dirty = offset;
    return log->swapping ? cleaner_output_revoke(log) : ERR_NONE;
}

static enum err cut_active(struct log *log, int64_t offset)
{
    struct segment *segment = log_active(log);
    uint32_t position;
    enum err err = log_position(log, segment, offset, &position, NULL);
    if (err == ERR_NOT_FOUND) {
        position = segment->size;
        err = ERR_NONE;
    }
    if (err)
        return err;
    uint32_t size_before = segment->size;
    err = segment_truncate(segment, log->config.index_interval, position, offset);
    if (!err)
        err = txn_index_truncate(segment, offset);
    log->size -= size_before - segment->size;
    return err;
}

static enum err sync_cut(struct log *log)
{
    struct segment *segment = log_active(log);
    uint32_t txn_made = segment->txn_made;
    enum err err = ERR_NONE;
    for (int kind = 0; kind < SEGMENT_FILE_COUNT && !err; kind++) {
        if (kind != SEGMENT_LOG && (kind != SEGMENT_TXN_INDEX || txn_made == segment->txn_synced))
            continue;
        int fd;
        err = log_file_pin(&segment->files[kind], false, &fd);
        if (err == ERR_NOT_FOUND && kind == SEGMENT_TXN_INDEX)
            return ERR_NONE;
        if (err)
            return err;
        err = io_fdatasync(log->io, fd);
        log_file_unpin(&segment->files[kind]);
    }
    if (!err)
        segment->txn_synced = txn_made;
    return err;
}

enum err log_truncate_to(struct log *log, int64_t offset)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    if (offset >= log->end)
        return ERR_NONE;
    if (offset < log->segments[0]->base)
        return log_truncate_fully(log, offset);
    log->truncations++;
    enum err err = tell_cleaner(log, offset);
    if (err)
        return log_check(log, err, "truncate");
    uint32_t keep = log_segment_index(log, offset) + 1;
    err = log_drop_segments(log, keep, log->segment_count - keep);
    if (err)
        return err;
    /* Positions of what was appended lately hold no more. */
    log_recent_clear(log);
    err = cut_active(log, offset);
    if (!err)
        err = sync_cut(log);
    log_snapshots_delete(log, 0, offset);
    if (!err)
        err = log_path_sync_names(log->path, log->io, false);
    if (err)
        return log_check(log, err, "truncate");
    log->end = offset;
    if (log->start > offset)
        log->start = offset;
    if (log->recovery_point > offset)
        log->recovery_point = offset;
    if (log->synced_end > offset)
        log->synced_end = offset;
    if (log->decided_end > offset)
        log->decided_end = offset;
    leader_epochs_truncate_end(&log->epochs, offset);
    err = log_producers_rebuild(log, offset);
    if (log->high_watermark > offset)
        log->high_watermark = offset;
    producer_state_settle(&log->producers, log->high_watermark);
    return log_check(log, err, "truncate");
}

enum err log_truncate_fully(struct log *log, int64_t offset)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    log->truncations++;
    enum err err = tell_cleaner(log, offset);
    if (err)
        return log_check(log, err, "truncate");
    err = log_drop_segments(log, 0, log->segment_count);
    if (!err)
        err = log_new_segment(log, offset);
    if (err)
        return err;
    log_snapshots_delete(log, INT64_MAX, 0);
    err = log_path_sync_names(log->path, log->io, false);
    if (err)
        return log_check(log, err, "truncate");
    log->start = log->end = log->high_watermark = log->recovery_point = offset;
    log->decided_end = offset;
    log->synced_end = 0;
    log->unflushed_size = 0;
    leader_epochs_clear(&log->epochs);
    producer_state_clear(&log->producers);
    return ERR_NONE;
}
