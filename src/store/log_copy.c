/* Copying a log into another one, see the header. Called by repl/replica_moves, and by
 * repl/partition_move with both logs locked: prepare under the source's lock, run on a worker,
 * finish under the target's.
 *
 * Entries of any magic are copied as they stand, below the log start as well, for as long as their
 * segment lives: what DeleteRecords hid still tells the last sequence of its producers. Each batch
 * is checked first, so that damage on a bad disk is not carried on as if it were data. Kafka's
 * ReplicaAlterLogDirsThread fetches from the log start on and knows less about producers; what ends
 * up on disk loads the same in both. */
#include "store/log_copy.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"
#include "store/log_dir_hooks.h"
#include "store/log_internal.h"
#include "store/producer_snapshot.h"
#include "store/txn_index.h"

enum { READ_MIN = 4096 }; /* a batch's head at least */

enum err log_copy_begin(struct log *source, struct log *target)
{
    int64_t base = source->segments[0]->base;
    enum err err = ERR_NONE;
    if (target->segment_count != 1 || log_active(target)->base != base || log_active(target)->size)
        err = log_truncate_fully(target, base);
    /* What the cleaner does from now on may have been copied before. */
    target->first_dirty = source->first_dirty;
    for (uint32_t i = 0; i < source->snapshot_count && !err; i++) {
        if (source->snapshots[i] != base)
            continue;
        err = producer_snapshot_read(source->io, source->path->text, base, io_wall_ms(source->io),
                                     source->config.producer_expiry_ms, &target->producers);
        if (err == ERR_CORRUPT || err == ERR_NOT_FOUND)
            return ERR_NONE; /* as a start would do without it */
        if (!err)
            err = producer_snapshot_write(target->io, target->path->text, base, &target->producers);
        if (!err)
            log_snapshot_add(target, base);
    }
    return log_check(target, err, "begin a copy");
}

/* The first segment that has a batch at or after `offset`, and where. ERR_NOT_FOUND: none has. */
static enum err find(struct log *source, int64_t offset, uint32_t *ret_index,
                     uint32_t *ret_position)
{
    for (uint32_t i = log_segment_index(source, offset); i < source->segment_count; i++) {
        enum err err = log_position(source, source->segments[i], offset, ret_position, NULL);
        *ret_index = i;
        if (err != ERR_NOT_FOUND)
            return err;
    }
    return ERR_NOT_FOUND;
}

