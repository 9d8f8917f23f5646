/* Reading: bounds, finding the place, pinned file ranges, aborted transactions. Under the log's
 * lock (log_range_* on any thread).
 *
 * The common reads touch no file: an offset at the end gives an empty range at once, and one within
 * the last batches appended is found in the ring of recent batches. Everything else goes through
 * the offset index and a short walk. A read ends at its segment's end, as in Kafka's LocalLog.read;
 * one that finds nothing left in a segment goes on in the next. */
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"
#include "store/log_internal.h"

/* ---- recent batches ---------------------------------------------------------------------------
 */

void log_recent_add(struct log *log, int64_t offset_first, int64_t offset_last, uint32_t position)
{
    if (!log->recent)
        log->recent = mem_alloc(LOG_RECENT_MAX * sizeof *log->recent);
    log->recent[log->recent_next] = (struct log_recent){offset_first, offset_last, position};
    log->recent_next = (log->recent_next + 1) % LOG_RECENT_MAX;
    if (log->recent_count < LOG_RECENT_MAX)
        log->recent_count++;
}

void log_recent_clear(struct log *log)
{
    log->recent_count = log->recent_next = 0;
    log->bound_offset = -1;
}

/* The first recent batch whose last offset is >= offset, if no older batch could hold it. Newest
 * first: tail readers ask for the last or the one before. */
static const struct log_recent *find_recent(const struct log *log, int64_t offset)
{
    const struct log_recent *found = NULL;
    for (uint32_t i = 1; i <= log->recent_count; i++) {
        const struct log_recent *batch =
            &log->recent[(log->recent_next + LOG_RECENT_MAX - i) % LOG_RECENT_MAX];
        if (batch->offset_last < offset)
            return found;
        found = batch;
        if (batch->offset_first <= offset)
            return found;
    }
    return NULL; /* the ring does not reach back far enough */
}

enum err log_position(struct log *log, struct segment *segment, int64_t offset,
                      uint32_t *ret_position, struct log_recent *ret_batch)
{
    if (segment == log_active(log)) {
        const struct log_recent *recent = find_recent(log, offset);
        if (recent) {
            *ret_position = recent->position;
            if (ret_batch)
                *ret_batch = *recent;
            return ERR_NONE;
        }
    }
    struct batch_info info;
    uint32_t position;
    enum err err = segment_locate(segment, log->config.index_interval, offset, &position, &info);
    if (err == ERR_CORRUPT_MESSAGE)
        err = ERR_CORRUPT;
    if (err)
        return err == ERR_NOT_FOUND ? err : log_check(log, err, "read");
    *ret_position = position;
    if (ret_batch)
        *ret_batch = (struct log_recent){info.offset_base, info.offset_last, position};
    return ERR_NONE;
}

/* ---- ranges -----------------------------------------------------------------------------------
 */

void log_range_release(struct log_range *range)
{
    if (!range->file)
        return;
    struct segment *segment = range->file->segment;
    log_file_unpin(range->file);
    segment_unref(segment);
    *range = (struct log_range){.fd = -1};
}

enum err log_range_copy(struct io *io, const struct log_range *range, void *ret_data)
{
    if (!range->size)
        return ERR_NONE;
    size_t got;
    enum err err = io_pread(io, range->fd, ret_data, range->size, range->position, &got);
    if (err)
        return err;
    return got == range->size ? ERR_NONE : ERR_CORRUPT;
}

