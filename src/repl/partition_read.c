/* Reads and look-ups of a partition, each under its lock: Fetch, ListOffsets, OffsetForLeaderEpoch,
 * DeleteRecords and what tools ask for. Kafka checks the client's leader epoch before leadership,
 * so that a client with old metadata learns it from FENCED_LEADER_EPOCH. */
#include "repl/partition.h"

#include "repl/partition_internal.h"

enum err partition_check_leader(const struct partition *partition, int32_t current_epoch)
{
    if (partition->offline)
        return partition->offline;
    if (!partition->log || log_failed(partition->log)) /* whoever is told to lead instead */
        return ERR_KAFKA_STORAGE_ERROR;
    if (current_epoch != -1 && current_epoch < partition->leader_epoch)
        return ERR_FENCED_LEADER_EPOCH;
    if (current_epoch > partition->leader_epoch)
        return ERR_UNKNOWN_LEADER_EPOCH;
    if (!partition->leading)
        return ERR_NOT_LEADER_OR_FOLLOWER;
    return ERR_NONE;
}

static int64_t bound_of(const struct partition *partition, enum partition_bound bound)
{
    switch (bound) {
    case PARTITION_TO_HW: return log_high_watermark(partition->log);
    case PARTITION_TO_LSO: return log_last_stable(partition->log);
    case PARTITION_TO_LEO: return log_end(partition->log);
    }
    return log_high_watermark(partition->log);
}

/* KIP-595: the reader's history parts from ours when the epoch it read last ended before its offset
 * here, or is unknown here. Lock held. */
static enum err find_divergence(const struct partition *partition, struct partition_read *read)
{
    int32_t epoch;
    int64_t end;
    log_epoch_end(partition->log, read->last_fetched_epoch, &epoch, &end);
    if (epoch < 0 || end < 0)
        return ERR_OFFSET_OUT_OF_RANGE;
    if (epoch < read->last_fetched_epoch || end < read->offset) {
        read->diverging_epoch = epoch;
        read->diverging_end = end;
    }
    return ERR_NONE;
}

/* Lock held; the partition leads. */
static enum err read_log(struct partition *partition, struct partition_read *read)
{
    read->high_watermark = log_high_watermark(partition->log);
    read->last_stable = log_last_stable(partition->log);
    read->log_start = log_start(partition->log);
    read->log_end = log_end(partition->log);
    if (read->last_fetched_epoch >= 0) {
        enum err err = find_divergence(partition, read);
        if (err || read->diverging_epoch >= 0)
            return err;
    }
    enum err err = log_read(partition->log, read->offset, read->size_max, read->whole_first,
                            bound_of(partition, read->bound), &read->read);
    if (!err && read->bound == PARTITION_TO_LSO && read->read.range.size) {
        err = log_aborted_for(partition->log, &read->read, read->arena, &read->aborted,
                              &read->aborted_count);
        if (err)
            log_range_release(&read->read.range);
    }
    return err;
}

enum err partition_read(struct partition *partition, struct partition_read *read)
{
    read->read = (struct log_read){.offset = read->offset};
    read->high_watermark = read->last_stable = read->log_start = read->log_end = -1;
    read->diverging_epoch = -1;
    read->diverging_end = -1;
    read->aborted = NULL;
    read->aborted_count = 0;
    lock_take(&partition->lock);
    read->leader_id = partition->leader_id;
    read->leader_epoch = partition->leader_epoch;
    enum err err = partition_check_leader(partition, read->current_epoch);
    if (!err)
        err = read_log(partition, read);
    lock_release(&partition->lock);
    return err;
}

enum err partition_read_copy(struct partition *partition, int64_t offset, size_t size_max,
                             struct buf *out, int64_t *ret_offset_next)
{
    struct log_read read;
    lock_take(&partition->lock);
    enum err err = partition->log ? ERR_NONE : partition->offline;
    if (!err && offset < log_start(partition->log))
        offset = log_start(partition->log);
    if (!err)
        err = log_read(partition->log, offset, size_max, true, log_high_watermark(partition->log),
                       &read);
    lock_release(&partition->lock);
    if (err)
        return err;
    err = log_read_take(partition->io, &read, out, ret_offset_next);
    if (err) {
        lock_take(&partition->lock);
        err = partition->log ? log_read_failed(partition->log, err) : partition->offline;
        lock_release(&partition->lock);
    }
    return err;
}

