/* One partition's log: its life, its segments, where it stands.
 *
 * Invariants: segments are ordered by base offset and do not overlap; the last one is active and
 * the only one written to; start <= high watermark <= end, recovery_point <= end. All calls are
 * under the holder's lock (LOCK_PARTITION). Answers to Kafka's UnifiedLog and LocalLog. The other
 * log_*.c files hold appending, reading, look-ups, loading, retention, truncation and flushing. */
#include "store/log.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"
#include "os/io.h"
#include "os/lock.h"
#include "store/log_dir_hooks.h"
#include "store/log_internal.h"
#include "store/partition_meta.h"
#include "store/txn_index.h"

enum { ALONE_FILES_MAX = 64 };

void log_config_init(struct log_config *config)
{
    *config = (struct log_config){
        .segment_size_max = 1 << 30,
        .segment_ms = INT64_C(7) * 24 * 3600 * 1000,
        .segment_jitter_ms = 0,
        .index_size_max = 10 << 20,
        .index_interval = 4096,
        .retention_ms = INT64_C(7) * 24 * 3600 * 1000,
        .retention_size = -1,
        .file_delete_delay_ms = 60000,
        .flush_messages = INT64_MAX,
        .flush_ms = INT64_MAX,
        .producer_expiry_ms = INT64_C(24) * 3600 * 1000,
        .verify_transactions = true,
        .cleanup_delete = true,
        .dirty_ratio_min = 0.5,
        .compact_lag_max_ms = INT64_MAX,
        .delete_retention_ms = INT64_C(24) * 3600 * 1000,
        .record_size_max = INT32_MAX,
    };
}

/* ---- life -------------------------------------------------------------------------------------
 */

static int64_t serial_last;

/* With flush.messages=1 the high watermark waits for the flush, also for what recovery found: it
 * was acknowledged, and must be readable at once, by a coordinator that loads its state, say. On a
 * full disk, too: there the folder's job moves the recovery point once there is room. */
static enum err flush_recovered(struct log *log)
{
    enum err err = ERR_NONE;
    struct log_flush flush;
    while (!err && log->config.flush_messages == 1 && log_durable_end(log) < log->end &&
           log_flush_prepare(log, &flush)) {
        int64_t before = log_durable_end(log);
        log_flush_run(&flush);
        err = log_flush_finish(log, &flush);
        if (err == ERR_DISK_FULL && log_durable_end(log) > before)
            err = ERR_NONE;
    }
    return err;
}

enum err log_open(const struct log_open_options *options, struct log **ret_log)
{
    struct io *io = options->io;
    enum err err = io_mkdir(io, options->path);
    bool created = !err;
    if (err && err != ERR_EXISTS)
        return err;
    struct log *log = mem_zalloc(sizeof *log);
    log->io = io;
    log->dir = options->dir;
    log->epochs_unsynced = options->epochs_unsynced;
    log->tail_size = options->tail_size ? options->tail_size : LOG_TAIL_MAX;
    log->deleted_stay = options->deleted_stay;
    log->path = log_path_new(options->path);
    log->cache =
        log->dir ? file_cache_ref(log_dir_cache(log->dir)) : file_cache_new(io, ALONE_FILES_MAX);
    log->topic = slice_to_cstr(options->topic);
    log->partition = options->partition;
    log->name = mem_printf("%s-%d", log->topic, log->partition);
    log->config = options->config;
    log->bound_offset = -1;
    log->aborted_end = INT64_MAX;
    log->first_dirty = -1;
    log->serial = __atomic_add_fetch(&serial_last, 1, __ATOMIC_RELAXED);
    list_init(&log->dirty_link);
    lock_init(&log->own_lock, LOCK_PARTITION);
    producer_state_init(&log->producers);
    verifications_init(&log->verifications, 0);
    leader_epochs_init(&log->epochs);
    err = partition_meta_read(io, options->path, &log->topic_id);
    log->has_topic_id = !err;
    if (err == ERR_CORRUPT)
        diag(DIAG_STORE, DIAG_WARN, "%s/partition.metadata cannot be read; it is written again",
             options->path);
    else if (err && err != ERR_NOT_FOUND)
        goto fail;
    bool recovered = false;
    err = log_load(log, options, &recovered);
    if (err)
        goto fail;
    /* Names that a killed process made may not be on disk yet either; those of the partitions'
     * folders are synced by log_dirs_load. */
    if (created || !options->clean)
        log->names_made++;
    log->folder_created = created;
    err = flush_recovered(log);
    if (err)
        goto fail;
    log->high_watermark = log->start;
    *ret_log = log;
    return ERR_NONE;
fail:
    log_free(log);
    return err;
}

