/* One round: one log is cleaned up to where its dirty section ends or the map is full. A state
 * machine that goes on a slice at a time:
 *
 *   ABORTED --transaction indexes read--> KEYS --segments read, or the map full--> GROUP --the next
 * group--> FILTER --its segments read--> SWAP --the new one is in place--> GROUP ... --no segment
 * left--> END
 *
 * Anything that fails leads to END with `err`: what is done of earlier groups stays, the group
 * under way is dropped. So does a log that was deleted, truncated, closed, or is no longer
 * compacted: each slice looks first (err ERR_CLOSED, which nobody hears of).
 *
 * On a worker. Old segments are read without a lock, from pinned files: nobody writes to them, and
 * a truncation is seen by the next slice. Answers to Kafka's Cleaner.doClean and cleanSegments. */
#include "store/cleaner_internal.h"

#include "base/mem.h"
#include "os/diag.h"

#include <stdlib.h>

/* ---- beginning and end ------------------------------------------------------------------------
 */

static void take_segments(struct cleaner_round *r, struct log *log)
{
    uint32_t count = 0;
    while (count < log->segment_count && log->segments[count]->base < r->dirt.offset_end)
        count++;
    r->count = count;
    r->segments = mem_array(count, sizeof *r->segments);
    r->parts = mem_array(count, sizeof *r->parts);
    for (uint32_t i = 0; i < count; i++) {
        struct segment *segment = log->segments[i];
        r->segments[i] = segment_ref(segment);
        r->parts[i] = (struct cleaner_part){.base = segment->base, .size = segment->size};
    }
}

/* Tombstones of magic 0 and 1 have no horizon of their own: the age of the newest clean segment
 * gives one. */
static void find_legacy_horizon(struct cleaner_round *r)
{
    char path[SEGMENT_PATH_MAX];
    struct io_stat stat;
    uint32_t clean = 0;
    while (clean < r->count && r->segments[clean]->base < r->dirt.first_dirty)
        clean++;
    r->legacy_horizon_ms = 0;
    if (!clean)
        return;
    segment_path(r->segments[clean - 1], SEGMENT_LOG, path);
    if (!io_stat(r->dirs->io, path, &stat))
        r->legacy_horizon_ms = stat.mtime_ms - r->config.delete_retention_ms;
}

static void fail(struct cleaner_round *r, enum err err, const char *where)
{
    r->err = err;
    r->where = where;
    r->stage = CLEANER_END;
}

int64_t cleaner_share(const struct cleaner_config *config)
{
    return config->dedupe_size / (config->threads > 0 ? config->threads : 1);
}

struct cleaner_round *cleaner_round_new(struct log *log, const struct cleaner_dirt *dirt,
                                        const struct cleaner_config *config, int64_t now_ms)
{
    struct cleaner_round *r = mem_zalloc(sizeof *r);
    int threads = config->threads > 0 ? config->threads : 1;
    int32_t window = config->io_buffer_size / threads / 2;
    int64_t memory = cleaner_share(config);
    r->dirs = log->dir->dirs;
    r->dir = log->dir;
    r->name = mem_strdup(log->name);
    r->serial = log->serial;
    r->truncations = log->truncations;
    r->config = log->config;
    r->dirt = *dirt;
    r->now_ms = now_ms;
    r->started_ns = io_mono_ns(r->dirs->io);
    r->where = "beginning";
    r->map_memory = memory < INT32_MAX ? memory : INT32_MAX;
    r->load_factor = config->load_factor;
    r->window_size = window > SEGMENT_SCAN_STACK ? (uint32_t)window : SEGMENT_SCAN_STACK;
    cleaner_txns_init(&r->keys_txns);
    cleaner_txns_init(&r->txns);
    cleaner_filter_init(&r->filter);
    cleaner_output_init(&r->output);
    take_segments(r, log);
    find_legacy_horizon(r);
    cleaner_aborted_init(r, log);
    log->cleaning = true;
    while (r->at + 1 < r->count && r->segments[r->at + 1]->base <= dirt->first_dirty)
        r->at++;
    return r;
}

