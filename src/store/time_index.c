/* Entries of the time index over store/index.c. Called like that. Kafka's TimeIndex: an entry says
 * that no batch up to its offset has a larger timestamp; entries are added beside those of the
 * offset index and one more at roll and clean close, so that the last one tells the segment's
 * largest timestamp. */
#include "store/time_index.h"

#include "base/be.h"
#include "os/io.h"

bool time_index_append(struct index *index, int64_t base, int64_t timestamp, int64_t offset)
{
    if (timestamp <= time_index_last(index, base).timestamp)
        return false;
    uint8_t entry[TIME_INDEX_ENTRY_SIZE];
    be_put_i64(entry, timestamp);
    be_put_i32(entry + 8, (int32_t)(offset - base));
    index_append(index, entry);
    return true;
}

struct time_index_entry time_index_last(const struct index *index, int64_t base)
{
    if (!index_count(index))
        return (struct time_index_entry){-1, base};
    return (struct time_index_entry){be_i64(index->last), base + be_i32(index->last + 8)};
}

enum err time_index_find(const struct index *index, struct io *io, int fd, int64_t base,
                         int64_t timestamp, struct time_index_entry *ret_found)
{
    uint32_t count;
    enum err err = index_count_to(index, io, fd, INDEX_KEY_I64, timestamp, &count);
    if (err)
        return err;
    if (!count) {
        *ret_found = (struct time_index_entry){-1, base};
        return ERR_NONE;
    }
    uint8_t entry[TIME_INDEX_ENTRY_SIZE];
    err = index_entry(index, io, fd, count - 1, entry);
    if (err)
        return err;
    *ret_found = (struct time_index_entry){be_i64(entry), base + be_i32(entry + 8)};
    return ERR_NONE;
}

enum err time_index_check(const struct index *index, struct io *io, int fd, uint32_t *ret_good)
{
    enum { COUNT = 256 };
    uint8_t window[COUNT * TIME_INDEX_ENTRY_SIZE];
    int64_t timestamp_before = -1;
    int32_t offset_before = 0;
    for (uint32_t at = 0; at < index->file_count;) {
        uint32_t count = index->file_count - at < COUNT ? index->file_count - at : COUNT;
        size_t want = (size_t)count * TIME_INDEX_ENTRY_SIZE, got;
        enum err err = io_pread(io, fd, window, want, (int64_t)at * TIME_INDEX_ENTRY_SIZE, &got);
        if (err)
            return err;
        if (got != want)
            return ERR_CORRUPT;
        for (uint32_t i = 0; i < count; i++) {
            const uint8_t *entry = window + (size_t)i * TIME_INDEX_ENTRY_SIZE;
            if (be_i64(entry) <= timestamp_before || be_i32(entry + 8) < offset_before) {
                *ret_good = at + i;
                return ERR_NONE;
            }
            timestamp_before = be_i64(entry);
            offset_before = be_i32(entry + 8);
        }
        at += count;
    }
    *ret_good = index->file_count;
    return ERR_NONE;
}
