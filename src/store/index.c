/* Sorted entries, partly on disk and partly in memory; the offset index on top of it.
 *
 * Invariant: the tail follows the file part, and `last` is a copy of the very last entry. Called
 * under the lock of the log, or by recovery alone. Answers to Kafka's OffsetIndex, whose file it
 * shares: an entry names the last offset and the start of a batch, and look-ups ask for the
 * greatest entry at or below a target, from where the log itself is walked. */
#include "store/index.h"

#include "base/be.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"

enum { WINDOW = 4096 };

void index_init(struct index *index, uint8_t entry_size)
{
    *index = (struct index){.entry_size = entry_size};
}

void index_fini(struct index *index)
{
    mem_free(index->tail);
    index->tail = NULL;
}

enum err index_attach(struct index *index, struct io *io, int fd, int64_t size)
{
    uint32_t count = (uint32_t)(size / index->entry_size);
    if (count) {
        uint8_t last[TIME_INDEX_ENTRY_SIZE];
        size_t got;
        enum err err = io_pread(io, fd, last, index->entry_size,
                                (int64_t)(count - 1) * index->entry_size, &got);
        if (err)
            return err;
        if (got != index->entry_size)
            return ERR_CORRUPT;
        memcpy(index->last, last, index->entry_size);
    }
    index->file_count = count;
    index->tail_count = 0;
    return ERR_NONE;
}

void index_append(struct index *index, const uint8_t *entry)
{
    ENSURE(index->tail_count < INDEX_TAIL_MAX);
    /* Idle partitions have no tail; a busy one gets its whole (small) room at once. */
    if (!index->tail)
        index->tail = mem_alloc((size_t)INDEX_TAIL_MAX * index->entry_size);
    memcpy(index->tail + (size_t)index->tail_count * index->entry_size, entry, index->entry_size);
    memcpy(index->last, entry, index->entry_size);
    index->tail_count++;
}

enum err index_write(struct index *index, struct io *io, int fd)
{
    if (!index->tail_count)
        return ERR_NONE;
    enum err err = io_pwrite(io, fd, index->tail, (size_t)index->tail_count * index->entry_size,
                             (int64_t)index->file_count * index->entry_size);
    if (err)
        return err;
    index->file_count += index->tail_count;
    index->tail_count = 0;
    return ERR_NONE;
}

enum err index_truncate(struct index *index, struct io *io, int fd, uint32_t count)
{
    if (count >= index_count(index))
        return ERR_NONE;
    uint8_t last[TIME_INDEX_ENTRY_SIZE] = {0};
    if (count) {
        enum err err = index_entry(index, io, fd, count - 1, last);
        if (err)
            return err;
    }
    if (count < index->file_count) {
        enum err err = io_truncate(io, fd, (int64_t)count * index->entry_size);
        if (err)
            return err;
        index->file_count = count;
        index->tail_count = 0;
    } else {
        index->tail_count = count - index->file_count;
    }
    memcpy(index->last, last, sizeof last);
    return ERR_NONE;
}

enum err index_entry(const struct index *index, struct io *io, int fd, uint32_t at,
                     uint8_t *ret_entry)
{
    ENSURE_CMP(at, <, index_count(index));
    if (at >= index->file_count) {
        memcpy(ret_entry, index->tail + (size_t)(at - index->file_count) * index->entry_size,
               index->entry_size);
        return ERR_NONE;
    }
    uint8_t entry[TIME_INDEX_ENTRY_SIZE];
    size_t got;
    enum err err =
        io_pread(io, fd, entry, index->entry_size, (int64_t)at * index->entry_size, &got);
    if (err)
        return err;
    if (got != index->entry_size)
        return ERR_CORRUPT;
    memcpy(ret_entry, entry, index->entry_size);
    return ERR_NONE;
}

static int64_t key_of(enum index_key which, const uint8_t *entry)
{
    switch (which) {
    case INDEX_KEY_I32: return be_i32(entry);
    case INDEX_KEY_I32_2: return be_i32(entry + 4);
    case INDEX_KEY_I64: return be_i64(entry);
    case INDEX_KEY_I32_8: return be_i32(entry + 8);
    }
    return 0;
}

static uint32_t count_in(const uint8_t *entries, uint32_t count, uint8_t entry_size,
                         enum index_key which, int64_t key)
{
    uint32_t from = 0, to = count;
    while (from < to) {
        uint32_t at = from + (to - from) / 2;
        if (key_of(which, entries + (size_t)at * entry_size) <= key)
            from = at + 1;
        else
            to = at;
    }
    return from;
}