/* What no slice needs before it runs: memory is not taken under the log's lock. */
static enum err begin(struct cleaner_round *r)
{
    struct siphash_key secret;
    io_random(r->dirs->io, &secret, sizeof secret);
    enum err err = cleaner_map_init(&r->map, r->map_memory, r->load_factor,
                                    r->dirt.offset_end - r->dirt.first_dirty, &secret);
    if (err)
        return err;
    r->window = mem_try_alloc(r->window_size);
    if (!r->window)
        return ERR_NO_MEMORY;
    r->keys = (struct cleaner_keys){.map = &r->map,
                                    .txns = &r->keys_txns,
                                    .offset_first = r->dirt.first_dirty,
                                    .record_size_max = (size_t)r->config.record_size_max};
    r->filter.map = &r->map;
    r->filter.txns = &r->txns;
    r->filter.now_ms = r->now_ms;
    r->filter.delete_retention_ms = r->config.delete_retention_ms;
    r->filter.offset_end = r->dirt.offset_end;
    r->filter.record_size_max = (size_t)r->config.record_size_max;
    return ERR_NONE;
}

static bool is_permanent(enum err err)
{
    switch ((int)err) {
    case ERR_NONE:
    case ERR_CLOSED:
    case ERR_IO:
    case ERR_DISK_FULL:
    case ERR_TOO_MANY_FILES:
    case ERR_NO_MEMORY:
    case ERR_ARGUMENT: return false;
    default: return true;
    }
}

/* Said once for as long as it is so. */
static void tell(struct cleaner_round *r, enum err before)
{
    if (!r->err) {
        double ms = (double)(io_mono_ns(r->dirs->io) - r->started_ns) / 1e6;
        diag(DIAG_STORE, DIAG_INFO,
             "%s/%s was cleaned from offset %lld to %lld: %llu of %llu bytes and %llu of %llu "
             "records stay; %.0f ms",
             r->dir->path, r->name, (long long)r->dirt.first_dirty, (long long)r->offset_end,
             (unsigned long long)r->size_kept, (unsigned long long)r->size_read,
             (unsigned long long)r->filter.counts.records_kept,
             (unsigned long long)r->filter.counts.records_read, ms);
        if (r->filter.counts.keyless)
            diag(DIAG_STORE, DIAG_WARN, "%s/%s had %llu records without a key, which are gone",
                 r->dir->path, r->name, (unsigned long long)r->filter.counts.keyless);
    } else if (is_permanent(r->err)) {
        const struct segment *segment = r->at < r->count ? r->segments[r->at] : NULL;
        diag(DIAG_STORE, DIAG_ERROR,
             "%s/%s cannot be cleaned: %s while %s, segment %lld, before byte %u. It is left as it "
             "is until the next start; other logs are cleaned",
             r->dir->path, r->name, err_text(r->err), r->where,
             segment ? (long long)segment->base : -1LL, r->scan.position);
    } else if (r->err != ERR_CLOSED && r->err != before) {
        diag(DIAG_STORE, DIAG_WARN, "%s/%s is not cleaned for now: %s while %s", r->dir->path,
             r->name, err_text(r->err), r->where);
    }
}

static void close_segment(struct cleaner_round *r)
{
    if (r->open)
        log_file_unpin(&r->segments[r->at]->files[SEGMENT_LOG]);
    r->open = false;
}

bool cleaner_round_free(struct cleaner_round *r)
{
    if (r->stage != CLEANER_END)
        fail(r, ERR_CLOSED, "stopping");
    close_segment(r);
    if (r->err == ERR_IO)
        log_dir_fail(r->dir, r->where);
    struct lock *lock;
    enum err before = ERR_NONE;
    struct log *log = log_walk_enter(r->dirs, r->name, r->serial, &lock);
    cleaner_output_drop(&r->output, log);
    if (log) {
        before = log->clean_err;
        log->cleaning = false;
        log->clean_err = r->err;
        if (!r->err && r->truncations == log->truncations)
            log->first_dirty = r->offset_end;
        log->uncleanable = log->uncleanable || is_permanent(r->err);
        log_walk_leave(r->dirs, log, lock);
        tell(r, before);
    }
    bool cleaned = !r->err;
    cleaner_aborted_fini(r);
    for (uint32_t i = 0; i < r->count; i++)
        segment_unref(r->segments[i]);
    cleaner_output_fini(&r->output);
    cleaner_map_fini(&r->map);
    cleaner_txns_fini(&r->keys_txns);
    cleaner_txns_fini(&r->txns);
    cleaner_filter_fini(&r->filter);
    mem_free(r->lasts);
    mem_free(r->segments);
    mem_free(r->parts);
    mem_free(r->window);
    mem_free(r->name);
    mem_free(r);
    return cleaned;
}

