/* See the header for the steps. Called by a round of the cleaner.
 *
 * The new segment is a struct segment like any other; only its suffix tells that it is not part of
 * the log yet. Its files are opened and renamed under the log's lock, because the path of a
 * partition's folder holds still there only; they stay pinned until the segment is in place. */
#include "store/cleaner_output.h"

#include "base/mem.h"
#include "os/diag.h"
#include "os/io.h"
#include "store/log_internal.h"
#include "store/producer_snapshot.h"

void cleaner_output_init(struct cleaner_output *output)
{
    *output = (struct cleaner_output){0};
    buf_init(&output->batches);
}

static void unpin(struct cleaner_output *output)
{
    for (int kind = 0; kind < SEGMENT_FILE_COUNT; kind++) {
        if (output->pinned[kind])
            log_file_unpin(&output->segment->files[kind]);
        output->pinned[kind] = false;
    }
}

static enum err pin(struct cleaner_output *output, enum segment_file kind)
{
    int fd;
    enum err err = log_file_pin(&output->segment->files[kind], true, &fd);
    output->pinned[kind] = !err;
    return err;
}

/* Lets go of the segment, which the log may have by now. */
static void let_go(struct cleaner_output *output)
{
    unpin(output);
    segment_unref(output->segment);
    output->segment = NULL;
    buf_fini(&output->batches);
}

void cleaner_output_fini(struct cleaner_output *output)
{
    let_go(output);
    log_path_unref(output->path);
    cleaner_output_init(output);
}

/* ---- 1 and 2: writing -------------------------------------------------------------------------
 */

enum err cleaner_output_open(struct cleaner_output *output, struct log *log, int64_t base)
{
    cleaner_output_init(output);
    output->segment = segment_new(log->cache, log->path, base, io_wall_ms(log->io));
    output->segment->suffix = SEGMENT_CLEANED;
    output->path = log_path_ref(log->path);
    enum err err = segment_create(output->segment);
    for (int kind = SEGMENT_LOG; kind < SEGMENT_TXN_INDEX && !err; kind++)
        err = pin(output, (enum segment_file)kind);
    log->names_made++;
    if (err)
        cleaner_output_drop(output, log);
    return err;
}

enum err cleaner_output_write(struct cleaner_output *output, int32_t index_interval)
{
    struct segment *segment = output->segment;
    if (!output->batches.size)
        return ERR_NONE;
    if ((uint64_t)segment->size + output->batches.size > INT32_MAX)
        return ERR_CORRUPT;
    struct iovec part = {output->batches.data, output->batches.size};
    enum err err = segment_write(segment, &part, 1);
    struct batch_iter iter = batch_iter_of(buf_slice(&output->batches));
    struct batch_info info;
    while (!err && batch_iter_next(&iter, &info)) {
        if (info.offset_last - segment->base > INT32_MAX)
            err = ERR_CORRUPT;
        else
            segment_add_batch(segment, index_interval, info.size, info.offset_last,
                              info.max_timestamp);
    }
    buf_clear(&output->batches);
    return err;
}

enum err cleaner_output_sync(struct cleaner_output *output)
{
    struct segment *segment = output->segment;
    enum err err = segment_write_indexes(segment, true);
    for (int kind = SEGMENT_LOG; kind < SEGMENT_TXN_INDEX && !err; kind++)
        err = io_fdatasync(segment_io(segment), segment->files[kind].fd);
    return err;
}

/* ---- 3 to 5: taking the place -----------------------------------------------------------------
 */

/* The last kind that has a file, plus one. */
static int kinds(const struct segment *segment)
{
    return segment->txn_count ? SEGMENT_FILE_COUNT : SEGMENT_TXN_INDEX;
}

static enum err rename_kind(struct segment *segment, enum segment_file kind,
                            const char *from_suffix, const char *to_suffix)
{
    char from[SEGMENT_PATH_MAX], to[SEGMENT_PATH_MAX];
    const char *before = segment->suffix;
    segment->suffix = from_suffix;
    segment_path(segment, kind, from);
    segment->suffix = to_suffix;
    segment_path(segment, kind, to);
    segment->suffix = before;
    return io_rename(segment_io(segment), from, to);
}

static enum err rename_all(struct segment *segment, const char *from, const char *to)
{
    enum err err = ERR_NONE;
    for (int kind = SEGMENT_LOG; kind < kinds(segment) && !err; kind++)
        err = rename_kind(segment, (enum segment_file)kind, from, to);
    if (!err)
        segment->suffix = to;
    return err;
}

