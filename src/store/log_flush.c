/* Making a log durable: a job triple. prepare and finish are under the log's lock, run is on any
 * thread without it: it works on pinned files only.
 *
 * The recovery point moves when all bytes below it are synced, and with them the indexes of the
 * segments that lie wholly below it and the producer snapshots at their ends: recovery does not
 * look at those again. The active segment's offset and time index are not synced: recovery looks at
 * each of their entries. They are once it was rolled, even if its bytes were flushed before. Its
 * transaction index is: which transactions were aborted below the recovery point is known from
 * nothing else. The leader epochs
 * are written out first, because recovery finds only the epochs after the recovery point in
 * batches. The names of new files are synced with them, and that of a new folder: bytes without a
 * name are lost. One fdatasync serves all who wait (group commit): whoever waits for an offset asks
 * again after a finish. */
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"
#include "store/disk_file.h"
#include "store/log_internal.h"
#include "store/producer_snapshot.h"

bool log_flush_due(const struct log *log)
{
    if (log->recovery_point >= log->end)
        return false;
    if (log->config.flush_messages != INT64_MAX &&
        log->end - log->recovery_point >= log->config.flush_messages)
        return true;
    return log->config.flush_ms != INT64_MAX &&
           io_mono_ms(log->io) - log->unflushed_since_ms >= log->config.flush_ms;
}

static void encode_epochs(struct log *log, struct log_flush *flush)
{
    struct buf text;
    buf_init(&text);
    leader_epochs_encode(&log->epochs, &text);
    flush->epochs = text.data;
    flush->epochs_size = text.size;
    log->epochs.dirty = false;
    log->epochs_written = true;
}

/* Pins the files to sync of one segment. An index that is not there is made again when it is asked
 * for. */
static enum err pin_files(struct segment *segment, bool bytes, bool rolled, uint8_t *ret_pinned)
{
    *ret_pinned = 0;
    for (int kind = 0; kind < SEGMENT_FILE_COUNT; kind++) {
        bool index = kind == SEGMENT_INDEX || kind == SEGMENT_TIME_INDEX;
        if (kind == SEGMENT_LOG ? !bytes : index && !rolled)
            continue;
        if (kind == SEGMENT_TXN_INDEX && !segment->txn_unsynced)
            continue;
        int fd;
        enum err err = log_file_pin(&segment->files[kind], false, &fd);
        if (err == ERR_NOT_FOUND && kind != SEGMENT_LOG)
            continue;
        if (err)
            return err;
        *ret_pinned |= (uint8_t)(1u << kind);
    }
    return ERR_NONE;
}

static void pin_segments(struct log *log, struct log_flush *flush)
{
    uint32_t i = log_segment_index(log, log->recovery_point);
    /* Rolled when all of it was flushed already. */
    while (i > 0 && log->segments[i - 1]->index_unsynced)
        i--;
    for (; i < log->segment_count && !flush->err; i++) {
        struct segment *segment = log->segments[i];
        if (flush->count == LOG_FLUSH_SEGMENTS_MAX) {
            flush->offset_end = segment->base;
            flush->size = 0;
            return;
        }
        bool rolled = i + 1 < log->segment_count;
        flush->next_base = rolled ? log->segments[i + 1]->base : -1;
        bool bytes = !rolled || flush->next_base > log->recovery_point;
        flush->err = pin_files(segment, bytes, rolled, &flush->pinned[flush->count]);
        /* A flush that fails sets it again. */
        if (rolled)
            segment->index_unsynced = false;
        segment->txn_unsynced = false;
        flush->segments[flush->count++] = segment_ref(segment);
    }
}

