/* The transaction index of a segment (.txnindex): one entry for each aborted transaction whose
 * marker lies in the segment. The file exists only once there was an abort. Under the log's lock.
 */
#ifndef KLAMM_STORE_TXN_INDEX_H
#define KLAMM_STORE_TXN_INDEX_H

#include "store/segment.h"

enum { TXN_INDEX_ENTRY_SIZE = 34 };

struct txn_index_entry {
    int64_t producer_id;
    int64_t offset_first;
    int64_t offset_last; /* of the abort marker */
    int64_t last_stable; /* last stable offset after it */
};

/* Makes segment->txn_count known. ERR_CORRUPT when the file is no transaction index (recovery
 * makes it again). */
enum err txn_index_load(struct segment *segment);
enum err txn_index_append(struct segment *segment, const struct txn_index_entry *entry);
/* Reads `count` entries from `at` on. ERR_CORRUPT: one of them cannot be of this segment, or they
 * are out of order. */
/* The same from the pinned file, which nobody cuts meanwhile as far as the caller knows, with no
 * lock held. ERR_CORRUPT also when it was cut. */
enum err txn_index_read_pinned(const struct segment *segment, int fd, uint32_t at, uint32_t count,
                               struct txn_index_entry *ret_entries);
enum err txn_index_read(struct segment *segment, uint32_t at, uint32_t count,
                        struct txn_index_entry *ret_entries);
/* The first entry whose marker lies at or above `offset`; txn_count: none does. */
enum err txn_index_find(struct segment *segment, int64_t offset, uint32_t *ret_at);
/* Reads all of it: for recovery. ERR_CORRUPT as above. */
enum err txn_index_check(struct segment *segment);
/* Keeps entries whose marker lies below `offset_next`. */
enum err txn_index_truncate(struct segment *segment, int64_t offset_next);

#endif
