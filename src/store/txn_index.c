/* Entries: int16 version 0, int64 producer id, first offset, last offset, last stable offset. Rare
 * (one for each abort), so they are written at once and read when a read_committed fetch asks.
 * Answers to Kafka's TransactionIndex. Under the log's lock, or recovery. */
#include "store/txn_index.h"

#include "base/be.h"
#include "base/ensure.h"
#include "os/io.h"

enum { CHUNK = 64 };

static struct log_file *file_of(struct segment *segment)
{
    return &segment->files[SEGMENT_TXN_INDEX];
}

static struct txn_index_entry decode(const uint8_t *bytes)
{
    return (struct txn_index_entry){be_i64(bytes + 2), be_i64(bytes + 10), be_i64(bytes + 18),
                                    be_i64(bytes + 26)};
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
    if (!err)
        segment->txn_count++;
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
    uint8_t bytes[CHUNK * TXN_INDEX_ENTRY_SIZE];
    for (uint32_t done = 0; done < count && !err;) {
        uint32_t step = count - done < CHUNK ? count - done : CHUNK;
        size_t want = (size_t)step * TXN_INDEX_ENTRY_SIZE, got;
        err = io_pread(segment_io(segment), fd, bytes, want,
                       (int64_t)(at + done) * TXN_INDEX_ENTRY_SIZE, &got);
        if (!err && got != want)
            err = ERR_CORRUPT;
        for (uint32_t i = 0; i < step && !err; i++) {
            if (be_i16(bytes + (size_t)i * TXN_INDEX_ENTRY_SIZE) != 0)
                err = ERR_CORRUPT;
            ret_entries[done + i] = decode(bytes + (size_t)i * TXN_INDEX_ENTRY_SIZE);
        }
        done += step;
    }
    log_file_unpin(file_of(segment));
    return err;
}

enum err txn_index_truncate(struct segment *segment, int64_t offset_next)
{
    enum err err = txn_index_load(segment);
    if (err == ERR_CORRUPT) {
        /* Only recovery gets here with a damaged file; it fills the index again. */
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
    return ERR_NONE;
}