enum err log_copy_prepare(struct log *source, int64_t offset, size_t size_max,
                          struct log_copy *ret_copy)
{
    if (log_failed(source) || source->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    if (size_max < READ_MIN)
        size_max = READ_MIN;
    struct log_copy copy = {
        .io = source->io,
        .size_max = size_max,
        .range = {.fd = -1},
        .start = source->start,
        .end = source->end,
        .high_watermark = source->high_watermark,
        .truncations = source->truncations,
    };
    if (offset < source->segments[0]->base || offset > source->end)
        return ERR_OFFSET_OUT_OF_RANGE;
    uint32_t index, position;
    enum err err = find(source, offset, &index, &position);
    if (err && err != ERR_NOT_FOUND)
        return err;
    if (!err) {
        struct segment *segment = source->segments[index];
        struct log_file *file = &segment->files[SEGMENT_LOG];
        int fd;
        err = log_file_pin(file, false, &fd);
        if (err)
            return log_check(source, err, "read");
        segment_ref(segment);
        copy.available = segment->size - position;
        copy.segment_base = segment->base;
        copy.range = (struct log_range){file, fd, position,
                                        size_max < copy.available ? size_max : copy.available};
    }
    *ret_copy = copy;
    return ERR_NONE;
}

/* Keeps the whole batches of `got` bytes, each one checked; `ret_first` is the size of the first
 * one when not even that is whole. */
static enum err check_batches(struct log_copy *copy, size_t got, size_t *ret_first)
{
    struct batch_iter iter = batch_iter_of(slice_of(copy->bytes, got));
    struct batch_info info;
    copy->size = 0;
    while (batch_iter_next(&iter, &info)) {
        enum err err = batch_check(slice_of(info.data, info.size));
        if (err)
            return err;
        copy->size += info.size;
    }
    if (iter.err)
        return iter.err;
    if (copy->size)
        return ERR_NONE;
    if (iter.rest.size < BATCH_PEEK_SIZE)
        return ERR_CORRUPT_MESSAGE;
    *ret_first = batch_size(iter.rest.data);
    return ERR_NONE;
}

static enum err read_bytes(struct log_copy *copy, size_t size)
{
    mem_free(copy->bytes);
    copy->bytes = mem_try_alloc(size);
    copy->range.size = size;
    return copy->bytes ? log_range_copy(copy->io, &copy->range, copy->bytes) : ERR_NO_MEMORY;
}

enum err log_copy_run(struct log_copy *copy)
{
    if (!copy->range.size)
        return ERR_NONE;
    enum err err = read_bytes(copy, copy->range.size);
    size_t first = 0;
    if (!err)
        err = check_batches(copy, copy->range.size, &first);
    if (!err && first) {
        if (first > copy->available || first <= copy->range.size)
            return ERR_CORRUPT_MESSAGE;
        err = read_bytes(copy, first);
        if (!err)
            err = check_batches(copy, first, &first);
    }
    return err == ERR_CORRUPT ? ERR_CORRUPT_MESSAGE : err;
}

/* ---- appending --------------------------------------------------------------------------------
 */

/* Rolls where the source did. After compaction moved segments together there, the rules of any log
 * hold: a segment has room for its offsets and bytes. */
static enum err roll_as_source(struct log *log, const struct log_copy *copy,
                               const struct batch_info *last)
{
    struct segment *active = log_active(log);
    bool next = active->size && copy->segment_base > active->base && copy->segment_base >= log->end;
    bool full = copy->segment_base != active->base &&
                (int64_t)active->size + (int64_t)copy->size > log->config.segment_size_max;
    bool far = last->offset_last - active->base > INT32_MAX;
    if (next)
        return log_roll_at(log, copy->segment_base);
    return (full && active->size) || far ? log_roll_at(log, log->end) : ERR_NONE;
}

static enum err replay(struct log *log, struct segment *segment, const struct batch_info *info)
{
    if (info->magic != BATCH_MAGIC)
        return ERR_NONE;
    struct producer_input input;
    enum err err = log_producer_input(slice_of(info->data, info->size), info->offset_base, &input);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_NONE : err;
    if (input.marker) {
        err = txn_index_load(segment);
        if (err)
            return err;
    }
    return log_producer_replay(log, &input, segment);
}

static enum err count_batches(struct log *log, struct segment *segment, struct log_copy *copy)
{
    struct batch_iter iter = batch_iter_of(slice_of(copy->bytes, copy->size));
    struct batch_info info;
    int64_t size_before = segment->size;
    enum err err = ERR_NONE;
    while (!err && batch_iter_next(&iter, &info)) {
        err = replay(log, segment, &info);
        if (err)
            break;
        if (info.magic == BATCH_MAGIC)
            leader_epochs_assign(&log->epochs, info.leader_epoch, info.offset_base);
        segment_add_batch(segment, log->config.index_interval, info.size, info.offset_last,
                          info.max_timestamp);
        log->end = info.offset_last + 1;
    }
    int64_t added = (int64_t)segment->size - size_before;
    log->size += added;
    if (added)
        log_mark_unflushed(log, added);
    /* What was not counted is no part of the log, nor what the index says about it. */
    if (err && (segment_truncate(segment, log->config.index_interval, segment->size, log->end) ||
                txn_index_truncate(segment, log->end)))
        err = ERR_IO;
    return err;
}

static enum err add(struct log *log, struct log_copy *copy)
{
    struct batch_iter iter = batch_iter_of(slice_of(copy->bytes, copy->size));
    struct batch_info info, first = {0}, last = {0};
    while (batch_iter_next(&iter, &info)) {
        if (!first.size)
            first = info;
        last = info;
    }
    if (first.offset_base < log->end)
        return ERR_OFFSET_OUT_OF_RANGE; /* the batch that holds the target's end was rewritten */
    enum err err = roll_as_source(log, copy, &last);
    struct segment *segment = log_active(log);
    if (!err)
        err = segment_open_indexes(segment, log->config.index_interval);
    if (!err)
        err = segment_load_times(segment, log->config.index_interval);
    struct iovec part = {copy->bytes, copy->size};
    if (!err)
        err = segment_write(segment, &part, 1);
    return err ? err : count_batches(log, segment, copy);
}

enum err log_copy_finish(struct log *target, struct log_copy *copy)
{
    if (log_failed(target) || target->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    enum err err = copy->size ? add(target, copy) : ERR_NONE;
    /* Compaction may have left nothing of the last offsets. */
    if (!copy->range.size && copy->end > target->end) {
        err = log_roll_at(target, copy->end);
        if (!err)
            target->end = copy->end;
    }
    log_set_high_watermark(target, copy->high_watermark);
    if (!err && copy->start > target->start && copy->start <= target->high_watermark)
        err = log_set_start(target, copy->start);
    return log_check(target, err, "append a copy");
}

void log_copy_end(struct log_copy *copy)
{
    log_range_release(&copy->range);
    mem_free(copy->bytes);
    copy->bytes = NULL;
    copy->size = 0;
}

void log_copy_take_over(struct log *log, struct log *from)
{
    ENSURE_CMP(log->end, ==, from->end);
    struct producer_state producers = log->producers;
    log->producers = from->producers;
    from->producers = producers;
    struct verifications verifications = log->verifications;
    log->verifications = from->verifications;
    from->verifications = verifications;
    /* Of epochs that saw no batch only the source knows. */
    leader_epochs_clear(&log->epochs);
    for (uint32_t i = 0; i < from->epochs.count; i++)
        leader_epochs_begin(&log->epochs, from->epochs.entries[i].epoch,
                            from->epochs.entries[i].offset_first);
    log->epochs.last_is_empty = from->epochs.last_is_empty;
    log->epochs.version++;
    log->config = from->config;
    log->jitter_ms = from->jitter_ms;
    log->high_watermark = from->high_watermark;
    log->uncleanable = from->uncleanable;
    if (from->start > log->start) {
        log->start = from->start;
        if (log->dir)
            log_dir_start_moved(log->dir);
    }
    if (log->dir)
        log_dir_mark_dirty(log->dir, log);
}
