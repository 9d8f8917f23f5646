/* Which old segments go (retention.ms, retention.bytes, log start) and moving the log start. Under
 * the log's lock; called by the folder's retention job and by DeleteRecords.
 *
 * Kafka's rules (UnifiedLog.deleteOldSegments): segments go from the oldest on, never beyond the
 * high watermark and never an empty active one; when the active one goes, a new one is rolled
 * first. The age of a segment is that of its largest timestamp, without timestamps that of its
 * file. Topics that are only compacted lose nothing but what lies below the log start. */
#include "base/mem.h"
#include "os/diag.h"
#include "os/io.h"
#include "store/log_dir_hooks.h"
#include "store/log_internal.h"

struct retention {
    int64_t now_ms;
    int64_t excess; /* bytes above retention.bytes */
};

static bool starts_above(const struct log *log, uint32_t index, struct retention *r)
{
    (void)r;
    return index + 1 < log->segment_count && log->segments[index + 1]->base <= log->start;
}

static bool is_excess(const struct log *log, uint32_t index, struct retention *r)
{
    if (r->excess < (int64_t)log->segments[index]->size)
        return false;
    r->excess -= log->segments[index]->size;
    return true;
}

static bool is_old(const struct log *log, uint32_t index, struct retention *r)
{
    struct segment *segment = log->segments[index];
    if (segment_load_times(segment, log->config.index_interval))
        return false;
    int64_t time_ms = segment->max_timestamp;
    if (time_ms < 0) {
        char path[SEGMENT_PATH_MAX];
        segment_path(segment, SEGMENT_LOG, path);
        struct io_stat stat;
        if (io_stat(log->io, path, &stat))
            return false;
        time_ms = stat.mtime_ms;
    }
    return r->now_ms - time_ms > log->config.retention_ms;
}

static uint32_t count_deletable(const struct log *log, struct retention *r,
                                bool (*deletable)(const struct log *log, uint32_t index,
                                                  struct retention *r))
{
    uint32_t count = 0;
    while (count < log->segment_count) {
        bool last = count + 1 == log->segment_count;
        int64_t upper = last ? log->end : log->segments[count + 1]->base;
        if (log->high_watermark < upper || (last && !log->segments[count]->size) ||
            !deletable(log, count, r))
            break;
        count++;
    }
    return count;
}

static void move_start(struct log *log, int64_t offset)
{
    if (offset <= log->start)
        return;
    log->start = offset;
    if (log->high_watermark < offset)
        log->high_watermark = offset;
    leader_epochs_truncate_start(&log->epochs, offset);
    producer_state_settle(&log->producers, offset);
    if (log->dir)
        log_dir_start_moved(log->dir);
}

/* From then on the producers are rebuilt from the snapshot where the first segment begins. It is
 * durable, but for segments that go before they were flushed. */
static enum err keep_producers(struct log *log, uint32_t count)
{
    const struct segment *last = log->segments[count - 1];
    int64_t base = log->segments[count]->base;
    if (log->recovery_point >= base && last->index_made == last->index_synced)
        return ERR_NONE;
    return log_check(log, log_path_sync_snapshot(log->path, log->io, base), "sync snapshot");
}

static int32_t drop_oldest(struct log *log, uint32_t count, const char *why)
{
    /* On a full disk a new segment can be made only when the others are gone. */
    if (count == log->segment_count && log_roll_at(log, log->end))
        count--;
    if (!count)
        return 0;
    diag(DIAG_STORE, DIAG_INFO, "%s: %u segment%s below offset %lld deleted: %s", log->path->text,
         count, count == 1 ? "" : "s", (long long)log->segments[count]->base, why);
    if (keep_producers(log, count) || log_drop_segments(log, 0, count))
        return 0;
    move_start(log, log->segments[0]->base);
    log_snapshots_delete(log, log->segments[0]->base, INT64_MAX);
    return (int32_t)count;
}

int32_t log_apply_retention(struct log *log, int64_t now_ms)
{
    if (log_failed(log) || log->closed || log->cleaning)
        return 0;
    struct retention r = {.now_ms = now_ms};
    int32_t dropped =
        drop_oldest(log, count_deletable(log, &r, starts_above), "below the log start");
    if (!log->config.cleanup_delete)
        return dropped;
    if (log->config.retention_size >= 0 && log->size > log->config.retention_size) {
        r.excess = log->size - log->config.retention_size;
        dropped += drop_oldest(log, count_deletable(log, &r, is_excess),
                               "the log is larger than its retention size");
    }
    if (log->config.retention_ms >= 0)
        dropped +=
            drop_oldest(log, count_deletable(log, &r, is_old), "older than its retention time");
    return dropped;
}

enum err log_set_start(struct log *log, int64_t offset)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    if (offset > log->high_watermark)
        return ERR_OFFSET_OUT_OF_RANGE;
    move_start(log, offset);
    return ERR_NONE;
}
