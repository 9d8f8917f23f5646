/* The time index of a segment: (largest timestamp so far, last offset of the batch that holds it).
 * The common part is in store/index.h; the same rules for descriptors hold. */
#ifndef KLAMM_STORE_TIME_INDEX_H
#define KLAMM_STORE_TIME_INDEX_H

#include "store/index.h"

struct time_index_entry {
    int64_t timestamp; /* -1: none */
    int64_t offset;
};

/* Adds an entry when `timestamp` is above the last entry's; else does nothing (false). */
bool time_index_append(struct index *index, int64_t base, int64_t timestamp, int64_t offset);
/* The last entry; (-1, base) when there is none. */
struct time_index_entry time_index_last(const struct index *index, int64_t base);
/* The greatest entry with a timestamp <= `timestamp`; (-1, base) when there is none. */
enum err time_index_find(const struct index *index, struct io *io, int fd, int64_t base,
                         int64_t timestamp, struct time_index_entry *ret_found);
/* How many leading entries of the file have strictly rising timestamps and offsets that do not
 * fall. Reads all of it: for recovery. */
enum err time_index_check(const struct index *index, struct io *io, int fd, uint32_t *ret_good);

#endif
