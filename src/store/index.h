/* A sorted array of fixed-size entries in a file, with its newest entries still in memory: the
 * common part of the offset index and the time index, and the offset index itself.
 *
 * Entries are kept encoded, so that the tail goes out with one pwrite. Reads in the file part are
 * preads; the file is not preallocated (Apache Kafka accepts that). Entries that a crash leaves in
 * memory are made again by recovery, which begins at the last entry in the file.
 *
 * The functions do not open files: the caller gives the pinned descriptor. */
#ifndef KLAMM_STORE_INDEX_H
#define KLAMM_STORE_INDEX_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct io;

enum {
    INDEX_ENTRY_SIZE = 8,       /* int32 offset - base, int32 position */
    TIME_INDEX_ENTRY_SIZE = 12, /* int64 timestamp, int32 offset - base */
    INDEX_TAIL_MAX = 64,        /* entries in memory before they are written */
};

struct index {
    uint8_t *tail; /* encoded; NULL until the first append */
    uint32_t file_count, tail_count;
    uint8_t entry_size;
    uint8_t last[TIME_INDEX_ENTRY_SIZE]; /* copy of the last entry; valid when count > 0 */
};

void index_init(struct index *index, uint8_t entry_size);
void index_fini(struct index *index);

static inline uint32_t index_count(const struct index *index)
{
    return index->file_count + index->tail_count;
}

/* True when the tail is full: index_write must come before the next append. */
static inline bool index_tail_full(const struct index *index)
{
    return index->tail_count == INDEX_TAIL_MAX;
}

/* Takes over a file of `size` bytes: its whole entries. The last entry is read. */
enum err index_attach(struct index *index, struct io *io, int fd, int64_t size);
void index_append(struct index *index, const uint8_t *entry);
/* Writes the tail behind the file part. On failure the tail stays. */
enum err index_write(struct index *index, struct io *io, int fd);
/* Keeps the first `count` entries; the file is cut. */
enum err index_truncate(struct index *index, struct io *io, int fd, uint32_t count);
/* Copies entry `at` (< count). */
enum err index_entry(const struct index *index, struct io *io, int fd, uint32_t at,
                     uint8_t *ret_entry);

/* Which of an entry's numbers the search compares. */
enum index_key {
    INDEX_KEY_I32,   /* the first int32 (offset of the offset index) */
    INDEX_KEY_I32_2, /* the second int32 (position of the offset index) */
    INDEX_KEY_I64,   /* the first int64 (timestamp of the time index) */
    INDEX_KEY_I32_8, /* the int32 at byte 8 (offset of the time index) */
};
/* Number of entries whose key is <= `key` (they come first). Entry count - 1 is then the greatest
 * of these. */
enum err index_count_to(const struct index *index, struct io *io, int fd, enum index_key which,
                        int64_t key, uint32_t *ret_count);

/* ---- offset index ---------------------------------------------------------------------------- */

struct index_position {
    int64_t offset; /* last offset of the batch */
    uint32_t position;
};

/* False (nothing done) when the offset is not above the last entry's. */
bool offset_index_append(struct index *index, int64_t base, int64_t offset, uint32_t position);
/* The greatest entry whose offset is <= `offset`; (base, 0) when there is none.
 * ERR_CORRUPT: it cannot be right. */
enum err offset_index_find(const struct index *index, struct io *io, int fd, int64_t base,
                           int64_t offset, struct index_position *ret_found);
/* The last entry; (base, 0) when there is none. */
struct index_position offset_index_last(const struct index *index, int64_t base);
/* The first entry whose position is >= `position`; false in *ret_any when there is none. */
enum err offset_index_at_position(const struct index *index, struct io *io, int fd, int64_t base,
                                  uint32_t position, bool *ret_any,
                                  struct index_position *ret_found);
/* How many leading entries of the file strictly rise in both columns and stay below `log_size`. The
 * zeros of a preallocated file end them. Reads all of it: for recovery. */
enum err offset_index_check(const struct index *index, struct io *io, int fd, uint32_t log_size,
                            uint32_t *ret_good);

#endif
