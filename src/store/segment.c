/* One segment: naming, references, writing, cutting, finding a batch by offset.
 *
 * Invariants: `size` counts whole batches only, whatever a failed write left behind it in the file
 * is cut off; index entries never point at or beyond `size`. Indexes are attached on first use,
 * because most segments of a node are never read (10,000 idle partitions open no file), and a
 * damaged one is made again, alone. All under the lock of the log, except segment_ref,
 * segment_unref and the pins of ranges. Answers to Kafka's LogSegment. */
#include "store/segment.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"

#include <stdio.h>

struct segment *segment_new(struct file_cache *cache, struct log_path *path, int64_t base,
                            int64_t now_ms)
{
    struct segment *segment = mem_zalloc(sizeof *segment);
    segment->refs = 1;
    segment->cache = file_cache_ref(cache);
    segment->path = log_path_ref(path);
    segment->suffix = "";
    segment->base = base;
    segment->created_ms = now_ms;
    segment->max_timestamp = -1;
    segment->max_timestamp_offset = base;
    segment->first_timestamp = SEGMENT_UNKNOWN;
    index_init(&segment->offsets, INDEX_ENTRY_SIZE);
    index_init(&segment->times, TIME_INDEX_ENTRY_SIZE);
    for (int kind = 0; kind < SEGMENT_FILE_COUNT; kind++)
        log_file_init(&segment->files[kind], segment, (uint8_t)kind);
    return segment;
}

struct segment *segment_ref(struct segment *segment)
{
    __atomic_fetch_add(&segment->refs, 1, __ATOMIC_RELAXED);
    return segment;
}

