/* Making a log durable: a job triple. prepare and finish are under the log's lock, run is on any
 * thread without it: it works on pinned files, and by name under the lock of the folder's name.
 * Several may be under way at once, each syncing all that it answers for: one that ends first moves
 * the recovery point past what another one was asked to sync.
 *
 * The recovery point moves when all bytes below it are synced, and with them the indexes of the
 * segments that lie wholly below it and the producer snapshots at their ends: recovery does not
 * look at those again. The active segment's offset and time index are not synced: recovery looks at
 * each of their entries. They are once it was rolled, even if its bytes were flushed before. Its
 * transaction index is: which transactions were aborted below the recovery point is known from
 * nothing else. The leader epochs are written out first, because recovery finds only the epochs
 * after the recovery point in batches. On a full disk they cannot be, but all else is synced: the
 * recovery point stays, and with it what a start recovers; what was appended is durable
 * (synced_end), and the next flush goes on from there. The names of new files are synced with them,
 * and that of a new folder: bytes without a name are lost. One fdatasync serves all who wait (group
 * commit): whoever waits for an offset asks again after a finish. */
#include "base/mem.h"
#include "os/io.h"
#include "store/log_internal.h"

bool log_flush_due(const struct log *log)
{
    int64_t durable = log_durable_end(log);
    if (durable >= log->end)
        return false;
    if (log->config.flush_messages != INT64_MAX && log->end - durable >= log->config.flush_messages)
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
    flush->epochs_version = log->epochs.version;
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
        if (kind == SEGMENT_TXN_INDEX && segment->txn_made == segment->txn_synced)
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
    int64_t from = log_durable_end(log);
    uint32_t i = log_segment_index(log, from);
    /* Rolled when all of it was flushed already. */
    while (i > 0 && log->segments[i - 1]->index_made != log->segments[i - 1]->index_synced)
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
        bool bytes = !rolled || flush->next_base > from;
        flush->err = pin_files(segment, bytes, rolled, &flush->pinned[flush->count]);
        flush->index_made[flush->count] = rolled ? segment->index_made : segment->index_synced;
        flush->txn_made[flush->count] = segment->txn_made;
        flush->segments[flush->count++] = segment_ref(segment);
    }
}

static bool indexes_wait(const struct log *log)
{
    if (log->segment_count < 2)
        return false;
    const struct segment *last = log->segments[log->segment_count - 2];
    return last->index_made != last->index_synced;
}

static bool epochs_wait(const struct log *log)
{
    return !log->epochs_unsynced && leader_epochs_dirty(&log->epochs);
}

bool log_flush_pending(const struct log *log)
{
    return log->recovery_point < log->end || epochs_wait(log) || indexes_wait(log);
}

void log_flush_hold(struct log *log, bool hold)
{
    log->flush_held = hold;
}

int64_t log_decided(const struct log *log)
{
    int64_t open = producer_state_first_open(&log->producers);
    return open >= 0 ? open : log->end;
}

bool log_flush_prepare(struct log *log, struct log_flush *flush)
{
    if (log_failed(log) || log->closed || log->flush_held)
        return false;
    if (!log_flush_pending(log))
        return false;
    *flush = (struct log_flush){.io = log->io, .size = log->unflushed_size, .next_base = -1};
    flush->path = log_path_ref(log->path);
    flush->truncations = log->truncations;
    flush->names_made = log->names_made;
    flush->sync_dir = log->names_made != log->names_synced;
    flush->sync_parent = log->folder_created;
    flush->offset_end = log->end;
    if (log->recovery_point < log->end || indexes_wait(log))
        pin_segments(log, flush);
    /* Of a flush that ends earlier it is not known here: a later one follows. */
    flush->decided = flush->offset_end == log->end ? log_decided(log) : 0;
    if (epochs_wait(log))
        encode_epochs(log, flush);
    return true;
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
        err = log_path_sync_snapshot(flush->path, flush->io, end);
    return err;
}

void log_flush_run(struct log_flush *flush)
{
    enum err err = flush->err, written = ERR_NONE;
    if (!err && flush->epochs)
        written = log_path_write_epochs(flush->path, flush->io,
                                        slice_of(flush->epochs, flush->epochs_size),
                                        flush->epochs_version, true);
    if (written != ERR_DISK_FULL)
        err = err ? err : written;
    for (int i = 0; i < flush->count && !err; i++)
        err = sync_segment(flush, i);
    if (!err && flush->sync_dir)
        err = log_path_sync_names(flush->path, flush->io, flush->sync_parent);
    flush->synced = !err;
    flush->err = err ? err : written;
}

static void raise_to(uint32_t *synced, uint32_t made)
{
    if ((int32_t)(made - *synced) > 0)
        *synced = made;
}

static void end_flush(struct log_flush *flush, bool synced)
{
    for (int i = 0; i < flush->count; i++) {
        struct segment *segment = flush->segments[i];
        for (int kind = 0; kind < SEGMENT_FILE_COUNT; kind++)
            if (flush->pinned[i] & 1u << kind)
                log_file_unpin(&segment->files[kind]);
        if (synced) {
            raise_to(&segment->index_synced, flush->index_made[i]);
            raise_to(&segment->txn_synced, flush->txn_made[i]);
        }
        segment_unref(segment);
    }
    mem_free(flush->epochs);
    log_path_unref(flush->path);
    flush->count = 0;
    flush->epochs = NULL;
    flush->path = NULL;
}

static void move_recovery_point(struct log *log, const struct log_flush *flush)
{
    /* What was written since a truncation has offsets that this flush may count as its own. */
    if (flush->truncations == log->truncations && flush->offset_end > log->recovery_point)
        log->recovery_point = flush->offset_end;
    if (flush->truncations == log->truncations && flush->decided > log->decided_end)
        log->decided_end = flush->decided;
    log->unflushed_size = log->unflushed_size > flush->size ? log->unflushed_size - flush->size : 0;
    if (log->recovery_point >= log->end)
        log->unflushed_size = 0;
    else if (!log->unflushed_size)
        log->unflushed_size = 1;
    log->unflushed_since_ms = io_mono_ms(log->io);
}

enum err log_flush_finish(struct log *log, struct log_flush *flush)
{
    enum err err = flush->err;
    if (log && flush->synced) {
        /* What was written since a truncation has offsets that this flush may count as its own. */
        if (flush->truncations == log->truncations && flush->offset_end > log->synced_end)
            log->synced_end = flush->offset_end;
        /* Files made after prepare, by a roll say, are still to be synced. */
        if (flush->sync_dir)
            raise_to(&log->names_synced, flush->names_made);
        if (flush->sync_parent)
            log->folder_created = false;
    }
    if (log && !err) {
        if (flush->epochs)
            raise_to(&log->epochs.version_written, flush->epochs_version);
        move_recovery_point(log, flush);
    }
    end_flush(flush, log && flush->synced);
    return log ? log_check(log, err, "flush") : err;
}