/* ---- the log ----------------------------------------------------------------------------------
 */

struct log *cleaner_round_enter(struct cleaner_round *r, struct lock **ret_lock)
{
    struct log *log = log_walk_enter(r->dirs, r->name, r->serial, ret_lock);
    if (log && !log_failed(log) && !log->closed && log->config.cleanup_compact && !log->future &&
        log->truncations == r->truncations && !r->output.revoked)
        return log;
    if (log)
        log_walk_leave(r->dirs, log, *ret_lock);
    fail(r, ERR_CLOSED, "looking at the log");
    return NULL;
}

/* Where the round's segments from `from` on stand in the log; they do, as long as nobody truncated
 * it: retention waits. */
static bool find_segments(struct cleaner_round *r, const struct log *log, uint32_t from,
                          uint32_t count, uint32_t *ret_index)
{
    uint32_t index = log_segment_index(log, r->segments[from]->base);
    if (index + count >= log->segment_count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (log->segments[index + i] != r->segments[from + i])
            return false;
    *ret_index = index;
    return true;
}

/* Opens segments[at] for reading, from the batch of `offset` on. */
static bool open_segment(struct cleaner_round *r, int64_t offset)
{
    struct segment *segment = r->segments[r->at];
    struct lock *lock;
    struct log *log = cleaner_round_enter(r, &lock);
    if (!log)
        return false;
    uint32_t position = 0, index;
    struct batch_info info;
    enum err err = find_segments(r, log, r->at, 1, &index) ? ERR_NONE : ERR_CLOSED;
    if (!err && offset > segment->base)
        err = segment_locate(segment, log->config.index_interval, offset, &position, &info);
    if (err == ERR_NOT_FOUND) {
        position = segment->size; /* all of it lies before */
        err = ERR_NONE;
    }
    int fd;
    if (!err)
        err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
    log_walk_leave(r->dirs, log, lock);
    struct io_stat stat;
    if (!err) {
        r->open = true;
        err = io_fstat(r->dirs->io, fd, &stat);
    }
    if (err) {
        fail(r, err, "opening a segment");
        return false;
    }
    r->mtime_ms = stat.mtime_ms;
    segment_scan_init(&r->scan, r->dirs->io, fd, position, r->parts[r->at].size, r->window,
                      r->window_size);
    return true;
}

/* ---- batches ----------------------------------------------------------------------------------
 */

/* Calls `use` for batches of the segment being read, up to about `size` bytes. ERR_NOT_FOUND: that
 * was the last. Damage is never copied with a new CRC. */
static enum err each_batch(struct cleaner_round *r, uint32_t size,
                           enum err (*use)(struct cleaner_round *r, const struct batch_info *info,
                                           struct slice bytes))
{
    uint32_t from = r->scan.position;
    enum err err = ERR_NONE;
    while (!err && r->scan.position - from < size) {
        struct batch_info info;
        uint32_t position;
        struct slice bytes;
        uint8_t *owned = NULL;
        err = segment_scan_next(&r->scan, &info, &position);
        if (!err)
            err = segment_scan_bytes(&r->scan, &info, position, &bytes, &owned);
        if (!err)
            err = batch_check(bytes);
        if (!err) {
            info.data = bytes.data;
            err = use(r, &info, bytes);
        }
        mem_free(owned);
    }
    return err;
}

static enum err use_keys(struct cleaner_round *r, const struct batch_info *info, struct slice bytes)
{
    enum err err = cleaner_keys_batch(&r->keys, info, bytes);
    return !err && r->keys.full ? ERR_NOT_FOUND : err;
}

static enum err use_filter(struct cleaner_round *r, const struct batch_info *info,
                           struct slice bytes)
{
    enum err err = cleaner_filter_batch(&r->filter, info, bytes, &r->output.batches);
    if (!err && r->output.batches.size >= r->window_size)
        err = cleaner_output_write(&r->output, r->config.index_interval);
    return err;
}

/* ---- stages -----------------------------------------------------------------------------------
 */

static void keys_end(struct cleaner_round *r)
{
    cleaner_txns_fini(&r->keys_txns);
    cleaner_txns_init(&r->keys_txns);
    r->offset_end = r->map.offset_last + 1;
    while (r->count && r->segments[r->count - 1]->base >= r->offset_end)
        segment_unref(r->segments[--r->count]);
    r->stage = CLEANER_GROUP;
    r->group_from = r->group_count = 0;
}

static uint64_t step_aborted(struct cleaner_round *r, uint32_t size)
{
    uint64_t bytes = 0;
    enum err err = cleaner_aborted_step(r, size, &bytes);
    if (err == ERR_NOT_FOUND) {
        cleaner_aborted_fini(r);
        r->stage = CLEANER_KEYS;
    } else if (err && err != ERR_CLOSED) {
        fail(r, err, "reading the transaction indexes");
    }
    return bytes;
}

static uint64_t step_keys(struct cleaner_round *r, uint32_t size)
{
    if (!r->open && !open_segment(r, r->dirt.first_dirty))
        return 0;
    uint32_t from = r->scan.position;
    enum err err = each_batch(r, size, use_keys);
    uint64_t bytes = r->scan.position - from;
    if (err && err != ERR_NOT_FOUND) {
        fail(r, err, "reading keys");
        return bytes;
    }
    if (!err)
        return bytes;
    close_segment(r);
    if (!r->keys.full) {
        r->at++;
        /* Offsets between segments may be missing. */
        r->map.offset_last = (r->at < r->count ? r->parts[r->at].base : r->dirt.offset_end) - 1;
    }
    if (r->keys.full || r->at == r->count)
        keys_end(r);
    return bytes;
}

static int by_producer(const void *a, const void *b)
{
    const struct cleaner_last *x = a, *y = b;
    return (x->producer_id > y->producer_id) - (x->producer_id < y->producer_id);
}

static void take_lasts(struct cleaner_round *r, const struct log *log)
{
    uint32_t count = producer_state_count(&log->producers);
    mem_free(r->lasts);
    r->lasts = mem_array(count, sizeof *r->lasts);
    for (uint32_t i = 0; i < count; i++) {
        const struct producer *producer = producer_state_at(&log->producers, i);
        const struct producer_batch *last =
            producer->batch_count ? &producer->batches[producer->batch_count - 1] : NULL;
        r->lasts[i] =
            (struct cleaner_last){producer->id, last ? last->offset_last : -1, producer->epoch};
    }
    if (count)
        qsort(r->lasts, count, sizeof *r->lasts, by_producer);
    r->filter.lasts = r->lasts;
    r->filter.last_count = count;
}

static uint32_t index_size(const struct segment *segment, enum segment_file kind)
{
    const struct index *index = kind == SEGMENT_INDEX ? &segment->offsets : &segment->times;
    if (segment->indexed)
        return index_count(index) * index->entry_size;
    char path[SEGMENT_PATH_MAX];
    struct io_stat stat;
    segment_path(segment, kind, path);
    return io_stat(segment_io(segment), path, &stat) ? 0 : (uint32_t)stat.size;
}

/* Looks at the files of no more segments than a group may have: the log's lock is held. */
static uint32_t next_group(struct cleaner_round *r)
{
    struct cleaner_group_limits limits = {r->config.segment_size_max, r->config.index_size_max,
                                          r->dirt.offset_end};
    struct cleaner_part *parts = r->parts + r->group_from;
    uint32_t count = r->count - r->group_from;
    int64_t size = 0;
    for (uint32_t i = 0; i < count && i < CLEANER_GROUP_MAX && size <= limits.size_max; i++) {
        const struct segment *segment = r->segments[r->group_from + i];
        parts[i].index_size = index_size(segment, SEGMENT_INDEX);
        parts[i].time_index_size = index_size(segment, SEGMENT_TIME_INDEX);
        size += parts[i].size;
    }
    return cleaner_group_next(parts, count, &limits);
}

static void step_group(struct cleaner_round *r)
{
    r->group_from += r->group_count;
    r->at = r->group_from;
    if (r->group_from == r->count) {
        r->stage = CLEANER_END;
        return;
    }
    log_dir_poll_space(r->dir);
    r->reserve = log_dir_reserve(r->dir);
    struct lock *lock;
    struct log *log = cleaner_round_enter(r, &lock);
    if (!log)
        return;
    r->group_count = next_group(r);
    take_lasts(r, log);
    r->filter.indexed_count = 0;
    enum err err = cleaner_output_open(&r->output, log, r->segments[r->group_from]->base);
    log_walk_leave(r->dirs, log, lock);
    if (err)
        fail(r, err, "making a segment");
    else
        r->stage = CLEANER_FILTER;
}

static bool has_room(struct cleaner_round *r, uint32_t size)
{
    struct io_space space;
    log_dir_poll_space(r->dir);
    return !log_dir_space(r->dir, &space) || space.free - (int64_t)size >= r->reserve;
}

static uint64_t step_filter(struct cleaner_round *r, uint32_t size)
{
    if (!has_room(r, size)) {
        fail(r, ERR_DISK_FULL, "writing a segment");
        return 0;
    }
    if (!r->open && !open_segment(r, 0))
        return 0;
    r->filter.keep_legacy_tombstones = r->mtime_ms > r->legacy_horizon_ms;
    uint32_t from = r->scan.position, before = r->output.segment->size;
    enum err err = each_batch(r, size, use_filter);
    bool end = err == ERR_NOT_FOUND;
    if (end) {
        close_segment(r);
        r->at++;
        err = cleaner_output_write(&r->output, r->config.index_interval);
    }
    uint64_t read = r->scan.position - from, written = r->output.segment->size - before;
    r->size_read += read;
    r->size_kept += written;
    if (err)
        fail(r, err, "cleaning a segment");
    else if (r->at == r->group_from + r->group_count)
        r->stage = CLEANER_SWAP;
    return read + written;
}

/* One step of the swap under the log's lock. */
static enum err swap_locked(struct cleaner_round *r, bool finish)
{
    struct lock *lock;
    struct log *log = cleaner_round_enter(r, &lock);
    if (!log)
        return r->err;
    uint32_t index;
    enum err err = ERR_CLOSED;
    if (!find_segments(r, log, r->group_from, r->group_count, &index))
        fail(r, err, "looking at the log");
    else if (finish)
        err = cleaner_output_swap(&r->output, log, index, r->group_count);
    else
        err = cleaner_output_prepare(&r->output, log, r->mtime_ms, r->filter.indexed,
                                     r->filter.indexed_count);
    log_walk_leave(r->dirs, log, lock);
    return err;
}

static void step_swap(struct cleaner_round *r)
{
    struct io *io = r->dirs->io;
    enum err err = cleaner_output_sync(&r->output);
    if (!err)
        err = swap_locked(r, false);
    if (!err) {
        err = cleaner_output_sync_names(&r->output, io);
        if (err == ERR_NOT_FOUND) /* the partition's folder was renamed: it goes */
            err = ERR_NONE;
    }
    if (!err)
        err = swap_locked(r, true);
    if (!err && cleaner_output_sync_names(&r->output, io) == ERR_IO)
        err = ERR_IO; /* anything else is left to the next flush: the segment is in place */
    if (err) {
        fail(r, err, "putting a segment in place");
        return;
    }
    cleaner_output_fini(&r->output);
    r->stage = CLEANER_GROUP;
}

bool cleaner_round_step(struct cleaner_round *r, uint32_t size, uint64_t *ret_bytes)
{
    *ret_bytes = 0;
    if (r->stage == CLEANER_KEYS && !r->window) {
        enum err err = begin(r);
        if (err)
            fail(r, err, "taking memory");
    }
    switch (r->stage) {
    case CLEANER_ABORTED: *ret_bytes = step_aborted(r, size); break;
    case CLEANER_KEYS: *ret_bytes = step_keys(r, size); break;
    case CLEANER_GROUP: step_group(r); break;
    case CLEANER_FILTER: *ret_bytes = step_filter(r, size); break;
    case CLEANER_SWAP: step_swap(r); break;
    case CLEANER_END: break;
    }
    return r->stage != CLEANER_END;
}