static enum err write_epochs(struct log *log)
{
    struct buf text;
    buf_init(&text);
    leader_epochs_encode(&log->epochs, &text);
    uint32_t version = log->epochs.version;
    enum err err = log_path_write_epochs(log->path, log->io, buf_slice(&text), version, false);
    if (!err)
        log->epochs.version_written = version;
    buf_fini(&text);
    return err;
}

enum err log_close(struct log *log, bool sync)
{
    ENSURE(!log->closed);
    if (log_failed(log))
        return ERR_KAFKA_STORAGE_ERROR;
    log->flush_held = false; /* nobody hears of what gets durable now */
    enum err err = ERR_NONE;
    for (uint32_t i = 0; i < log->segment_count && !err; i++) {
        struct segment *segment = log->segments[i];
        bool active = i + 1 == log->segment_count;
        err = segment_write_indexes(segment, active);
    }
    if (!err)
        err = log_snapshot_take(log, log->end);
    /* A flush writes them, too. */
    if (!err && leader_epochs_dirty(&log->epochs) && (!sync || log->epochs_unsynced))
        err = write_epochs(log);
    struct log_flush flush;
    while (!err && sync && log_flush_prepare(log, &flush)) {
        log_flush_run(&flush);
        err = log_flush_finish(log, &flush);
    }
    if (!err && sync && log->names_made != log->names_synced)
        err = log_path_sync_names(log->path, log->io, log->folder_created);
    if (err)
        return log_check(log, err, "close");
    log->closed = true;
    return ERR_NONE;
}

void log_free(struct log *log)
{
    if (!log)
        return;
    ENSURE(!log->lock && !log->visits);
    if (log->dir)
        log_dir_forget(log->dir, log);
    for (uint32_t i = 0; i < log->segment_count; i++)
        segment_unref(log->segments[i]);
    mem_free(log->segments);
    producer_state_fini(&log->producers);
    verifications_fini(&log->verifications);
    leader_epochs_fini(&log->epochs);
    mem_free(log->snapshots);
    mem_free(log->recent);
    mem_free(log->topic);
    mem_free(log->name);
    log_path_unref(log->path);
    file_cache_unref(log->cache);
    lock_fini(&log->own_lock);
    mem_free(log);
}

void log_set_config(struct log *log, const struct log_config *config)
{
    log->config = *config;
}

const struct log_config *log_config_of(const struct log *log)
{
    return &log->config;
}

struct slice log_topic(const struct log *log)
{
    return slice_str(log->topic);
}

int32_t log_partition(const struct log *log)
{
    return log->partition;
}

struct log_dir *log_dir_of(const struct log *log)
{
    return log->dir;
}

const char *log_path(const struct log *log)
{
    return log->path->text;
}

bool log_topic_id(const struct log *log, struct uuid *ret_id)
{
    if (!log->has_topic_id)
        return false;
    *ret_id = log->topic_id;
    return true;
}

enum err log_set_topic_id(struct log *log, const struct uuid *id)
{
    if (log->has_topic_id)
        return uuid_eq(&log->topic_id, id) ? ERR_NONE : ERR_INCONSISTENT_TOPIC_ID;
    enum err err = partition_meta_write(log->io, log->path->text, id);
    if (err)
        return log_check(log, err, "partition.metadata");
    log->topic_id = *id;
    log->has_topic_id = true;
    return ERR_NONE;
}

