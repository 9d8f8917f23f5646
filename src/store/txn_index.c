/* Entries: int16 version 0, int64 producer id, first offset, last offset, last stable offset. Rare
 * (one for each abort), so they are written at once and read when a read_committed fetch asks. The
 * markers' offsets rise, so that a fetch finds its place by halves. No entry is believed unless it
 * can be of its segment: a file of which a power cut or a bad copy left zeros must not show aborted
 * data. Answers to Kafka's TransactionIndex. Under the log's lock, or recovery. */
#include "store/txn_index.h"

#include "base/be.h"
#include "base/ensure.h"
#include "os/io.h"

enum { CHUNK = 64 };

static struct log_file *file_of(struct segment *segment)
{
    return &segment->files[SEGMENT_TXN_INDEX];
}

/* False: no entry of this segment. */
static bool decode(const struct segment *segment, const uint8_t *bytes,
                   struct txn_index_entry *ret_entry)
{
    struct txn_index_entry e = {be_i64(bytes + 2), be_i64(bytes + 10), be_i64(bytes + 18),
                                be_i64(bytes + 26)};
    *ret_entry = e;
    return be_i16(bytes) == 0 && e.producer_id >= 0 && e.offset_first >= 0 &&
           e.offset_first < e.offset_last && e.offset_last >= segment->base &&
           e.offset_last - segment->base <= INT32_MAX && e.last_stable >= 0 &&
           e.last_stable <= e.offset_last + 1;
}

enum err txn_index_load(struct segment *segment)
{
    if (segment->txn_known)
        return ERR_NONE;
    int fd;
    enum err err = log_file_pin(file_of(segment), false, &fd);
    if (err == ERR_NOT_FOUND) {
        segment->txn_count = 0;
        segment->txn_known = true;
        return ERR_NONE;
    }
    if (err)
        return err;
    struct io_stat stat;
    err = io_fstat(segment_io(segment), fd, &stat);
    log_file_unpin(file_of(segment));
    if (err)
        return err;
    if (stat.size % TXN_INDEX_ENTRY_SIZE)
        return ERR_CORRUPT;
    segment->txn_count = (uint32_t)(stat.size / TXN_INDEX_ENTRY_SIZE);
    segment->txn_known = true;
    return ERR_NONE;
}

enum err txn_index_append(struct segment *segment, const struct txn_index_entry *entry)
{
    enum err err = txn_index_load(segment);
    if (err)
        return err;
    int fd;
    err = log_file_pin(file_of(segment), true, &fd);
    if (err)
        return err;
    uint8_t bytes[TXN_INDEX_ENTRY_SIZE];
    be_put_i16(bytes, 0);
    be_put_i64(bytes + 2, entry->producer_id);
    be_put_i64(bytes + 10, entry->offset_first);
    be_put_i64(bytes + 18, entry->offset_last);
    be_put_i64(bytes + 26, entry->last_stable);
    err = io_pwrite(segment_io(segment), fd, bytes, sizeof bytes,
                    (int64_t)segment->txn_count * TXN_INDEX_ENTRY_SIZE);
    log_file_unpin(file_of(segment));
    segment->txn_made++;
    if (!err)
        segment->txn_count++;
    return err;
}

enum err txn_index_read_pinned(const struct segment *segment, int fd, uint32_t at, uint32_t count,
                               struct txn_index_entry *ret_entries)
{
    enum err err = ERR_NONE;
    uint8_t bytes[CHUNK * TXN_INDEX_ENTRY_SIZE];
    for (uint32_t done = 0; done < count && !err;) {
        uint32_t step = count - done < CHUNK ? count - done : CHUNK;
        size_t want = (size_t)step * TXN_INDEX_ENTRY_SIZE, got;
        err = io_pread(segment_io(segment), fd, bytes, want,
                       (int64_t)(at + done) * TXN_INDEX_ENTRY_SIZE, &got);
        if (!err && got != want)
            err = ERR_CORRUPT;
        for (uint32_t i = done; i < done + step && !err; i++)
            if (!decode(segment, bytes + (size_t)(i - done) * TXN_INDEX_ENTRY_SIZE,
                        &ret_entries[i]) ||
                (i && ret_entries[i].offset_last <= ret_entries[i - 1].offset_last))
                err = ERR_CORRUPT;
        done += step;
    }
    return err;
}

enum err txn_index_read(struct segment *segment, uint32_t at, uint32_t count,
                        struct txn_index_entry *ret_entries)
{
    ENSURE(at + count <= segment->txn_count);
    int fd;
    enum err err = log_file_pin(file_of(segment), false, &fd);
    if (err)
        return err;
    err = txn_index_read_pinned(segment, fd, at, count, ret_entries);
    log_file_unpin(file_of(segment));
    return err;
}

enum err txn_index_find(struct segment *segment, int64_t offset, uint32_t *ret_at)
{
    enum err err = txn_index_load(segment);
    uint32_t from = 0, to = segment->txn_count;
    while (!err && from < to) {
        uint32_t middle = from + (to - from) / 2;
        struct txn_index_entry entry;
        err = txn_index_read(segment, middle, 1, &entry);
        if (!err && entry.offset_last >= offset)
            to = middle;
        else
            from = middle + 1;
    }
    if (!err)
        *ret_at = from;
    return err;
}

enum err txn_index_check(struct segment *segment)
{
    enum err err = txn_index_load(segment);
    int64_t last = -1;
    for (uint32_t at = 0; !err && at < segment->txn_count;) {
        struct txn_index_entry entries[CHUNK];
        uint32_t count = segment->txn_count - at < CHUNK ? segment->txn_count - at : CHUNK;
        err = txn_index_read(segment, at, count, entries);
        if (!err && entries[0].offset_last <= last)
            err = ERR_CORRUPT;
        last = entries[count - 1].offset_last;
        at += count;
    }
    return err;
}

enum err txn_index_truncate(struct segment *segment, int64_t offset_next)
{
    enum err err = txn_index_load(segment);
    if (err == ERR_CORRUPT) {
        /* Whoever gets here with a damaged file fills it again. */
        segment->txn_count = UINT32_MAX;
        err = ERR_NONE;
        offset_next = segment->base;
    }
    if (err || !segment->txn_count)
        return err;
    uint32_t keep = segment->txn_count == UINT32_MAX ? 0 : segment->txn_count;
    struct txn_index_entry entry;
    while (keep) {
        err = txn_index_read(segment, keep - 1, 1, &entry);
        if (err && err != ERR_CORRUPT)
            return err;
        if (!err && entry.offset_last < offset_next)
            break;
        keep--;
    }
    if (keep == segment->txn_count)
        return ERR_NONE;
    int fd;
    err = log_file_pin(file_of(segment), true, &fd);
    if (err)
        return err;
    err = io_truncate(segment_io(segment), fd, (int64_t)keep * TXN_INDEX_ENTRY_SIZE);
    log_file_unpin(file_of(segment));
    if (err)
        return err;
    segment->txn_count = keep;
    segment->txn_known = true;
    segment->txn_made++;
    return ERR_NONE;
}
