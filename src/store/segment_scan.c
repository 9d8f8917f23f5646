/* Walks the batches of a .log file through a window, reading each byte at most once while batches
 * are smaller than the window. Larger batches are checked in pieces, so a damaged length never
 * makes the node take memory for it. Called by look-ups under the log's lock (small window on the
 * stack) and by recovery (large window). Reads only below `end`, the size that counts. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "os/io.h"
#include "store/segment.h"

void segment_scan_init(struct segment_scan *scan, struct io *io, int fd, uint32_t from,
                       uint32_t end, uint8_t *window, uint32_t window_max)
{
    *scan = (struct segment_scan){.io = io,
                                  .fd = fd,
                                  .position = from,
                                  .end = end,
                                  .window = window,
                                  .window_max = window_max};
}

/* Bytes of the window from `position` on. */
static struct slice in_window(const struct segment_scan *scan, uint32_t position)
{
    if (position < scan->window_from || position >= scan->window_from + scan->window_size)
        return SLICE_NULL;
    uint32_t skip = position - scan->window_from;
    return slice_of(scan->window + skip, scan->window_size - skip);
}

static enum err fill(struct segment_scan *scan, uint32_t position)
{
    uint32_t want = scan->end - position;
    if (want > scan->window_max)
        want = scan->window_max;
    size_t got;
    enum err err = io_pread(scan->io, scan->fd, scan->window, want, position, &got);
    if (err)
        return err;
    scan->window_from = position;
    scan->window_size = (uint32_t)got;
    return ERR_NONE;
}

enum err segment_scan_next(struct segment_scan *scan, struct batch_info *ret_info,
                           uint32_t *ret_position)
{
    uint32_t position = scan->position;
    if (position >= scan->end)
        return ERR_NOT_FOUND;
    struct slice head = in_window(scan, position);
    if (head.size < BATCH_HEADER_SIZE && scan->window_from + scan->window_size < scan->end) {
        enum err err = fill(scan, position);
        if (err)
            return err;
        head = in_window(scan, position);
    }
    struct batch_info info;
    enum err err = batch_peek(head, &info);
    if (err)
        return ERR_CORRUPT_MESSAGE;
    if (info.size > scan->end - position)
        return ERR_CORRUPT_MESSAGE;
    scan->position = position + info.size;
    *ret_info = info;
    *ret_position = position;
    return ERR_NONE;
}

static enum err check_large(struct segment_scan *scan, const struct batch_info *info,
                            uint32_t position)
{
    uint32_t expected = batch_crc(info->data);
    uint32_t crc = 0, at = position + BATCH_CRC_FROM, end = position + info->size;
    while (at < end) {
        enum err err = fill(scan, at);
        if (err)
            return err;
        uint32_t size = scan->window_size < end - at ? scan->window_size : end - at;
        if (!size)
            return ERR_CORRUPT_MESSAGE;
        crc = crc32c(crc, scan->window, size);
        at += size;
    }
    return crc == expected ? ERR_NONE : ERR_CORRUPT_MESSAGE;
}

/* Makes a batch that fits the window lie in it whole; info->data follows. */
static enum err gather(struct segment_scan *scan, const struct batch_info *info, uint32_t position,
                       struct slice *ret_bytes)
{
    struct slice bytes = in_window(scan, position);
    if (bytes.size < info->size) {
        enum err err = fill(scan, position);
        if (err)
            return err;
        bytes = in_window(scan, position);
    }
    if (bytes.size < info->size)
        return ERR_CORRUPT_MESSAGE;
    *ret_bytes = slice_sub(bytes, 0, info->size);
    return ERR_NONE;
}

enum err segment_scan_check(struct segment_scan *scan, const struct batch_info *info,
                            uint32_t position)
{
    struct slice bytes;
    if (info->size <= scan->window_max) {
        enum err err = gather(scan, info, position, &bytes);
        return err ? err : batch_check(bytes);
    }
    if (info->magic >= 2)
        return check_large(scan, info, position);
    uint8_t *owned = NULL;
    enum err err = segment_scan_bytes(scan, info, position, &bytes, &owned);
    if (!err)
        err = batch_check(bytes);
    mem_free(owned);
    return err;
}

enum err segment_scan_bytes(struct segment_scan *scan, const struct batch_info *info,
                            uint32_t position, struct slice *ret_bytes, uint8_t **ret_owned)
{
    *ret_owned = NULL;
    if (info->size <= scan->window_max)
        return gather(scan, info, position, ret_bytes);
    uint32_t size = info->size;
    uint8_t *data = mem_try_alloc(size);
    if (!data)
        return ERR_NO_MEMORY;
    size_t got;
    enum err err = io_pread(scan->io, scan->fd, data, size, position, &got);
    if (!err && got != size)
        err = ERR_CORRUPT_MESSAGE;
    if (err) {
        mem_free(data);
        return err;
    }
    *ret_owned = data;
    *ret_bytes = slice_of(data, size);
    return ERR_NONE;
}
