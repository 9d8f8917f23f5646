/* Look-ups by timestamp (ListOffsets). Under the log's lock.
 *
 * Kafka's rules: the first segment whose largest timestamp reaches the target is taken, and nothing
 * after it, even when it holds no fitting record any more; in it the first batch in offset order
 * that reaches the target, and in that the first record at or above both target and log start. The
 * largest timestamp is looked for in all live segments, deleted records included, and the first
 * batch that has it wins. */
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"
#include "record/legacy.h"
#include "record/records.h"
#include "store/log_internal.h"

/* Start of the walk in `segment`: what the time index says lies before the target is skipped. */
static enum err walk_from(struct log *log, struct segment *segment, int64_t timestamp,
                          uint32_t *ret_position)
{
    *ret_position = 0;
    if (!index_count(&segment->times))
        return ERR_NONE;
    struct log_file *file = &segment->files[SEGMENT_TIME_INDEX];
    int fd = -1;
    enum err err = ERR_NONE;
    if (segment->times.file_count)
        err = log_file_pin(file, false, &fd);
    if (err)
        return err;
    struct time_index_entry found;
    err = time_index_find(&segment->times, log->io, fd, segment->base, timestamp - 1, &found);
    if (fd >= 0)
        log_file_unpin(file);
    if (err == ERR_CORRUPT)
        return segment_mend_indexes(segment, log->config.index_interval);
    if (err || found.timestamp < 0)
        return err;
    struct batch_info info;
    err = segment_locate(segment, log->config.index_interval, found.offset, ret_position, &info);
    /* An entry names a batch that has its timestamp; else the walk begins at the start. */
    if (err == ERR_NOT_FOUND ||
        (!err && info.magic >= 2 && info.max_timestamp != found.timestamp)) {
        *ret_position = 0;
        err = segment_mend_indexes(segment, log->config.index_interval);
    }
    return err;
}

static enum err legacy_find(struct slice entry, int64_t timestamp, int64_t offset_min,
                            int64_t *ret_offset, int64_t *ret_timestamp)
{
    struct legacy_iter iter;
    enum err err = legacy_iter_init(&iter, entry, 0);
    if (err)
        return err;
    struct record record;
    err = ERR_NOT_FOUND;
    while (legacy_iter_next(&iter, &record)) {
        if (record.timestamp >= timestamp && record.offset >= offset_min) {
            *ret_offset = record.offset;
            *ret_timestamp = record.timestamp;
            err = ERR_NONE;
            break;
        }
    }
    if (iter.err)
        err = iter.err;
    legacy_iter_fini(&iter);
    return err;
}

struct search {
    int64_t timestamp;
    int64_t offset_min;
    bool maximum; /* the record that has `timestamp`, not one above it */
    struct log_time_offset found;
};

static enum err search_batch(struct segment_scan *scan, const struct batch_info *info,
                             uint32_t position, struct search *search)
{
    struct slice bytes;
    uint8_t *owned = NULL;
    enum err err = segment_scan_bytes(scan, info, position, &bytes, &owned);
    if (err)
        return err;
    int64_t offset = -1, timestamp = search->timestamp;
    if (info->magic < 2)
        err = legacy_find(bytes, search->timestamp, search->offset_min, &offset, &timestamp);
    else if (search->maximum)
        err = records_find_max_timestamp(bytes, &offset);
    else
        err = records_find_timestamp(bytes, search->timestamp, search->offset_min, &offset,
                                     &timestamp);
    mem_free(owned);
    if (!err)
        search->found = (struct log_time_offset){timestamp, offset, info->leader_epoch};
    return err;
}

static enum err search_segment(struct log *log, struct segment *segment, struct search *search)
{
    uint32_t from;
    enum err err = walk_from(log, segment, search->timestamp, &from);
    if (err)
        return err;
    struct log_file *file = &segment->files[SEGMENT_LOG];
    int fd;
    err = log_file_pin(file, false, &fd);
    if (err)
        return err;
    uint8_t *window = mem_alloc(SEGMENT_SCAN_HEAP);
    struct segment_scan scan;
    segment_scan_init(&scan, log->io, fd, from, segment->size, window, SEGMENT_SCAN_HEAP);
    struct batch_info info;
    uint32_t position;
    while (!(err = segment_scan_next(&scan, &info, &position))) {
        if (info.max_timestamp < search->timestamp || info.offset_last < search->offset_min)
            continue;
        err = search_batch(&scan, &info, position, search);
        if (err != ERR_NOT_FOUND)
            break;
    }
    mem_free(window);
    log_file_unpin(file);
    return err;
}

static enum err finish(struct log *log, enum err err, const struct search *search,
                       struct log_time_offset *ret_found)
{
    if (err == ERR_NOT_FOUND)
        err = ERR_NONE;
    if (err == ERR_CORRUPT_MESSAGE || err == ERR_INVALID_RECORD)
        err = ERR_CORRUPT;
    if (err)
        return log_check(log, err, "look-up by time");
    *ret_found = search->found;
    return ERR_NONE;
}

enum err log_offset_by_time(struct log *log, int64_t timestamp, struct log_time_offset *ret_found)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    struct search search = {
        .timestamp = timestamp, .offset_min = log->start, .found = {-1, -1, -1}};
    enum err err = ERR_NOT_FOUND;
    for (uint32_t i = 0; i < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        err = segment_load_times(segment, log->config.index_interval);
        if (err)
            break;
        err = ERR_NOT_FOUND;
        if (segment->max_timestamp < timestamp)
            continue;
        err = search_segment(log, segment, &search);
        break;
    }
    return finish(log, err, &search, ret_found);
}

enum err log_offset_of_max_time(struct log *log, struct log_time_offset *ret_found)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    struct search search = {.timestamp = -1, .maximum = true, .found = {-1, -1, -1}};
    struct segment *best = NULL;
    enum err err = ERR_NONE;
    for (uint32_t i = 0; i < log->segment_count && !err; i++) {
        struct segment *segment = log->segments[i];
        err = segment_load_times(segment, log->config.index_interval);
        if (!err && segment->max_timestamp > search.timestamp) {
            best = segment;
            search.timestamp = segment->max_timestamp;
        }
    }
    if (!err && best)
        err = search_segment(log, best, &search);
    return finish(log, err, &search, ret_found);
}
