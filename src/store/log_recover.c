/* Loading a log from its folder, with recovery when the node did not stop cleanly. On start-up,
 * usually on a worker; nobody else knows the log yet.
 *
 * 1. Leftovers: .deleted and .cleaned files go; .swap files (complete output of a compaction or a
 *    split) replace the segments they cover; indexes without a .log go.
 * 2. Segments are taken in by their size alone.
 * 3. After an unclean stop everything from the recovery point on is read: batches must be whole,
 *    sound and in order; the first that is not ends the log there, and later segments go. The walk
 *    begins at the last index entry below the recovery point that proves right, else at the
 *    segment's start, and makes indexes, epochs and producer state again as it goes.
 * 4. Log end, log start, leader epochs, producer state.
 *
 * A full disk does not stop any of this: what cannot be written stays in memory. Answers to Kafka's
 * LogLoader and LogSegment.recover. */
#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"
#include "os/io.h"
#include "store/log_dir_hooks.h"
#include "store/log_internal.h"
#include "store/log_leftovers.h"
#include "store/txn_index.h"

/* ---- taking the files in ----------------------------------------------------------------------
 */

static enum err add_found(struct log *log, int64_t base)
{
    struct segment *segment = segment_new(log->cache, log->path, base, io_wall_ms(log->io));
    char path[SEGMENT_PATH_MAX];
    segment_path(segment, SEGMENT_LOG, path);
    struct io_stat stat;
    enum err err = io_stat(log->io, path, &stat);
    if (!err && stat.size > INT32_MAX)
        err = ERR_CORRUPT;
    if (err) {
        segment_unref(segment);
        return err;
    }
    segment->size = (uint32_t)stat.size;
    segment->txn_known = true; /* unless a file of it follows */
    log_add_segment(log, segment);
    return ERR_NONE;
}

/* Names come sorted, so bases and snapshots do, too. */
static enum err take_in(struct log *log, char **names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t offset;
        enum err err = ERR_NONE;
        if (segment_parse_name(names[i], ".log", &offset))
            err = add_found(log, offset);
        else if (segment_parse_name(names[i], ".snapshot", &offset))
            log_snapshot_add(log, offset);
        else if (segment_parse_name(names[i], ".txnindex", &offset) && log->segment_count &&
                 log_active(log)->base == offset)
            log_active(log)->txn_known = false;
        if (err)
            return err;
    }
    return ERR_NONE;
}

/* ---- recovery of one segment ------------------------------------------------------------------
 */

struct recovery {
    struct log *log;
    struct segment *segment;
    int64_t offset_next; /* after the last good batch */
    bool has_producers;  /* log->producers stands at offset_next */
    uint32_t file_size;
    uint8_t *window;
};

static void forget_indexes(struct segment *segment)
{
    index_fini(&segment->offsets);
    index_fini(&segment->times);
    index_init(&segment->offsets, INDEX_ENTRY_SIZE);
    index_init(&segment->times, TIME_INDEX_ENTRY_SIZE);
}

static enum err attach_checked(struct segment *segment, enum segment_file kind, struct index *index)
{
    struct io *io = segment_io(segment);
    int fd;
    enum err err = log_file_pin(&segment->files[kind], false, &fd);
    if (err)
        return err;
    struct io_stat stat;
    err = io_fstat(io, fd, &stat);
    if (!err)
        err = index_attach(index, io, fd, stat.size);
    uint32_t good = 0;
    if (!err)
        err = kind == SEGMENT_INDEX ? offset_index_check(index, io, fd, segment->size, &good)
                                    : time_index_check(index, io, fd, &good);
    if (!err)
        err = index_truncate(index, io, fd, good);
    log_file_unpin(&segment->files[kind]);
    return err;
}

/* True when a batch that ends with entry.offset starts at entry.position. */
static bool entry_is_right(struct segment *segment, struct index_position entry)
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
    bool right = !segment_scan_next(&scan, &info, &position) && info.offset_last == entry.offset;
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    return right;
}

static enum err cut_index(struct segment *segment, enum segment_file kind, struct index *index,
                          enum index_key which, int64_t key)
{
    int fd;
    enum err err = log_file_pin(&segment->files[kind], false, &fd);
    if (err)
        return err;
    uint32_t count;
    err = index_count_to(index, segment_io(segment), fd, which, key, &count);
    if (!err)
        err = index_truncate(index, segment_io(segment), fd, count);
    log_file_unpin(&segment->files[kind]);
    return err;
}

/* Where the walk begins: at the batch of the last index entry below the recovery point, if the
 * transaction index, which is synced up to there, is sound, and the producer snapshot is there that
 * the log will need when the segments before this one are gone. */