bool log_failed(const struct log *log)
{
    return log->failed || (log->dir && !log_dir_online(log->dir));
}

void log_fail(struct log *log)
{
    log->failed = true;
}

enum err log_check(struct log *log, enum err err, const char *what)
{
    if (err != ERR_IO)
        return err;
    if (log->dir)
        log_dir_fail(log->dir, what);
    else if (!log->failed)
        diag(DIAG_STORE, DIAG_ERROR, "%s: %s failed: %s", log->path->text, what,
             io_error_text(log->io, err));
    log->failed = true;
    return ERR_IO;
}

/* ---- where it stands --------------------------------------------------------------------------
 */

int64_t log_start(const struct log *log)
{
    return log->start;
}

int64_t log_end(const struct log *log)
{
    return log->end;
}

int64_t log_base(const struct log *log)
{
    return log->segments[0]->base;
}

int64_t log_high_watermark(const struct log *log)
{
    return log->high_watermark;
}

int64_t log_recovery_point(const struct log *log)
{
    return log->recovery_point;
}

int64_t log_durable_end(const struct log *log)
{
    return log->synced_end > log->recovery_point ? log->synced_end : log->recovery_point;
}

int64_t log_last_stable(const struct log *log)
{
    int64_t unstable = producer_state_first_unstable(&log->producers);
    /* DeleteRecords may go past the beginning of an open transaction. */
    if (unstable >= 0 && unstable < log->start)
        unstable = log->start;
    return unstable >= 0 && unstable < log->high_watermark ? unstable : log->high_watermark;
}

int64_t log_size(const struct log *log)
{
    return log->size;
}

int32_t log_segment_count(const struct log *log)
{
    return (int32_t)log->segment_count;
}

bool log_set_high_watermark(struct log *log, int64_t offset)
{
    if (offset < log->start)
        offset = log->start;
    if (offset > log->end)
        offset = log->end;
    if (offset == log->high_watermark)
        return false;
    log->high_watermark = offset;
    if (log->producers.ended.count)
        producer_state_settle(&log->producers, offset);
    return true;
}

/* ---- segments ---------------------------------------------------------------------------------
 */

void log_add_segment(struct log *log, struct segment *segment)
{
    if (log->segment_count == log->segment_capacity) {
        log->segment_capacity = log->segment_capacity ? log->segment_capacity * 2 : 1;
        log->segments =
            mem_realloc(log->segments, log->segment_capacity * sizeof(struct segment *));
    }
    ENSURE(!log->segment_count || log_active(log)->base < segment->base);
    log->segments[log->segment_count++] = segment;
    if (!segment->txn_known || segment->txn_count)
        log->aborted_end = INT64_MAX;
    log->size += segment->size;
}

uint32_t log_segment_index(const struct log *log, int64_t offset)
{
    uint32_t from = 0, to = log->segment_count;
    if (to && log->segments[to - 1]->base <= offset)
        return to - 1; /* most reads are of the active segment */
    while (to - from > 1) {
        uint32_t at = from + (to - from) / 2;
        if (log->segments[at]->base <= offset)
            from = at;
        else
            to = at;
    }
    return from;
}

static enum err mark_deleted(struct log *log, struct segment *segment)
{
    char from[SEGMENT_PATH_MAX], to[SEGMENT_PATH_MAX];
    enum err err = ERR_NONE;
    for (int kind = 0; kind < SEGMENT_FILE_COUNT && !err; kind++) {
        segment_path(segment, (enum segment_file)kind, from);
        segment->suffix = SEGMENT_DELETED;
        segment_path(segment, (enum segment_file)kind, to);
        segment->suffix = "";
        err = io_rename(log->io, from, to);
        if (err == ERR_NOT_FOUND && kind != SEGMENT_LOG)
            err = ERR_NONE;
    }
    if (!err)
        segment->suffix = SEGMENT_DELETED;
    return err;
}