static void set_mtimes(struct segment *segment, int64_t mtime_ms)
{
    char path[SEGMENT_PATH_MAX];
    for (int kind = SEGMENT_LOG; kind < SEGMENT_TXN_INDEX; kind++) {
        segment_path(segment, (enum segment_file)kind, path);
        io_set_mtime(segment_io(segment), path, mtime_ms);
    }
}

enum err cleaner_output_prepare(struct cleaner_output *output, struct log *log, int64_t mtime_ms,
                                const struct txn_index_entry *aborted, size_t aborted_count)
{
    struct segment *segment = output->segment;
    enum err err = ERR_NONE;
    if (aborted_count)
        err = pin(output, SEGMENT_TXN_INDEX);
    for (size_t i = 0; i < aborted_count && !err; i++)
        err = txn_index_append(segment, &aborted[i]);
    if (err)
        return err;
    /* Without timestamps the age of a segment is that of its file. */
    set_mtimes(segment, mtime_ms);
    output->revoked = false;
    log->names_made++;
    err = rename_all(segment, SEGMENT_CLEANED, SEGMENT_SWAP);
    if (!err)
        log->swapping = output;
    return err;
}

enum err cleaner_output_sync_names(struct cleaner_output *output, struct io *io)
{
    enum err err = ERR_NONE;
    if (output->pinned[SEGMENT_TXN_INDEX]) {
        err = io_fdatasync(io, output->segment->files[SEGMENT_TXN_INDEX].fd);
        output->segment->txn_synced = output->segment->txn_made;
    }
    return err ? err : log_path_sync_names(output->path, io, false);
}

/* Snapshots are kept where a segment begins. */
static void forget_snapshots(struct log *log, uint32_t at, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < log->snapshot_count; i++) {
        int64_t offset = log->snapshots[i];
        bool gone = false;
        for (uint32_t j = at + 1; j < at + count && !gone; j++)
            gone = log->segments[j]->base == offset;
        if (gone)
            producer_snapshot_delete(log->io, log->path->text, offset);
        else
            log->snapshots[kept++] = offset;
    }
    log->snapshot_count = kept;
}

enum err cleaner_output_swap(struct cleaner_output *output, struct log *log, uint32_t at,
                             uint32_t count)
{
    struct segment *segment = output->segment;
    log->swapping = NULL;
    log->names_made++;
    forget_snapshots(log, at, count);
    enum err err = log_drop_segments(log, at, count);
    if (!err)
        err = rename_all(segment, SEGMENT_SWAP, "");
    if (err) {
        /* Half the names have changed: the next start knows how to go on, this run does not. */
        let_go(output);
        return log_check(log, ERR_IO, "swap in a cleaned segment");
    }
    memmove(log->segments + at + 1, log->segments + at,
            (log->segment_count - at) * sizeof *log->segments);
    log->segments[at] = segment_ref(segment);
    log->segment_count++;
    log->size += segment->size;
    segment->index_files = true;
    log->bound_offset = -1;
    log->aborted_end = INT64_MAX;
    let_go(output);
    return ERR_NONE;
}

/* ---- giving up --------------------------------------------------------------------------------
 */

void cleaner_output_drop(struct cleaner_output *output, struct log *log)
{
    struct segment *segment = output->segment;
    if (!segment)
        return;
    if (log && log->swapping == output)
        log->swapping = NULL;
    if (log) {
        /* First of all no .swap may count: a .cleaned beside it sees to that. The .cleaned .log
         * goes last. What fails here is left to the next start, which does the same. */
        rename_kind(segment, SEGMENT_LOG, SEGMENT_SWAP, SEGMENT_CLEANED);
        char path[SEGMENT_PATH_MAX];
        for (int kind = SEGMENT_FILE_COUNT - 1; kind >= SEGMENT_LOG; kind--) {
            segment->suffix = SEGMENT_SWAP;
            segment_path(segment, (enum segment_file)kind, path);
            if (kind != SEGMENT_LOG)
                io_unlink(log->io, path);
            segment->suffix = SEGMENT_CLEANED;
            segment_path(segment, (enum segment_file)kind, path);
            io_unlink(log->io, path);
        }
    }
    cleaner_output_fini(output);
}

enum err cleaner_output_revoke(struct log *log)
{
    struct cleaner_output *output = log->swapping;
    log->swapping = NULL;
    output->revoked = true;
    enum err err = rename_kind(output->segment, SEGMENT_LOG, SEGMENT_SWAP, SEGMENT_CLEANED);
    log->names_made++;
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}