static enum err trusted_position(struct log *log, struct segment *segment, int64_t recovery_point,
                                 uint32_t *ret_position)
{
    *ret_position = 0;
    if (recovery_point <= segment->base || !segment->size)
        return ERR_NOT_FOUND;
    if (segment != log->segments[0] && !log_snapshot_is_good(log, segment->base))
        return ERR_NOT_FOUND;
    enum err err = attach_checked(segment, SEGMENT_INDEX, &segment->offsets);
    if (!err)
        err = attach_checked(segment, SEGMENT_TIME_INDEX, &segment->times);
    if (!err)
        err = cut_index(segment, SEGMENT_INDEX, &segment->offsets, INDEX_KEY_I32,
                        recovery_point - 1 - segment->base);
    if (err)
        return err;
    struct index_position last = offset_index_last(&segment->offsets, segment->base);
    if (!index_count(&segment->offsets) || !entry_is_right(segment, last))
        return ERR_NOT_FOUND;
    err = txn_index_check(segment);
    if (err)
        return err;
    err = cut_index(segment, SEGMENT_TIME_INDEX, &segment->times, INDEX_KEY_I32_8,
                    last.offset - segment->base);
    if (!err)
        *ret_position = last.position;
    return err;
}

/* Base offset of the batch at `position`. */
static enum err base_at(struct recovery *r, uint32_t position, int64_t *ret_offset)
{
    struct log_file *file = &r->segment->files[SEGMENT_LOG];
    int fd;
    enum err err = log_file_pin(file, false, &fd);
    if (err)
        return err;
    struct segment_scan scan;
    segment_scan_init(&scan, r->log->io, fd, position, r->file_size, r->window, SEGMENT_SCAN_HEAP);
    struct batch_info info;
    err = segment_scan_next(&scan, &info, &position);
    log_file_unpin(file);
    if (!err)
        *ret_offset = info.offset_base;
    return err;
}

/* Begins at `position`: what lies before it is counted as it is. */
static enum err begin_at(struct recovery *r, uint32_t position)
{
    struct segment *segment = r->segment;
    segment->indexed = segment->times_known = true;
    segment->index_files = false;
    struct time_index_entry last = time_index_last(&segment->times, segment->base);
    segment->max_timestamp = last.timestamp;
    segment->max_timestamp_offset = last.offset;
    r->offset_next = segment->base;
    enum err err = ERR_NONE;
    if (position)
        err = base_at(r, position, &r->offset_next);
    if (err)
        return err;
    segment->size = position;
    segment->index_gap = 0;
    if (!r->has_producers)
        err = log_producers_rebuild(r->log, r->offset_next);
    r->has_producers = true;
    /* The oldest segment needs none while nobody is known. */
    if (!err && !position &&
        (segment != r->log->segments[0] || producer_state_count(&r->log->producers)))
        err = log_snapshot_retake(r->log, segment->base);
    return err ? err : txn_index_truncate(segment, r->offset_next);
}

static enum err check_batch(struct recovery *r, struct segment_scan *scan, struct batch_info *info,
                            uint32_t position, struct producer_input *ret_input, bool *ret_any)
{
    *ret_any = false;
    uint8_t head[BATCH_HEADER_SIZE];
    if (info->magic >= 2)
        memcpy(head, info->data, sizeof head);
    if (info->magic >= 2 && info->offset_base < r->offset_next)
        return ERR_CORRUPT_MESSAGE;
    if (info->offset_last < r->offset_next || info->offset_last - r->segment->base > INT32_MAX)
        return ERR_CORRUPT_MESSAGE;
    /* check_large needs the head, which its own reading replaces. */
    if (info->magic >= 2)
        info->data = head;
    enum err err = segment_scan_check(scan, info, position);
    if (err || info->magic < 2)
        return err;
    struct slice bytes = slice_of(head, sizeof head);
    uint8_t *owned = NULL;
    if (batch_is_control(head))
        err = segment_scan_bytes(scan, info, position, &bytes, &owned);
    if (!err)
        err = log_producer_input(bytes, info->offset_base, ret_input);
    mem_free(owned);
    *ret_any = !err;
    return err == ERR_NOT_FOUND || err == ERR_INVALID_RECORD ? ERR_NONE : err;
}