static void unlink_segment(struct io *io, struct segment *segment)
{
    char path[SEGMENT_PATH_MAX];
    for (int kind = 0; kind < SEGMENT_FILE_COUNT; kind++) {
        segment_path(segment, (enum segment_file)kind, path);
        io_unlink(io, path);
    }
}

enum err log_drop_segments(struct log *log, uint32_t from, uint32_t count)
{
    /* Those that stay touch each other, wherever a crash ends this. */
    for (uint32_t i = 0; i < count; i++) {
        enum err err = mark_deleted(log, log->segments[from ? from + count - 1 - i : i]);
        if (err && err != ERR_NOT_FOUND)
            return log_check(log, err, "rename to .deleted");
    }
    for (uint32_t i = from; i < from + count; i++) {
        struct segment *segment = log->segments[i];
        log->size -= segment->size;
        if (log->dir)
            log_dir_delete_later(log->dir, segment, log->config.file_delete_delay_ms);
        else if (!log->deleted_stay)
            unlink_segment(log->io, segment);
        if (log->bound_segment == segment)
            log->bound_offset = -1;
        segment_unref(segment);
    }
    memmove(log->segments + from, log->segments + from + count,
            (log->segment_count - from - count) * sizeof(struct segment *));
    log->segment_count -= count;
    return ERR_NONE;
}

enum err log_new_segment(struct log *log, int64_t base)
{
    struct segment *segment = segment_new(log->cache, log->path, base, io_wall_ms(log->io));
    enum err err = segment_create(segment);
    if (err) {
        segment_unref(segment);
        return log_check(log, err, "create segment");
    }
    log_add_segment(log, segment);
    log_recent_clear(log);
    log->names_made++;
    log->jitter_ms = 0;
    int64_t jitter = log->config.segment_jitter_ms;
    if (jitter > 0) {
        uint32_t random;
        io_random(log->io, &random, sizeof random);
        log->jitter_ms = random % (jitter < INT32_MAX ? jitter : INT32_MAX);
    }
    return ERR_NONE;
}

enum err log_roll_at(struct log *log, int64_t base)
{
    struct segment *active = log_active(log);
    if (base < log->end)
        base = log->end;
    if (base == active->base) {
        ENSURE(!active->size);
        return ERR_NONE;
    }
    enum err err = segment_open_indexes(active, log->config.index_interval);
    if (!err)
        err = segment_load_times(active, log->config.index_interval);
    if (!err)
        err = segment_write_indexes(active, true);
    if (!err)
        err = log_snapshot_take(log, base);
    if (err)
        return log_check(log, err, "roll");
    active->index_made++;
    err = log_new_segment(log, base);
    if (err)
        return err;
    /* Kafka flushes the closed segment in the background; the folder's flush job does it here. */
    if (log->dir)
        log_dir_mark_dirty(log->dir, log);
    return ERR_NONE;
}

enum err log_roll(struct log *log)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    return log_roll_at(log, log->end);
}

void log_mark_unflushed(struct log *log, int64_t size)
{
    if (!log->unflushed_size) {
        log->unflushed_since_ms = io_mono_ms(log->io);
        if (log->dir)
            log_dir_mark_dirty(log->dir, log);
    }
    log->unflushed_size += size;
}

/* ---- leader epochs ----------------------------------------------------------------------------
 */

int32_t log_epoch_at(const struct log *log, int64_t offset)
{
    return leader_epochs_at(&log->epochs, offset);
}

int32_t log_epoch_latest(const struct log *log)
{
    return leader_epochs_latest(&log->epochs);
}

void log_epoch_end(const struct log *log, int32_t epoch, int32_t *ret_epoch, int64_t *ret_end)
{
    leader_epochs_end(&log->epochs, epoch, log->end, ret_epoch, ret_end);
}

enum err log_epoch_assign(struct log *log, int32_t epoch)
{
    if (log_failed(log))
        return ERR_KAFKA_STORAGE_ERROR;
    leader_epochs_begin(&log->epochs, epoch, log->end);
    if (leader_epochs_dirty(&log->epochs) && log->dir)
        log_dir_mark_dirty(log->dir, log);
    return ERR_NONE;
}