enum err partition_ends(struct partition *partition, int32_t current_epoch,
                        struct partition_ends *ret_ends)
{
    lock_take(&partition->lock);
    enum err err = partition_check_leader(partition, current_epoch);
    if (!err) {
        *ret_ends = (struct partition_ends){
            .log_start = log_start(partition->log),
            .log_end = log_end(partition->log),
            .high_watermark = log_high_watermark(partition->log),
            .last_stable = log_last_stable(partition->log),
            .leader_id = partition->leader_id,
            .leader_epoch = partition->leader_epoch,
        };
    }
    lock_release(&partition->lock);
    return err;
}

/* Lock held. What lies at or beyond the bound is as if it were not there. */
static enum err search(struct partition *partition, int64_t timestamp, int64_t bound,
                       struct log_time_offset *found)
{
    enum err err;
    if (timestamp == LIST_MAX_TIMESTAMP)
        err = log_offset_of_max_time(partition->log, found);
    else
        err = log_offset_by_time(partition->log, timestamp, found);
    if (!err && found->offset >= bound)
        *found = (struct log_time_offset){-1, -1, -1};
    return err;
}

enum err partition_list_offset(struct partition *partition, int32_t current_epoch,
                               int64_t timestamp, enum partition_bound bound,
                               struct log_time_offset *ret_found)
{
    struct log_time_offset found = {-1, -1, -1};
    lock_take(&partition->lock);
    enum err err = partition_check_leader(partition, current_epoch);
    if (!err && timestamp == LIST_LATEST) {
        found.offset = bound_of(partition, bound);
        found.leader_epoch = partition->leader_epoch;
    } else if (!err && (timestamp == LIST_EARLIEST || timestamp == LIST_EARLIEST_LOCAL)) {
        found.offset = log_start(partition->log);
        found.leader_epoch = log_epoch_at(partition->log, found.offset);
    } else if (!err && (timestamp == LIST_MAX_TIMESTAMP || timestamp >= 0)) {
        err = search(partition, timestamp, bound_of(partition, bound), &found);
    }
    lock_release(&partition->lock);
    if (!err)
        *ret_found = found;
    return err;
}

enum err partition_epoch_end(struct partition *partition, int32_t current_epoch, int32_t epoch,
                             int32_t *ret_epoch, int64_t *ret_end)
{
    lock_take(&partition->lock);
    enum err err = partition_check_leader(partition, current_epoch);
    if (!err && epoch == partition->leader_epoch) {
        *ret_epoch = epoch;
        *ret_end = log_end(partition->log);
    } else if (!err) {
        log_epoch_end(partition->log, epoch, ret_epoch, ret_end);
    }
    lock_release(&partition->lock);
    return err;
}

enum err partition_delete_records(struct partition *partition, int64_t offset,
                                  int64_t *ret_log_start)
{
    struct list woken;
    list_init(&woken);
    lock_take(&partition->lock);
    enum err err = partition_check_leader(partition, -1);
    if (!err && !partition->config.cleanup_delete && partition->config.cleanup_compact)
        err = ERR_POLICY_VIOLATION;
    if (!err) {
        int64_t before = log_start(partition->log);
        if (offset == -1)
            offset = log_high_watermark(partition->log);
        err = offset < 0 ? ERR_OFFSET_OUT_OF_RANGE : log_set_start(partition->log, offset);
        if (!err) {
            *ret_log_start = log_start(partition->log);
            if (*ret_log_start != before)
                watch_all(&partition->watches, &woken);
        }
    }
    lock_release(&partition->lock);
    parked_post(&woken);
    return err;
}

struct log_producer *partition_producers(struct partition *partition, struct arena *arena,
                                         int32_t *ret_count, enum err *ret_err)
{
    struct log_producer *list = NULL;
    lock_take(&partition->lock);
    enum err err = partition_check_leader(partition, -1);
    if (!err)
        list = log_producers(partition->log, arena, ret_count);
    lock_release(&partition->lock);
    *ret_err = err;
    return list;
}

bool partition_size(struct partition *partition, int64_t *ret_size, struct log_dir **ret_dir)
{
    lock_take(&partition->lock);
    bool there = partition->log != NULL;
    if (there) {
        *ret_size = log_size(partition->log);
        *ret_dir = log_dir_of(partition->log);
    }
    lock_release(&partition->lock);
    return there;
}
