/* Making a log durable: a job triple. prepare and finish are under the log's lock, run is on any
 * thread without it: it works on pinned files only.
 *
 * The recovery point moves when all bytes below it are synced. Indexes are not synced: recovery
 * trusts an index entry only after looking at what it points to. The leader epochs are written out
 * first, because recovery finds only the epochs after the recovery point in batches. The names of
 * new files are synced with them, and that of a new folder: bytes without a name are lost. One
 * fdatasync serves all who wait (group commit): whoever waits for an offset asks again after a
 * finish. */
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"
#include "store/disk_file.h"
#include "store/log_state.h"

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

bool log_flush_prepare(struct log *log, struct log_flush *flush)
{
    if (log_failed(log) || log->closed)
        return false;
    bool epochs = !log->epochs_unsynced && log->epochs.dirty && !log->epochs_written;
    if (log->recovery_point >= log->end && !epochs)
        return false;
    *flush = (struct log_flush){.io = log->io, .size = log->unflushed_size};
    flush->path = mem_strdup(log->path->text);
    flush->names_made = log->names_made;
    flush->sync_dir = log->names_made != log->names_synced;
    flush->sync_parent = log->folder_created;
    flush->offset_end = log->end;
    for (uint32_t i = log_segment_index(log, log->recovery_point);
         log->recovery_point < log->end && i < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        if (flush->count == LOG_FLUSH_FILES_MAX) {
            flush->offset_end = segment->base;
            flush->size = 0;
            break;
        }
        int fd;
        flush->err = log_file_pin(&segment->files[SEGMENT_LOG], false, &fd);
        if (flush->err)
            break;
        segment_ref(segment);
        flush->files[flush->count++] = &segment->files[SEGMENT_LOG];
    }
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

void log_flush_run(struct log_flush *flush)
{
    enum err err = flush->err;
    if (!err && flush->epochs) {
        char *path = mem_printf("%s/leader-epoch-checkpoint", flush->path);
        err = disk_file_replace(flush->io, path, slice_of(flush->epochs, flush->epochs_size), true);
        mem_free(path);
    }
    for (int i = 0; i < flush->count && !err; i++)
        err = io_fdatasync(flush->io, flush->files[i]->fd);
    if (!err && flush->sync_dir)
        err = log_sync_names(flush->io, flush->path, flush->sync_parent);
    flush->err = err;
}

static void end_flush(struct log_flush *flush)
{
    for (int i = 0; i < flush->count; i++) {
        struct segment *segment = flush->files[i]->segment;
        log_file_unpin(flush->files[i]);
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
    end_flush(flush);
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