void segment_unref(struct segment *segment)
{
    if (!segment || __atomic_fetch_sub(&segment->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    for (int kind = 0; kind < SEGMENT_FILE_COUNT; kind++)
        log_file_close(&segment->files[kind]);
    index_fini(&segment->offsets);
    index_fini(&segment->times);
    log_path_unref(segment->path);
    file_cache_unref(segment->cache);
    mem_free(segment);
}

static const char *suffix_of(enum segment_file kind)
{
    static const char *const suffixes[SEGMENT_FILE_COUNT] = {".log", ".index", ".timeindex",
                                                             ".txnindex"};
    return suffixes[kind];
}

void segment_path(const struct segment *segment, enum segment_file kind,
                  char path[SEGMENT_PATH_MAX])
{
    int size = snprintf(path, SEGMENT_PATH_MAX, "%s/%020lld%s%s", segment->path->text,
                        (long long)segment->base, suffix_of(kind), segment->suffix);
    ENSURE_CMP(size, <, SEGMENT_PATH_MAX);
}

bool segment_parse_name(const char *name, const char *suffix, int64_t *ret_base)
{
    struct slice text = slice_str(name);
    size_t suffix_size = strlen(suffix);
    if (text.size != SEGMENT_NAME_DIGITS + suffix_size ||
        memcmp(name + SEGMENT_NAME_DIGITS, suffix, suffix_size) != 0)
        return false;
    return slice_to_i64(slice_sub(text, 0, SEGMENT_NAME_DIGITS), 0, INT64_MAX, ret_base);
}

/* ---- files ------------------------------------------------------------------------------------
 */

enum err segment_create(struct segment *segment)
{
    struct io *io = segment_io(segment);
    char path[SEGMENT_PATH_MAX];
    for (int kind = SEGMENT_INDEX; kind < SEGMENT_FILE_COUNT; kind++) {
        segment_path(segment, (enum segment_file)kind, path);
        enum err err = io_unlink(io, path);
        if (err && err != ERR_NOT_FOUND)
            return err;
    }
    int fd;
    enum err err = log_file_pin(&segment->files[SEGMENT_LOG], true, &fd);
    if (err)
        return err;
    struct io_stat stat;
    err = io_fstat(io, fd, &stat);
    if (!err && stat.size)
        err = io_truncate(io, fd, 0);
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    if (err)
        return err;
    segment->size = 0;
    segment->indexed = segment->times_known = segment->txn_known = true;
    segment->first_timestamp = -1;
    return ERR_NONE;
}

static enum err attach(struct segment *segment, enum segment_file kind, struct index *index)
{
    struct io *io = segment_io(segment);
    int fd;
    enum err err = log_file_pin(&segment->files[kind], false, &fd);
    if (err)
        return err;
    struct io_stat stat;
    err = io_fstat(io, fd, &stat);
    if (!err && stat.size % index->entry_size)
        err = ERR_CORRUPT;
    if (!err)
        err = index_attach(index, io, fd, stat.size);
    log_file_unpin(&segment->files[kind]);
    return err;
}

/* The cheap checks that Kafka makes at every start: the last entries must be possible. A file that
 * was preallocated and not cut (its node was killed) ends in zeros and fails here. */
static bool plausible(const struct segment *segment)
{
    if (index_count(&segment->offsets)) {
        struct index_position last = offset_index_last(&segment->offsets, segment->base);
        if (last.offset <= segment->base || last.position >= segment->size)
            return false;
    }
    if (index_count(&segment->times)) {
        struct time_index_entry last = time_index_last(&segment->times, segment->base);
        /* Killed between cutting the one file and the other. Kept, such an end would make the
         * segment's largest timestamp 0, and retention would delete it. */
        bool zeros = last.offset == segment->base && last.timestamp == 0;
        if (last.offset < segment->base || last.timestamp < 0 ||
            (zeros && index_count(&segment->times) > 1))
            return false;
    }
    return true;
}

enum err segment_open_indexes(struct segment *segment, int32_t index_interval)
{
    if (segment->indexed)
        return ERR_NONE;
    enum err err = attach(segment, SEGMENT_INDEX, &segment->offsets);
    if (!err)
        err = attach(segment, SEGMENT_TIME_INDEX, &segment->times);
    if (!err && !plausible(segment))
        err = ERR_CORRUPT;
    segment->index_files = !err;
    if (err == ERR_CORRUPT || err == ERR_NOT_FOUND) {
        if (!segment->size) {
            /* Nothing to index; a stale file is emptied when the first entry is written. */
            index_init(&segment->offsets, INDEX_ENTRY_SIZE);
            index_init(&segment->times, TIME_INDEX_ENTRY_SIZE);
            err = ERR_NONE;
        } else {
            err = segment_rebuild_indexes(segment, index_interval);
        }
    }
    if (!err)
        segment->indexed = true;
    return err;
}

enum err segment_load_times(struct segment *segment, int32_t index_interval)
{
    if (segment->times_known)
        return ERR_NONE;
    enum err err = segment_open_indexes(segment, index_interval);
    if (err)
        return err;
    if (!segment->times_known) {
        struct time_index_entry last = time_index_last(&segment->times, segment->base);
        segment->max_timestamp = last.timestamp;
        segment->max_timestamp_offset = last.offset;
        segment->times_known = true;
    }
    return ERR_NONE;
}

enum err segment_load_first_timestamp(struct segment *segment)
{
    if (segment->first_timestamp != SEGMENT_UNKNOWN)
        return ERR_NONE;
    if (!segment->size) {
        segment->first_timestamp = -1;
        return ERR_NONE;
    }
    int fd;
    enum err err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    if (err)
        return err;
    uint8_t window[BATCH_HEADER_SIZE];
    struct segment_scan scan;
    segment_scan_init(&scan, segment_io(segment), fd, 0, segment->size, window, sizeof window);
    struct batch_info info;
    uint32_t position;
    err = segment_scan_next(&scan, &info, &position);
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    if (!err)
        segment->first_timestamp = info.max_timestamp;
    return err;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

enum err segment_write(struct segment *segment, const struct iovec *parts, int count)
{
    struct io *io = segment_io(segment);
    int fd;
    enum err err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    if (err)
        return err;
    err = io_pwritev(io, fd, parts, count, segment->size);
    if (err) {
        /* Whatever got there must not be taken for batches later. */
        enum err cut = io_truncate(io, fd, segment->size);
        if (cut)
            err = ERR_IO;
    }
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    return err;
}

static enum err write_index(struct segment *segment, enum segment_file kind, struct index *index)
{
    int fd;
    enum err err = log_file_pin(&segment->files[kind], true, &fd);
    if (err)
        return err;
    struct io *io = segment_io(segment);
    if (!index->file_count)
        err = io_truncate(io, fd, 0);
    if (!err)
        err = index_write(index, io, fd);
    log_file_unpin(&segment->files[kind]);
    return err;
}

static bool has_room(struct segment *segment)
{
    if (index_tail_full(&segment->offsets) &&
        write_index(segment, SEGMENT_INDEX, &segment->offsets))
        return false;
    return !index_tail_full(&segment->times) ||
           !write_index(segment, SEGMENT_TIME_INDEX, &segment->times);
}

void segment_add_batch(struct segment *segment, int32_t index_interval, uint32_t size,
                       int64_t offset_last, int64_t max_timestamp)
{
    ENSURE(segment->indexed && segment->times_known);
    if (!segment->size)
        segment->first_timestamp = max_timestamp;
    if (max_timestamp > segment->max_timestamp) {
        segment->max_timestamp = max_timestamp;
        segment->max_timestamp_offset = offset_last;
    }
    if (segment->index_gap > (uint32_t)index_interval && has_room(segment)) {
        offset_index_append(&segment->offsets, segment->base, offset_last, segment->size);
        time_index_append(&segment->times, segment->base, segment->max_timestamp,
                          segment->max_timestamp_offset);
        segment->index_gap = 0;
    }
    segment->size += size;
    segment->index_gap += size;
}

enum err segment_write_indexes(struct segment *segment, bool last)
{
    if (!segment->indexed)
        return ERR_NONE; /* never touched: the files are as they were left */
    if (last && segment->times_known) {
        if (index_tail_full(&segment->times)) {
            enum err err = write_index(segment, SEGMENT_TIME_INDEX, &segment->times);
            if (err)
                return err;
        }
        if (segment->max_timestamp >= 0)
            time_index_append(&segment->times, segment->base, segment->max_timestamp,
                              segment->max_timestamp_offset);
    }
    bool make = last && !segment->index_files;
    enum err err = ERR_NONE;
    if (segment->offsets.tail_count || make)
        err = write_index(segment, SEGMENT_INDEX, &segment->offsets);
    if (!err && (segment->times.tail_count || make))
        err = write_index(segment, SEGMENT_TIME_INDEX, &segment->times);
    if (!err && make)
        segment->index_files = true;
    return err;
}

/* ---- finding ----------------------------------------------------------------------------------
 */

/* The entry to walk from; (base, 0) when there is none. ERR_CORRUPT: the index cannot be right. */
static enum err index_floor(struct segment *segment, int32_t index_interval, int64_t offset,
                            struct index_position *ret_floor)
{
    enum err err = segment_open_indexes(segment, index_interval);
    if (err)
        return err;
    *ret_floor = (struct index_position){segment->base, 0};
    if (!index_count(&segment->offsets))
        return ERR_NONE;
    struct log_file *file = &segment->files[SEGMENT_INDEX];
    int fd = -1;
    if (segment->offsets.file_count) {
        err = log_file_pin(file, false, &fd);
        if (err)
            return err;
    }
    err = offset_index_find(&segment->offsets, segment_io(segment), fd, segment->base, offset,
                            ret_floor);
    if (fd >= 0)
        log_file_unpin(file);
    return err;
}

enum err segment_tail(struct segment *segment, int32_t index_interval, uint32_t room,
                      int64_t *ret_offset)
{
    if (segment->size <= room) {
        *ret_offset = segment->base;
        return ERR_NONE;
    }
    enum err err = segment_open_indexes(segment, index_interval);
    if (err)
        return err;
    struct log_file *file = &segment->files[SEGMENT_INDEX];
    int fd = -1;
    if (segment->offsets.file_count) {
        err = log_file_pin(file, false, &fd);
        if (err)
            return err;
    }
    bool any;
    struct index_position found;
    err = offset_index_at_position(&segment->offsets, segment_io(segment), fd, segment->base,
                                   segment->size - room, &any, &found);
    if (fd >= 0)
        log_file_unpin(file);
    if (err || !any)
        return err ? err : ERR_NOT_FOUND;
    *ret_offset = found.offset;
    return ERR_NONE;
}

/* From the entry to the batch. ERR_CORRUPT: it is the entry that is wrong; ERR_CORRUPT_MESSAGE: a
 * batch behind it. */
static enum err walk_to(struct segment *segment, struct index_position floor, int64_t offset,
                        uint32_t *ret_position, struct batch_info *ret_info)
{
    int fd;
    enum err err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    if (err)
        return err;
    uint8_t window[SEGMENT_SCAN_STACK];
    struct segment_scan scan;
    segment_scan_init(&scan, segment_io(segment), fd, floor.position, segment->size, window,
                      sizeof window);
    struct batch_info info;
    uint32_t position;
    err = segment_scan_next(&scan, &info, &position);
    if (floor.position && (err == ERR_NOT_FOUND || err == ERR_CORRUPT_MESSAGE ||
                           (!err && info.offset_last > floor.offset)))
        err = ERR_CORRUPT;
    while (!err && info.offset_last < offset)
        err = segment_scan_next(&scan, &info, &position);
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    if (err)
        return err;
    info.data = NULL;
    *ret_position = position;
    *ret_info = info;
    return ERR_NONE;
}

enum err segment_locate(struct segment *segment, int32_t index_interval, int64_t offset,
                        uint32_t *ret_position, struct batch_info *ret_info)
{
    struct index_position floor;
    enum err err = index_floor(segment, index_interval, offset, &floor);
    if (!err)
        err = walk_to(segment, floor, offset, ret_position, ret_info);
    if (err != ERR_CORRUPT)
        return err;
    err = segment_mend_indexes(segment, index_interval);
    if (!err)
        err = index_floor(segment, index_interval, offset, &floor);
    return err ? err : walk_to(segment, floor, offset, ret_position, ret_info);
}

enum err segment_offset_next(struct segment *segment, int32_t index_interval,
                             int64_t *ret_offset_next)
{
    if (!segment->size) {
        *ret_offset_next = segment->base;
        return ERR_NONE;
    }
    enum err err = segment_open_indexes(segment, index_interval);
    if (err)
        return err;
    int fd;
    err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    if (err)
        return err;
    uint8_t window[SEGMENT_SCAN_STACK];
    struct segment_scan scan;
    struct index_position last = offset_index_last(&segment->offsets, segment->base);
    segment_scan_init(&scan, segment_io(segment), fd, last.position, segment->size, window,
                      sizeof window);
    int64_t offset_next = segment->base;
    struct batch_info info;
    uint32_t position;
    while (!(err = segment_scan_next(&scan, &info, &position)))
        offset_next = info.offset_last + 1;
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    if (err != ERR_NOT_FOUND)
        return err;
    *ret_offset_next = offset_next;
    return ERR_NONE;
}

/* ---- cutting ----------------------------------------------------------------------------------
 */

/* Drops index entries that point at or behind the cut. */
static enum err cut_index(struct segment *segment, enum segment_file kind, struct index *index,
                          enum index_key which, int64_t key)
{
    if (!index_count(index))
        return ERR_NONE;
    int fd;
    enum err err = log_file_pin(&segment->files[kind], true, &fd);
    if (err)
        return err;
    uint32_t count;
    err = index_count_to(index, segment_io(segment), fd, which, key, &count);
    if (!err)
        err = index_truncate(index, segment_io(segment), fd, count);
    log_file_unpin(&segment->files[kind]);
    return err;
}

/* The largest timestamp of what stays: that of the last time index entry that stays, or of a batch
 * after it. */
static enum err find_times(struct segment *segment, int32_t index_interval)
{
    struct time_index_entry last = time_index_last(&segment->times, segment->base);
    segment->max_timestamp = last.timestamp;
    segment->max_timestamp_offset = last.offset;
    struct index_position floor;
    enum err err = index_floor(segment, index_interval, last.offset, &floor);
    if (err == ERR_CORRUPT || (!err && floor.position && !segment_entry_fits(segment, floor)))
        return segment_mend_indexes(segment, index_interval);
    int fd;
    if (!err)
        err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    if (err)
        return err;
    uint8_t window[SEGMENT_SCAN_STACK];
    struct segment_scan scan;
    segment_scan_init(&scan, segment_io(segment), fd, floor.position, segment->size, window,
                      sizeof window);
    struct batch_info info;
    uint32_t position;
    while (!(err = segment_scan_next(&scan, &info, &position))) {
        if (info.max_timestamp > segment->max_timestamp) {
            segment->max_timestamp = info.max_timestamp;
            segment->max_timestamp_offset = info.offset_last;
        }
    }
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    segment->times_known = true;
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

enum err segment_truncate(struct segment *segment, int32_t index_interval, uint32_t position,
                          int64_t offset_next)
{
    enum err err = segment_open_indexes(segment, index_interval);
    if (err)
        return err;
    err = cut_index(segment, SEGMENT_INDEX, &segment->offsets, INDEX_KEY_I32_2,
                    (int64_t)position - 1);
    if (!err)
        err = cut_index(segment, SEGMENT_TIME_INDEX, &segment->times, INDEX_KEY_I32_8,
                        offset_next - 1 - segment->base);
    int fd;
    if (!err)
        err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    if (err)
        return err;
    err = io_truncate(segment_io(segment), fd, position);
    log_file_unpin(&segment->files[SEGMENT_LOG]);
    if (err)
        return err;
    segment->size = position;
    segment->index_gap = position - offset_index_last(&segment->offsets, segment->base).position;
    if (!position)
        segment->first_timestamp = -1;
    return find_times(segment, index_interval);
}