/* Walks to the first batch that is not sound. */
static enum err walk(struct recovery *r)
{
    struct segment *segment = r->segment;
    struct log *log = r->log;
    int fd;
    enum err err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    if (err)
        return err;
    struct segment_scan scan;
    segment_scan_init(&scan, log->io, fd, segment->size, r->file_size, r->window,
                      SEGMENT_SCAN_HEAP);
    struct batch_info info;
    uint32_t position;
    while (!(err = segment_scan_next(&scan, &info, &position))) {
        struct producer_input input;
        bool any;
        err = check_batch(r, &scan, &info, position, &input, &any);
        if (!err && any)
            err = log_producer_replay(log, &input, segment);
        if (err)
            break;
        if (info.magic >= 2)
            leader_epochs_assign(&log->epochs, info.leader_epoch, info.offset_base);
        segment_add_batch(segment, log->config.index_interval, info.size, info.offset_last,
                          info.max_timestamp);
        r->offset_next = info.offset_last + 1;
    }
    if ((err == ERR_NOT_FOUND || err == ERR_CORRUPT_MESSAGE) && segment->size < r->file_size) {
        diag(DIAG_STORE, DIAG_WARN,
             "%s: segment %lld is not sound at byte %u of %u; the log ends there, at offset %lld",
             log->path->text, (long long)segment->base, segment->size, r->file_size,
             (long long)r->offset_next);
        err = io_truncate(log->io, fd, segment->size);
        /* The recovery point may pass this segment without another sync of it: what was cut off
         * must not come back then. */
        if (!err)
            err = io_fdatasync(log->io, fd);
    } else if (err == ERR_NOT_FOUND) {
        err = ERR_NONE;
    }
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    return err;
}

static bool tolerable(enum err err)
{
    return !err || err == ERR_DISK_FULL;
}

/* All of the segment is read, and its transaction index made again. Until that is done the offset
 * index is away, by which another start would know where to begin: if this one is cut short it must
 * not believe the half of a transaction index. */
static enum err distrust(struct recovery *r)
{
    struct segment *segment = r->segment;
    forget_indexes(segment);
    enum err err = txn_index_load(segment);
    if ((err && err != ERR_CORRUPT) || (!err && !segment->txn_count))
        return err;
    char path[SEGMENT_PATH_MAX];
    segment_path(segment, SEGMENT_INDEX, path);
    log_file_close(&segment->files[SEGMENT_INDEX]);
    err = io_unlink(r->log->io, path);
    if (err == ERR_NOT_FOUND)
        return ERR_NONE;
    return err ? err : log_path_sync_names(r->log->path, r->log->io, false);
}

static enum err sync_txn_index(struct segment *segment)
{
    int fd;
    enum err err = log_file_pin(&segment->files[SEGMENT_TXN_INDEX], false, &fd);
    if (err)
        return err;
    err = io_fdatasync(segment_io(segment), fd);
    log_file_unpin(&segment->files[SEGMENT_TXN_INDEX]);
    return err;
}

static enum err recover_segment(struct recovery *r, int64_t recovery_point)
{
    struct segment *segment = r->segment;
    /* Emptied by an earlier recovery, say, and a power cut would undo that. */
    bool txn_file = !segment->txn_known;
    r->file_size = segment->size;
    r->log->size -= segment->size;
    uint32_t position;
    enum err err = trusted_position(r->log, segment, recovery_point, &position);
    if (err == ERR_NOT_FOUND || err == ERR_CORRUPT) {
        position = 0;
        err = distrust(r);
    }
    if (!err)
        err = begin_at(r, position);
    if (!err)
        err = walk(r);
    if (!err && !position && segment->txn_count)
        err = sync_txn_index(segment);
    if (err)
        return err;
    r->log->size += segment->size;
    segment->index_made++;
    segment->txn_made += txn_file || segment->txn_count;
    err = segment_write_indexes(segment, true);
    return tolerable(err) ? ERR_NONE : err;
}