bool log_flush_prepare(struct log *log, struct log_flush *flush)
{
    if (log_failed(log) || log->closed)
        return false;
    bool epochs = !log->epochs_unsynced && log->epochs.dirty && !log->epochs_written;
    if (log->recovery_point >= log->end && !epochs)
        return false;
    *flush = (struct log_flush){.io = log->io, .size = log->unflushed_size, .next_base = -1};
    flush->path = mem_strdup(log->path->text);
    flush->names_made = log->names_made;
    flush->sync_dir = log->names_made != log->names_synced;
    flush->sync_parent = log->folder_created;
    flush->offset_end = log->end;
    if (log->recovery_point < log->end)
        pin_segments(log, flush);
    if (epochs)
        encode_epochs(log, flush);
    return true;
}

enum err log_sync_names(struct io *io, const char *path, bool parent_too)
{
    enum err err = io_sync_dir(io, path);
    const char *slash = strrchr(path, '/');
    if (err || !parent_too || !slash || slash == path)
        return err;
    char *parent = slice_to_cstr(slice_of(path, (size_t)(slash - path)));
    err = io_sync_dir(io, parent);
    mem_free(parent);
    return err;
}

static enum err sync_segment(struct log_flush *flush, int at)
{
    struct segment *segment = flush->segments[at];
    enum err err = ERR_NONE;
    for (int kind = 0; kind < SEGMENT_FILE_COUNT && !err; kind++)
        if (flush->pinned[at] & 1u << kind)
            err = io_fdatasync(flush->io, segment->files[kind].fd);
    int64_t end = at + 1 < flush->count ? flush->segments[at + 1]->base : flush->next_base;
    if (!err && end >= 0)
        err = producer_snapshot_sync(flush->io, flush->path, end);
    return err;
}

void log_flush_run(struct log_flush *flush)
{
    enum err err = flush->err;
    if (!err && flush->epochs) {
        char *path = mem_printf("%s/leader-epoch-checkpoint", flush->path);
        err = disk_file_replace(flush->io, path, slice_of(flush->epochs, flush->epochs_size), true);
        mem_free(path);
    }
    for (int i = 0; i < flush->count && !err; i++)
        err = sync_segment(flush, i);
    if (!err && flush->sync_dir)
        err = log_sync_names(flush->io, flush->path, flush->sync_parent);
    flush->err = err;
}

static void end_flush(struct log_flush *flush, bool failed)
{
    for (int i = 0; i < flush->count; i++) {
        struct segment *segment = flush->segments[i];
        for (int kind = 0; kind < SEGMENT_FILE_COUNT; kind++)
            if (flush->pinned[i] & 1u << kind)
                log_file_unpin(&segment->files[kind]);
        if (failed)
            segment->index_unsynced = segment->txn_unsynced = true;
        segment_unref(segment);
    }
    mem_free(flush->epochs);
    mem_free(flush->path);
    flush->count = 0;
    flush->epochs = NULL;
    flush->path = NULL;
}

enum err log_flush_finish(struct log *log, struct log_flush *flush)
{
    enum err err = flush->err;
    bool epochs = flush->epochs != NULL;
    int64_t offset_end = flush->offset_end, size = flush->size;
    bool sync_dir = flush->sync_dir, sync_parent = flush->sync_parent;
    uint32_t names_made = flush->names_made;
    end_flush(flush, log && err);
    if (!log)
        return err;
    if (epochs)
        log->epochs_written = false;
    if (err) {
        log->epochs.dirty = log->epochs.dirty || epochs;
        return log_check(log, err, "flush");
    }
    if (offset_end > log->end)
        offset_end = log->end; /* it was truncated meanwhile */
    if (offset_end > log->recovery_point)
        log->recovery_point = offset_end;
    /* Files made after prepare, by a roll say, are still to be synced. */
    if (sync_dir && (int32_t)(names_made - log->names_synced) > 0)
        log->names_synced = names_made;
    if (sync_parent)
        log->folder_created = false;
    log->unflushed_size = log->unflushed_size > size ? log->unflushed_size - size : 0;
    if (log->recovery_point >= log->end)
        log->unflushed_size = 0;
    else if (!log->unflushed_size)
        log->unflushed_size = 1;
    log->unflushed_since_ms = io_mono_ms(log->io);
    return ERR_NONE;
}