static enum err make_range(struct log *log, struct segment *segment, uint32_t position, size_t size,
                           struct log_range *ret_range)
{
    struct log_file *file = &segment->files[SEGMENT_LOG];
    int fd;
    enum err err = log_file_pin(file, false, &fd);
    if (err)
        return log_check(log, err == ERR_NOT_FOUND ? ERR_IO : err, "open segment");
    segment_ref(segment);
    *ret_range = (struct log_range){file, fd, position, size};
    return ERR_NONE;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/* Position in `segment` below which all batches start before `offset_end`. */
static enum err bound_position(struct log *log, uint32_t index, int64_t offset_end,
                               uint32_t *ret_position)
{
    struct segment *segment = log->segments[index];
    bool active = index + 1 == log->segment_count;
    if (active ? offset_end >= log->end : offset_end >= log->segments[index + 1]->base) {
        *ret_position = segment->size;
        return ERR_NONE;
    }
    /* Readers behind an open transaction ask for the same bound again and again. */
    if (log->bound_offset == offset_end && log->bound_segment == segment) {
        *ret_position = log->bound_position;
        return ERR_NONE;
    }
    uint32_t position;
    enum err err = log_position(log, segment, offset_end, &position, NULL);
    if (err == ERR_NOT_FOUND) {
        position = segment->size;
        err = ERR_NONE;
    }
    if (err)
        return err;
    log->bound_offset = offset_end;
    log->bound_segment = segment;
    log->bound_position = position;
    *ret_position = position;
    return ERR_NONE;
}

/* Size of the batch at `position`. */
static enum err batch_size_at(struct log *log, struct segment *segment, uint32_t position,
                              size_t *ret_size)
{
    struct log_file *file = &segment->files[SEGMENT_LOG];
    int fd;
    enum err err = log_file_pin(file, false, &fd);
    if (err)
        return err;
    uint8_t window[BATCH_HEADER_SIZE];
    struct segment_scan scan;
    segment_scan_init(&scan, log->io, fd, position, segment->size, window, sizeof window);
    struct batch_info info;
    err = segment_scan_next(&scan, &info, &position);
    log_file_unpin(file);
    if (err)
        return ERR_CORRUPT;
    *ret_size = info.size;
    return ERR_NONE;
}

static enum err read_segment(struct log *log, uint32_t index, int64_t offset, size_t size_max,
                             bool whole_first, int64_t offset_end, struct log_read *read)
{
    struct segment *segment = log->segments[index];
    uint32_t position, end;
    struct log_recent batch;
    enum err err = log_position(log, segment, offset, &position, &batch);
    if (!err)
        err = bound_position(log, index, offset_end, &end);
    if (err)
        return err;
    if (position >= end)
        return ERR_NONE; /* the batch that holds it is not readable yet */
    size_t size = end - position;
    if (size > size_max) {
        size = size_max;
        size_t first = 0;
        if (whole_first) {
            err = batch_size_at(log, segment, position, &first);
            if (err)
                return err;
        }
        if (size < first)
            size = first;
    }
    read->offset_base = batch.offset_first;
    int64_t next = index + 1 < log->segment_count ? log->segments[index + 1]->base : log->end;
    read->offset_end = next < offset_end ? next : offset_end;
    return size ? make_range(log, segment, position, size, &read->range) : ERR_NONE;
}

enum err log_read(struct log *log, int64_t offset, size_t size_max, bool whole_first,
                  int64_t offset_end, struct log_read *ret_read)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    if (offset < log->start || offset > log->end)
        return ERR_OFFSET_OUT_OF_RANGE;
    struct log_read read = {
        .range = {.fd = -1}, .offset = offset, .offset_base = offset, .offset_end = offset};
    if (offset_end > log->end)
        offset_end = log->end;
    if (offset < offset_end) {
        enum err err = ERR_NOT_FOUND;
        for (uint32_t i = log_segment_index(log, offset);
             err == ERR_NOT_FOUND && i < log->segment_count; i++)
            err = read_segment(log, i, offset, size_max, whole_first, offset_end, &read);
        if (err && err != ERR_NOT_FOUND)
            return err;
    }
    *ret_read = read;
    return ERR_NONE;
}

enum err log_read_take(struct io *io, struct log_read *read, struct buf *out,
                       int64_t *ret_offset_next)
{
    int64_t next = read->offset;
    enum err err = ERR_NONE;
    if (read->range.size) {
        size_t before = out->size;
        uint8_t *data = buf_extend(out, read->range.size);
        err = data ? log_range_copy(io, &read->range, data) : ERR_TOO_LARGE;
        struct batch_iter iter =
            batch_iter_of(data ? slice_of(data, read->range.size) : SLICE_NULL);
        struct batch_info info;
        while (!err && batch_iter_next(&iter, &info)) {
            if (info.offset_last < next - 1)
                err = ERR_CORRUPT;
            next = info.offset_last + 1;
        }
        if (!err && iter.err)
            err = ERR_CORRUPT;
        out->size = err ? before : out->size - iter.rest.size;
        log_range_release(&read->range);
    }
    if (!err)
        *ret_offset_next = next;
    return err;
}

enum err log_read_copy(struct log *log, int64_t offset, size_t size_max, int64_t offset_end,
                       struct buf *out, int64_t *ret_offset_next)
{
    struct log_read read;
    enum err err = log_read(log, offset, size_max, true, offset_end, &read);
    if (err)
        return err;
    err = log_read_take(log->io, &read, out, ret_offset_next);
    return err ? log_check(log, err, "read") : ERR_NONE;
}

enum err log_read_failed(struct log *log, enum err err)
{
    return log_check(log, err, "read");
}

int64_t log_bytes_between(struct log *log, int64_t offset, int64_t offset_end)
{
    if (offset < log->start)
        offset = log->start;
    if (offset_end > log->end)
        offset_end = log->end;
    if (offset >= offset_end || log_failed(log) || log->closed)
        return 0;
    int64_t size = 0;
    for (uint32_t i = log_segment_index(log, offset); i < log->segment_count; i++) {
        uint32_t from = 0, to;
        if (log->segments[i]->base >= offset_end)
            break;
        if (offset > log->segments[i]->base &&
            log_position(log, log->segments[i], offset, &from, NULL))
            continue;
        if (bound_position(log, i, offset_end, &to))
            break;
        size += to > from ? to - from : 0;
    }
    return size;
}