static enum err recover(struct log *log, int64_t recovery_point, int64_t *ret_end)
{
    struct recovery r = {.log = log, .window = mem_alloc(SEGMENT_SCAN_HEAP)};
    enum err err = ERR_NONE;
    bool dropped = false;
    uint32_t first = log_segment_index(log, recovery_point);
    for (uint32_t i = first; i < log->segment_count; i++) {
        r.segment = log->segments[i];
        /* A power cut may keep a newer segment and lose the end of this one. Only compaction leaves
         * holes on purpose. */
        if (i > first && r.segment->base != r.offset_next && !log->config.cleanup_compact) {
            diag(DIAG_STORE, DIAG_WARN,
                 "%s: nothing from offset %lld on; %u segments after it are "
                 "dropped",
                 log->path->text, (long long)r.offset_next, log->segment_count - i);
            dropped = true;
            err = log_drop_segments(log, i, log->segment_count - i);
            break;
        }
        uint32_t size_before = r.segment->size;
        err = recover_segment(&r, recovery_point);
        if (err)
            break;
        log->unflushed_size += r.segment->size;
        *ret_end = r.offset_next;
        if (r.segment->size < size_before && i + 1 < log->segment_count) {
            diag(DIAG_STORE, DIAG_WARN, "%s: %u segments after the damaged one are dropped",
                 log->path->text, log->segment_count - i - 1);
            dropped = true;
            err = log_drop_segments(log, i + 1, log->segment_count - i - 1);
            break;
        }
    }
    mem_free(r.window);
    /* What is dropped must not come back with a power cut: the offsets are given again. */
    if (!err && dropped)
        err = log_path_sync_names(log->path, log->io, false);
    return err;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static enum err find_ends(struct log *log, const struct log_open_options *options,
                          int64_t recovery_point, bool *ret_recovered)
{
    int64_t end = -1;
    enum err err = ERR_NONE;
    log->start =
        options->log_start > log->segments[0]->base ? options->log_start : log->segments[0]->base;
    /* A log just made has nothing to recover. */
    if (!options->clean && !log->names_made) {
        err = recover(log, recovery_point, &end);
        *ret_recovered = true;
    } else {
        err = segment_offset_next(log_active(log), log->config.index_interval, &end);
        if (err == ERR_CORRUPT_MESSAGE || err == ERR_CORRUPT) {
            /* A clean stop leaves no such thing: somebody changed the files. Look at all of it. */
            err = recover(log, 0, &end);
            *ret_recovered = true;
        }
    }
    if (err)
        return err;
    log->end = end;
    if (log->end < log->start) {
        err = log_drop_segments(log, 0, log->segment_count);
        if (!err)
            err = log_new_segment(log, log->start);
        if (!err)
            err = log_path_sync_names(log->path, log->io, false);
        log->end = log->start;
        leader_epochs_clear(&log->epochs);
        log_snapshots_delete(log, INT64_MAX, 0);
        producer_state_clear(&log->producers);
    }
    return err;
}

/* Finishing leftovers changes the names; an index whose .log went with them goes in a second round.
 */
static enum err list_finished(struct log *log, char ***ret_names, size_t *ret_count)
{
    enum { ROUNDS = 3 };
    bool changed = true;
    enum err err = ERR_NONE;
    char **names = NULL;
    size_t count = 0;
    for (int round = 0; round < ROUNDS && changed && !err; round++) {
        if (round)
            io_free_names(names, count);
        err = io_list_dir(log->io, log->path->text, &names, &count);
        if (err)
            return err;
        changed = false;
        err = log_leftovers_finish(log->io, log->path->text, names, count, &changed);
    }
    if (err) {
        io_free_names(names, count);
        return err;
    }
    *ret_names = names;
    *ret_count = count;
    return ERR_NONE;
}

static enum err load_files(struct log *log, const struct log_open_options *options)
{
    char **names;
    size_t count;
    enum err err = list_finished(log, &names, &count);
    if (err)
        return err;
    err = take_in(log, names, count);
    io_free_names(names, count);
    if (!err && !log->segment_count)
        err = log_new_segment(log, options->log_start);
    return err;
}

enum err log_load(struct log *log, const struct log_open_options *options, bool *ret_recovered)
{
    enum err err = load_files(log, options);
    if (err)
        return err;
    int64_t recovery_point = options->recovery_point;
    err = leader_epochs_read(&log->epochs, log->io, log->path->text);
    if (err == ERR_CORRUPT) {
        diag(DIAG_STORE, DIAG_WARN,
             "%s/leader-epoch-checkpoint cannot be read; the epochs are "
             "taken from the batches",
             log->path->text);
        recovery_point = 0;
    } else if (err && err != ERR_NOT_FOUND) {
        return err;
    }
    err = find_ends(log, options, recovery_point, ret_recovered);
    if (err)
        return err;
    log->recovery_saved = log->recovery_noted = options->recovery_point;
    log->recovery_point = log->end;
    if (*ret_recovered && options->recovery_point < log->end)
        log->recovery_point = options->recovery_point;
    leader_epochs_truncate_end(&log->epochs, log->end);
    leader_epochs_truncate_start(&log->epochs, log->start);
    log_snapshots_delete(log, 0, log->end);
    log_snapshots_delete_stray(log);
    if (!*ret_recovered)
        err = log_producers_rebuild(log, log->end);
    if (err)
        return err;
    /* Else the next flush tells. */
    if (log->recovery_point == log->end)
        log->decided_end = log_decided(log);
    if (log->unflushed_size && log->recovery_point < log->end) {
        log->unflushed_since_ms = io_mono_ms(log->io);
        if (log->dir)
            log_dir_mark_dirty(log->dir, log);
    } else {
        log->unflushed_size = 0;
    }
    if (!*ret_recovered)
        err = log_snapshot_take(log, log->end);
    else if (log->end > log->start || producer_state_count(&log->producers))
        err = log_snapshot_retake(log, log->end);
    return tolerable(err) ? ERR_NONE : err;
}