enum err index_count_to(const struct index *index, struct io *io, int fd, enum index_key which,
                        int64_t key, uint32_t *ret_count)
{
    if (index->tail_count && key_of(which, index->tail) <= key) {
        *ret_count = index->file_count +
                     count_in(index->tail, index->tail_count, index->entry_size, which, key);
        return ERR_NONE;
    }
    /* Halve by single entries until the rest fits one window, which is read whole. */
    uint32_t from = 0, to = index->file_count;
    uint8_t window[WINDOW];
    while (to - from > WINDOW / index->entry_size) {
        uint32_t at = from + (to - from) / 2;
        enum err err = index_entry(index, io, fd, at, window);
        if (err)
            return err;
        if (key_of(which, window) <= key)
            from = at + 1;
        else
            to = at;
    }
    size_t want = (size_t)(to - from) * index->entry_size, got = 0;
    if (want) {
        enum err err = io_pread(io, fd, window, want, (int64_t)from * index->entry_size, &got);
        if (err)
            return err;
        if (got != want)
            return ERR_CORRUPT;
    }
    *ret_count = from + count_in(window, to - from, index->entry_size, which, key);
    return ERR_NONE;
}

/* ---- offset index ---------------------------------------------------------------------------- */

static struct index_position decode(const uint8_t *entry, int64_t base)
{
    return (struct index_position){base + be_i32(entry), be_u32(entry + 4)};
}

bool offset_index_append(struct index *index, int64_t base, int64_t offset, uint32_t position)
{
    if (index_count(index) && offset - base <= be_i32(index->last))
        return false;
    uint8_t entry[INDEX_ENTRY_SIZE];
    be_put_i32(entry, (int32_t)(offset - base));
    be_put_u32(entry + 4, position);
    index_append(index, entry);
    return true;
}

enum err offset_index_find(const struct index *index, struct io *io, int fd, int64_t base,
                           int64_t offset, struct index_position *ret_found)
{
    uint32_t count;
    enum err err = index_count_to(index, io, fd, INDEX_KEY_I32, offset - base, &count);
    if (err)
        return err;
    if (!count) {
        *ret_found = (struct index_position){base, 0};
        return ERR_NONE;
    }
    uint8_t entry[INDEX_ENTRY_SIZE];
    err = index_entry(index, io, fd, count - 1, entry);
    if (err)
        return err;
    struct index_position found = decode(entry, base);
    if (!found.position)
        return ERR_CORRUPT; /* no entry names the first batch: a page of zeros */
    *ret_found = found;
    return ERR_NONE;
}

struct index_position offset_index_last(const struct index *index, int64_t base)
{
    return index_count(index) ? decode(index->last, base) : (struct index_position){base, 0};
}

enum err offset_index_at_position(const struct index *index, struct io *io, int fd, int64_t base,
                                  uint32_t position, bool *ret_any,
                                  struct index_position *ret_found)
{
    uint32_t count;
    enum err err = index_count_to(index, io, fd, INDEX_KEY_I32_2, (int64_t)position - 1, &count);
    if (err)
        return err;
    if (count == index_count(index)) {
        *ret_any = false;
        return ERR_NONE;
    }
    uint8_t entry[INDEX_ENTRY_SIZE];
    err = index_entry(index, io, fd, count, entry);
    if (err)
        return err;
    *ret_found = decode(entry, base);
    *ret_any = true;
    return ERR_NONE;
}

enum err offset_index_check(const struct index *index, struct io *io, int fd, uint32_t log_size,
                            uint32_t *ret_good)
{
    uint8_t window[WINDOW];
    int64_t offset_before = -1, position_before = -1;
    for (uint32_t at = 0; at < index->file_count;) {
        uint32_t count = WINDOW / INDEX_ENTRY_SIZE;
        if (count > index->file_count - at)
            count = index->file_count - at;
        size_t want = (size_t)count * INDEX_ENTRY_SIZE, got;
        enum err err = io_pread(io, fd, window, want, (int64_t)at * INDEX_ENTRY_SIZE, &got);
        if (err)
            return err;
        if (got != want)
            return ERR_CORRUPT;
        for (uint32_t i = 0; i < count; i++) {
            int32_t offset = be_i32(window + (size_t)i * INDEX_ENTRY_SIZE);
            int32_t position = be_i32(window + (size_t)i * INDEX_ENTRY_SIZE + 4);
            if (offset <= offset_before || position <= position_before ||
                (uint32_t)position >= log_size) {
                *ret_good = at + i;
                return ERR_NONE;
            }
            offset_before = offset;
            position_before = position;
        }
        at += count;
    }
    *ret_good = index->file_count;
    return ERR_NONE;
}
