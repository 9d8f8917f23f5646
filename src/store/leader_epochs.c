/* Leader epoch history of one log (Kafka's LeaderEpochFileCache, KIP-101). Under the log's lock.
 *
 * The file is written by flush and close, not at each change: recovery finds the epochs of
 * unflushed batches in the batches themselves. An epoch without a batch does not make the history
 * dirty, for loading drops it again: a node that led ten thousand idle partitions for a while has
 * nothing to write when it stops. */
#include "store/leader_epochs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "store/checkpoint.h"
#include "store/disk_file.h"

enum { FILE_SIZE_MAX = 64 * 1024 * 1024 };

void leader_epochs_init(struct leader_epochs *epochs)
{
    *epochs = (struct leader_epochs){0};
}

void leader_epochs_fini(struct leader_epochs *epochs)
{
    mem_free(epochs->entries);
    leader_epochs_init(epochs);
}

static void add(struct leader_epochs *epochs, int32_t epoch, int64_t offset)
{
    if (epochs->count == epochs->capacity) {
        epochs->capacity = epochs->capacity ? epochs->capacity * 2 : 2;
        epochs->entries = mem_realloc(epochs->entries, epochs->capacity * sizeof *epochs->entries);
    }
    epochs->entries[epochs->count++] = (struct leader_epoch){epoch, offset};
}

static bool read_line(void *context, const struct slice *field, uint32_t index)
{
    (void)index;
    struct leader_epochs *epochs = context;
    int64_t epoch, offset;
    if (!slice_to_i64(field[0], 0, INT32_MAX, &epoch) ||
        !slice_to_i64(field[1], 0, INT64_MAX, &offset))
        return false;
    if (epochs->count) {
        const struct leader_epoch *last = &epochs->entries[epochs->count - 1];
        if (epoch <= last->epoch || offset < last->offset_first)
            return false;
    }
    add(epochs, (int32_t)epoch, offset);
    return true;
}

enum err leader_epochs_read(struct leader_epochs *epochs, struct io *io, const char *folder)
{
    struct buf text;
    buf_init(&text);
    char *path = mem_printf("%s/leader-epoch-checkpoint", folder);
    enum err err = disk_file_read(io, path, FILE_SIZE_MAX, &text);
    mem_free(path);
    leader_epochs_clear(epochs);
    /* Kafka makes the file empty and fills it with the first epoch. */
    if (!err && text.size)
        err = checkpoint_parse(buf_slice(&text), 2, read_line, epochs);
    if (err)
        epochs->count = 0;
    epochs->version_written = epochs->version;
    epochs->version += err == ERR_CORRUPT;
    buf_fini(&text);
    return err == ERR_TOO_LARGE ? ERR_CORRUPT : err;
}

void leader_epochs_encode(const struct leader_epochs *epochs, struct buf *out)
{
    buf_printf(out, "0\n%u\n", epochs->count);
    for (uint32_t i = 0; i < epochs->count; i++)
        buf_printf(out, "%d %lld\n", epochs->entries[i].epoch,
                   (long long)epochs->entries[i].offset_first);
}

static void drop_last(struct leader_epochs *epochs)
{
    epochs->count--;
    if (!epochs->last_is_empty)
        epochs->version++;
    epochs->last_is_empty = false;
}

void leader_epochs_begin(struct leader_epochs *epochs, int32_t epoch, int64_t offset)
{
    if (epoch < 0)
        return;
    if (epochs->count) {
        const struct leader_epoch *last = &epochs->entries[epochs->count - 1];
        if (last->epoch == epoch && last->offset_first <= offset)
            return;
    }
    while (epochs->count) {
        const struct leader_epoch *last = &epochs->entries[epochs->count - 1];
        if (last->epoch < epoch && last->offset_first < offset)
            break;
        drop_last(epochs);
    }
    /* One more may lie below: only the last can be empty. */
    if (epochs->last_is_empty)
        epochs->version++;
    add(epochs, epoch, offset);
    epochs->last_is_empty = true;
}

void leader_epochs_assign(struct leader_epochs *epochs, int32_t epoch, int64_t offset)
{
    leader_epochs_begin(epochs, epoch, offset);
    if (epoch >= 0 && epochs->last_is_empty) {
        epochs->last_is_empty = false;
        epochs->version++;
    }
}

int32_t leader_epochs_latest(const struct leader_epochs *epochs)
{
    return epochs->count ? epochs->entries[epochs->count - 1].epoch : -1;
}

int32_t leader_epochs_at(const struct leader_epochs *epochs, int64_t offset)
{
    for (uint32_t i = epochs->count; i-- > 0;)
        if (epochs->entries[i].offset_first <= offset)
            return epochs->entries[i].epoch;
    return -1;
}

void leader_epochs_end(const struct leader_epochs *epochs, int32_t epoch, int64_t log_end,
                       int32_t *ret_epoch, int64_t *ret_end)
{
    *ret_epoch = -1;
    *ret_end = -1;
    if (epoch < 0 || !epochs->count)
        return;
    if (epoch == leader_epochs_latest(epochs)) {
        *ret_epoch = epoch;
        *ret_end = log_end;
        return;
    }
    for (uint32_t i = 0; i < epochs->count; i++) {
        if (epochs->entries[i].epoch <= epoch)
            continue;
        /* The first epoch above ends the one asked for. Below the first known: it ends there. */
        *ret_epoch = i ? epochs->entries[i - 1].epoch : epoch;
        *ret_end = epochs->entries[i].offset_first;
        return;
    }
}

void leader_epochs_truncate_end(struct leader_epochs *epochs, int64_t offset)
{
    while (epochs->count && epochs->entries[epochs->count - 1].offset_first >= offset)
        drop_last(epochs);
}

void leader_epochs_truncate_start(struct leader_epochs *epochs, int64_t offset)
{
    /* The epoch that `offset` lies in stays and begins there. */
    uint32_t drop = 0;
    while (drop + 1 < epochs->count && epochs->entries[drop + 1].offset_first <= offset)
        drop++;
    if (!epochs->count || (!drop && epochs->entries[0].offset_first >= offset))
        return;
    if (drop)
        memmove(epochs->entries, epochs->entries + drop,
                (epochs->count - drop) * sizeof *epochs->entries);
    epochs->count -= drop;
    if (epochs->entries[0].offset_first < offset)
        epochs->entries[0].offset_first = offset;
    epochs->version++;
}

void leader_epochs_clear(struct leader_epochs *epochs)
{
    epochs->version += epochs->count > 0;
    epochs->count = 0;
    epochs->last_is_empty = false;
}
